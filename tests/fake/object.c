/* SPDX-License-Identifier: GPL-3.0-or-later */
/* object: attributes as clients send them, the rules for names, and reference counting. */
#include "object.h"

#include <ctype.h>
#include <string.h>

static const char *const attribute_names[ATTRIBUTE_COUNT] = {
    [ATTRIBUTE_CONTENT_TYPE] = "contentType",
    [ATTRIBUTE_CONTENT_ENCODING] = "contentEncoding",
    [ATTRIBUTE_CONTENT_DISPOSITION] = "contentDisposition",
    [ATTRIBUTE_CONTENT_LANGUAGE] = "contentLanguage",
    [ATTRIBUTE_CACHE_CONTROL] = "cacheControl",
    [ATTRIBUTE_STORAGE_CLASS] = "storageClass",
    [ATTRIBUTE_CUSTOM_TIME] = "customTime",
    [ATTRIBUTE_KMS_KEY] = "kmsKeyName",
    [ATTRIBUTE_TEMPORARY_HOLD] = "temporaryHold",
    [ATTRIBUTE_EVENT_HOLD] = "eventBasedHold",
    [ATTRIBUTE_METADATA] = "metadata",
};

static const char *const storage_classes[] = {
    "STANDARD",
    "NEARLINE",
    "COLDLINE",
    "ARCHIVE",
    "MULTI_REGIONAL",
    "REGIONAL",
    "DURABLE_REDUCED_AVAILABILITY",
};

const char *attribute_name(enum attribute attribute)
{
    return attribute_names[attribute];
}

int attribute_set(struct attributes *attributes, enum attribute attribute, const char *value)
{
    char *copy = value == NULL ? NULL : strdup(value);
    free(attributes->values[attribute]);
    attributes->values[attribute] = copy;
    return value != NULL && copy == NULL ? -1 : 0;
}

/* "2026-11-29T21:58:52Z", with a fraction or an offset as well. */
static bool looks_like_time(const char *value)
{
    static const char shape[] = "dddd-dd-ddTdd:dd:dd";
    for (size_t i = 0; shape[i] != '\0'; i++) {
        bool digit = isdigit((unsigned char)value[i]) != 0;
        if (shape[i] == 'd' ? !digit : value[i] != shape[i]) {
            return false;
        }
    }
    const char *zone = value + strlen(shape);
    if (*zone == '.') {
        zone++;
        zone += strspn(zone, "0123456789");
    }
    return strcmp(zone, "Z") == 0 || ((*zone == '+' || *zone == '-') && strlen(zone) == 6);
}

static bool value_allowed(enum attribute attribute, const char *value, struct text *problem)
{
    if (attribute == ATTRIBUTE_CUSTOM_TIME && !looks_like_time(value)) {
        text_printf(problem, "Invalid value for customTime: not an RFC 3339 time");
        return false;
    }
    if (attribute != ATTRIBUTE_STORAGE_CLASS) {
        return true;
    }
    for (size_t i = 0; i < ARRAY_LEN(storage_classes); i++) {
        if (strcmp(storage_classes[i], value) == 0) {
            return true;
        }
    }
    text_printf(problem, "Invalid storage class");
    return false;
}

/* The custom metadata after `json` has been laid over it: keys in order, null removes. */
static int merge_metadata(struct attributes *attributes, const cJSON *json, struct text *problem)
{
    cJSON *merged = attributes->values[ATTRIBUTE_METADATA] == NULL
                        ? cJSON_CreateObject()
                        : cJSON_Parse(attributes->values[ATTRIBUTE_METADATA]);
    const cJSON *item = NULL;
    size_t total = 0;
    cJSON_ArrayForEach(item, json)
    {
        cJSON_DeleteItemFromObjectCaseSensitive(merged, item->string);
        if (cJSON_IsString(item)) {
            (void)cJSON_AddStringToObject(merged, item->string, item->valuestring);
        } else if (!cJSON_IsNull(item)) {
            text_printf(problem, "Invalid value in metadata: not a string");
        }
    }
    struct text out CLEANUP_TEXT = TEXT_INIT((size_t)1 << 20);
    text_add_char(&out, '{');
    cJSON_ArrayForEach(item, merged)
    {
        total += strlen(item->string) + strlen(item->valuestring);
        text_add(&out, out.len > 1 ? "," : "");
        text_add_json(&out, item->string, strlen(item->string));
        text_add_char(&out, ':');
        text_add_json(&out, item->valuestring, strlen(item->valuestring));
    }
    text_add_char(&out, '}');
    cJSON_Delete(merged);
    if (total > OBJECT_METADATA_MAX || out.failed) {
        text_printf(problem, "The total metadata size, %zu bytes, exceeds the limit of %d bytes",
                    total, OBJECT_METADATA_MAX);
    }
    if (problem->len > 0) {
        return -1;
    }
    return attribute_set(attributes, ATTRIBUTE_METADATA, out.len > 2 ? text_str(&out) : NULL);
}

