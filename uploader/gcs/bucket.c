/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What the bucket says about itself, and which rights this identity has on it.
 */
#include "gcs_internal.h"

#include <string.h>

static const struct {
    enum gcs_right right;
    const char *permission;
} permissions[] = {
    {GCS_RIGHT_CREATE, "storage.objects.create"},  {GCS_RIGHT_GET, "storage.objects.get"},
    {GCS_RIGHT_DELETE, "storage.objects.delete"},  {GCS_RIGHT_LIST, "storage.objects.list"},
    {GCS_RIGHT_BUCKET_GET, "storage.buckets.get"},
};

static void copy_string(const cJSON *root, const char *key, char *out, size_t size)
{
    const char *value = cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(root, key));
    (void)snprintf(out, size, "%s", value != NULL ? value : "");
}

/* A 64-bit integer, which the API writes as a string. */
static uint64_t nested_u64(const cJSON *root, const char *outer, const char *inner)
{
    const cJSON *object = cJSON_GetObjectItemCaseSensitive(root, outer);
    const cJSON *value = cJSON_GetObjectItemCaseSensitive(object, inner);
    const char *string = cJSON_GetStringValue(value);
    uint64_t number = 0;
    if (string != NULL && parse_u64(string, &number) == 0) {
        return number;
    }
    return cJSON_IsNumber(value) && value->valueint > 0 ? (uint64_t)value->valueint : 0;
}

static bool nested_true(const cJSON *root, const char *outer, const char *inner)
{
    const cJSON *object = cJSON_GetObjectItemCaseSensitive(root, outer);
    return cJSON_IsTrue(cJSON_GetObjectItemCaseSensitive(object, inner)) != 0;
}

/* The reply, which has to be an object. */
static cJSON *parse_object(const char *json, size_t len, struct error *err)
{
    struct error cause = {0};
    cJSON *root = gcs_json_parse(json, len, &cause);
    if (cJSON_IsObject(root)) {
        return root;
    }
    cJSON_Delete(root);
    if (cause.kind != ERROR_NONE) {
        (void)error_memory(err, "a reply about the bucket");
    } else {
        (void)error_retry(err, "the server's reply is not what was asked for");
    }
    return NULL;
}

int gcs_bucket_scan(const char *json, size_t len, struct gcs_bucket *ret_bucket, struct error *err)
{
    cJSON *root = parse_object(json, len, err);
    if (root == NULL) {
        return -1;
    }
    struct gcs_bucket bucket = {
        .soft_delete_seconds = nested_u64(root, "softDeletePolicy", "retentionDurationSeconds"),
        .retention_seconds = nested_u64(root, "retentionPolicy", "retentionPeriod"),
        .versioning = nested_true(root, "versioning", "enabled"),
        .hierarchical = nested_true(root, "hierarchicalNamespace", "enabled"),
        .default_event_hold =
            cJSON_IsTrue(cJSON_GetObjectItemCaseSensitive(root, "defaultEventBasedHold")) != 0,
    };
    copy_string(root, "location", bucket.location, sizeof(bucket.location));
    copy_string(root, "storageClass", bucket.storage_class, sizeof(bucket.storage_class));
    cJSON_Delete(root);
    *ret_bucket = bucket;
    return 0;
}

int gcs_rights_scan(const char *json, size_t len, unsigned *ret_rights, struct error *err)
{
    cJSON *root = parse_object(json, len, err);
    if (root == NULL) {
        return -1;
    }
    unsigned rights = 0;
    const cJSON *item;
    cJSON_ArrayForEach(item, cJSON_GetObjectItemCaseSensitive(root, "permissions"))
    {
        const char *permission = cJSON_GetStringValue(item);
        for (size_t i = 0; permission != NULL && i < ARRAY_LEN(permissions); i++) {
            if (strcmp(permission, permissions[i].permission) == 0) {
                rights |= permissions[i].right;
            }
        }
    }
    cJSON_Delete(root);
    *ret_rights = rights;
    return 0;
}

static enum gcs_answer ask(struct gcs_client *client, enum gcs_call call,
                           struct http_reply *ret_reply, struct error *err)
{
    struct gcs_exchange exchange = {
        .call = call,
        .method = "GET",
        .reply_timeout_ms = GCS_INSERT_TIMEOUT_MS,
    };
    return gcs_exchange_run(client, &exchange, ret_reply, err);
}

/* Both calls are optional: a server that answers something else does without, lack of memory does
 * not. */
static enum gcs_answer not_understood(struct gcs_client *client, enum gcs_call call,
                                      struct error *err)
{
    char what[420];
    gcs_answer_describe(call, client->settings.bucket, NULL, what, sizeof(what));
    (void)error_add(err, "%s", what);
    return err != NULL && err->kind == ERROR_RETRY ? GCS_UNSUPPORTED : GCS_ERROR;
}

enum gcs_answer gcs_get_bucket(struct gcs_client *client, struct gcs_bucket *ret_bucket,
                               struct error *err)
{
    gcs_url_begin(client, "/storage/v1", "", NULL);
    text_add(&client->url, "?fields=location,storageClass,retentionPolicy,defaultEventBasedHold,"
                           "softDeletePolicy,hierarchicalNamespace,versioning");
    if (gcs_url_end(client, err) != 0) {
        return GCS_ERROR;
    }
    struct http_reply reply;
    enum gcs_answer answer = ask(client, GCS_CALL_BUCKET, &reply, err);
    if (answer == GCS_DONE &&
        gcs_bucket_scan(reply.body.data, reply.body.len, ret_bucket, err) != 0) {
        answer = not_understood(client, GCS_CALL_BUCKET, err);
    }
    http_reply_clear(&reply);
    return answer;
}

enum gcs_answer gcs_test_rights(struct gcs_client *client, unsigned *ret_rights, struct error *err)
{
    gcs_url_begin(client, "/storage/v1", "/iam/testPermissions", NULL);
    for (size_t i = 0; i < ARRAY_LEN(permissions); i++) {
        gcs_url_query(client,
                      i == 0 ? "?permissions=" : "&permissions=", permissions[i].permission);
    }
    if (gcs_url_end(client, err) != 0) {
        return GCS_ERROR;
    }
    struct http_reply reply;
    enum gcs_answer answer = ask(client, GCS_CALL_RIGHTS, &reply, err);
    if (answer == GCS_DONE &&
        gcs_rights_scan(reply.body.data, reply.body.len, ret_rights, err) != 0) {
        answer = not_understood(client, GCS_CALL_RIGHTS, err);
    }
    http_reply_clear(&reply);
    return answer;
}
