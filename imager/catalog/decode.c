/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * A blob back into an entry. The file it comes from is ours, but may lie on a bad disk: every
 * number is checked before it is used. Names, streams and extents go to one block of memory of the
 * view; values stay where they are.
 */
#include "catalog/catalog_internal.h"
#include "catalog/varint.h"

#include <stdalign.h>

/* What the blob's head says is to come, and where it goes. */
struct room {
    struct volume_name *names;
    struct volume_stream *streams;
    struct volume_extent *extents;
    uint16_t *units;
    uint64_t name_count, stream_count, extent_count, unit_count;
    uint64_t extents_used, units_used;
};

struct scratch {
    size_t cap;
    alignas(max_align_t) uint8_t bytes[];
};

static int make_room(struct varint_cursor *in, struct catalog_view *view, struct room *room,
                     struct error *err);
static void take_names(struct varint_cursor *in, struct room *room);
static void take_standard(struct varint_cursor *in, unsigned flags, struct volume_entry *entry);
static void take_stream(const struct catalog *catalog, struct varint_cursor *in, struct room *room,
                        uint64_t own_record, struct volume_stream *stream);
static void take_extents(struct varint_cursor *in, struct room *room, struct volume_stream *stream);
static void take_values(struct varint_cursor *in, unsigned flags, struct volume_entry *entry);
static const uint8_t *take_value(struct varint_cursor *in, bool present, size_t *ret_len);
static const uint16_t *take_units(struct varint_cursor *in, struct room *room, uint8_t len);
static int damaged(uint64_t record, struct error *err);

int catalog_get(const struct catalog *catalog, uint32_t index, struct catalog_view *view,
                struct error *err)
{
    if (index >= catalog->count) {
        return error_stop(err, EXIT_STATUS_INTERNAL, "the catalog has no entry %u", index);
    }
    const struct catalog_slot *slot = &catalog_slots(catalog)[index];
    uint64_t record = VOLUME_REF_RECORD(slot->ref);
    if (slot->place / 2 >= catalog->blobs.len) {
        return damaged(record, err);
    }
    struct varint_cursor in = {
        .at = catalog->blobs.bytes + slot->place / 2,
        .end = catalog->blobs.bytes + catalog->blobs.len,
    };
    unsigned flags = (unsigned)varint_take(&in);
    struct room room = {0};
    if (make_room(&in, view, &room, err) != 0) {
        return error_add(err, "record %llu", (unsigned long long)record);
    }
    struct volume_entry entry = {
        .record = record,
        .sequence = VOLUME_REF_SEQUENCE(slot->ref),
        .directory = (flags & CATALOG_DIRECTORY) != 0,
        .has_standard = (flags & CATALOG_HAS_STANDARD) != 0,
        .case_sensitive = (flags & CATALOG_CASE_SENSITIVE) != 0,
        .names = room.names,
        .name_count = room.name_count,
        .streams = room.streams,
        .stream_count = room.stream_count,
    };
    take_names(&in, &room);
    take_standard(&in, flags, &entry);
    for (uint64_t i = 0; i < room.stream_count && !in.bad; i++) {
        take_stream(catalog, &in, &room, record, &room.streams[i]);
    }
    if ((flags & CATALOG_PROBLEM) != 0) {
        entry.problem = catalog_words_get(&catalog->words, varint_take(&in));
        in.bad = in.bad || entry.problem == NULL;
    }
    if ((flags & CATALOG_LOST_VALUE) != 0) {
        entry.lost_value = catalog_words_get(&catalog->words, varint_take(&in));
        in.bad = in.bad || entry.lost_value == NULL;
    }
    take_values(&in, flags, &entry);
    if (in.bad) {
        return damaged(record, err);
    }
    view->index = index;
    view->entry = entry;
    return catalog->crossing_count > 0 ? catalog_mark_crossed(catalog, view, err) : 0;
}

void catalog_view_clear(struct catalog_view *view)
{
    free(view->scratch);
    free(view->sentences);
    *view = (struct catalog_view){0};
}

static int make_room(struct varint_cursor *in, struct catalog_view *view, struct room *room,
                     struct error *err)
{
    room->name_count = varint_take(in);
    room->stream_count = varint_take(in);
    room->unit_count = varint_take(in);
    room->extent_count = varint_take(in);
    /* Each of them takes at least two bytes of the blob, which bounds what follows. */
    uint64_t most = (uint64_t)(in->end - in->at) / 2;
    if (in->bad || room->name_count > most || room->stream_count > most ||
        room->unit_count > most || room->extent_count > most) {
        return error_stop(err, EXIT_STATUS_INTERNAL, "the catalog's file is damaged");
    }
    size_t names = room->name_count * sizeof(*room->names);
    size_t streams = room->stream_count * sizeof(*room->streams);
    size_t extents = room->extent_count * sizeof(*room->extents);
    size_t need = names + streams + extents + room->unit_count * sizeof(*room->units);
    struct scratch *scratch = view->scratch;
    if (scratch == NULL || scratch->cap < need) {
        size_t cap = need < 512 ? 512 : need + need / 2;
        free(TAKE(view->scratch));
        scratch = malloc(sizeof(*scratch) + cap);
        if (scratch == NULL) {
            return error_memory(err, "an entry of the catalog");
        }
        scratch->cap = cap;
        view->scratch = scratch;
    }
    uint8_t *bytes = scratch->bytes;
    room->names = (void *)bytes;
    room->streams = (void *)(bytes + names);
    room->extents = (void *)(bytes + names + streams);
    room->units = (void *)(bytes + names + streams + extents);
    return 0;
}

