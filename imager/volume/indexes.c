/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Sums of names by directory, and the names themselves where a sum is not zero. */
#include "volume/indexes.h"

#include <string.h>

/* More blocks than this in one directory (4 GiB of names) are taken for damage. */
#define BITMAP_BYTES_MAX (128 << 10)

static int open_all(struct volume_indexes *indexes, const char *folder, struct error *err);
static uint64_t hash_units(uint64_t file_ref, uint64_t parent_ref, uint8_t space, uint8_t len,
                           const uint8_t *units_le);
static uint64_t hash_name(uint64_t file_ref, const struct volume_name *name);
static int take_names(struct volume_indexes *indexes, const struct builder *builder,
                      struct error *err);
static int take_index(struct volume_indexes *indexes, const struct builder *builder,
                      struct error *err);
static int take_blocks(struct volume_indexes *indexes, const struct builder *builder,
                       const struct builder_item *item, uint32_t block_bytes, struct error *err);
static int read_bitmap(const struct builder *builder, uint8_t *buf, const uint8_t **ret_bytes,
                       size_t *ret_len, struct error *err);
static int note_block(struct volume_indexes *indexes, uint64_t directory, uint64_t position,
                      uint64_t vcn, uint32_t bytes, struct error *err);
static bool find_place(const struct builder *builder, const struct builder_item *item,
                       uint64_t offset, uint32_t bytes, size_t *at, uint64_t *at_start,
                       uint64_t *ret_position);
static int keep(struct volume_indexes *indexes, const struct volume_difference *name, uint64_t hash,
                struct error *err);
static int select_directories(struct volume_indexes *indexes, struct error *err);
static int collect(struct volume_indexes *indexes, struct error *err);
static void hand_out(struct volume_indexes *indexes,
                     void (*each)(void *self, const struct volume_difference *difference),
                     void *self);
static int compare_found(const void *a, const void *b);

struct volume_indexes *volume_indexes_new(struct volume *volume, const char *folder,
                                          struct error *err)
{
    struct volume_indexes *indexes = calloc(1, sizeof(*indexes));

    if (indexes == NULL) {
        (void)error_memory(err, "the sums of directories"); /* fills err; NULL says it */
        return NULL;
    }
    indexes->volume = volume;
    indexes->sums.fd = -1;
    indexes->blocks.fd = -1;
    indexes->found.fd = -1;
    if (open_all(indexes, folder, err) != 0) {
        volume_indexes_free(indexes);
        return NULL;
    }
    return indexes;
}

void volume_indexes_free(struct volume_indexes *indexes)
{
    if (indexes == NULL) {
        return;
    }
    cluster_set_close(&indexes->directories);
    cluster_set_close(&indexes->torn);
    cluster_set_close(&indexes->unchecked);
    cluster_set_close(&indexes->selected);
    area_close(&indexes->sums);
    area_close(&indexes->blocks);
    area_close(&indexes->found);
    free(indexes);
}

int indexes_take(struct volume_indexes *indexes, const struct builder *builder, struct error *err)
{
    uint64_t record = builder->entry.record;

    if (take_names(indexes, builder, err) != 0) {
        return -1;
    }
    if (builder->index.root == NULL || record > UINT32_MAX ||
        (indexes->collecting && !indexes_has(&indexes->selected, record))) {
        return 0;
    }
    if (!indexes->collecting && cluster_set_add(&indexes->directories, record, 1, NULL, err) != 0) {
        return -1;
    }
    return take_index(indexes, builder, err);
}

void indexes_see_name(void *self, const struct index_name *name)
{
    struct indexes_names *names = self;
    struct volume_indexes *indexes = names->indexes;
    uint64_t hash =
        hash_units(name->file_ref, name->parent_ref, name->space, name->len, name->units_le);

    if (!indexes->collecting) {
        uint64_t *sums = (uint64_t *)(void *)indexes->sums.bytes;
        (void)__atomic_fetch_sub(&sums[names->directory], hash, __ATOMIC_RELAXED);
        return;
    }
    struct volume_difference found = {.file_ref = name->file_ref,
                                      .parent_ref = name->parent_ref,
                                      .in_index = true,
                                      .len = name->len};
    for (size_t i = 0; i < name->len && i < INDEXES_NAME_UNITS; i++) {
        found.units[i] = read_le16(name->units_le + 2 * i);
    }
    if (!names->no_room) {
        names->no_room = keep(indexes, &found, hash, names->err) != 0;
    }
}

