/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * One token from the metadata server or the token endpoint of a service account.
 */
#include <cjson/cJSON.h>
#include <errno.h>
#include <string.h>
#include <strings.h>

#include "auth/auth_internal.h"

enum { FETCH_TRIES = 5, METADATA_WAIT_MS = 3000, ENDPOINT_WAIT_MS = 15000 };
enum { REPLY_MAX = 64 * 1024, SHOWN_MAX = 200, LIFETIME_MAX_S = 24 * 3600 };

static int ask_metadata(struct auth_fetcher *fetcher, struct http_reply *ret_reply,
                        struct error *err);
static int ask_endpoint(struct auth_fetcher *fetcher, struct http_reply *ret_reply,
                        struct error *err);
static int take_token(const struct auth_fetcher *fetcher, const struct text *body,
                      struct text *ret_token, uint64_t *ret_lifetime_ms, struct error *err);
static int refuse(const struct auth_fetcher *fetcher, const struct http_reply *reply,
                  struct error *err);
static void wipe_reply(struct http_reply *reply);

int auth_fetch(struct auth_fetcher *fetcher, struct text *ret_token, uint64_t *ret_lifetime_ms,
               struct error *err)
{
    CLEANUP(wipe_reply) struct http_reply reply = {0};
    fetcher->last_status = 0;
    int result =
        fetcher->has_key ? ask_endpoint(fetcher, &reply, err) : ask_metadata(fetcher, &reply, err);
    if (result != 0) {
        return error_add(err, "no access token");
    }
    if (reply.status != 200) {
        return refuse(fetcher, &reply, err);
    }
    if (!fetcher->has_key && strcasecmp(reply.kept[0], "Google") != 0) {
        return error_stop(err, EXIT_STATUS_RIGHTS,
                          "no access token: what answers at %s is not the metadata server (no "
                          "Metadata-Flavor: Google); check GCE_METADATA_HOST",
                          fetcher->source);
    }
    return take_token(fetcher, &reply.body, ret_token, ret_lifetime_ms, err);
}

/* The metadata server answers 404 for a while after a VM's start. */
static enum http_verdict judge_metadata(int status, const struct text *body)
{
    (void)body;
    return status == 404 ? HTTP_RETRY : HTTP_FINAL;
}

static int ask_metadata(struct auth_fetcher *fetcher, struct http_reply *ret_reply,
                        struct error *err)
{
    const struct http_header header = {"Metadata-Flavor", "Google"};
    const struct http_request request = {
        .method = "GET",
        .url = fetcher->metadata_url,
        .headers = &header,
        .header_count = 1,
        .reply_timeout_ms = METADATA_WAIT_MS,
        .max_tries = FETCH_TRIES,
        .reply_limit = REPLY_MAX,
        .judge = judge_metadata,
        .keep = {"Metadata-Flavor"},
    };
    struct error local = {0};
    if (http_send(fetcher->client, &request, ret_reply, &local) == 0) {
        return 0;
    }
    if (local.kind == ERROR_RETRY && fetcher->last_status == 404) {
        return error_stop(err, EXIT_STATUS_RIGHTS,
                          "the metadata server (%s) knows no service account; attach one to this "
                          "VM or set GOOGLE_APPLICATION_CREDENTIALS",
                          fetcher->source);
    }
    if (local.kind == ERROR_RETRY && fetcher->last_status == 0) {
        (void)error_retry(&local,
                          "the metadata server (%s) cannot be reached; outside of Compute Engine "
                          "set GOOGLE_APPLICATION_CREDENTIALS",
                          fetcher->source);
    }
    if (err != NULL) {
        *err = local;
    }
    return -1;
}

