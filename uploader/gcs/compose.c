/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Joins up to 32 objects into one. Sources are pinned by generation alone: one that is gone then
 * answers 404, and a 412 always means the destination.
 */
#include "gcs_internal.h"

#include <assert.h>
#include <string.h>

static int compose_body(struct gcs_client *client, const struct gcs_write *write,
                        const struct gcs_source *sources, size_t count, bool delete_sources,
                        struct error *err)
{
    struct text *body = &client->body;
    text_reset(body);
    text_add(body, "{\"sourceObjects\":[");
    for (size_t i = 0; i < count; i++) {
        text_add(body, i == 0 ? "{\"name\":" : ",{\"name\":");
        text_add_json(body, sources[i].name, strlen(sources[i].name));
        text_add(body, ",\"generation\":\"");
        text_add_u64(body, sources[i].generation);
        text_add(body, "\"}");
    }
    text_add(body, "],\"destination\":{");
    gcs_write_members(body, write);
    text_add(body, delete_sources ? "},\"deleteSourceObjects\":true}" : "}}");
    return body->failed ? error_memory(err, "a compose request") : 0;
}

enum gcs_answer gcs_compose(struct gcs_client *client, const struct gcs_write *write,
                            const struct gcs_source *sources, size_t count, bool delete_sources,
                            struct gcs_object *ret_object, struct error *err)
{
    assert(count >= 1 && count <= GCS_COMPOSE_MAX);
    gcs_url_begin(client, "/storage/v1", "/o/", write->name);
    text_add(&client->url, "/compose?fields=" GCS_FIELDS_WRITTEN ",componentCount");
    gcs_url_write(client, write);
    if (gcs_url_end(client, err) != 0 ||
        compose_body(client, write, sources, count, delete_sources, err) != 0) {
        return GCS_ERROR;
    }
    struct http_memory memory = {.bytes = client->body.data, .len = client->body.len};
    struct http_body body = http_memory_body(&memory);
    struct http_header header = {.name = "Content-Type", .value = "application/json"};
    struct gcs_exchange exchange = {
        .call = GCS_CALL_COMPOSE,
        .method = "POST",
        .name = write->name,
        .headers = &header,
        .header_count = 1,
        .body = &body,
        .reply_timeout_ms = GCS_COMPOSE_TIMEOUT_MS,
    };
    struct http_reply reply;
    enum gcs_answer answer = gcs_exchange_run(client, &exchange, &reply, err);
    bool is_readable =
        answer != GCS_DONE || gcs_object_scan(reply.body.data, reply.body.len, ret_object) == 0;
    http_reply_clear(&reply);
    return is_readable ? answer : gcs_look_after_write(client, GCS_CALL_COMPOSE, write, err);
}