int volume_indexes_check(struct volume_indexes *indexes,
                         void (*each)(void *self, const struct volume_difference *difference),
                         void *self, struct volume_indexes_totals *ret_totals, struct error *err)
{
    struct volume_indexes_totals *totals = &indexes->totals;

    totals->blocks = indexes->block_count;
    if (indexes_walk(indexes, err) != 0 || select_directories(indexes, err) != 0) {
        return -1;
    }
    totals->directories = cluster_set_count(&indexes->directories);
    totals->torn = cluster_set_count(&indexes->torn);
    totals->unchecked = cluster_set_count(&indexes->unchecked);
    if (indexes->selected.touched > 0) {
        if (collect(indexes, err) != 0) {
            return -1;
        }
        hand_out(indexes, each, self);
    }
    *ret_totals = *totals;
    return 0;
}

int64_t volume_indexes_torn(const struct volume_indexes *indexes, uint64_t from)
{
    uint64_t limit = indexes->volume->info.mft_records;

    for (uint64_t record = from; indexes->torn.touched > 0 && record < limit; record++) {
        if (cluster_set_page(&indexes->torn, (size_t)(record / CLUSTER_SET_PAGE_BITS)) == NULL) {
            record = (record / CLUSTER_SET_PAGE_BITS + 1) * CLUSTER_SET_PAGE_BITS - 1;
        } else if (indexes_has(&indexes->torn, record)) {
            return (int64_t)record;
        }
    }
    return -1;
}

static int open_all(struct volume_indexes *indexes, const char *folder, struct error *err)
{
    uint64_t records = indexes->volume->info.mft_records;
    struct cluster_set *sets[] = {&indexes->directories, &indexes->torn, &indexes->unchecked,
                                  &indexes->selected};
    struct area *areas[] = {&indexes->sums, &indexes->blocks, &indexes->found};

    for (size_t i = 0; i < ARRAY_LEN(areas); i++) {
        if (area_open(areas[i], "the sums of directories", folder, err) != 0) {
            return -1;
        }
    }
    for (size_t i = 0; i < ARRAY_LEN(sets); i++) {
        if (cluster_set_open(sets[i], records, folder, err) != 0) {
            return -1;
        }
    }
    if (area_reserve(&indexes->sums, (records + 1) * sizeof(uint64_t), err) == NULL) {
        return -1;
    }
    indexes->sums.len = (records + 1) * sizeof(uint64_t);
    return 0;
}

/* Four units in one step; every bit of the sum depends on every bit of the name. */
static uint64_t hash_units(uint64_t file_ref, uint64_t parent_ref, uint8_t space, uint8_t len,
                           const uint8_t *units_le)
{
    const uint64_t factor = UINT64_C(0x9E3779B97F4A7C15);
    uint64_t hash = (file_ref ^ UINT64_C(0xD6E8FEB86659FD93)) * factor;
    size_t bytes = len * (size_t)2;

    hash = (hash ^ hash >> 32 ^ parent_ref) * factor;
    hash = (hash ^ hash >> 32 ^ (uint64_t)(space << 8 | len)) * factor;
    for (size_t at = 0; at < bytes; at += 8) {
        uint8_t chunk[8] = {0};
        memcpy(chunk, units_le + at, bytes - at < 8 ? bytes - at : 8);
        hash = (hash ^ hash >> 32 ^ read_le64(chunk)) * factor;
    }
    return (hash ^ hash >> 29) * factor;
}

static uint64_t hash_name(uint64_t file_ref, const struct volume_name *name)
{
    uint8_t units_le[2 * UINT8_MAX];

    for (size_t i = 0; i < name->len; i++) {
        units_le[2 * i] = (uint8_t)name->units[i];
        units_le[2 * i + 1] = (uint8_t)(name->units[i] >> 8);
    }
    return hash_units(file_ref, name->parent_ref, name->space, name->len, units_le);
}

static int take_names(struct volume_indexes *indexes, const struct builder *builder,
                      struct error *err)
{
    const struct volume_entry *entry = &builder->entry;
    uint64_t file_ref = entry->record | (uint64_t)entry->sequence << 48;
    uint64_t *sums = (uint64_t *)(void *)indexes->sums.bytes;

    for (size_t i = 0; i < entry->name_count; i++) {
        const struct volume_name *name = &entry->names[i];
        uint64_t parent = VOLUME_REF_RECORD(name->parent_ref);
        if (parent >= indexes->volume->info.mft_records) {
            continue;
        }
        if (!indexes->collecting) {
            sums[parent] += hash_name(file_ref, name);
        } else if (indexes_has(&indexes->selected, parent)) {
            struct volume_difference found = {
                .file_ref = file_ref, .parent_ref = name->parent_ref, .len = name->len};
            size_t shown = name->len < INDEXES_NAME_UNITS ? name->len : INDEXES_NAME_UNITS;
            memcpy(found.units, name->units, shown * sizeof(*name->units));
            if (keep(indexes, &found, hash_name(file_ref, name), err) != 0) {
                return -1;
            }
        }
    }
    return 0;
}