static int take_attribute(struct attributes *attributes, enum attribute attribute,
                          const cJSON *value, struct text *problem)
{
    if (cJSON_IsNull(value)) {
        return attribute_set(attributes, attribute, NULL);
    }
    if (attribute_is_flag(attribute) && cJSON_IsBool(value)) {
        return attribute_set(attributes, attribute, cJSON_IsTrue(value) ? "true" : NULL);
    }
    if (attribute == ATTRIBUTE_METADATA && cJSON_IsObject(value)) {
        return merge_metadata(attributes, value, problem);
    }
    if (attribute == ATTRIBUTE_METADATA || attribute_is_flag(attribute) || !cJSON_IsString(value)) {
        text_printf(problem, "Invalid value for %s", attribute_names[attribute]);
        return -1;
    }
    if (!value_allowed(attribute, value->valuestring, problem)) {
        return -1;
    }
    return attribute_set(attributes, attribute, value->valuestring);
}

int attributes_from_json(struct attributes *attributes, const cJSON *json, struct text *problem)
{
    const cJSON *member = NULL;
    cJSON_ArrayForEach(member, json)
    {
        for (int i = 0; member->string != NULL && i < ATTRIBUTE_COUNT; i++) {
            if (strcmp(member->string, attribute_names[i]) == 0 &&
                take_attribute(attributes, (enum attribute)i, member, problem) != 0) {
                return -1;
            }
        }
    }
    return 0;
}

int attributes_add_metadata(struct attributes *attributes, const char *key, const char *value,
                            struct text *problem)
{
    cJSON *json = cJSON_CreateObject();
    (void)cJSON_AddStringToObject(json, key, value); /* NULL only without memory: nothing merges */
    int result = merge_metadata(attributes, json, problem);
    cJSON_Delete(json);
    return result;
}

int attributes_copy(struct attributes *to, const struct attributes *from)
{
    *to = (struct attributes){0};
    for (int i = 0; i < ATTRIBUTE_COUNT; i++) {
        if (attribute_set(to, (enum attribute)i, from->values[i]) != 0) {
            attributes_clear(to);
            return -1;
        }
    }
    return 0;
}

void attributes_clear(struct attributes *attributes)
{
    for (int i = 0; i < ATTRIBUTE_COUNT; i++) {
        free(attributes->values[i]);
    }
    *attributes = (struct attributes){0};
}

const char *object_name_problem(const char *name)
{
    static const char reserved[] = ".well-known/acme-challenge/";
    size_t len = strlen(name);
    if (len == 0) {
        return "The object name is empty";
    }
    if (len > OBJECT_NAME_MAX) {
        return "The specified object name is longer than 1024 bytes";
    }
    if (!utf_valid_utf8(name, len)) {
        return "The specified object name is not valid UTF-8";
    }
    if (strpbrk(name, "\r\n") != NULL) {
        return "Disallowed unicode characters present in object name";
    }
    if (strcmp(name, ".") == 0 || strcmp(name, "..") == 0 ||
        strncmp(name, reserved, strlen(reserved)) == 0) {
        return "The specified object name is not allowed";
    }
    return NULL;
}

struct object *object_new(struct attributes *attributes, const struct digest *digest,
                          struct blob *blob)
{
    struct object *object = calloc(1, sizeof(*object));
    if (object == NULL) {
        return NULL;
    }
    atomic_init(&object->references, 1);
    object->attributes = *attributes;
    *attributes = (struct attributes){0};
    object->digest = *digest;
    object->metageneration = 1;
    object->blob = blob_retain(blob);
    return object;
}

struct object *object_retain(struct object *object)
{
    atomic_fetch_add(&object->references, 1);
    return object;
}

void object_release(struct object *object)
{
    if (object == NULL || atomic_fetch_sub(&object->references, 1) != 1) {
        return;
    }
    attributes_clear(&object->attributes);
    blob_release(object->blob);
    free(object);
}

void object_cleanup(struct object **object)
{
    object_release(*object);
}
