/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * A service account's key file, and the assertions signed with it (RS256, RFC 7523).
 */
#include <cjson/cJSON.h>
#include <errno.h>
#include <openssl/err.h>
#include <openssl/pem.h>
#include <string.h>
#include <strings.h>

#include "auth/auth_internal.h"

enum { ASSERTION_MAX = 8 * 1024, KEY_BITS_MIN = 1024, LIFETIME_S = 3600 };

static int take_fields(const char *path, const cJSON *json, struct auth_key *key,
                       struct error *err);
static int take_string(const char *path, const cJSON *json, const char *name, char **ret_value,
                       struct error *err);
static int take_private_key(const char *path, const cJSON *json, struct auth_key *key,
                            struct error *err);
static int check_type(const char *path, const cJSON *json, struct error *err);
static void wipe_json(cJSON *json);
static void add_base64url(struct text *text, const void *bytes, size_t len);
static int add_signature(const struct auth_key *key, struct text *assertion, struct error *err);

int auth_key_read(const char *path, struct auth_key *ret_key, struct error *err)
{
    struct text text = TEXT_INIT(AUTH_KEY_FILE_MAX);
    if (file_read(path, AUTH_KEY_FILE_MAX, &text, err) != 0) {
        if (err != NULL && err->exit_status != EXIT_STATUS_TEMPORARY) {
            err->exit_status = EXIT_STATUS_RIGHTS;
        }
        return error_add(err, "credentials file (GOOGLE_APPLICATION_CREDENTIALS)");
    }
    struct auth_key key = {0};
    int result = -1;
    errno = 0;
    cJSON *json = cJSON_ParseWithLength(text_str(&text), text.len);
    if (json == NULL && errno == ENOMEM) {
        (void)error_memory(err, "the credentials"); /* `result` says it */
    } else if (!cJSON_IsObject(json)) {
        (void)error_stop(err, EXIT_STATUS_RIGHTS,
                         "%s: not JSON; a service account's key file is expected", path);
    } else {
        result = take_fields(path, json, &key, err);
    }
    wipe_json(json);
    auth_text_wipe(&text);
    if (result != 0) {
        auth_key_clear(&key);
        return -1;
    }
    *ret_key = key;
    return 0;
}

void auth_key_clear(struct auth_key *key)
{
    free(key->client_email);
    free(key->token_uri);
    free(key->key_id);
    EVP_PKEY_free(key->private_key); /* OpenSSL wipes its numbers */
    *key = (struct auth_key){0};
}

int auth_key_assertion(const struct auth_key *key, const char *scope, uint64_t now_s,
                       struct text *ret_assertion, struct error *err)
{
    CLEANUP_TEXT struct text header = TEXT_INIT(ASSERTION_MAX);
    CLEANUP_TEXT struct text claims = TEXT_INIT(ASSERTION_MAX);
    text_add(&header, "{\"alg\":\"RS256\",\"typ\":\"JWT\"");
    if (key->key_id != NULL) {
        text_add(&header, ",\"kid\":");
        text_add_json(&header, key->key_id, strlen(key->key_id));
    }
    text_add(&header, "}");
    text_add(&claims, "{\"iss\":");
    text_add_json(&claims, key->client_email, strlen(key->client_email));
    text_add(&claims, ",\"scope\":");
    text_add_json(&claims, scope, strlen(scope));
    text_add(&claims, ",\"aud\":");
    text_add_json(&claims, key->token_uri, strlen(key->token_uri));
    text_add(&claims, ",\"iat\":");
    text_add_u64(&claims, now_s);
    text_add(&claims, ",\"exp\":");
    text_add_u64(&claims, now_s + LIFETIME_S);
    text_add(&claims, "}");

    struct text assertion = TEXT_INIT(2 * ASSERTION_MAX);
    add_base64url(&assertion, text_str(&header), header.len);
    text_add_char(&assertion, '.');
    add_base64url(&assertion, text_str(&claims), claims.len);
    if (header.failed || claims.failed || assertion.failed) {
        auth_text_wipe(&assertion);
        return error_memory(err, "a token request");
    }
    if (add_signature(key, &assertion, err) != 0) {
        auth_text_wipe(&assertion);
        return -1;
    }
    *ret_assertion = assertion;
    return 0;
}

void auth_text_wipe(struct text *text)
{
    if (text->data != NULL) {
        explicit_bzero(text->data, text->cap);
    }
    text_free(text);
}

static int take_fields(const char *path, const cJSON *json, struct auth_key *key, struct error *err)
{
    if (check_type(path, json, err) != 0 ||
        take_string(path, json, "client_email", &key->client_email, err) != 0 ||
        take_string(path, json, "token_uri", &key->token_uri, err) != 0 ||
        take_private_key(path, json, key, err) != 0) {
        return -1;
    }
    if (!http_url_is_safe(key->token_uri)) {
        return error_stop(err, EXIT_STATUS_RIGHTS,
                          "%s: token_uri is neither an https URL nor on this machine", path);
    }
    if (cJSON_GetObjectItemCaseSensitive(json, "private_key_id") == NULL) {
        return 0;
    }
    return take_string(path, json, "private_key_id", &key->key_id, err);
}

