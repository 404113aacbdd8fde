/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The client, one exchange with the server, and the calls that need nothing else: get and delete.
 */
#include "gcs_internal.h"

#include <errno.h>
#include <string.h>

struct gcs_client *gcs_client_new(const struct gcs_settings *settings, struct error *err)
{
    struct gcs_client *client = calloc(1, sizeof(*client));
    if (client == NULL) {
        (void)error_memory(err, "a storage client");
        return NULL;
    }
    client->settings = *settings;
    client->url = TEXT_INIT(GCS_URL_LIMIT);
    client->body = TEXT_INIT(GCS_BODY_LIMIT);

    /* 128 random bits: no media contains the boundary, so none has to be searched for it. */
    static const char type[] = "multipart/related; boundary=";
    uint8_t bits[16];
    char digits[33];
    random_bytes(bits, sizeof(bits));
    for (size_t i = 0; i < sizeof(bits); i++) {
        (void)snprintf(digits + 2 * i, 3, "%02x", bits[i]);
    }
    (void)snprintf(client->related_type, sizeof(client->related_type), "%s%s", type, digits);
    (void)snprintf(client->related_tail, sizeof(client->related_tail), "\r\n--%s--\r\n", digits);
    client->boundary = client->related_type + sizeof(type) - 1;

    client->http = http_client_new(&settings->http, err);
    if (client->http == NULL) {
        gcs_client_free(client);
        return NULL;
    }
    return client;
}

void gcs_client_free(struct gcs_client *client)
{
    if (client == NULL) {
        return;
    }
    http_client_free(client->http);
    text_free(&client->url);
    text_free(&client->body);
    free(client);
}

bool gcs_earlier_try_unanswered(const struct gcs_client *client)
{
    return client->earlier_try_unanswered;
}

void gcs_url_begin(struct gcs_client *client, const char *root, const char *path, const char *name)
{
    struct text *url = &client->url;
    text_reset(url);
    text_add(url, client->settings.endpoint.url);
    text_add(url, root);
    text_add(url, "/b/");
    text_add_url(url, client->settings.bucket, strlen(client->settings.bucket));
    text_add(url, path);
    if (name != NULL) {
        text_add_url(url, name, strlen(name));
    }
}

void gcs_url_query(struct gcs_client *client, const char *key, const char *value)
{
    text_add(&client->url, key);
    text_add_url(&client->url, value, strlen(value));
}

void gcs_url_query_u64(struct gcs_client *client, const char *key, uint64_t value)
{
    text_add(&client->url, key);
    text_add_u64(&client->url, value);
}

int gcs_url_end(struct gcs_client *client, struct error *err)
{
    if (client->settings.billing_project != NULL) {
        gcs_url_query(client, "&userProject=", client->settings.billing_project);
    }
    return client->url.failed ? error_memory(err, "a request URL") : 0;
}

cJSON *gcs_json_parse(const char *json, size_t len, struct error *err)
{
    if (len == 0) {
        return NULL;
    }
    int saved = errno;
    errno = 0;
    cJSON *root = cJSON_ParseWithLength(json, len);
    if (root == NULL && errno == ENOMEM) {
        (void)error_memory(err, "a reply of the server");
    }
    errno = saved;
    return root;
}

