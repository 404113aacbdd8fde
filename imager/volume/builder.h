/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Builds one volume_entry from attributes, in scratch memory that is used again for every entry.
 * Attributes of the same type and name must come one after the other, in the order of their
 * clusters.
 */
#ifndef WINCH_VOLUME_BUILDER_H
#define WINCH_VOLUME_BUILDER_H

#include "volume/record.h"
#include "volume/runlist.h"
#include "volume/volume_internal.h"

/* An attribute list of 256 KiB names at most 8,192 attributes; the base record adds a few. */
#define BUILDER_ITEMS_MAX 10240
/* Units of all names together: every item may have the longest name. */
#define BUILDER_UNITS_MAX (BUILDER_ITEMS_MAX * 256)

#define BUILDER_REPARSE_BYTES_MAX (16 << 10)
#define BUILDER_VALUE_BYTES_MAX (64 << 10)

/* One attribute with a value, its pieces put together. */
struct builder_item {
    uint32_t type;
    uint16_t flags;
    uint8_t name_len;
    uint8_t compression_unit;
    bool resident;
    const uint16_t *name;
    const uint8_t *value; /* resident: points into the record */
    uint64_t size_bytes;
    uint64_t valid_bytes;
    uint64_t allocated_bytes;
    uint64_t stored_bytes;
    uint64_t next_vcn; /* where the next piece must begin */
    size_t extent_first;
    size_t extent_count;
    uint64_t record;
    const char *problem;
    bool lost;     /* see volume_stream */
    bool doubtful; /* likewise */
    bool unused;   /* only its clusters count */
};

/* The parts of $I30 that stand in the records; the blocks are items of type
 * ATTRIBUTE_INDEX_ALLOCATION, and so is a bitmap that is not resident. */
struct builder_index {
    const uint8_t *root; /* NULL: none */
    uint32_t root_len;
    const uint8_t *bitmap;
    uint32_t bitmap_len;
};

struct builder {
    struct volume *volume;
    struct volume_entry entry;
    struct builder_index index;
    struct builder_item *items;
    size_t item_count;
    struct volume_name *names;
    size_t name_count;
    uint16_t *units; /* never moves, so that names may point into it */
    size_t unit_count;
    struct extent_list extents;
    struct volume_stream *streams;
    uint8_t *values; /* non-resident values read for one entry */
    size_t values_used;
};

int builder_init(struct builder *builder, struct volume *volume, struct error *err) WARN_UNUSED;
void builder_clear(struct builder *builder);

/* Begin an entry. `header` NULL: nothing is known but the number. */
void builder_start(struct builder *builder, uint64_t record, const struct record_header *header);
/* Why the whole entry cannot be trusted; the first one stays. */
void builder_set_problem(struct builder *builder, const char *problem);
/* Take an attribute that stands in `record`. Fails only for want of memory. */
int builder_add(struct builder *builder, const struct record_attribute *attribute, uint64_t record,
                struct error *err) WARN_UNUSED;
/* A stream of that name (UTF-16LE) is incomplete: it is lost, and made if it is not there. */
void builder_spoil_stream(struct builder *builder, const uint8_t *name, uint8_t name_len,
                          const char *problem);
/* Judge everything and fill builder->entry, whose pointers hold until the next start. Reads
 * non-resident reparse data and the like; fails when the whole disk does. */
int builder_finish(struct builder *builder, struct error *err) WARN_UNUSED;

/* The item of that type called $I30, or NULL. */
const struct builder_item *builder_find_index(const struct builder *builder, uint32_t type);

/* ---- builder_stream.c -------------------------------------------------------------------- */

/* The first problem stays; lost is lost. */
void builder_spoil_item(struct builder_item *item, const char *problem, bool lost);
/* Say why the item's extents cannot be trusted, if so. */
void builder_judge(const struct builder *builder, struct builder_item *item);
void builder_fill_stream(const struct builder *builder, const struct builder_item *item,
                         struct volume_stream *ret_stream);

#endif
