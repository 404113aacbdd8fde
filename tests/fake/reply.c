/* SPDX-License-Identifier: GPL-3.0-or-later */
/* reply: responses of libmicrohttpd from text, errors and object bytes. */
#include "reply.h"

#include <string.h>

#include "object_json.h"

#define ERROR_TEXT_MAX 8192
/* An object's resource: names, 8 KiB of metadata, all escaped. */
#define OBJECT_TEXT_MAX ((size_t)1 << 18)
#define MEDIA_BLOCK ((size_t)1 << 18)

/* The body of a response that is cut half-way by a fault, or read from a blob. */
struct body {
    char *bytes; /* NULL: from the object */
    struct object *object;
    int fd;
    uint64_t offset;
    uint64_t end; /* of what is sent, counted in the response; before its size when it is cut */
    uint64_t size;
};

static void free_body(void *self)
{
    struct body *body = self;
    free(body->bytes);
    object_release(body->object);
    cleanup_close(&body->fd);
    free(body);
}

static ssize_t read_body(void *self, uint64_t position, char *buf, size_t max)
{
    struct body *body = self;
    if (position >= body->end) {
        return MHD_CONTENT_READER_END_WITH_ERROR; /* not called at the true end */
    }
    uint64_t left = body->end - position;
    size_t len = left < max ? (size_t)left : max;
    ssize_t count = 0;
    if (body->bytes != NULL) {
        memcpy(buf, body->bytes + position, len);
        return (ssize_t)len;
    }
    if (body->fd >= 0) {
        count = pread(body->fd, buf, len, (off_t)(body->offset + position));
    } else {
        count = blob_read(body->object->blob, body->offset + position, buf, len);
    }
    return count > 0 ? count : MHD_CONTENT_READER_END_WITH_ERROR;
}

static bool is_cut(const struct request *request)
{
    return request->fault.action == FAULT_CUT_REPLY;
}

static struct MHD_Response *respond_with_body(struct request *request, const struct body *init)
{
    struct body *body = malloc(sizeof(*body));
    if (body == NULL) {
        return NULL;
    }
    *body = *init;
    body->end = is_cut(request) ? body->size / 2 : body->size;
    struct MHD_Response *response =
        MHD_create_response_from_callback(body->size, MEDIA_BLOCK, read_body, body, free_body);
    if (response == NULL) {
        free(body); /* what it points to stays the caller's */
    }
    return response;
}

void reply_text(struct request *request, unsigned status, const char *content_type,
                struct text *body)
{
    if (request->response != NULL) {
        return;
    }
    if (body->failed) {
        reply_memory(request);
        return;
    }
    request->status = status;
    if (request->copy != NULL) {
        text_add(request->copy, text_str(body)); /* JSON has no NUL */
    }
    if (is_cut(request) && body->len > 0) {
        const struct body cut = {.bytes = body->data, .fd = -1, .size = body->len};
        request->response = respond_with_body(request, &cut);
    } else {
        request->response = MHD_create_response_from_buffer(
            body->len, body->data, body->len > 0 ? MHD_RESPMEM_MUST_FREE : MHD_RESPMEM_PERSISTENT);
    }
    if (request->response != NULL) {
        if (body->len > 0) {
            (void)TAKE(body->data); /* the response frees it */
        }
        reply_header(request, "Content-Type", content_type);
    }
}

void reply_empty(struct request *request, unsigned status)
{
    if (request->response == NULL) {
        request->status = status;
        request->response = MHD_create_response_from_buffer(0, NULL, MHD_RESPMEM_PERSISTENT);
    }
}

void reply_header(struct request *request, const char *name, const char *value)
{
    if (request->response != NULL) {
        (void)MHD_add_response_header(request->response, name, value); /* refuses CR and LF */
    }
}

static const char *xml_code(unsigned status)
{
    switch (status) {
    case 400:
        return "InvalidArgument";
    case 401:
        return "AuthenticationRequired";
    case 403:
        return "AccessDenied";
    case 404:
        return "NoSuchKey";
    case 412:
        return "PreconditionFailed";
    case 416:
        return "InvalidRange";
    case 501:
        return "NotImplemented";
    default:
        return "InternalError";
    }
}

static void add_xml(struct text *out, const char *string)
{
    for (; *string != '\0'; string++) {
        if (*string == '<' || *string == '&' || *string == '>') {
            text_printf(out, "&#%d;", *string);
        } else {
            text_add_char(out, *string);
        }
    }
}

