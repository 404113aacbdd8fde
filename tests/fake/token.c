/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * token: with --metadata-token, a metadata server and the endpoints that exchange credentials for
 * access tokens. Credentials are not checked, only the form of the request.
 */
#include <string.h>

#include "reply.h"
#include "route.h"

#define LIFETIME_S 3600
#define ACCOUNT "winch-test@fake-gcs.iam.gserviceaccount.com"

static bool has_token(struct request *request)
{
    if (request->server->options->metadata_token == NULL) {
        reply_error(request, 404, "notFound", "fake-gcs runs without --metadata-token");
        return false;
    }
    return true;
}

static void begin_metadata(struct request *request)
{
    const char *flavor = request_header(request, "Metadata-Flavor");
    if (has_token(request) && (flavor == NULL || strcmp(flavor, "Google") != 0)) {
        reply_error(request, 403, "forbidden", "Missing Metadata-Flavor:Google header.");
    }
}

static void add_token(struct request *request, struct text *body, const char *member)
{
    const char *token = request->server->options->metadata_token;
    stats_add(&request->server->stats.tokens, 1);
    text_printf(body, "{\"%s\":", member);
    text_add_json(body, token, strlen(token));
}

static void finish_metadata(struct request *request)
{
    static const char account[] = "instance/service-accounts/default/";
    static const char *const values[][2] = {
        {"instance/service-accounts/default/email", ACCOUNT},
        {"instance/service-accounts/default/scopes",
         "https://www.googleapis.com/auth/devstorage.read_write\n"},
        {"instance/zone", "projects/123456789012/zones/us-central1-a"},
        {"instance/id", "1234567890123456789"},
        {"instance/name", "winch-test"},
        {"project/project-id", "fake-project"},
        {"project/numeric-project-id", "123456789012"},
    };
    struct text path CLEANUP_TEXT = TEXT_INIT(REQUEST_MAX_SMALL_BODY);
    struct text body CLEANUP_TEXT = TEXT_INIT(REQUEST_MAX_SMALL_BODY);
    const char *type = "application/text";
    for (size_t i = 2; i < request->segment_count; i++) {
        text_printf(&path, "%s%s", i == 2 ? "" : "/", request->segments[i]);
    }
    if (strncmp(text_str(&path), account, strlen(account)) == 0 &&
        strcmp(text_str(&path) + strlen(account), "token") == 0) {
        type = "application/json";
        add_token(request, &body, "access_token");
        text_printf(&body, ",\"expires_in\":%d,\"token_type\":\"Bearer\"}", LIFETIME_S);
    } else if (strcmp(text_str(&path), account) == 0) {
        type = "application/json";
        text_add(&body, "{\"aliases\":[\"default\"],\"email\":\"" ACCOUNT "\",\"scopes\":["
                        "\"https://www.googleapis.com/auth/devstorage.read_write\"]}");
    }
    for (size_t i = 0; i < ARRAY_LEN(values); i++) {
        if (strcmp(text_str(&path), values[i][0]) == 0) {
            text_add(&body, values[i][1]);
        }
    }
    if (body.len == 0) {
        reply_error(request, 404, "notFound", "No such metadata");
    } else {
        reply_text(request, 200, type, &body);
    }
    reply_header(request, "Metadata-Flavor", "Google");
}

const struct operation metadata_operation = {begin_metadata, NULL, finish_metadata, NULL};

static void begin_token(struct request *request)
{
    (void)has_token(request); /* answers if there is none */
}

/* The value of `name` in a form or JSON body; "" when absent. Release with free(). */
static char *body_value(const struct request *request, const char *name)
{
    cJSON *json = cJSON_Parse(text_str(&request->body));
    const char *found = match_string(json, name);
    char *value = strdup(found == NULL ? "" : found);
    cJSON_Delete(json);
    char *form CLEANUP_FREE = strdup(text_str(&request->body));
    char *rest = form;
    while (rest != NULL && value != NULL && value[0] == '\0') {
        char *pair = strsep(&rest, "&");
        char *key = strsep(&pair, "=");
        if (pair != NULL && strcmp(key, name) == 0) {
            (void)match_unescape(pair, true); /* a %00 only ends it early */
            free(value);
            value = strdup(pair);
        }
    }
    return value;
}

static void finish_token(struct request *request)
{
    static const char *const grants[] = {
        "urn:ietf:params:oauth:grant-type:jwt-bearer",
        "urn:ietf:params:oauth:grant-type:token-exchange",
        "refresh_token",
    };
    struct text body CLEANUP_TEXT = TEXT_INIT(REQUEST_MAX_SMALL_BODY);
    char *grant CLEANUP_FREE = body_value(request, "grant_type");
    char *camel CLEANUP_FREE = body_value(request, "grantType");
    for (size_t i = 0; i < ARRAY_LEN(grants); i++) {
        if (grant != NULL && camel != NULL &&
            (strcmp(grant, grants[i]) == 0 || strcmp(camel, grants[i]) == 0)) {
            add_token(request, &body, "access_token");
            text_printf(&body,
                        ",\"expires_in\":%d,\"token_type\":\"Bearer\",\"issued_token_type\":"
                        "\"urn:ietf:params:oauth:token-type:access_token\"}",
                        LIFETIME_S);
            reply_text(request, 200, "application/json", &body);
            return;
        }
    }
    text_add(&body, "{\"error\":\"unsupported_grant_type\","
                    "\"error_description\":\"Invalid grant_type\"}");
    reply_text(request, 400, "application/json", &body);
}

const struct operation token_operation = {begin_token, NULL, finish_token, NULL};

static void finish_impersonation(struct request *request)
{
    struct text body CLEANUP_TEXT = TEXT_INIT(REQUEST_MAX_SMALL_BODY);
    char expiry[32];
    clock_format_utc(clock_utc_ns() + (uint64_t)LIFETIME_S * 1000000000u, expiry);
    add_token(request, &body, "accessToken");
    text_printf(&body, ",\"expireTime\":\"%s\"}", expiry);
    reply_text(request, 200, "application/json", &body);
}

const struct operation impersonation_operation = {begin_token, NULL, finish_impersonation, NULL};
