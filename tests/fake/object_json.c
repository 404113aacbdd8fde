/* SPDX-License-Identifier: GPL-3.0-or-later */
/* object_json: the object resource. On the hot path, so text only, no tree of JSON nodes. */
#include "object_json.h"

#include <string.h>

enum field {
    FIELD_KIND,
    FIELD_ID,
    FIELD_SELF_LINK,
    FIELD_MEDIA_LINK,
    FIELD_NAME,
    FIELD_BUCKET,
    FIELD_GENERATION,
    FIELD_METAGENERATION,
    FIELD_SIZE,
    FIELD_CRC32C,
    FIELD_MD5,
    FIELD_COMPONENTS,
    FIELD_ETAG,
    FIELD_CREATED,
    FIELD_UPDATED,
    FIELD_CLASS_UPDATED,
    FIELD_FINALIZED,
    FIELD_COUNT, /* attributes follow */
};

static const char *const field_names[FIELD_COUNT] = {
    [FIELD_KIND] = "kind",
    [FIELD_ID] = "id",
    [FIELD_SELF_LINK] = "selfLink",
    [FIELD_MEDIA_LINK] = "mediaLink",
    [FIELD_NAME] = "name",
    [FIELD_BUCKET] = "bucket",
    [FIELD_GENERATION] = "generation",
    [FIELD_METAGENERATION] = "metageneration",
    [FIELD_SIZE] = "size",
    [FIELD_CRC32C] = "crc32c",
    [FIELD_MD5] = "md5Hash",
    [FIELD_COMPONENTS] = "componentCount",
    [FIELD_ETAG] = "etag",
    [FIELD_CREATED] = "timeCreated",
    [FIELD_UPDATED] = "updated",
    [FIELD_CLASS_UPDATED] = "timeStorageClassUpdated",
    [FIELD_FINALIZED] = "timeFinalized",
};

static uint64_t field_of_word(const char *word, size_t len)
{
    for (unsigned i = 0; i < FIELD_COUNT + ATTRIBUTE_COUNT; i++) {
        const char *name =
            i < FIELD_COUNT ? field_names[i] : attribute_name((enum attribute)(i - FIELD_COUNT));
        if (strlen(name) == len && memcmp(name, word, len) == 0) {
            return (uint64_t)1 << i;
        }
    }
    return 0;
}

uint64_t object_fields(const char *fields)
{
    static const char separators[] = ",()/ ";
    if (fields == NULL || strchr(fields, '*') != NULL) {
        return UINT64_MAX;
    }
    uint64_t mask = 0;
    for (const char *word = fields; *word != '\0';) {
        size_t len = strcspn(word, separators);
        mask |= field_of_word(word, len);
        word += len;
        word += strspn(word, separators);
    }
    return mask == 0 ? UINT64_MAX : mask; /* "items" or "resource": all of it */
}

/* The field's name with quotes and colon, and a comma if it is not the first. */
static bool begin_field(struct text *out, const struct object_view *view, unsigned field)
{
    if ((view->fields & (uint64_t)1 << field) == 0) {
        return false;
    }
    text_add(out, out->data[out->len - 1] == '{' ? "\"" : ",\"");
    text_add(out, field < FIELD_COUNT ? field_names[field]
                                      : attribute_name((enum attribute)(field - FIELD_COUNT)));
    text_add(out, "\":");
    return !out->failed;
}

static void add_number(struct text *out, const struct object_view *view, unsigned field,
                       uint64_t value)
{
    if (begin_field(out, view, field)) {
        text_add_char(out, '"');
        text_add_u64(out, value);
        text_add_char(out, '"');
    }
}

static void add_string(struct text *out, const struct object_view *view, unsigned field,
                       const char *value)
{
    if (begin_field(out, view, field)) {
        text_add_json(out, value, strlen(value));
    }
}

void object_add_time(struct text *out, uint64_t utc_ns)
{
    char time[32];
    clock_format_utc(utc_ns, time);
    size_t len = strcspn(time, "Z");
    unsigned ms = (unsigned)(utc_ns / 1000000 % 1000);
    const char fraction[] = {
        '.', (char)('0' + ms / 100), (char)('0' + ms / 10 % 10), (char)('0' + ms % 10), 'Z', '"'};
    text_add_char(out, '"');
    text_add_bytes(out, time, len);
    text_add_bytes(out, fraction, sizeof(fraction));
}

