/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Looking things up in a finished catalog without decoding whole entries. */
#include "catalog/catalog_internal.h"
#include "catalog/varint.h"

#include <assert.h>

static const struct catalog_slot *slot_of(const struct catalog *catalog, uint32_t index);
static bool next_name(struct varint_cursor *in, struct catalog_name *name);
static struct varint_cursor open_names(const struct catalog *catalog, uint32_t index,
                                       unsigned *ret_flags, uint64_t *ret_count);

const struct volume_scan_totals *catalog_totals(const struct catalog *catalog)
{
    return &catalog->totals;
}

uint64_t catalog_bytes(const struct catalog *catalog)
{
    return catalog->blobs.cap + catalog->slots.cap + catalog->by_record.cap + catalog->strays.cap +
           catalog->crossings.cap;
}

uint32_t catalog_count(const struct catalog *catalog)
{
    return catalog->count;
}

uint64_t catalog_record(const struct catalog *catalog, uint32_t index)
{
    return VOLUME_REF_RECORD(slot_of(catalog, index)->ref);
}

uint16_t catalog_sequence(const struct catalog *catalog, uint32_t index)
{
    return VOLUME_REF_SEQUENCE(slot_of(catalog, index)->ref);
}

bool catalog_is_directory(const struct catalog *catalog, uint32_t index)
{
    return (slot_of(catalog, index)->place & 1) != 0;
}

int64_t catalog_find(const struct catalog *catalog, uint64_t record)
{
    if (record >= catalog->record_limit) {
        return -1;
    }
    const uint32_t *by_record = (const uint32_t *)(const void *)catalog->by_record.bytes;
    return (int64_t)by_record[record] - 1;
}

bool catalog_name(const struct catalog *catalog, uint32_t index, unsigned name,
                  struct catalog_name *ret_name)
{
    unsigned flags;
    uint64_t count;
    struct varint_cursor in = open_names(catalog, index, &flags, &count);
    struct catalog_name at = {0};
    for (uint64_t i = 0; i < count && next_name(&in, &at); i++) {
        bool twin = at.space == CATALOG_SPACE_DOS && (flags & CATALOG_DOS_NAMES_ONLY) == 0;
        if (!twin && name-- == 0) {
            *ret_name = at;
            return true;
        }
    }
    return false;
}

unsigned catalog_name_count(const struct catalog *catalog, uint32_t index)
{
    unsigned flags;
    uint64_t count;
    struct varint_cursor in = open_names(catalog, index, &flags, &count);
    struct catalog_name at = {0};
    unsigned names = 0;
    for (uint64_t i = 0; i < count && next_name(&in, &at); i++) {
        bool twin = at.space == CATALOG_SPACE_DOS && (flags & CATALOG_DOS_NAMES_ONLY) == 0;
        names += twin ? 0 : 1;
    }
    return names;
}

bool catalog_short_name(const struct catalog *catalog, uint32_t index,
                        struct catalog_name *ret_name)
{
    unsigned flags;
    uint64_t count;
    struct varint_cursor in = open_names(catalog, index, &flags, &count);
    struct catalog_name at = {0};
    for (uint64_t i = 0; i < count && next_name(&in, &at); i++) {
        if (at.space == CATALOG_SPACE_DOS) {
            *ret_name = at;
            return true;
        }
    }
    return false;
}

uint32_t catalog_stray_count(const struct catalog *catalog)
{
    return catalog->stray_count;
}

const struct catalog_stray *catalog_stray(const struct catalog *catalog, uint32_t index)
{
    assert(index < catalog->stray_count);
    return (const struct catalog_stray *)(const void *)catalog->strays.bytes + index;
}

static const struct catalog_slot *slot_of(const struct catalog *catalog, uint32_t index)
{
    assert(index < catalog->count);
    return &catalog_slots(catalog)[index];
}

/* `name` holds the name before, for a parent that is not repeated. */
static bool next_name(struct varint_cursor *in, struct catalog_name *name)
{
    uint8_t head = varint_take_byte(in);
    name->space = head & CATALOG_NAME_SPACE;
    if ((head & CATALOG_NAME_ODD_SPACE) != 0) {
        name->space = varint_take_byte(in);
    }
    if ((head & CATALOG_NAME_SAME_PARENT) == 0) {
        name->parent_ref = varint_take(in);
        name->parent_ref |= varint_take(in) << 48;
    }
    name->len = varint_take_byte(in);
    name->units_le = varint_take_bytes(in, 2U * name->len);
    return !in->bad;
}

static struct varint_cursor open_names(const struct catalog *catalog, uint32_t index,
                                       unsigned *ret_flags, uint64_t *ret_count)
{
    uint64_t offset = slot_of(catalog, index)->place / 2;
    const struct area *blobs = &catalog->blobs;
    struct varint_cursor in = {
        .at = blobs->bytes + (offset < blobs->len ? offset : blobs->len),
        .end = blobs->bytes + blobs->len,
    };
    *ret_flags = (unsigned)varint_take(&in);
    *ret_count = varint_take(&in);
    for (unsigned i = 0; i < 3; i++) {
        (void)varint_take(&in); /* numbers of streams, units and extents */
    }
    return in;
}