static void take_names(struct varint_cursor *in, struct room *room)
{
    uint64_t parent = 0;
    for (uint64_t i = 0; i < room->name_count && !in->bad; i++) {
        uint8_t head = varint_take_byte(in);
        uint8_t space =
            (head & CATALOG_NAME_ODD_SPACE) != 0 ? varint_take_byte(in) : head & CATALOG_NAME_SPACE;
        if ((head & CATALOG_NAME_SAME_PARENT) == 0) {
            parent = varint_take(in);
            parent |= varint_take(in) << 48;
        }
        uint8_t len = varint_take_byte(in);
        room->names[i] = (struct volume_name){
            .parent_ref = parent,
            .units = take_units(in, room, len),
            .len = len,
            .space = space,
        };
    }
}

static void take_standard(struct varint_cursor *in, unsigned flags, struct volume_entry *entry)
{
    const uint8_t *created = varint_take_bytes(in, 8);
    entry->created = created == NULL ? 0 : read_le64(created);
    entry->modified = varint_take_delta(in, entry->created);
    entry->changed = varint_take_delta(in, entry->modified);
    entry->accessed = varint_take_delta(in, entry->changed);
    entry->file_attributes = (uint32_t)varint_take(in);
    entry->security_id = (uint32_t)varint_take(in);
    entry->owner_id = (uint32_t)varint_take(in);
    entry->usn = varint_take(in);
    entry->lsn = varint_take(in);
    entry->link_count = (uint16_t)varint_take(in);
    if ((flags & CATALOG_INDEX) != 0) {
        entry->unnamed_directory_index_bytes = varint_take(in);
    }
}

static void take_stream(const struct catalog *catalog, struct varint_cursor *in, struct room *room,
                        uint64_t own_record, struct volume_stream *stream)
{
    uint8_t head = varint_take_byte(in);
    *stream = (struct volume_stream){
        .form = (enum volume_form)(head & CATALOG_STREAM_FORM),
        .name_len = varint_take_byte(in),
        .record = own_record,
        .lost = (head & CATALOG_STREAM_LOST) != 0,
    };
    stream->name = take_units(in, room, stream->name_len);
    stream->size_bytes = varint_take(in);
    stream->allocated_bytes = varint_take_delta(in, stream->size_bytes);
    bool all_valid = (head & CATALOG_STREAM_ALL_VALID) != 0;
    stream->valid_bytes = all_valid ? stream->size_bytes : varint_take(in);
    if ((head & CATALOG_STREAM_PROBLEM) != 0) {
        uint64_t problem = varint_take(in);
        stream->problem = catalog_words_get(&catalog->words, problem / 2);
        stream->doubtful = problem % 2 != 0;
        in->bad = in->bad || stream->problem == NULL;
    }
    if ((head & CATALOG_STREAM_FLAGS) != 0) {
        stream->attribute_flags = (uint16_t)varint_take(in);
    }
    if ((head & CATALOG_STREAM_ELSEWHERE) != 0) {
        stream->record = varint_take_delta(in, own_record);
    }
    in->bad = in->bad || stream->form > VOLUME_EFS;
    take_extents(in, room, stream);
}

static void take_extents(struct varint_cursor *in, struct room *room, struct volume_stream *stream)
{
    uint64_t count = varint_take(in);
    if (in->bad || count > room->extent_count - room->extents_used) {
        in->bad = true;
        return;
    }
    struct volume_extent *extents = room->extents + room->extents_used;
    room->extents_used += count;
    uint64_t last = 0;
    for (uint64_t i = 0; i < count; i++) {
        extents[i].clusters = varint_take(in);
        extents[i].cluster = varint_take_delta(in, last);
        if (extents[i].cluster != VOLUME_HOLE) {
            last = extents[i].cluster;
        }
    }
    bool none = stream->form == VOLUME_RESIDENT && count == 0;
    stream->extents = none ? NULL : extents;
    stream->extent_count = count;
}

static void take_values(struct varint_cursor *in, unsigned flags, struct volume_entry *entry)
{
    if ((flags & CATALOG_REPARSE_TAG) != 0) {
        entry->reparse_tag = (uint32_t)varint_take(in);
    }
    if ((flags & CATALOG_OBJECT_ID) != 0) {
        entry->object_id = varint_take_bytes(in, CATALOG_OBJECT_ID_BYTES);
    }
    entry->reparse = take_value(in, (flags & CATALOG_REPARSE) != 0, &entry->reparse_len);
    entry->ea = take_value(in, (flags & CATALOG_EA) != 0, &entry->ea_len);
    entry->security = take_value(in, (flags & CATALOG_SECURITY) != 0, &entry->security_len);
    entry->efs = take_value(in, (flags & CATALOG_EFS) != 0, &entry->efs_len);
}

static const uint8_t *take_value(struct varint_cursor *in, bool present, size_t *ret_len)
{
    *ret_len = 0;
    if (!present) {
        return NULL;
    }
    uint64_t len = varint_take(in);
    const uint8_t *bytes = varint_take_bytes(in, len);
    *ret_len = bytes == NULL ? 0 : len;
    return bytes;
}

static const uint16_t *take_units(struct varint_cursor *in, struct room *room, uint8_t len)
{
    const uint8_t *bytes = varint_take_bytes(in, 2U * len);
    uint16_t *units = room->units + room->units_used;
    if (bytes == NULL || len > room->unit_count - room->units_used) {
        in->bad = true;
        return units;
    }
    for (uint8_t i = 0; i < len; i++) {
        units[i] = read_le16(bytes + 2U * i);
    }
    room->units_used += len;
    return units;
}

static int damaged(uint64_t record, struct error *err)
{
    return error_stop(err, EXIT_STATUS_INTERNAL,
                      "the catalog's file is damaged at the entry of record %llu",
                      (unsigned long long)record);
}