static int take_index(struct volume_indexes *indexes, const struct builder *builder,
                      struct error *err)
{
    const struct builder_index *index = &builder->index;
    uint64_t record = builder->entry.record;
    const struct builder_item *item = builder_find_index(builder, ATTRIBUTE_INDEX_ALLOCATION);
    uint32_t block_bytes = index_block_bytes(index->root, index->root_len);
    struct indexes_names names = {.indexes = indexes, .directory = record, .err = err};

    const char *problem = index_parse_root(index->root, index->root_len, indexes_see_name, &names);
    if (names.no_room) {
        return -1;
    }
    bool is_whole = problem == NULL && (item == NULL || (!item->lost && !item->doubtful));
    if (item != NULL && is_whole) {
        is_whole = block_bytes != 0;
        if (is_whole && take_blocks(indexes, builder, item, block_bytes, err) != 0) {
            return -1;
        }
    }
    return is_whole ? 0 : cluster_set_add(&indexes->torn, record, 1, NULL, err);
}

/* Every block that the bitmap marks, in the order of the directory. */
static int take_blocks(struct volume_indexes *indexes, const struct builder *builder,
                       const struct builder_item *item, uint32_t block_bytes, struct error *err)
{
    CLEANUP_FREE uint8_t *buf = NULL;
    uint64_t record = builder->entry.record;
    uint32_t cluster_bytes = indexes->volume->boot.cluster_bytes;
    uint64_t unit = cluster_bytes <= block_bytes ? cluster_bytes : 512;
    const uint8_t *bits = builder->index.bitmap;
    size_t len = builder->index.bitmap_len;
    uint64_t block_count = item->size_bytes / block_bytes;
    size_t at = 0;
    uint64_t at_start = 0;

    if (bits == NULL) {
        buf = malloc(BITMAP_BYTES_MAX);
        if (buf == NULL) {
            return error_memory(err, "the bitmap of a directory");
        }
        if (read_bitmap(builder, buf, &bits, &len, err) != 0) {
            return -1;
        }
    }
    if (bits == NULL) {
        return cluster_set_add(&indexes->torn, record, 1, NULL, err);
    }
    for (uint64_t block = 0; block < block_count && block / 8 < len; block++) {
        uint64_t position = 0;
        uint64_t offset = block * block_bytes;
        if ((bits[block / 8] >> block % 8 & 1) == 0) {
            continue;
        }
        bool found = indexes->block_count < INDEXES_BLOCKS_MAX &&
                     find_place(builder, item, offset, block_bytes, &at, &at_start, &position);
        if (!found && cluster_set_add(&indexes->unchecked, record, 1, NULL, err) != 0) {
            return -1;
        }
        if (found && note_block(indexes, record, position, offset / unit, block_bytes, err) != 0) {
            return -1;
        }
    }
    return 0;
}

/* *ret_bytes stays NULL when the bitmap is missing, damaged or cannot be read. */
static int read_bitmap(const struct builder *builder, uint8_t *buf, const uint8_t **ret_bytes,
                       size_t *ret_len, struct error *err)
{
    const struct builder_item *item = builder_find_index(builder, ATTRIBUTE_BITMAP);
    struct error cause = {0};

    if (item == NULL || item->problem != NULL || item->size_bytes > BITMAP_BYTES_MAX) {
        return 0;
    }
    if (mft_read_extents(builder->volume, builder->extents.items + item->extent_first,
                         item->extent_count, item->valid_bytes, buf, (size_t)item->size_bytes,
                         &cause) != 0) {
        if (cause.kind != ERROR_FAIL_ENTRY) {
            *err = cause;
            return -1;
        }
        return 0;
    }
    *ret_bytes = buf;
    *ret_len = (size_t)item->size_bytes;
    return 0;
}

static int note_block(struct volume_indexes *indexes, uint64_t directory, uint64_t position,
                      uint64_t vcn, uint32_t bytes, struct error *err)
{
    uint8_t *to = area_reserve(&indexes->blocks, sizeof(struct indexes_block), err);

    if (to == NULL) {
        return -1;
    }
    *(struct indexes_block *)(void *)to = (struct indexes_block){
        .position = position, .vcn = vcn, .directory = (uint32_t)directory, .bytes = bytes};
    indexes->blocks.len += sizeof(struct indexes_block);
    indexes->block_count++;
    return 0;
}

/* Where the block lies on the disk; false when in pieces or in a hole. `at` and `at_start` go up
 * with the offset. */
