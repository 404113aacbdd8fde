/* SPDX-License-Identifier: GPL-3.0-or-later */
/* compose: one object out of up to 32 others of its bucket. */
#include <string.h>

#include "insert.h"
#include "reply.h"
#include "route.h"

#define SOURCES_MAX 32
#define MESSAGE_MAX 4096

struct compose {
    struct object *sources[SOURCES_MAX]; /* references */
    size_t source_count;
    struct attributes attributes;
    struct digest digest;
    uint32_t component_count;
    bool delete_sources;
};

static void begin(struct request *request)
{
    if (request_need_bucket(request) != 0 || request_need_right(request, RIGHT_CREATE) != 0 ||
        request_need_right(request, RIGHT_GET) != 0) {
        return;
    }
    (void)request_need_name(request); /* answers if it is not allowed */
}

/* A generation is a string in JSON; a number is taken too, and null is none, as Google's Python
 * library writes it. False when it is something else. */
static bool read_generation(const cJSON *json, const char *name, bool *ret_given, uint64_t *ret)
{
    const cJSON *item = cJSON_GetObjectItemCaseSensitive(json, name);
    *ret_given = item != NULL && !cJSON_IsNull(item);
    *ret = 0;
    if (!*ret_given) {
        return true;
    }
    return cJSON_IsString(item) ? parse_u64(item->valuestring, ret) == 0
                                : match_number(json, name, 0, ret, NULL) == 0;
}

static int add_source(struct request *request, struct compose *compose, const cJSON *json)
{
    const char *name = match_string(json, "name");
    const cJSON *wanted = cJSON_GetObjectItemCaseSensitive(json, "objectPreconditions");
    struct conditions conditions = {0};
    enum condition failed = CONDITION_COUNT;
    uint64_t generation = 0;
    bool given = false;
    if (name == NULL || !read_generation(json, "generation", &given, &generation) ||
        !read_generation(wanted, "ifGenerationMatch", &conditions.given[CONDITION_GENERATION],
                         &conditions.values[CONDITION_GENERATION])) {
        reply_error(request, 400, "invalid", "Invalid source object");
        return -1;
    }
    struct object *source = store_get(request->server->store, request->bucket, name, generation);
    if (source == NULL) {
        reply_not_found(request, name);
        return -1;
    }
    for (size_t i = 0; request->server->options->unique_sources && i < compose->source_count; i++) {
        if (compose->sources[i] == source) {
            object_release(source);
            reply_error(request, 400, "invalid", "A source object is named twice");
            return -1;
        }
    }
    compose->sources[compose->source_count++] = source;
    if (!conditions_met(&conditions, source->generation, source->metageneration, &failed)) {
        reply_store_result(request, STORE_CONDITION, failed);
        return -1;
    }
    const char *class = source->attributes.values[ATTRIBUTE_STORAGE_CLASS];
    const char *first = compose->sources[0]->attributes.values[ATTRIBUTE_STORAGE_CLASS];
    if (strcmp(class == NULL ? "" : class, first == NULL ? "" : first) != 0) {
        reply_error(request, 400, "invalid", "Source objects have different storage classes");
        return -1;
    }
    return 0;
}

static int read_sources(struct request *request, struct compose *compose, const cJSON *json)
{
    const cJSON *array = cJSON_GetObjectItemCaseSensitive(json, "sourceObjects");
    int count = cJSON_GetArraySize(array);
    if (!cJSON_IsArray(array) || count == 0) {
        reply_error(request, 400, "invalid", "You must provide at least one source component.");
        return -1;
    }
    if (count > SOURCES_MAX) {
        reply_error(request, 400, "invalid",
                    "The number of source components provided (%d) exceeds the maximum (%d)", count,
                    SOURCES_MAX);
        return -1;
    }
    const cJSON *source = NULL;
    cJSON_ArrayForEach(source, array)
    {
        if (add_source(request, compose, source) != 0) {
            return -1;
        }
    }
    return 0;
}

