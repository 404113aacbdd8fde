/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * An entry as a blob. Names stand first, because paths need nothing else. Record, sequence and the
 * kind of the entry are in its slot. decode.c reads it.
 */
#include "catalog/catalog_internal.h"
#include "catalog/varint.h"

#include <string.h>

/* Flags, counts, times, ids: 20 numbers at most. */
enum { ENTRY_FIXED_BYTES = 20 * VARINT_BYTES_MAX, NAME_FIXED_BYTES = 3 + 2 * VARINT_BYTES_MAX };
enum { STREAM_FIXED_BYTES = 2 + 8 * VARINT_BYTES_MAX, EXTENT_BYTES = 2 * VARINT_BYTES_MAX };

static unsigned entry_flags(const struct volume_entry *entry);
static void count_parts(const struct volume_entry *entry, uint64_t *ret_units,
                        uint64_t *ret_extents);
static uint8_t *put_names(uint8_t *out, const struct volume_entry *entry);
static uint8_t *put_standard(uint8_t *out, const struct volume_entry *entry);
static uint8_t *put_stream(uint8_t *out, const struct volume_stream *stream, uint64_t own_record,
                           int problem);
static uint8_t *put_extents(uint8_t *out, const struct volume_stream *stream);
static uint8_t *put_values(uint8_t *out, const struct volume_entry *entry);
static uint8_t *put_value(uint8_t *out, const uint8_t *bytes, size_t len);
static uint8_t *put_units(uint8_t *out, const uint16_t *units, size_t len);

size_t catalog_encode_bound(const struct volume_entry *entry)
{
    uint64_t units;
    uint64_t extents;
    count_parts(entry, &units, &extents);
    const size_t parts[][2] = {
        {ENTRY_FIXED_BYTES, 1},
        {entry->name_count, NAME_FIXED_BYTES},
        {entry->stream_count, STREAM_FIXED_BYTES},
        {units, 2},
        {extents, EXTENT_BYTES},
        {entry->reparse_len, 1},
        {entry->ea_len, 1},
        {entry->security_len, 1},
        {entry->efs_len, 1},
        {CATALOG_OBJECT_ID_BYTES + 4 * VARINT_BYTES_MAX, 1},
    };
    size_t bound = 0;
    for (size_t i = 0; i < ARRAY_LEN(parts); i++) {
        size_t bytes;
        if (__builtin_mul_overflow(parts[i][0], parts[i][1], &bytes) ||
            __builtin_add_overflow(bound, bytes, &bound)) {
            return SIZE_MAX;
        }
    }
    return bound;
}

uint8_t *catalog_encode(struct catalog_words *words, const struct volume_entry *entry, uint8_t *out)
{
    uint64_t units;
    uint64_t extents;
    count_parts(entry, &units, &extents);
    out = varint_put(out, entry_flags(entry));
    out = varint_put(out, entry->name_count);
    out = varint_put(out, entry->stream_count);
    out = varint_put(out, units);
    out = varint_put(out, extents);
    out = put_names(out, entry);
    out = put_standard(out, entry);
    for (size_t i = 0; i < entry->stream_count; i++) {
        int problem = catalog_words_number(words, entry->streams[i].problem);
        if (problem < 0) {
            return NULL;
        }
        out = put_stream(out, &entry->streams[i], entry->record, problem);
    }
    int problem = catalog_words_number(words, entry->problem);
    if (problem < 0) {
        return NULL;
    }
    if (problem > 0) {
        out = varint_put(out, (uint64_t)problem);
    }
    int lost = catalog_words_number(words, entry->lost_value);
    if (lost < 0) {
        return NULL;
    }
    if (lost > 0) {
        out = varint_put(out, (uint64_t)lost);
    }
    return put_values(out, entry);
}

static unsigned entry_flags(const struct volume_entry *entry)
{
    bool dos_only = true;
    for (size_t i = 0; i < entry->name_count; i++) {
        dos_only = dos_only && entry->names[i].space == CATALOG_SPACE_DOS;
    }
    return (entry->directory ? CATALOG_DIRECTORY : 0U) |
           (entry->has_standard ? CATALOG_HAS_STANDARD : 0U) |
           (entry->case_sensitive ? CATALOG_CASE_SENSITIVE : 0U) |
           (dos_only ? CATALOG_DOS_NAMES_ONLY : 0U) |
           (entry->problem != NULL ? CATALOG_PROBLEM : 0U) |
           (entry->lost_value != NULL ? CATALOG_LOST_VALUE : 0U) |
           (entry->reparse_tag != 0 ? CATALOG_REPARSE_TAG : 0U) |
           (entry->reparse != NULL ? CATALOG_REPARSE : 0U) |
           (entry->object_id != NULL ? CATALOG_OBJECT_ID : 0U) |
           (entry->ea != NULL ? CATALOG_EA : 0U) |
           (entry->security != NULL ? CATALOG_SECURITY : 0U) |
           (entry->efs != NULL ? CATALOG_EFS : 0U) |
           (entry->unnamed_directory_index_bytes != 0 ? CATALOG_INDEX : 0U);
}

