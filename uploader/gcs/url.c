/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Where the API is, what a gs:// URL says, and which object names the server takes.
 */
#include "gcs_internal.h"

#include <string.h>

#define BUCKET_MIN 3
#define BUCKET_MAX 222

static bool is_printable(const char *string)
{
    for (const char *c = string; *c != '\0'; c++) {
        if (*c <= ' ' || *c == 0x7f || *c == '@' || *c == '\\') {
            return false;
        }
    }
    return true;
}

/* "scheme://host[:port]" of `value`, its path cut. `host` points behind the scheme. */
static int endpoint_copy(const char *variable, const char *value, const char *default_scheme,
                         struct gcs_endpoint *endpoint, const char **ret_host, struct error *err)
{
    const char *scheme = default_scheme;
    const char *host = value;
    if (strncasecmp(value, "https://", 8) == 0) {
        scheme = "https://";
        host = value + 8;
    } else if (strncasecmp(value, "http://", 7) == 0) {
        scheme = "http://";
        host = value + 7;
    } else if (scheme == NULL || strstr(value, "://") != NULL) {
        return error_stop(err, EXIT_STATUS_USAGE,
                          "%s must begin with https:// or http://; correct or unset it", variable);
    }
    size_t host_len = strcspn(host, "/?#");
    if (host_len == 0 || host[0] == ':' || !is_printable(value)) {
        return error_stop(err, EXIT_STATUS_USAGE,
                          "%s does not name a host as scheme://host[:port]; correct or unset it",
                          variable);
    }
    size_t scheme_len = strlen(scheme);
    if (scheme_len + host_len >= sizeof(endpoint->url)) {
        return error_stop(err, EXIT_STATUS_USAGE, "%s is too long", variable);
    }
    memcpy(endpoint->url, scheme, scheme_len);
    memcpy(endpoint->url + scheme_len, host, host_len);
    endpoint->url[scheme_len + host_len] = '\0';
    *ret_host = endpoint->url + scheme_len;
    return 0;
}

static bool is_loopback(const char *host)
{
    static const char *const names[] = {"localhost", "[::1]"};
    for (size_t i = 0; i < ARRAY_LEN(names); i++) {
        size_t len = strlen(names[i]);
        if (strncasecmp(host, names[i], len) == 0 && (host[len] == '\0' || host[len] == ':')) {
            return true;
        }
    }
    /* Only digits and dots, so that 127.0.0.1.example.com is not taken for an address. */
    size_t address_len = strcspn(host, ":");
    return strncmp(host, "127.", 4) == 0 && strspn(host, "0123456789.") == address_len;
}

/* Also regional and private ones: storage.europe-west3.rep.googleapis.com. */
static bool is_google(const char *url)
{
    static const char domain[] = ".googleapis.com";
    const char *host = strstr(url, "://") + 3;
    size_t len = strcspn(host, ":");
    return len >= sizeof(domain) &&
           strncasecmp(host + len - (sizeof(domain) - 1), domain, sizeof(domain) - 1) == 0;
}

int gcs_endpoint_from_environment(struct gcs_endpoint *ret_endpoint, struct error *err)
{
    struct gcs_endpoint endpoint = {.url = "https://storage.googleapis.com"};
    const char *host = NULL;
    const char *emulator = getenv("STORAGE_EMULATOR_HOST");
    const char *override = getenv("CLOUDSDK_API_ENDPOINT_OVERRIDES_STORAGE");
    if (emulator != NULL && emulator[0] != '\0') {
        if (endpoint_copy("STORAGE_EMULATOR_HOST", emulator, "http://", &endpoint, &host, err) !=
            0) {
            return -1;
        }
        endpoint.is_emulator = true;
    } else if (override != NULL && override[0] != '\0') {
        static const char variable[] = "CLOUDSDK_API_ENDPOINT_OVERRIDES_STORAGE";
        if (endpoint_copy(variable, override, NULL, &endpoint, &host, err) != 0) {
            return -1;
        }
        if (strncmp(endpoint.url, "http://", 7) == 0 && !is_loopback(host)) {
            return error_stop(err, EXIT_STATUS_USAGE,
                              "%s: a token is sent over https or to loopback only; use https://",
                              variable);
        }
    }
    endpoint.is_google = !endpoint.is_emulator && is_google(endpoint.url);
    *ret_endpoint = endpoint;
    return 0;
}

