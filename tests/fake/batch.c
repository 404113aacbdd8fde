/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * batch: POST /batch/storage/v1, up to 100 calls in one multipart/mixed request, each carried out
 * as if it had come by itself. Calls that move an object's bytes are refused, as Cloud Storage
 * does. Scripted faults and holds see the batch, not the calls in it.
 */
#include "batch.h"

#include <string.h>

#include "multipart.h"
#include "reply.h"
#include "route.h"

#define CALLS_MAX 100
#define REPLY_MAX ((size_t)64 << 20)
static const char reply_boundary[] = "batch_fake_gcs";

static bool may_be_batched(const struct operation *operation)
{
    static const struct operation *const operations[] = {
        &object_get_operation,    &object_delete_operation, &object_patch_operation,
        &object_update_operation, &compose_operation,       &rewrite_operation,
        &copy_operation,          &list_operation,          &bucket_get_operation,
    };
    for (size_t i = 0; i < ARRAY_LEN(operations); i++) {
        if (operation == operations[i]) {
            return true;
        }
    }
    return false;
}

static void carry_out(struct request *call, const struct batch_call *parsed)
{
    if (call->xml) {
        call->xml = false; /* the answer is JSON: a batch is of the JSON API */
        reply_error(call, 400, "invalid", "This call is not allowed in a batch");
    } else {
        route_request(call);
    }
    if (call->response == NULL && !may_be_batched(call->operation)) {
        reply_error(call, 400, "invalid", "This call is not allowed in a batch");
    }
    if (call->response == NULL) {
        call->operation->begin(call);
    }
    if (call->response == NULL) {
        text_add_bytes(&call->body, parsed->body, parsed->body_len);
        call->operation->finish(call);
    }
    if (call->response == NULL) {
        reply_memory(call);
    }
}

static void add_reply(struct text *out, const struct batch_call *parsed, unsigned status,
                      const struct text *body)
{
    text_printf(out, "--%s\r\nContent-Type: application/http\r\n", reply_boundary);
    if (parsed->id != NULL) {
        text_printf(out, "Content-ID: <response-%s>\r\n", parsed->id);
    }
    text_printf(out, "\r\nHTTP/1.1 %u %s\r\n", status, MHD_get_reason_phrase_for(status));
    if (body->len > 0) {
        text_add(out, "Content-Type: application/json; charset=UTF-8\r\n");
    }
    text_printf(out, "Content-Length: %zu\r\n\r\n", body->len);
    text_add(out, text_str(body)); /* JSON has no NUL */
    text_add(out, "\r\n");
}

/* One part of the batch. -1 after having answered the whole. */
static int serve_call(struct request *batch, char *part, size_t len, struct text *out)
{
    struct batch_call parsed;
    struct text body CLEANUP_TEXT = TEXT_INIT(REPLY_MAX);
    if (batch_parse_call(part, len, &parsed) != 0) {
        reply_error(batch, 400, "badRequest", "Failed to parse batch request, error: 0 items");
        return -1;
    }
    struct request *call = request_new(batch->server, batch->connection, parsed.target);
    if (call == NULL) {
        reply_memory(batch);
        return -1;
    }
    call->method = parsed.method;
    call->copy = &body;
    carry_out(call, &parsed);
    add_reply(out, &parsed, call->status, &body);
    if (call->status < STATS_STATUS_COUNT) {
        stats_add(&batch->server->stats.by_status[call->status], 1);
    }
    request_free(call);
    return 0;
}

/* The next part: from behind the line of a boundary to before the line end of the next. NULL at
 * the closing boundary, or where there is none. */
static char *next_part(char **rest, const char *boundary, size_t *ret_len)
{
    char *start = *rest == NULL ? NULL : strchr(*rest, '\n');
    if (start == NULL || strncmp(*rest, "--", 2) == 0) {
        return NULL;
    }
    start++;
    char *end = strstr(start, boundary);
    while (end != NULL && end > start && end[-1] != '\n') {
        end = strstr(end + 1, boundary); /* inside of a line it is no boundary */
    }
    if (end == NULL) {
        return NULL;
    }
    *rest = end + strlen(boundary);
    *end = '\0';
    *ret_len = (size_t)(end - start);
    return start;
}

static void begin(struct request *request)
{
    char boundary[MULTIPART_BOUNDARY_MAX + 3];
    if (multipart_boundary(request_header(request, "Content-Type"), "multipart/mixed", boundary) !=
        0) {
        reply_error(request, 400, "badRequest", "A batch is multipart/mixed with a boundary");
    }
}

static void finish(struct request *request)
{
    char boundary[MULTIPART_BOUNDARY_MAX + 3];
    struct text out CLEANUP_TEXT = TEXT_INIT(REPLY_MAX);
    char type[sizeof(reply_boundary) + 40];
    if (multipart_boundary(request_header(request, "Content-Type"), "multipart/mixed", boundary) !=
            0 ||
        strlen(text_str(&request->body)) != request->body.len) {
        reply_error(request, 400, "badRequest", "Failed to parse batch request");
        return;
    }
    char *rest = request->body.len == 0 ? NULL : strstr(request->body.data, boundary);
    rest = rest == NULL ? NULL : rest + strlen(boundary);
    size_t len = 0;
    unsigned count = 0;
    for (char *part; (part = next_part(&rest, boundary, &len)) != NULL; count++) {
        if (count == CALLS_MAX) {
            reply_error(request, 400, "badRequest", "The batch has more than %d calls", CALLS_MAX);
            return;
        }
        if (serve_call(request, part, len, &out) != 0) {
            return;
        }
    }
    if (count == 0 || rest == NULL || strncmp(rest, "--", 2) != 0) {
        reply_error(request, 400, "badRequest", "Failed to parse batch request");
        return;
    }
    text_printf(&out, "--%s--\r\n", reply_boundary);
    (void)snprintf(type, sizeof(type), "multipart/mixed; boundary=%s", reply_boundary);
    reply_text(request, 200, type, &out);
}

const struct operation batch_operation = {begin, NULL, finish, NULL};
