/* SPDX-License-Identifier: GPL-3.0-or-later */
/* object_calls: metadata of one object: get, delete, patch, update. */
#include <string.h>

#include "reply.h"
#include "route.h"

static void begin_get(struct request *request)
{
    if (request_need_bucket(request) == 0) {
        (void)request_need_right(request, RIGHT_GET); /* answers if it is missing */
    }
}

static void finish_get(struct request *request)
{
    struct conditions conditions;
    uint64_t generation = 0;
    bool given = false;
    stats_add(&request->server->stats.gets, 1);
    if (request_conditions(request, "", &conditions) != 0 ||
        request_number(request, "generation", &given, &generation) != 0) {
        return;
    }
    struct object *object CLEANUP(object_cleanup) =
        store_get(request->server->store, request->bucket, request->object, generation);
    if (object == NULL) {
        reply_not_found(request, request->object);
        return;
    }
    enum condition failed = CONDITION_COUNT;
    if (conditions_met(&conditions, object->generation, object->metageneration, &failed)) {
        reply_object(request, object);
    } else if (failed == CONDITION_NOT_GENERATION || failed == CONDITION_NOT_METAGENERATION) {
        reply_empty(request, 304);
    } else {
        reply_store_result(request, STORE_CONDITION, failed);
    }
}

const struct operation object_get_operation = {begin_get, NULL, finish_get, NULL};

static void begin_delete(struct request *request)
{
    if (request_need_bucket(request) == 0) {
        (void)request_need_right(request, RIGHT_DELETE); /* answers if it is missing */
    }
}

static void finish_delete(struct request *request)
{
    struct server *server = request->server;
    struct conditions conditions;
    enum condition failed = CONDITION_COUNT;
    uint64_t generation = 0;
    bool given = false;
    int read = request->xml ? request_header_conditions(request, &conditions)
                            : request_conditions(request, "", &conditions);
    if (read != 0 || request_number(request, "generation", &given, &generation) != 0) {
        return;
    }
    enum store_result result = store_delete(server->store, request->bucket, request->object,
                                            generation, &conditions, &failed);
    if (result != STORE_OK) {
        reply_store_result(request, result, failed);
        return;
    }
    stats_add(&server->stats.deletes, 1);
    reply_empty(request, 204);
}

const struct operation object_delete_operation = {begin_delete, NULL, finish_delete, NULL};

static void begin_change(struct request *request)
{
    if (request_need_bucket(request) == 0) {
        (void)request_need_right(request, RIGHT_UPDATE); /* answers if it is missing */
    }
}

/* The object after the change that the body asks for; NULL after having answered. */
static struct object *changed_object(struct request *request, const struct object *old, bool whole)
{
    struct attributes attributes = {0};
    struct text problem CLEANUP_TEXT = TEXT_INIT(REQUEST_MAX_SMALL_BODY);
    cJSON *json = request_parse_json(request, text_str(&request->body), request->body.len);
    if (json == NULL) {
        return NULL;
    }
    int result = attributes_copy(&attributes, &old->attributes);
    if (result == 0 && whole) { /* an update replaces all metadata that it does not repeat */
        result = attribute_set(&attributes, ATTRIBUTE_METADATA, NULL);
    }
    struct object *object = NULL;
    if (result == 0 && attributes_from_json(&attributes, json, &problem) != 0) {
        reply_error(request, 400, "invalid", "%s.", text_str(&problem));
    } else if (result == 0) {
        object = object_new(&attributes, &old->digest, old->blob);
    }
    if (object == NULL) {
        reply_memory(request); /* unless it is answered */
    }
    attributes_clear(&attributes);
    cJSON_Delete(json);
    return object;
}

static void change(struct request *request, bool whole)
{
    struct server *server = request->server;
    struct conditions conditions;
    enum condition failed = CONDITION_METAGENERATION;
    uint64_t generation = 0;
    bool given = false;
    if (request_conditions(request, "", &conditions) != 0 ||
        request_number(request, "generation", &given, &generation) != 0) {
        return;
    }
    struct object *old CLEANUP(object_cleanup) =
        store_get(server->store, request->bucket, request->object, generation);
    if (old == NULL) {
        reply_not_found(request, request->object);
        return;
    }
    if (!conditions_met(&conditions, old->generation, old->metageneration, &failed)) {
        reply_store_result(request, STORE_CONDITION, failed);
        return;
    }
    struct object *object CLEANUP(object_cleanup) = changed_object(request, old, whole);
    if (object == NULL) {
        return;
    }
    enum store_result result = store_update(server->store, old, object);
    if (result == STORE_OK) {
        reply_object(request, object);
    } else {
        reply_store_result(request, result, failed);
    }
}

static void finish_patch(struct request *request)
{
    change(request, false);
}

static void finish_update(struct request *request)
{
    change(request, true);
}

const struct operation object_patch_operation = {begin_change, NULL, finish_patch, NULL};
const struct operation object_update_operation = {begin_change, NULL, finish_update, NULL};