static int bucket_check(const char *bucket, size_t len, struct error *err)
{
    if (len < BUCKET_MIN || len > BUCKET_MAX) {
        return error_stop(err, EXIT_STATUS_USAGE,
                          "the bucket name in gs:// has %zu characters; 3 to 222 are allowed", len);
    }
    static const char letters[] = "abcdefghijklmnopqrstuvwxyz0123456789";
    for (size_t i = 0; i < len; i++) {
        bool is_inner = i > 0 && i + 1 < len;
        bool good =
            strchr(letters, bucket[i]) != NULL || (is_inner && strchr("-_.", bucket[i]) != NULL);
        if (!good) {
            CLEANUP_TEXT struct text shown = TEXT_INIT(1024);
            text_add_shown(&shown, bucket, len, 256);
            return error_stop(err, EXIT_STATUS_USAGE,
                              "gs://%s: a bucket name has only a-z 0-9 - _ . and begins and ends "
                              "with a letter or digit",
                              text_str(&shown));
        }
    }
    return 0;
}

int gcs_url_parse(const char *url, struct gcs_url *ret_url, struct error *err)
{
    if (strncmp(url, "gs://", 5) != 0) {
        CLEANUP_TEXT struct text shown = TEXT_INIT(1024);
        text_add_shown(&shown, url, strlen(url), 200);
        return error_stop(err, EXIT_STATUS_USAGE,
                          "\"%s\" is not a bucket URL; write gs://BUCKET[/PREFIX]",
                          text_str(&shown));
    }
    struct gcs_url parsed = {0};
    const char *bucket = url + 5;
    size_t bucket_len = strcspn(bucket, "/");
    if (bucket_check(bucket, bucket_len, err) != 0) {
        return -1;
    }
    memcpy(parsed.bucket, bucket, bucket_len);

    const char *prefix = bucket + bucket_len;
    prefix += strspn(prefix, "/");
    size_t prefix_len = strlen(prefix);
    while (prefix_len > 0 && prefix[prefix_len - 1] == '/') {
        prefix_len--;
    }
    if (prefix_len > GCS_NAME_MAX) {
        return error_stop(err, EXIT_STATUS_USAGE,
                          "the prefix in gs://%s/ has %zu bytes; an object name has at most %d",
                          parsed.bucket, prefix_len, GCS_NAME_MAX);
    }
    if (prefix_len > 0 && !gcs_name_is_legal(prefix, prefix_len)) {
        return error_stop(err, EXIT_STATUS_USAGE,
                          "the prefix in gs://%s/ is not one that Cloud Storage takes: UTF-8 "
                          "without line breaks, not \".\" or \"..\"",
                          parsed.bucket);
    }
    memcpy(parsed.prefix, prefix, prefix_len);
    *ret_url = parsed;
    return 0;
}

bool gcs_kms_key_is_legal(const char *key)
{
    static const char *const kinds[] = {"projects/", "/locations/", "/keyRings/", "/cryptoKeys/"};
    const char *at = key;
    if (strlen(key) > GCS_KMS_KEY_MAX) {
        return false;
    }
    for (size_t i = 0; i < ARRAY_LEN(kinds); i++) {
        /* A project may be "example.com:name". */
        static const char letters[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
                                      "0123456789-_.:";
        if (strncmp(at, kinds[i], strlen(kinds[i])) != 0) {
            return false;
        }
        at += strlen(kinds[i]);
        size_t len = strspn(at, letters);
        if (len == 0) {
            return false;
        }
        at += len;
    }
    return *at == '\0';
}

bool gcs_name_is_legal(const char *name, size_t len)
{
    static const char reserved[] = ".well-known/acme-challenge/";
    if (len == 0 || len > GCS_NAME_MAX || !utf_valid_utf8(name, len)) {
        return false;
    }
    if (memchr(name, '\r', len) != NULL || memchr(name, '\n', len) != NULL) {
        return false;
    }
    if ((len == 1 && name[0] == '.') || (len == 2 && memcmp(name, "..", 2) == 0)) {
        return false;
    }
    return len < sizeof(reserved) - 1 || memcmp(name, reserved, sizeof(reserved) - 1) != 0;
}
