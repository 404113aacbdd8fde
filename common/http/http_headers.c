/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Request headers as the list libcurl wants, in memory that is used again for every request:
 * libcurl only reads the nodes, so they need no allocation each.
 */
#include <string.h>
#include <strings.h>

#include "http/http_internal.h"

struct builder {
    struct http_client *client;
    size_t offsets[HTTP_HEADERS_MAX]; /* into header_text, which may move while it grows */
    size_t count;
};

static int add(struct builder *builder, const char *name, const char *value, struct error *err);

int http_headers_build(struct http_client *client, const struct http_call *call, struct error *err)
{
    const struct http_request *request = call->request;
    struct builder builder = {.client = client};
    bool has_type = false;
    text_reset(&client->header_text);
    for (size_t i = 0; i < request->header_count; i++) {
        const struct http_header *header = &request->headers[i];
        if (strcasecmp(header->name, "Authorization") == 0) {
            return error_stop(err, EXIT_STATUS_INTERNAL,
                              "an Authorization header must come from the credentials");
        }
        has_type = has_type || strcasecmp(header->name, "Content-Type") == 0;
        if (add(&builder, header->name, header->value, err) != 0) {
            return -1;
        }
    }
    if (call->authorized && add(&builder, "Authorization", client->authorization, err) != 0) {
        return -1;
    }
    /* A name without a value takes away what libcurl would add by itself: the wait for a
     * "100 Continue", and the content type of a web form. */
    if (add(&builder, "x-goog-gcs-idempotency-token", call->token, err) != 0 ||
        add(&builder, "Expect", NULL, err) != 0 ||
        (!has_type && add(&builder, "Content-Type", NULL, err) != 0)) {
        return -1;
    }
    if (client->header_text.failed) {
        return error_memory(err, "the headers of a request");
    }
    for (size_t i = 0; i < builder.count; i++) {
        client->header_nodes[i].data = client->header_text.data + builder.offsets[i];
        client->header_nodes[i].next = i + 1 < builder.count ? &client->header_nodes[i + 1] : NULL;
    }
    return 0;
}

static int add(struct builder *builder, const char *name, const char *value, struct error *err)
{
    struct text *text = &builder->client->header_text;
    if (builder->count == HTTP_HEADERS_MAX) {
        return error_stop(err, EXIT_STATUS_INTERNAL, "more than %d headers in one request",
                          HTTP_HEADERS_MAX);
    }
    if (value != NULL && strpbrk(value, "\r\n") != NULL) {
        return error_stop(err, EXIT_STATUS_INTERNAL, "a line break in the header %s", name);
    }
    builder->offsets[builder->count++] = text->len;
    text_add(text, name);
    if (value != NULL && value[0] == '\0') {
        text_add(text, ";"); /* how libcurl spells a header that is sent empty */
    } else {
        text_add(text, ":");
        if (value != NULL) {
            text_add(text, " ");
            text_add(text, value);
        }
    }
    text_add_char(text, '\0');
    return 0;
}