void reply_error(struct request *request, unsigned status, const char *reason, const char *fmt, ...)
{
    if (request->response != NULL) {
        return;
    }
    struct text message CLEANUP_TEXT = TEXT_INIT(ERROR_TEXT_MAX);
    char buf[4096];
    va_list args;
    va_start(args, fmt);
    (void)vsnprintf(buf, sizeof(buf), fmt, args); /* a longer message is cut */
    va_end(args);
    struct text body CLEANUP_TEXT = TEXT_INIT(ERROR_TEXT_MAX * 8);
    if (request->xml) {
        text_printf(&body, "<?xml version='1.0' encoding='UTF-8'?><Error><Code>%s</Code><Message>",
                    reason[0] >= 'A' && reason[0] <= 'Z' ? reason : xml_code(status));
        add_xml(&body, buf);
        text_add(&body, "</Message></Error>");
        reply_text(request, status, "application/xml; charset=UTF-8", &body);
        return;
    }
    text_add_json(&message, buf, strlen(buf));
    text_printf(&body, "{\"error\":{\"code\":%u,\"message\":%s,\"errors\":[{\"message\":%s,",
                status, text_str(&message), text_str(&message));
    text_printf(&body, "\"domain\":\"global\",\"reason\":\"%s\"}]}}", reason);
    reply_text(request, status, "application/json; charset=UTF-8", &body);
}

void reply_memory(struct request *request)
{
    if (request->response == NULL) {
        static const char message[] = "out of memory or disk";
        request->status = 500;
        request->response = MHD_create_response_from_buffer(
            strlen(message), (void *)(uintptr_t)message, MHD_RESPMEM_PERSISTENT);
    }
}

void reply_not_found(struct request *request, const char *name)
{
    reply_error(request, 404, "notFound", "No such object: %s/%s", request->bucket, name);
}

void reply_store_result(struct request *request, enum store_result result,
                        enum condition failed_condition)
{
    switch (result) {
    case STORE_OK:
        break;
    case STORE_NOT_FOUND:
        reply_not_found(request, request->object);
        break;
    case STORE_CONDITION:
        reply_error(request, 412, "conditionNotMet",
                    "At least one of the pre-conditions you specified did not hold. (%s)",
                    condition_name(failed_condition));
        break;
    case STORE_NEEDS_DELETE:
        (void)request_need_right(request, RIGHT_DELETE); /* answers: the right is missing */
        break;
    case STORE_RETAINED:
        reply_error(request, 403, "retentionPolicyNotMet",
                    "Object '%s/%s' is subject to bucket's retention policy and cannot be deleted, "
                    "overwritten or archived yet",
                    request->bucket, request->object);
        break;
    case STORE_HELD:
        reply_error(request, 403, "objectUnderActiveHold",
                    "Object '%s/%s' is under active hold and cannot be deleted, overwritten or "
                    "archived until hold is removed.",
                    request->bucket, request->object);
        break;
    case STORE_FAILED:
        reply_error(request, 500, "backendError", "out of memory or disk");
        break;
    }
}

void reply_object(struct request *request, const struct object *object)
{
    struct text origin CLEANUP_TEXT = TEXT_INIT(ERROR_TEXT_MAX);
    struct text body CLEANUP_TEXT = TEXT_INIT(OBJECT_TEXT_MAX);
    request_add_origin(request, &origin);
    const struct object_view view = {
        .origin = text_str(&origin),
        .fields = object_fields(request_param(request, "fields")),
        .wrong_crc = request->fault.action == FAULT_WRONG_CRC,
    };
    object_add_json(&body, object, &view);
    reply_text(request, 200, "application/json; charset=UTF-8", &body);
}

void reply_media(struct request *request, unsigned status, struct object *object, uint64_t offset,
                 uint64_t len)
{
    if (request->response != NULL) {
        return;
    }
    if (len == 0) {
        reply_empty(request, status);
        return;
    }
    int fd CLEANUP_CLOSE = blob_open_fd(object->blob);
    request->status = status;
    if (fd >= 0 && !is_cut(request)) {
        request->response = MHD_create_response_from_fd_at_offset64(len, fd, offset);
        fd = request->response != NULL ? -1 : fd; /* the response closes it */
        return;
    }
    const struct body body = {.object = object, .fd = fd, .offset = offset, .size = len};
    request->response = respond_with_body(request, &body);
    if (request->response != NULL) {
        (void)object_retain(object);
        fd = -1;
    }
}
