/* SPDX-License-Identifier: GPL-3.0-or-later */
/* xml_object: x-goog-… headers, in and out. */
#include "xml_object.h"

#include <inttypes.h>
#include <string.h>
#include <time.h>

#include "reply.h"

struct metadata_headers {
    struct request *request;
    struct insert *insert;
    int result;
};

static enum MHD_Result on_header(void *self, enum MHD_ValueKind kind, const char *name,
                                 const char *value)
{
    static const char prefix[] = "x-goog-meta-";
    struct metadata_headers *headers = self;
    (void)kind;
    if (strncasecmp(name, prefix, strlen(prefix)) != 0) {
        return MHD_YES;
    }
    char *key CLEANUP_FREE = strdup(name + strlen(prefix));
    if (key == NULL) {
        reply_memory(headers->request);
        headers->result = -1;
        return MHD_NO;
    }
    for (char *c = key; *c != '\0'; c++) { /* header names have no case */
        *c = (char)(*c >= 'A' && *c <= 'Z' ? *c | 0x20 : *c);
    }
    struct text problem CLEANUP_TEXT = TEXT_INIT(4096);
    headers->result = attributes_add_metadata(&headers->insert->attributes, key,
                                              value == NULL ? "" : value, &problem);
    if (headers->result != 0) {
        reply_error(headers->request, 400, "invalid", "%s.", text_str(&problem));
    }
    return headers->result == 0 ? MHD_YES : MHD_NO;
}

int xml_fill_insert(struct request *request, struct insert *insert)
{
    static const struct {
        const char *header;
        const char *member;
    } named[] = {
        {"Content-Encoding", "contentEncoding"},
        {"Content-Disposition", "contentDisposition"},
        {"Content-Language", "contentLanguage"},
        {"Cache-Control", "cacheControl"},
        {"x-goog-storage-class", "storageClass"},
        {"x-goog-custom-time", "customTime"},
        {"x-goog-encryption-kms-key-name", "kmsKeyName"},
    };
    cJSON *json = cJSON_CreateObject();
    for (size_t i = 0; i < ARRAY_LEN(named); i++) {
        const char *value = request_header(request, named[i].header);
        if (value != NULL) {
            (void)cJSON_AddStringToObject(json, named[i].member, value); /* lost without memory */
        }
    }
    struct text problem CLEANUP_TEXT = TEXT_INIT(4096);
    int result = attributes_from_json(&insert->attributes, json, &problem);
    cJSON_Delete(json);
    if (result != 0) {
        reply_error(request, 400, "invalid", "%s.", text_str(&problem));
        return -1;
    }
    struct metadata_headers headers = {.request = request, .insert = insert};
    (void)MHD_get_connection_values(request->connection, MHD_HEADER_KIND, on_header, &headers);
    return headers.result != 0 ? -1 : request_header_conditions(request, &insert->conditions);
}

static void add_number(struct request *request, const char *name, uint64_t value)
{
    char number[24];
    (void)snprintf(number, sizeof(number), "%" PRIu64, value);
    reply_header(request, name, number);
}

static void add_hash(struct request *request, const struct object *object)
{
    bool wrong = request->fault.action == FAULT_WRONG_CRC;
    char crc[9];
    crc32c_to_base64(object->digest.crc32c ^ (wrong ? 1 : 0), crc);
    struct text hash CLEANUP_TEXT = TEXT_INIT(128);
    text_printf(&hash, "crc32c=%s", crc);
    if (object->digest.has_md5) {
        text_add(&hash, ",md5=");
        text_add_base64(&hash, object->digest.md5, sizeof(object->digest.md5));
    }
    reply_header(request, "x-goog-hash", text_str(&hash));
}

static void add_metadata(struct request *request, const struct object *object)
{
    const char *metadata = object->attributes.values[ATTRIBUTE_METADATA];
    cJSON *json = metadata == NULL ? NULL : cJSON_Parse(metadata);
    const cJSON *entry = NULL;
    cJSON_ArrayForEach(entry, json)
    {
        char name[256];
        int len = snprintf(name, sizeof(name), "x-goog-meta-%s", entry->string);
        if (len < (int)sizeof(name) && cJSON_IsString(entry)) {
            reply_header(request, name, entry->valuestring);
        }
    }
    cJSON_Delete(json);
}

void xml_add_object_headers(struct request *request, const struct object *object)
{
    static const struct {
        const char *header;
        enum attribute attribute;
    } attributes[] = {
        {"Content-Type", ATTRIBUTE_CONTENT_TYPE},
        {"Content-Encoding", ATTRIBUTE_CONTENT_ENCODING},
        {"Content-Disposition", ATTRIBUTE_CONTENT_DISPOSITION},
        {"Content-Language", ATTRIBUTE_CONTENT_LANGUAGE},
        {"Cache-Control", ATTRIBUTE_CACHE_CONTROL},
        {"x-goog-storage-class", ATTRIBUTE_STORAGE_CLASS},
        {"x-goog-custom-time", ATTRIBUTE_CUSTOM_TIME},
    };
    const char *encoding = object->attributes.values[ATTRIBUTE_CONTENT_ENCODING];
    char text[64];
    add_number(request, "x-goog-generation", object->generation);
    add_number(request, "x-goog-metageneration", object->metageneration);
    add_number(request, "x-goog-stored-content-length", object->digest.size_bytes);
    reply_header(request, "x-goog-stored-content-encoding",
                 encoding == NULL ? "identity" : encoding);
    if (object->component_count > 0) {
        add_number(request, "x-goog-component-count", object->component_count);
    }
    add_hash(request, object);
    (void)snprintf(text, sizeof(text), "\"%" PRIx64 "-%" PRIx64 "\"", object->generation,
                   object->metageneration);
    reply_header(request, "ETag", text);
    time_t seconds = (time_t)(object->updated_ns / 1000000000u);
    struct tm date;
    if (gmtime_r(&seconds, &date) != NULL &&
        strftime(text, sizeof(text), "%a, %d %b %Y %H:%M:%S GMT", &date) > 0) {
        reply_header(request, "Last-Modified", text);
    }
    for (size_t i = 0; i < ARRAY_LEN(attributes); i++) {
        const char *value = object->attributes.values[attributes[i].attribute];
        if (value != NULL) {
            reply_header(request, attributes[i].header, value);
        }
    }
    add_metadata(request, object);
}
