/* SPDX-License-Identifier: GPL-3.0-or-later */
/* insert_media: an object that is the whole body: uploadType=media, and PUT of the XML API. */
#include <string.h>

#include "insert.h"
#include "reply.h"
#include "route.h"
#include "xml_object.h"

static int fill_from_query(struct request *request, struct insert *insert)
{
    static const struct {
        const char *param;
        enum attribute attribute;
    } params[] = {{"contentEncoding", ATTRIBUTE_CONTENT_ENCODING},
                  {"kmsKeyName", ATTRIBUTE_KMS_KEY}};
    for (size_t i = 0; i < ARRAY_LEN(params); i++) {
        const char *value = request_param(request, params[i].param);
        if (value != NULL && attribute_set(&insert->attributes, params[i].attribute, value) != 0) {
            reply_memory(request);
            return -1;
        }
    }
    return request_conditions(request, "", &insert->conditions);
}

static void begin(struct request *request)
{
    struct insert *insert = calloc(1, sizeof(*insert));
    request->state = insert;
    if (insert == NULL) {
        reply_memory(request);
        return;
    }
    if (insert_check_access(request) != 0 || insert_expect_headers(request, insert) != 0) {
        return;
    }
    const char *content_type = request_header(request, "Content-Type");
    if (attribute_set(&insert->attributes, ATTRIBUTE_CONTENT_TYPE, content_type) != 0) {
        reply_memory(request);
        return;
    }
    int filled = request->xml ? xml_fill_insert(request, insert) : fill_from_query(request, insert);
    if (filled == 0) {
        (void)insert_open(request, insert); /* has answered if it fails */
    }
}

static void take(struct request *request, const char *bytes, size_t len)
{
    insert_take(request->state, bytes, len);
}

static void finish(struct request *request)
{
    struct object *object CLEANUP(object_cleanup) = insert_put(request, request->state);
    if (object == NULL) {
        return;
    }
    if (request->xml) {
        reply_empty(request, 200);
        xml_add_object_headers(request, object);
    } else {
        reply_object(request, object);
    }
}

static void clear(struct request *request)
{
    insert_clear(request->state);
    free(request->state);
}

const struct operation insert_media_operation = {begin, take, finish, clear};
