/* SPDX-License-Identifier: GPL-3.0-or-later */
/* copy: copyTo and rewriteTo, both done in one call. */
#include <inttypes.h>

#include "object_json.h"
#include "reply.h"
#include "route.h"

#define REPLY_MAX ((size_t)1 << 19)

/* "…/b/SOURCE_BUCKET/o/SOURCE/rewriteTo/b/BUCKET/o/OBJECT": the last four segments. */
static void begin(struct request *request)
{
    if (request_need_bucket(request) != 0 || request_need_right(request, RIGHT_GET) != 0 ||
        request_need_right(request, RIGHT_CREATE) != 0) {
        return;
    }
    request->bucket = request->segments[request->segment_count - 3];
    request->object = request->segments[request->segment_count - 1];
    if (request_need_bucket(request) == 0) {
        (void)request_need_name(request); /* answers if it is not allowed */
    }
}

static struct object *find_source(struct request *request)
{
    const char *bucket = request->segments[request->segment_count - 8];
    const char *name = request->segments[request->segment_count - 6];
    struct conditions conditions;
    enum condition failed = CONDITION_COUNT;
    uint64_t generation = 0;
    bool given = false;
    if (request_conditions(request, "Source", &conditions) != 0 ||
        request_number(request, "sourceGeneration", &given, &generation) != 0) {
        return NULL;
    }
    struct object *source = store_get(request->server->store, bucket, name, generation);
    if (source == NULL) {
        reply_error(request, 404, "notFound", "No such object: %s/%s", bucket, name);
        return NULL;
    }
    if (!conditions_met(&conditions, source->generation, source->metageneration, &failed)) {
        reply_store_result(request, STORE_CONDITION, failed);
        object_release(source);
        return NULL;
    }
    return source;
}

/* The source's attributes, with those of a destination resource over them. */
static int read_attributes(struct request *request, const struct object *source,
                           struct attributes *ret)
{
    struct text problem CLEANUP_TEXT = TEXT_INIT(REQUEST_MAX_SMALL_BODY);
    cJSON *json = request_parse_json(request, text_str(&request->body), request->body.len);
    if (json == NULL) {
        return -1;
    }
    int result = attributes_copy(ret, &source->attributes);
    if (result == 0 && attributes_from_json(ret, json, &problem) != 0) {
        reply_error(request, 400, "invalid", "%s.", text_str(&problem));
        result = -1;
    }
    cJSON_Delete(json);
    if (result != 0) {
        attributes_clear(ret);
        reply_memory(request); /* unless it is answered */
    }
    return result;
}

static struct object *copy_of(struct request *request, const struct object *source)
{
    struct attributes attributes = {0};
    struct blob *blob CLEANUP(blob_cleanup) = NULL;
    if (read_attributes(request, source, &attributes) != 0) {
        return NULL;
    }
    struct object *object = NULL;
    if (blob_new(&request->server->storage, request->bucket, request->object, &blob) == 0 &&
        blob_append_blob(blob, source->blob) == 0) {
        blob_seal(blob);
        object = object_new(&attributes, &source->digest, blob);
    }
    attributes_clear(&attributes);
    if (object == NULL) {
        reply_memory(request);
    } else {
        object->component_count = source->component_count;
    }
    return object;
}

static struct object *put_copy(struct request *request)
{
    struct server *server = request->server;
    struct conditions conditions;
    struct object *source CLEANUP(object_cleanup) = NULL;
    if (request_conditions(request, "", &conditions) != 0) {
        return NULL;
    }
    source = find_source(request);
    struct object *object CLEANUP(object_cleanup) =
        source == NULL ? NULL : copy_of(request, source);
    if (object == NULL) {
        return NULL;
    }
    const struct store_put put = {
        .bucket = request->bucket,
        .name = request->object,
        .conditions = &conditions,
        .may_replace = (server->options->rights & RIGHT_DELETE) != 0,
        .kind = PUT_COPY,
    };
    enum condition failed = CONDITION_COUNT;
    enum store_result result = store_put(server->store, &put, object, &failed);
    if (result != STORE_OK) {
        reply_store_result(request, result, failed);
        return NULL;
    }
    stats_add(&server->stats.copies, 1);
    return TAKE(object);
}

static void finish_copy(struct request *request)
{
    struct object *object CLEANUP(object_cleanup) = put_copy(request);
    if (object != NULL) {
        reply_object(request, object);
    }
}

static void finish_rewrite(struct request *request)
{
    struct object *object CLEANUP(object_cleanup) = put_copy(request);
    if (object == NULL) {
        return;
    }
    struct text origin CLEANUP_TEXT = TEXT_INIT(4096);
    struct text body CLEANUP_TEXT = TEXT_INIT(REPLY_MAX);
    request_add_origin(request, &origin);
    const struct object_view view = {
        .origin = text_str(&origin),
        .fields = UINT64_MAX,
        .wrong_crc = request->fault.action == FAULT_WRONG_CRC,
    };
    text_printf(&body,
                "{\"kind\":\"storage#rewriteResponse\",\"totalBytesRewritten\":\"%" PRIu64
                "\",\"objectSize\":\"%" PRIu64 "\",\"done\":true,\"resource\":",
                object->digest.size_bytes, object->digest.size_bytes);
    object_add_json(&body, object, &view);
    text_add_char(&body, '}');
    reply_text(request, 200, "application/json; charset=UTF-8", &body);
}

const struct operation copy_operation = {begin, NULL, finish_copy, NULL};
const struct operation rewrite_operation = {begin, NULL, finish_rewrite, NULL};