static int read_destination(struct request *request, struct compose *compose, const cJSON *json)
{
    struct text problem CLEANUP_TEXT = TEXT_INIT(MESSAGE_MAX);
    const cJSON *destination = cJSON_GetObjectItemCaseSensitive(json, "destination");
    const char *kms_key = request_param(request, "kmsKeyName");
    /* The class of the result is the sources', whatever is asked. */
    const char *class = compose->sources[0]->attributes.values[ATTRIBUTE_STORAGE_CLASS];
    if (attributes_from_json(&compose->attributes, destination, &problem) != 0) {
        reply_error(request, 400, "invalid", "%s.", text_str(&problem));
        return -1;
    }
    if (attribute_set(&compose->attributes, ATTRIBUTE_STORAGE_CLASS, class) != 0 ||
        (kms_key != NULL && attribute_set(&compose->attributes, ATTRIBUTE_KMS_KEY, kms_key) != 0) ||
        (compose->attributes.values[ATTRIBUTE_CONTENT_TYPE] == NULL &&
         attribute_set(&compose->attributes, ATTRIBUTE_CONTENT_TYPE, "application/octet-stream") !=
             0)) {
        reply_memory(request);
        return -1;
    }
    const cJSON *flag = cJSON_GetObjectItemCaseSensitive(json, "deleteSourceObjects");
    compose->delete_sources =
        !request->server->options->ignore_delete_sources &&
        (cJSON_IsTrue(flag) || request_param_is(request, "deleteSourceObjects", "true"));
    return compose->delete_sources ? request_need_right(request, RIGHT_DELETE) : 0;
}

static int join(struct request *request, struct compose *compose, struct blob *blob)
{
    struct digest *digest = &compose->digest;
    for (size_t i = 0; i < compose->source_count; i++) {
        const struct object *source = compose->sources[i];
        uint64_t size = source->digest.size_bytes;
        digest->crc32c = crc32c_combine(digest->crc32c, source->digest.crc32c, size);
        digest->size_bytes += size;
        compose->component_count += source->component_count == 0 ? 1 : source->component_count;
        if (digest->size_bytes > OBJECT_SIZE_MAX) {
            reply_error(request, 400, "invalid", "The composed object is larger than 5 TiB");
            return -1;
        }
        if (blob_append_blob(blob, source->blob) != 0) {
            reply_memory(request);
            return -1;
        }
    }
    blob_seal(blob);
    return 0;
}

static void delete_sources(struct request *request, const struct compose *compose)
{
    for (size_t i = 0; i < compose->source_count; i++) {
        /* One that was named twice, or that the result has replaced, is gone already. */
        (void)store_delete_source(request->server->store, compose->sources[i]);
    }
}

static void put(struct request *request, struct compose *compose,
                const struct conditions *conditions)
{
    struct server *server = request->server;
    struct blob *blob CLEANUP(blob_cleanup) = NULL;
    const struct store_put put = {
        .bucket = request->bucket,
        .name = request->object,
        .conditions = conditions,
        .may_replace = (server->options->rights & RIGHT_DELETE) != 0,
        .kind = PUT_COMPOSE,
    };
    enum condition failed = CONDITION_COUNT;
    enum store_result result = store_check_put(server->store, &put, &failed);
    if (result != STORE_OK) { /* before any bytes are copied */
        reply_store_result(request, result, failed);
        return;
    }
    if (blob_new(&server->storage, request->bucket, request->object, &blob) != 0) {
        reply_memory(request);
        return;
    }
    if (join(request, compose, blob) != 0) {
        return;
    }
    struct object *object CLEANUP(object_cleanup) =
        object_new(&compose->attributes, &compose->digest, blob);
    if (object == NULL) {
        reply_memory(request);
        return;
    }
    object->component_count = compose->component_count;
    result = store_put(server->store, &put, object, &failed);
    if (result != STORE_OK) {
        reply_store_result(request, result, failed);
        return;
    }
    stats_add(&server->stats.composes, 1);
    if (compose->delete_sources) {
        delete_sources(request, compose);
    }
    reply_object(request, object);
}

static void finish(struct request *request)
{
    struct compose compose = {0};
    struct conditions conditions;
    cJSON *json = request_parse_json(request, text_str(&request->body), request->body.len);
    if (json != NULL && request_conditions(request, "", &conditions) == 0 &&
        read_sources(request, &compose, json) == 0 &&
        read_destination(request, &compose, json) == 0) {
        put(request, &compose, &conditions);
    }
    for (size_t i = 0; i < compose.source_count; i++) {
        object_release(compose.sources[i]);
    }
    attributes_clear(&compose.attributes);
    cJSON_Delete(json);
}

const struct operation compose_operation = {begin, NULL, finish, NULL};