static void add_time(struct text *out, const struct object_view *view, unsigned field, uint64_t ns)
{
    if (begin_field(out, view, field)) {
        object_add_time(out, ns);
    }
}

static void add_link(struct text *out, const struct object *object, const struct object_view *view,
                     unsigned field)
{
    if (!begin_field(out, view, field)) {
        return;
    }
    text_add_char(out, '"');
    text_add(out, view->origin);
    text_add(out, field == FIELD_MEDIA_LINK ? "/download/storage/v1/b/" : "/storage/v1/b/");
    text_add(out, object->bucket);
    text_add(out, "/o/");
    text_add_url(out, object->name, strlen(object->name));
    if (field == FIELD_MEDIA_LINK) {
        text_add(out, "?generation=");
        text_add_u64(out, object->generation);
        text_add(out, "&alt=media");
    }
    text_add_char(out, '"');
}

static void add_names(struct text *out, const struct object *object, const struct object_view *view)
{
    add_string(out, view, FIELD_KIND, "storage#object");
    if (begin_field(out, view, FIELD_ID)) {
        struct text id CLEANUP_TEXT = TEXT_INIT(4096);
        text_add(&id, object->bucket);
        text_add_char(&id, '/');
        text_add(&id, object->name);
        text_add_char(&id, '/');
        text_add_u64(&id, object->generation);
        text_add_json(out, text_str(&id), id.len);
    }
    add_link(out, object, view, FIELD_SELF_LINK);
    add_link(out, object, view, FIELD_MEDIA_LINK);
    add_string(out, view, FIELD_NAME, object->name);
    add_string(out, view, FIELD_BUCKET, object->bucket);
    add_number(out, view, FIELD_GENERATION, object->generation);
    add_number(out, view, FIELD_METAGENERATION, object->metageneration);
}

static void add_checksums(struct text *out, const struct object *object,
                          const struct object_view *view)
{
    char crc[9];
    crc32c_to_base64(object->digest.crc32c ^ (view->wrong_crc ? 1 : 0), crc);
    add_number(out, view, FIELD_SIZE, object->digest.size_bytes);
    add_string(out, view, FIELD_CRC32C, crc);
    if (object->digest.has_md5 && begin_field(out, view, FIELD_MD5)) {
        text_add_char(out, '"');
        text_add_base64(out, object->digest.md5, sizeof(object->digest.md5));
        text_add_char(out, '"');
    }
    if (object->component_count > 0 && begin_field(out, view, FIELD_COMPONENTS)) {
        text_add_u64(out, object->component_count);
    }
    if (begin_field(out, view, FIELD_ETAG)) {
        const uint64_t tag[2] = {object->generation, object->metageneration};
        text_add_char(out, '"');
        text_add_base64(out, tag, sizeof(tag));
        text_add_char(out, '"');
    }
}

void object_add_json(struct text *out, const struct object *object, const struct object_view *view)
{
    text_add_char(out, '{');
    if (out->failed) {
        return;
    }
    add_names(out, object, view);
    add_checksums(out, object, view);
    add_time(out, view, FIELD_CREATED, object->created_ns);
    add_time(out, view, FIELD_UPDATED, object->updated_ns);
    add_time(out, view, FIELD_CLASS_UPDATED, object->created_ns);
    add_time(out, view, FIELD_FINALIZED, object->created_ns);
    for (unsigned i = 0; i < ATTRIBUTE_COUNT; i++) {
        const char *value = object->attributes.values[i];
        if (value != NULL && (i == ATTRIBUTE_METADATA || attribute_is_flag((enum attribute)i))) {
            if (begin_field(out, view, FIELD_COUNT + i)) {
                text_add(out, value);
            }
        } else if (value != NULL) {
            add_string(out, view, FIELD_COUNT + i, value);
        }
    }
    text_add_char(out, '}');
}
