/* SPDX-License-Identifier: GPL-3.0-or-later */
/* insert_multipart: uploadType=multipart, metadata and bytes of an object in one request. */
#include <string.h>

#include "insert.h"
#include "multipart.h"
#include "reply.h"
#include "route.h"

struct related {
    struct insert insert;
    struct multipart multipart;
    struct request *request;
    char *name; /* from the metadata; request->object points here */
};

static int on_metadata(void *self, const char *json_bytes, size_t len, const char *media_type)
{
    struct related *related = self;
    struct request *request = related->request;
    struct insert *insert = &related->insert;
    const char *name = NULL;
    cJSON *json = request_parse_json(request, json_bytes, len);
    if (json == NULL) {
        return -1;
    }
    int result = insert_take_metadata(request, insert, json, &name);
    if (result == 0 && request->object == NULL && name != NULL) {
        related->name = strdup(name);
        request->object = related->name; /* NULL is answered by insert_open() */
    }
    cJSON_Delete(json);
    if (result == 0 && insert->attributes.values[ATTRIBUTE_CONTENT_TYPE] == NULL &&
        media_type[0] != '\0') {
        result = attribute_set(&insert->attributes, ATTRIBUTE_CONTENT_TYPE, media_type);
    }
    return result == 0 ? insert_open(request, insert) : -1;
}

static void on_media(void *self, const char *bytes, size_t len)
{
    struct related *related = self;
    insert_take(&related->insert, bytes, len);
}

static void malformed(struct request *request)
{
    reply_error(request, 400, "badContent", "Malformed multipart body.");
}

static void begin(struct request *request)
{
    struct related *related = calloc(1, sizeof(*related));
    request->state = related;
    if (related == NULL) {
        reply_memory(request);
        return;
    }
    related->request = request;
    const struct multipart_sink sink = {on_metadata, on_media, related};
    const char *content_type = request_header(request, "Content-Type");
    const char *kms_key = request_param(request, "kmsKeyName");
    if (insert_check_access(request) != 0 ||
        request_conditions(request, "", &related->insert.conditions) != 0 ||
        insert_expect_headers(request, &related->insert) != 0) {
        return;
    }
    if (kms_key != NULL &&
        attribute_set(&related->insert.attributes, ATTRIBUTE_KMS_KEY, kms_key) != 0) {
        reply_memory(request);
        return;
    }
    if (multipart_init(&related->multipart, content_type, &sink) != 0) {
        malformed(request);
    }
}

static void take(struct request *request, const char *bytes, size_t len)
{
    struct related *related = request->state;
    if (multipart_take(&related->multipart, bytes, len) != 0) {
        malformed(request); /* unless a better answer is there */
    }
}

static void finish(struct request *request)
{
    struct related *related = request->state;
    if (!multipart_is_whole(&related->multipart)) {
        malformed(request);
        return;
    }
    struct object *object CLEANUP(object_cleanup) = insert_put(request, &related->insert);
    if (object != NULL) {
        reply_object(request, object);
    }
}

static void clear(struct request *request)
{
    struct related *related = request->state;
    insert_clear(&related->insert);
    multipart_clear(&related->multipart);
    free(related->name);
    free(related);
}

const struct operation insert_multipart_operation = {begin, take, finish, clear};