static void count_parts(const struct volume_entry *entry, uint64_t *ret_units,
                        uint64_t *ret_extents)
{
    uint64_t units = 0;
    uint64_t extents = 0;
    for (size_t i = 0; i < entry->name_count; i++) {
        units += entry->names[i].len;
    }
    for (size_t i = 0; i < entry->stream_count; i++) {
        units += entry->streams[i].name_len;
        extents += entry->streams[i].extent_count;
    }
    *ret_units = units;
    *ret_extents = extents;
}

static uint8_t *put_names(uint8_t *out, const struct volume_entry *entry)
{
    uint64_t parent = 0;
    for (size_t i = 0; i < entry->name_count; i++) {
        const struct volume_name *name = &entry->names[i];
        bool same = i > 0 && name->parent_ref == parent;
        bool odd = name->space > CATALOG_NAME_SPACE;
        *out++ = (uint8_t)((odd ? CATALOG_NAME_ODD_SPACE : name->space) |
                           (same ? CATALOG_NAME_SAME_PARENT : 0));
        if (odd) {
            *out++ = name->space;
        }
        if (!same) {
            parent = name->parent_ref;
            out = varint_put(out, VOLUME_REF_RECORD(parent));
            out = varint_put(out, VOLUME_REF_SEQUENCE(parent));
        }
        *out++ = name->len;
        out = put_units(out, name->units, name->len);
    }
    return out;
}

/* Creation time in full, the others by their distance, which is often nothing. */
static uint8_t *put_standard(uint8_t *out, const struct volume_entry *entry)
{
    out = varint_put_le64(out, entry->created);
    out = varint_put_delta(out, entry->modified, entry->created);
    out = varint_put_delta(out, entry->changed, entry->modified);
    out = varint_put_delta(out, entry->accessed, entry->changed);
    out = varint_put(out, entry->file_attributes);
    out = varint_put(out, entry->security_id);
    out = varint_put(out, entry->owner_id);
    out = varint_put(out, entry->usn);
    out = varint_put(out, entry->lsn);
    out = varint_put(out, entry->link_count);
    if (entry->unnamed_directory_index_bytes != 0) {
        out = varint_put(out, entry->unnamed_directory_index_bytes);
    }
    return out;
}

static uint8_t *put_stream(uint8_t *out, const struct volume_stream *stream, uint64_t own_record,
                           int problem)
{
    bool all_valid = stream->valid_bytes == stream->size_bytes;
    bool elsewhere = stream->record != own_record;
    *out++ = (uint8_t)(((unsigned)stream->form & CATALOG_STREAM_FORM) |
                       (problem > 0 ? CATALOG_STREAM_PROBLEM : 0U) |
                       (all_valid ? CATALOG_STREAM_ALL_VALID : 0U) |
                       (stream->attribute_flags != 0 ? CATALOG_STREAM_FLAGS : 0U) |
                       (elsewhere ? CATALOG_STREAM_ELSEWHERE : 0U) |
                       (stream->lost ? CATALOG_STREAM_LOST : 0U));
    *out++ = stream->name_len;
    out = put_units(out, stream->name, stream->name_len);
    out = varint_put(out, stream->size_bytes);
    out = varint_put_delta(out, stream->allocated_bytes, stream->size_bytes);
    if (!all_valid) {
        out = varint_put(out, stream->valid_bytes);
    }
    if (problem > 0) {
        out = varint_put(out, (uint64_t)problem * 2 + (stream->doubtful ? 1 : 0));
    }
    if (stream->attribute_flags != 0) {
        out = varint_put(out, stream->attribute_flags);
    }
    if (elsewhere) {
        out = varint_put_delta(out, stream->record, own_record);
    }
    return put_extents(out, stream);
}

/* A hole is a cluster number like others, but the next distance is counted from before the hole. */
static uint8_t *put_extents(uint8_t *out, const struct volume_stream *stream)
{
    out = varint_put(out, stream->extent_count);
    uint64_t last = 0;
    for (size_t i = 0; i < stream->extent_count; i++) {
        const struct volume_extent *extent = &stream->extents[i];
        out = varint_put(out, extent->clusters);
        out = varint_put_delta(out, extent->cluster, last);
        if (extent->cluster != VOLUME_HOLE) {
            last = extent->cluster;
        }
    }
    return out;
}

static uint8_t *put_values(uint8_t *out, const struct volume_entry *entry)
{
    if (entry->reparse_tag != 0) {
        out = varint_put(out, entry->reparse_tag);
    }
    if (entry->object_id != NULL) {
        memcpy(out, entry->object_id, CATALOG_OBJECT_ID_BYTES);
        out += CATALOG_OBJECT_ID_BYTES;
    }
    out = put_value(out, entry->reparse, entry->reparse_len);
    out = put_value(out, entry->ea, entry->ea_len);
    out = put_value(out, entry->security, entry->security_len);
    return put_value(out, entry->efs, entry->efs_len);
}

static uint8_t *put_value(uint8_t *out, const uint8_t *bytes, size_t len)
{
    if (bytes == NULL) {
        return out;
    }
    out = varint_put(out, len);
    memcpy(out, bytes, len);
    return out + len;
}

static uint8_t *put_units(uint8_t *out, const uint16_t *units, size_t len)
{
    for (size_t i = 0; i < len; i++) {
        *out++ = (uint8_t)units[i];
        *out++ = (uint8_t)(units[i] >> 8);
    }
    return out;
}