static int ask_endpoint(struct auth_fetcher *fetcher, struct http_reply *ret_reply,
                        struct error *err)
{
    struct text assertion = TEXT_INIT(0);
    struct text form = TEXT_INIT(REPLY_MAX);
    if (auth_key_assertion(&fetcher->key, fetcher->scope, clock_utc_ns() / 1000000000, &assertion,
                           err) != 0) {
        return -1;
    }
    text_add(&form, "grant_type=urn%3Aietf%3Aparams%3Aoauth%3Agrant-type%3Ajwt-bearer&assertion=");
    text_add_bytes(&form, assertion.data, assertion.len);
    auth_text_wipe(&assertion);
    if (form.failed) {
        auth_text_wipe(&form);
        return error_memory(err, "a token request");
    }
    struct http_memory memory = {.bytes = form.data, .len = form.len};
    struct http_body body = http_memory_body(&memory);
    const struct http_header header = {"Content-Type", "application/x-www-form-urlencoded"};
    const struct http_request request = {
        .method = "POST",
        .url = fetcher->key.token_uri,
        .headers = &header,
        .header_count = 1,
        .body = &body,
        .reply_timeout_ms = ENDPOINT_WAIT_MS,
        .max_tries = FETCH_TRIES,
        .reply_limit = REPLY_MAX,
    };
    int result = http_send(fetcher->client, &request, ret_reply, err);
    auth_text_wipe(&form);
    return result;
}

/* A reply that is no token is taken for a passing fault: a proxy's page, a cut body. */
static int take_token(const struct auth_fetcher *fetcher, const struct text *body,
                      struct text *ret_token, uint64_t *ret_lifetime_ms, struct error *err)
{
    errno = 0;
    cJSON *json = cJSON_ParseWithLength(text_str(body), body->len);
    if (json == NULL && errno == ENOMEM) {
        return error_memory(err, "an access token");
    }
    cJSON *token = cJSON_GetObjectItemCaseSensitive(json, "access_token");
    const cJSON *lifetime = cJSON_GetObjectItemCaseSensitive(json, "expires_in");
    struct text bearer = TEXT_INIT(AUTH_TOKEN_MAX);
    int result = -1;
    if (!cJSON_IsString(token) || token->valuestring[0] == '\0' || !cJSON_IsNumber(lifetime)) {
        (void)error_retry(err, "no access token: the reply of %s is not one", fetcher->source);
    } else if (!(lifetime->valuedouble >= 1)) {
        (void)error_retry(err, "no access token: %s gave one that has expired already",
                          fetcher->source);
    } else {
        text_add(&bearer, "Bearer ");
        text_add(&bearer, token->valuestring);
        result = bearer.failed ? error_memory(err, "an access token") : 0;
        double seconds =
            lifetime->valuedouble < LIFETIME_MAX_S ? lifetime->valuedouble : LIFETIME_MAX_S;
        *ret_lifetime_ms = (uint64_t)(seconds * 1000);
    }
    if (cJSON_IsString(token)) {
        explicit_bzero(token->valuestring, strlen(token->valuestring));
    }
    cJSON_Delete(json);
    if (result != 0) {
        auth_text_wipe(&bearer);
        return -1;
    }
    *ret_token = bearer;
    return 0;
}

/* Any other final status. The endpoint says why in two fields of which neither is a secret. */
static int refuse(const struct auth_fetcher *fetcher, const struct http_reply *reply,
                  struct error *err)
{
    CLEANUP_TEXT struct text why = TEXT_INIT(16 * SHOWN_MAX);
    cJSON *json = cJSON_ParseWithLength(text_str(&reply->body), reply->body.len);
    const char *const fields[] = {"error", "error_description"};
    for (size_t i = 0; i < ARRAY_LEN(fields); i++) {
        const cJSON *item = cJSON_GetObjectItemCaseSensitive(json, fields[i]);
        if (cJSON_IsString(item)) {
            text_add(&why, why.len == 0 ? ": " : ", ");
            text_add_shown(&why, item->valuestring, strlen(item->valuestring), SHOWN_MAX);
        }
    }
    cJSON_Delete(json);
    return error_stop(err, EXIT_STATUS_RIGHTS,
                      "no access token: %s is refused with HTTP %d%s; check %s", fetcher->source,
                      reply->status, text_str(&why),
                      fetcher->has_key ? "that the key still exists and this machine's clock is "
                                         "right"
                                       : "the VM's service account");
}

static void wipe_reply(struct http_reply *reply)
{
    auth_text_wipe(&reply->body);
}