static int check_type(const char *path, const cJSON *json, struct error *err)
{
    static const char *const known[] = {"authorized_user", "external_account",
                                        "external_account_authorized_user",
                                        "impersonated_service_account", "gdch_service_account"};
    const cJSON *type = cJSON_GetObjectItemCaseSensitive(json, "type");
    if (!cJSON_IsString(type)) {
        return error_stop(err, EXIT_STATUS_RIGHTS,
                          "%s: no \"type\"; a service account's key file is expected", path);
    }
    if (strcmp(type->valuestring, "service_account") == 0) {
        return 0;
    }
    for (size_t i = 0; i < ARRAY_LEN(known); i++) {
        if (strcmp(type->valuestring, known[i]) == 0) {
            return error_stop(err, EXIT_STATUS_RIGHTS,
                              "%s: credentials of type %s are not supported yet; use a service "
                              "account's key file, or unset GOOGLE_APPLICATION_CREDENTIALS on a "
                              "VM that has a service account",
                              path, known[i]);
        }
    }
    return error_stop(err, EXIT_STATUS_RIGHTS,
                      "%s: unknown type of credentials; a service account's key file is expected",
                      path);
}

static int take_string(const char *path, const cJSON *json, const char *name, char **ret_value,
                       struct error *err)
{
    const cJSON *item = cJSON_GetObjectItemCaseSensitive(json, name);
    if (!cJSON_IsString(item) || item->valuestring[0] == '\0') {
        return error_stop(err, EXIT_STATUS_RIGHTS, "%s: \"%s\" is missing or empty", path, name);
    }
    char *value = strdup(item->valuestring);
    if (value == NULL) {
        return error_memory(err, "the credentials");
    }
    *ret_value = value;
    return 0;
}

/* OpenSSL would ask the terminal for the password of an encrypted key. */
static int no_password(char *buf, int size, int writing, void *self)
{
    (void)buf, (void)size, (void)writing, (void)self; /* there is none */
    return -1;
}

static int take_private_key(const char *path, const cJSON *json, struct auth_key *key,
                            struct error *err)
{
    const cJSON *item = cJSON_GetObjectItemCaseSensitive(json, "private_key");
    if (!cJSON_IsString(item) || item->valuestring[0] == '\0') {
        return error_stop(err, EXIT_STATUS_RIGHTS, "%s: \"private_key\" is missing or empty", path);
    }
    BIO *bio = BIO_new_mem_buf(item->valuestring, -1);
    if (bio == NULL) {
        return error_memory(err, "the credentials");
    }
    errno = 0;
    key->private_key = PEM_read_bio_PrivateKey(bio, NULL, no_password, NULL);
    bool no_memory = errno == ENOMEM; /* OpenSSL goes on looking, and reports what it sees then */
    (void)BIO_free(bio);
    ERR_clear_error(); /* its text may quote the key */
    if (key->private_key == NULL && no_memory) {
        return error_memory(err, "the credentials");
    }
    if (key->private_key == NULL) {
        return error_stop(err, EXIT_STATUS_RIGHTS,
                          "%s: \"private_key\" is not an unencrypted key in PEM form; download the "
                          "key file again",
                          path);
    }
    if (EVP_PKEY_get_base_id(key->private_key) != EVP_PKEY_RSA ||
        EVP_PKEY_get_bits(key->private_key) < KEY_BITS_MIN) {
        return error_stop(err, EXIT_STATUS_RIGHTS, "%s: \"private_key\" is not a usable RSA key",
                          path);
    }
    return 0;
}

/* cJSON frees without wiping. */
static void wipe_json(cJSON *json)
{
    cJSON *item = NULL;
    cJSON_ArrayForEach(item, json)
    {
        if (cJSON_IsString(item)) {
            explicit_bzero(item->valuestring, strlen(item->valuestring));
        }
    }
    cJSON_Delete(json);
}

/* Base64 with '-' and '_' and without padding. */
static void add_base64url(struct text *text, const void *bytes, size_t len)
{
    size_t start = text->len;
    text_add_base64(text, bytes, len);
    if (text->failed) {
        return;
    }
    while (text->len > start && text->data[text->len - 1] == '=') {
        text->data[--text->len] = '\0';
    }
    for (size_t i = start; i < text->len; i++) {
        if (text->data[i] == '+') {
            text->data[i] = '-';
        } else if (text->data[i] == '/') {
            text->data[i] = '_';
        }
    }
}

static int add_signature(const struct auth_key *key, struct text *assertion, struct error *err)
{
    unsigned char signature[2048]; /* 16,384 bits */
    errno = 0;
    size_t len = sizeof(signature);
    EVP_MD_CTX *context = EVP_MD_CTX_new();
    bool signed_well =
        context != NULL && EVP_PKEY_get_size(key->private_key) <= (int)sizeof(signature) &&
        EVP_DigestSignInit(context, NULL, EVP_sha256(), NULL, key->private_key) == 1 &&
        EVP_DigestSign(context, signature, &len, (const unsigned char *)assertion->data,
                       assertion->len) == 1;
    EVP_MD_CTX_free(context);
    ERR_clear_error(); /* its text may quote the key */
    if (!signed_well && errno == ENOMEM) {
        return error_memory(err, "a token request");
    }
    if (!signed_well) {
        return error_stop(err, EXIT_STATUS_RIGHTS, "the key of %s cannot sign", key->client_email);
    }
    text_add_char(assertion, '.');
    add_base64url(assertion, signature, len);
    return assertion->failed ? error_memory(err, "a token request") : 0;
}