enum gcs_answer gcs_exchange_run(struct gcs_client *client, const struct gcs_exchange *exchange,
                                 struct http_reply *ret_reply, struct error *err)
{
    const struct gcs_settings *settings = &client->settings;
    struct http_request request = {
        .method = exchange->method,
        .url = text_str(&client->url),
        .headers = exchange->headers,
        .header_count = exchange->header_count,
        .body = exchange->body,
        .authorize =
            !settings->endpoint.is_emulator && settings->http.credentials.authorization != NULL,
        .reply_timeout_ms = exchange->reply_timeout_ms,
        .reply_limit = exchange->reply_limit,
        .sink = exchange->sink,
        .sink_restart = exchange->sink_restart,
        .sink_self = exchange->sink_self,
        .judge = gcs_answer_judge,
    };
    *ret_reply = (struct http_reply){0};
    client->earlier_try_unanswered = true;
    if (http_send(client->http, &request, ret_reply, err) != 0) {
        if (err != NULL && err->kind != ERROR_CANCELLED) {
            char what[420];
            gcs_answer_describe(exchange->call, settings->bucket, exchange->name, what,
                                sizeof(what));
            (void)error_add(err, "%s", what);
        }
        return GCS_ERROR;
    }
    client->earlier_try_unanswered = ret_reply->earlier_try_unanswered;
    if (ret_reply->status >= 200 && ret_reply->status < 300) {
        return GCS_DONE;
    }
    return gcs_answer_classify(exchange->call, settings->bucket, exchange->name, ret_reply->status,
                               &ret_reply->body, err);
}

enum gcs_answer gcs_delete(struct gcs_client *client, const char *name, uint64_t generation,
                           struct error *err)
{
    gcs_url_begin(client, "/storage/v1", "/o/", name);
    gcs_url_query_u64(client, "?generation=", generation);
    if (gcs_url_end(client, err) != 0) {
        return GCS_ERROR;
    }
    struct gcs_exchange exchange = {
        .call = GCS_CALL_DELETE,
        .method = "DELETE",
        .name = name,
        .reply_timeout_ms = GCS_INSERT_TIMEOUT_MS,
    };
    struct http_reply reply;
    enum gcs_answer answer = gcs_exchange_run(client, &exchange, &reply, err);
    if (answer == GCS_NOT_FOUND && reply.earlier_try_unanswered) {
        answer = GCS_DONE;
    }
    http_reply_clear(&reply);
    return answer;
}

enum gcs_answer gcs_get(struct gcs_client *client, const char *name, struct gcs_object *ret_object,
                        struct error *err)
{
    gcs_url_begin(client, "/storage/v1", "/o/", name);
    text_add(&client->url, "?fields=" GCS_FIELDS_OBJECT);
    if (gcs_url_end(client, err) != 0) {
        return GCS_ERROR;
    }
    struct gcs_exchange exchange = {
        .call = GCS_CALL_GET,
        .method = "GET",
        .name = name,
        .reply_timeout_ms = GCS_INSERT_TIMEOUT_MS,
    };
    struct http_reply reply;
    enum gcs_answer answer = gcs_exchange_run(client, &exchange, &reply, err);
    if (answer == GCS_DONE && gcs_object_scan(reply.body.data, reply.body.len, ret_object) != 0) {
        char what[420];
        gcs_answer_describe(GCS_CALL_GET, client->settings.bucket, name, what, sizeof(what));
        (void)error_retry(err, "%s: the server's reply is not an object resource", what);
        answer = GCS_ERROR;
    }
    http_reply_clear(&reply);
    return answer;
}

enum gcs_answer gcs_look_after_write(struct gcs_client *client, enum gcs_call call,
                                     const struct gcs_write *write, struct error *err)
{
    struct error looked = {0};
    struct gcs_object object;
    enum gcs_answer answer = gcs_get(client, write->name, &object, &looked);
    client->earlier_try_unanswered = true;
    char what[420];
    gcs_answer_describe(call, client->settings.bucket, write->name, what, sizeof(what));
    if (answer == GCS_DONE && object.generation != write->if_generation) {
        (void)error_entry(err, "conflict",
                          "%s: accepted with an unreadable reply, and something is there", what);
        return GCS_EXISTS;
    }
    if (answer == GCS_DENIED) {
        (void)error_entry(err, "present-unverified",
                          "%s: accepted with an unreadable reply, and no right to look "
                          "(storage.objects.get)",
                          what);
    } else if (answer == GCS_DONE || answer == GCS_NOT_FOUND) {
        (void)error_retry(err,
                          "%s: the reply is unreadable and nothing was written; a proxy may "
                          "answer instead of the server",
                          what);
    } else if (err != NULL) {
        *err = looked;
    }
    return GCS_ERROR;
}
