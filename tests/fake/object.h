/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * object: one generation of one object with what the client said about it (attributes). Constant
 * once it is in the store, and reference-counted: a change of metadata makes a new one.
 */
#ifndef FAKE_OBJECT_H
#define FAKE_OBJECT_H

#include <cjson/cJSON.h>
#include <stdatomic.h>

#include "base/base.h"
#include "blob.h"

/* Names are 1 to 1,024 bytes; custom metadata is at most 8 KiB: limits of Cloud Storage. */
#define OBJECT_NAME_MAX 1024
#define OBJECT_METADATA_MAX 8192
#define OBJECT_SIZE_MAX ((uint64_t)5 << 40)

enum attribute {
    ATTRIBUTE_CONTENT_TYPE,
    ATTRIBUTE_CONTENT_ENCODING,
    ATTRIBUTE_CONTENT_DISPOSITION,
    ATTRIBUTE_CONTENT_LANGUAGE,
    ATTRIBUTE_CACHE_CONTROL,
    ATTRIBUTE_STORAGE_CLASS,
    ATTRIBUTE_CUSTOM_TIME,
    ATTRIBUTE_KMS_KEY,
    ATTRIBUTE_TEMPORARY_HOLD, /* "true", or not set */
    ATTRIBUTE_EVENT_HOLD,     /* the same */
    ATTRIBUTE_METADATA,       /* the JSON text of an object of strings */
    ATTRIBUTE_COUNT,
};

struct attributes {
    char *values[ATTRIBUTE_COUNT]; /* NULL: not set */
};

struct digest {
    uint64_t size_bytes;
    uint32_t crc32c;
    bool has_md5;
    uint8_t md5[16];
};

struct object {
    atomic_uint references;
    const char *bucket; /* these two live as long as the store */
    const char *name;
    struct attributes attributes;
    struct digest digest;
    uint64_t generation;
    uint64_t metageneration;
    uint32_t component_count; /* 0: not composite */
    uint64_t created_ns;      /* UTC */
    uint64_t updated_ns;
    struct blob *blob; /* NULL with --discard */
};

/* Is it a JSON boolean? */
static inline bool attribute_is_flag(enum attribute attribute)
{
    return attribute == ATTRIBUTE_TEMPORARY_HOLD || attribute == ATTRIBUTE_EVENT_HOLD;
}
/* The JSON name of an attribute. */
const char *attribute_name(enum attribute attribute);
int attribute_set(struct attributes *attributes, enum attribute attribute, const char *value);
/* Overlay the members of `json` that are attributes; null removes one. Returns -1 with a message
 * for people in `problem` when a value is not allowed. */
int attributes_from_json(struct attributes *attributes, const cJSON *json, struct text *problem);
/* Add one custom metadata entry, as XML headers bring them. */
int attributes_add_metadata(struct attributes *attributes, const char *key, const char *value,
                            struct text *problem);
int attributes_copy(struct attributes *to, const struct attributes *from);
void attributes_clear(struct attributes *attributes);

/* Why Cloud Storage would not take this object name; NULL if it would. */
const char *object_name_problem(const char *name);

/* Takes the attributes over and a reference on `blob`; the rest is zero. NULL: out of memory. */
struct object *object_new(struct attributes *attributes, const struct digest *digest,
                          struct blob *blob);
struct object *object_retain(struct object *object);
void object_release(struct object *object); /* NULL is fine */
void object_cleanup(struct object **object);

#endif