static bool find_place(const struct builder *builder, const struct builder_item *item,
                       uint64_t offset, uint32_t bytes, size_t *at, uint64_t *at_start,
                       uint64_t *ret_position)
{
    const struct volume *volume = builder->volume;
    const struct volume_extent *extents = builder->extents.items + item->extent_first;

    while (*at < item->extent_count) {
        uint64_t extent_bytes = extents[*at].clusters * volume->boot.cluster_bytes;
        uint64_t skip = offset - *at_start;
        if (skip < extent_bytes) {
            *ret_position = volume_cluster_position(volume, extents[*at].cluster) + skip;
            return extents[*at].cluster != VOLUME_HOLE && bytes <= extent_bytes - skip;
        }
        *at_start += extent_bytes;
        (*at)++;
    }
    return false;
}

static int keep(struct volume_indexes *indexes, const struct volume_difference *name, uint64_t hash,
                struct error *err)
{
    if (indexes->found_count >= INDEXES_DETAIL_NAMES) {
        indexes->cut = true;
        return 0;
    }
    uint8_t *to = area_reserve(&indexes->found, sizeof(struct indexes_found), err);
    if (to == NULL) {
        return -1;
    }
    *(struct indexes_found *)(void *)to = (struct indexes_found){.name = *name, .hash = hash};
    indexes->found.len += sizeof(struct indexes_found);
    indexes->found_count++;
    return 0;
}

/* Those that are whole and were read, and whose sum is not zero. */
static int select_directories(struct volume_indexes *indexes, struct error *err)
{
    const uint64_t *sums = (const uint64_t *)(const void *)indexes->sums.bytes;
    uint64_t limit = indexes->volume->info.mft_records;

    for (uint64_t record = 0; record < limit; record++) {
        if (sums[record] == 0 || !indexes_has(&indexes->directories, record) ||
            indexes_has(&indexes->torn, record) || indexes_has(&indexes->unchecked, record)) {
            continue;
        }
        indexes->totals.different++;
        if (indexes->totals.different > INDEXES_DETAIL_DIRECTORIES) {
            indexes->totals.is_cut = true;
        } else if (cluster_set_add(&indexes->selected, record, 1, NULL, err) != 0) {
            return -1;
        }
    }
    return 0;
}

static int ignore_entry(void *self, const struct volume_entry *entry, struct error *err)
{
    (void)self;
    (void)entry;
    (void)err;
    return 0;
}

static int ignore_stray(void *self, uint64_t record, uint16_t sequence, uint64_t base,
                        const char *why, struct error *err)
{
    (void)self;
    (void)record;
    (void)sequence;
    (void)base;
    (void)why;
    (void)err;
    return 0;
}

static int collect(struct volume_indexes *indexes, struct error *err)
{
    struct volume_visitor visitor = {
        .entry = ignore_entry, .stray = ignore_stray, .indexes = indexes};
    struct volume_scan_totals totals = {0};

    indexes->collecting = true;
    indexes->blocks.len = 0;
    indexes->block_count = 0;
    return volume_scan(indexes->volume, &visitor, &totals, err) != 0 || indexes_walk(indexes, err)
               ? -1
               : 0;
}

/* What stands on both sides goes away in pairs. */
static void hand_out(struct volume_indexes *indexes,
                     void (*each)(void *self, const struct volume_difference *difference),
                     void *self)
{
    struct indexes_found *found = (struct indexes_found *)(void *)indexes->found.bytes;
    size_t count = indexes->found_count;

    if (indexes->cut) { /* what is missing of one side would look like a difference */
        indexes->totals.is_cut = true;
        return;
    }
    if (count > 0) {
        qsort(found, count, sizeof(*found), compare_found);
    }
    for (size_t i = 0; i < count;) {
        size_t end = i;
        size_t in_index = 0;
        while (end < count && found[end].hash == found[i].hash) {
            in_index += found[end++].name.in_index ? 1 : 0;
        }
        size_t in_records = end - i - in_index;
        for (size_t n = in_index < in_records ? in_index : in_records; n < in_records; n++) {
            each(self, &found[i + n].name);
        }
        for (size_t n = in_index < in_records ? in_index : in_records; n < in_index; n++) {
            each(self, &found[i + in_records + n].name);
        }
        i = end;
    }
}

/* By hash; of equal ones those of the records first. */
static int compare_found(const void *a, const void *b)
{
    const struct indexes_found *left = a;
    const struct indexes_found *right = b;

    if (left->hash != right->hash) {
        return left->hash < right->hash ? -1 : 1;
    }
    return (int)left->name.in_index - (int)right->name.in_index;
}
