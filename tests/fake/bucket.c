/* SPDX-License-Identifier: GPL-3.0-or-later */
/* bucket: calls about buckets. Every bucket exists unless its name says otherwise. */
#include "bucket.h"

#include <string.h>

#include "reply.h"
#include "route.h"

#define CREATED "2026-01-01T00:00:00.000Z"

const char *bucket_storage_class(const struct server *server)
{
    const char *value = match_string(server->bucket_json, "storageClass");
    return value == NULL ? "STANDARD" : value;
}

static cJSON *bucket_resource(const struct request *request, const char *name)
{
    struct text link CLEANUP_TEXT = TEXT_INIT(4096);
    request_add_origin(request, &link);
    text_printf(&link, "/storage/v1/b/%s", name);
    const char *const members[][2] = {
        {"kind", "storage#bucket"},        {"id", name},
        {"selfLink", text_str(&link)},     {"name", name},
        {"projectNumber", "123456789012"}, {"location", "US-CENTRAL1"},
        {"locationType", "region"},        {"storageClass", "STANDARD"},
        {"metageneration", "1"},           {"etag", "CAE="},
        {"timeCreated", CREATED},          {"updated", CREATED},
    };
    cJSON *json = cJSON_CreateObject();
    for (size_t i = 0; i < ARRAY_LEN(members); i++) {
        (void)cJSON_AddStringToObject(json, members[i][0], members[i][1]); /* without memory less */
    }
    const cJSON *overlay = NULL;
    cJSON_ArrayForEach(overlay, request->server->bucket_json)
    {
        cJSON_DeleteItemFromObjectCaseSensitive(json, overlay->string);
        (void)cJSON_AddItemToObject(json, overlay->string, cJSON_Duplicate(overlay, true));
    }
    return json;
}

/* Answers with `json` and deletes it. */
static void reply_json(struct request *request, cJSON *json)
{
    char *printed CLEANUP_FREE = cJSON_PrintUnformatted(json);
    struct text body CLEANUP_TEXT = TEXT_INIT(REQUEST_MAX_SMALL_BODY);
    cJSON_Delete(json);
    if (printed == NULL) {
        reply_memory(request);
        return;
    }
    text_add(&body, printed);
    reply_text(request, 200, "application/json; charset=UTF-8", &body);
}

static void begin_get(struct request *request)
{
    if (request_need_bucket(request) == 0) {
        (void)request_need_right(request, RIGHT_BUCKETS_GET); /* answers if it is missing */
    }
}

static void finish_get(struct request *request)
{
    reply_json(request, bucket_resource(request, request->bucket));
}

const struct operation bucket_get_operation = {begin_get, NULL, finish_get, NULL};

static void begin_any(struct request *request)
{
    if (request->bucket != NULL) {
        (void)request_need_bucket(request); /* answers if there is none */
    }
}

static void finish_create(struct request *request)
{
    cJSON *json = request_parse_json(request, text_str(&request->body), request->body.len);
    const char *name = match_string(json, "name");
    request->bucket = name == NULL ? "" : name;
    if (json != NULL && request_need_bucket(request) == 0) {
        finish_get(request);
    }
    request->bucket = NULL;
    cJSON_Delete(json);
}

const struct operation bucket_create_operation = {begin_any, NULL, finish_create, NULL};

struct bucket_items {
    const struct request *request;
    cJSON *array;
};

static void add_bucket(void *self, const char *bucket)
{
    struct bucket_items *items = self;
    cJSON_AddItemToArray(items->array, bucket_resource(items->request, bucket));
}

static void finish_list(struct request *request)
{
    cJSON *json = cJSON_CreateObject();
    (void)cJSON_AddStringToObject(json, "kind", "storage#buckets");
    struct bucket_items items = {request, cJSON_AddArrayToObject(json, "items")};
    store_visit_buckets(request->server->store, add_bucket, &items);
    reply_json(request, json);
}

const struct operation bucket_list_operation = {begin_any, NULL, finish_list, NULL};

static void finish_permissions(struct request *request)
{
    cJSON *json = cJSON_CreateObject();
    (void)cJSON_AddStringToObject(json, "kind", "storage#testIamPermissionsResponse");
    cJSON *granted = cJSON_CreateArray();
    for (size_t i = 0; i < request->param_count; i++) {
        const struct param *param = &request->params[i];
        if (strcmp(param->name, "permissions") == 0 &&
            rights_grant(request->server->options->rights, param->value)) {
            (void)cJSON_AddItemToArray(granted, cJSON_CreateString(param->value));
        }
    }
    if (cJSON_GetArraySize(granted) > 0) { /* Cloud Storage leaves an empty list out */
        (void)cJSON_AddItemToObject(json, "permissions", granted);
    } else {
        cJSON_Delete(granted);
    }
    reply_json(request, json);
}

const struct operation bucket_permissions_operation = {begin_any, NULL, finish_permissions, NULL};

static void finish_layout(struct request *request)
{
    cJSON *json = cJSON_CreateObject();
    (void)cJSON_AddStringToObject(json, "kind", "storage#storageLayout");
    (void)cJSON_AddStringToObject(json, "bucket", request->bucket);
    (void)cJSON_AddStringToObject(json, "location", "US-CENTRAL1");
    (void)cJSON_AddStringToObject(json, "locationType", "region");
    cJSON *hierarchical = cJSON_AddObjectToObject(json, "hierarchicalNamespace");
    (void)cJSON_AddBoolToObject(hierarchical, "enabled", false);
    reply_json(request, json);
}

const struct operation bucket_layout_operation = {begin_any, NULL, finish_layout, NULL};
