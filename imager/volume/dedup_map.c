/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Stream maps. A map is looked for where the reparse data say, and then where the redirection table
 * of its container says; all its entries are looked at when it is opened, so that every reader of a
 * file agrees about which chunk holds which byte.
 */
#include <stdarg.h>
#include <string.h>

#include "volume/dedup.h"
#include "volume/grow.h"

/* "Ckhr" of a map: number at 8, size of what follows at 12, digest at 56. */
#define HEADER_BYTES 104
#define HEADER_SIZE_AT 12
#define HEADER_DIGEST_AT 56
#define MAP_HEADER_BYTES 8 /* "Smap" */
/* "Rrtl": count at 8, pairs of number and offset behind it, by number. */
#define TABLE_AT 0x3000
#define TABLE_HEADER_BYTES 32
#define TABLE_COUNT_AT 8
#define TABLE_ENTRY_BYTES 8

static int open_part(struct dedup_map *map, unsigned index, struct error *err);
static int look_at(const struct dedup_map *map, unsigned index,
                   const struct dedup_container *container, uint64_t offset, struct error *err);
static int check_entries(struct dedup_map *map, unsigned index, struct error *err);
static int load_window(struct dedup_map *map, size_t window, struct error *err);
static unsigned part_of_window(const struct dedup_map *map, size_t window);

int dedup_fail(uint64_t record, struct error *err, const char *fmt, ...)
{
    char problem[256];
    va_list arguments;

    va_start(arguments, fmt);
    (void)vsnprintf(problem, sizeof(problem), fmt, arguments);
    va_end(arguments);
    return error_entry(err, "dedup", "record %llu: %s", (unsigned long long)record, problem);
}

void dedup_map_clear(struct dedup_map *map)
{
    free(map->window_begins);
    free(map->window);
    map->window_begins = NULL;
    map->window = NULL;
    map->window_cap = 0;
}

int dedup_map_open(struct dedup_map *map, const struct volume *volume,
                   const struct volume_entry *entry, uint64_t size_bytes, struct error *err)
{
    struct dedup_reference *reference = &map->reference;
    uint64_t total = 0;

    map->volume = volume;
    map->record = entry->record;
    map->window_count = 0;
    map->window_loaded = SIZE_MAX;
    if (map->window == NULL &&
        (map->window = malloc(DEDUP_WINDOW_ENTRIES * DEDUP_MAP_ENTRY_BYTES)) == NULL) {
        return error_memory(err, "a stream map");
    }
    const char *problem =
        dedup_parse_reparse(entry->reparse, entry->reparse_len, size_bytes, reference);
    if (problem != NULL) {
        return dedup_fail(map->record, err, "%s", problem);
    }
    if (!dedup_has_store(volume->dedup, reference->store)) {
        return dedup_fail(map->record, err,
                          "the chunk store that its reparse data name is not on this volume");
    }
    for (unsigned i = 0; i < reference->part_count; i++) {
        total += reference->parts[i].map_bytes / DEDUP_MAP_ENTRY_BYTES;
    }
    if (total > DEDUP_MAP_ENTRIES_MAX) {
        return dedup_fail(map->record, err, "its stream map is larger than 1 GiB");
    }
    for (unsigned i = 0; i < reference->part_count; i++) {
        if (open_part(map, i, err) != 0 || check_entries(map, i, err) != 0) {
            return -1;
        }
    }
    return 0;
}

/* ---- where a map is ------------------------------------------------------------------------ */

static int open_part(struct dedup_map *map, unsigned index, struct error *err)
{
    const struct dedup_part *part = &map->reference.parts[index];
    size_t count = 0;
    const struct dedup_container *found = dedup_find(map->volume->dedup, map->reference.store,
                                                     VOLUME_DEDUP_STREAM, part->container, &count);
    const struct dedup_container *broken = NULL;
    bool beyond = true;

    if (count == 0) {
        return dedup_fail(map->record, err,
                          "container %08x of stream maps is missing from the chunk store",
                          part->container);
    }
    for (size_t i = 0; i < count; i++) {
        const struct dedup_container *container = &found[i];
        uint64_t offset = part->offset;
        if (container->problem != NULL) {
            broken = container;
            continue;
        }
        beyond = beyond && !dedup_container_holds(container, offset,
                                                  (uint64_t)HEADER_BYTES + part->map_bytes);
        int result = look_at(map, index, container, offset, err);
        if (result > 0) {
            result = dedup_redirected(container, map->volume, part->number, &offset, err);
            result = result == 0 ? look_at(map, index, container, offset, err) : result;
        }
        if (result < 0) {
            return -1;
        }
        if (result == 0) {
            map->parts[index].container = container;
            map->parts[index].offset = offset + HEADER_BYTES + MAP_HEADER_BYTES;
            map->parts[index].count = (part->map_bytes - MAP_HEADER_BYTES) / DEDUP_MAP_ENTRY_BYTES;
            return 0;
        }
    }
    if (broken != NULL) {
        return dedup_fail(map->record, err, "container %08x.%08x of stream maps: %s", broken->id,
                          broken->generation, broken->problem);
    }
    return dedup_fail(map->record, err,
                      beyond ? "its stream map lies beyond the end of container %08x"
                             : "its stream map is not in container %08x, or is damaged there",
                      part->container);
}

/* 0: the map is there; 1: it is not. */
static int look_at(const struct dedup_map *map, unsigned index,
                   const struct dedup_container *container, uint64_t offset, struct error *err)
{
    const struct dedup_part *part = &map->reference.parts[index];
    uint8_t header[HEADER_BYTES + MAP_HEADER_BYTES];

    if (!dedup_container_holds(container, offset, (uint64_t)HEADER_BYTES + part->map_bytes)) {
        return 1;
    }
    if (dedup_container_read(container, map->volume, offset, header, sizeof(header), err) != 0) {
        return -1;
    }
    bool same = memcmp(header, "Ckhr", 4) == 0 &&
                read_le32(header + HEADER_SIZE_AT) == part->map_bytes &&
                memcmp(header + HEADER_DIGEST_AT, part->digest, sizeof(part->digest)) == 0 &&
                memcmp(header + HEADER_BYTES, "Smap", 4) == 0;
    return same ? 0 : 1;
}

int dedup_redirected(const struct dedup_container *container, const struct volume *volume,
                     uint32_t number, uint64_t *ret_offset, struct error *err)
{
    uint8_t header[TABLE_HEADER_BYTES];
    uint8_t entry[TABLE_ENTRY_BYTES];

    if (!dedup_container_holds(container, TABLE_AT, sizeof(header))) {
        return 1;
    }
    if (dedup_container_read(container, volume, TABLE_AT, header, sizeof(header), err) != 0) {
        return -1;
    }
    uint64_t low = 0;
    uint64_t high = read_le32(header + TABLE_COUNT_AT);
    uint64_t entries = TABLE_AT + TABLE_HEADER_BYTES;
    if (memcmp(header, "Rrtl", 4) != 0 ||
        !dedup_container_holds(container, entries, high * TABLE_ENTRY_BYTES)) {
        return 1;
    }
    while (low < high) {
        uint64_t middle = low + (high - low) / 2;
        if (dedup_container_read(container, volume, entries + middle * TABLE_ENTRY_BYTES, entry,
                                 sizeof(entry), err) != 0) {
            return -1;
        }
        uint32_t found = read_le32(entry);
        if (found == number) {
            *ret_offset = read_le32(entry + 4);
            return 0;
        }
        if (found < number) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return 1;
}

/* ---- entries ------------------------------------------------------------------------------- */

static uint64_t entry_end(const uint8_t *entry)
{
    return read_le64(entry + 16);
}

static void read_entry(const uint8_t *entry, uint64_t begin, struct dedup_chunk *chunk)
{
    *chunk = (struct dedup_chunk){
        .number = read_le32(entry),
        .container = read_le32(entry + 4),
        .offset = read_le32(entry + 8),
        .generation = read_le32(entry + 12),
        .begin = begin,
        .end = entry_end(entry),
        .stored_bytes = read_le32(entry + 56),
    };
    memcpy(chunk->hash, entry + 24, sizeof(chunk->hash));
}

static int check_entries(struct dedup_map *map, unsigned index, struct error *err)
{
    const struct dedup_part *part = &map->reference.parts[index];
    uint32_t count = map->parts[index].count;
    size_t windows = (count + DEDUP_WINDOW_ENTRIES - 1) / DEDUP_WINDOW_ENTRIES;
    uint64_t at = part->begin;
    struct dedup_chunk chunk;

    map->parts[index].first_window = map->window_count;
    map->open_parts = index + 1;
    if (grow_array((void **)&map->window_begins, &map->window_cap, map->window_count + windows,
                   sizeof(*map->window_begins)) != 0) {
        return error_memory(err, "a stream map");
    }
    for (size_t i = 0; i < windows; i++) {
        map->window_begins[map->window_count++] = at;
        if (load_window(map, map->window_count - 1, err) != 0) {
            return -1;
        }
        for (size_t n = 0; n < map->window_entries; n++) {
            read_entry(map->window + n * DEDUP_MAP_ENTRY_BYTES, at, &chunk);
            if (chunk.end <= at || chunk.end > part->end) {
                return dedup_fail(map->record, err,
                                  "its stream map does not tile it: gap or overlap at byte %llu",
                                  (unsigned long long)at);
            }
            if (chunk.end - at > DEDUP_CHUNK_BYTES_MAX || chunk.stored_bytes == 0 ||
                chunk.stored_bytes > chunk.end - at) {
                return dedup_fail(map->record, err,
                                  "its stream map has a chunk of an impossible size at byte %llu",
                                  (unsigned long long)at);
            }
            at = chunk.end;
        }
    }
    if (at != part->end) {
        return dedup_fail(map->record, err,
                          "its stream map does not tile it: it ends at byte %llu, not %llu",
                          (unsigned long long)at, (unsigned long long)part->end);
    }
    return 0;
}

/* The last one whose begin is not behind it. */
static size_t find_window(const struct dedup_map *map, uint64_t offset)
{
    size_t low = 0;
    size_t high = map->window_count;

    while (high - low > 1) {
        size_t middle = low + (high - low) / 2;
        if (map->window_begins[middle] <= offset) {
            low = middle;
        } else {
            high = middle;
        }
    }
    return low;
}

int dedup_map_find(struct dedup_map *map, uint64_t offset, struct dedup_chunk *ret_chunk,
                   struct error *err)
{
    size_t window = find_window(map, offset);

    if (map->window_loaded != window && load_window(map, window, err) != 0) {
        return -1;
    }
    size_t low = 0;
    size_t high = map->window_entries;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (entry_end(map->window + middle * DEDUP_MAP_ENTRY_BYTES) <= offset) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    uint64_t begin = low == 0 ? map->window_begins[window]
                              : entry_end(map->window + (low - 1) * DEDUP_MAP_ENTRY_BYTES);
    if (low < map->window_entries) {
        read_entry(map->window + low * DEDUP_MAP_ENTRY_BYTES, begin, ret_chunk);
    }
    /* The disk is not to be trusted to say the same twice. */
    if (low == map->window_entries || ret_chunk->begin > offset || ret_chunk->end <= offset ||
        ret_chunk->end - ret_chunk->begin > DEDUP_CHUNK_BYTES_MAX ||
        ret_chunk->stored_bytes > ret_chunk->end - ret_chunk->begin) {
        return dedup_fail(map->record, err, "its stream map changed while it was read");
    }
    return 0;
}

static int load_window(struct dedup_map *map, size_t window, struct error *err)
{
    unsigned index = part_of_window(map, window);
    size_t first = (window - map->parts[index].first_window) * DEDUP_WINDOW_ENTRIES;
    size_t rest = map->parts[index].count - first;
    size_t count = rest < DEDUP_WINDOW_ENTRIES ? rest : DEDUP_WINDOW_ENTRIES;

    map->window_loaded = SIZE_MAX;
    if (dedup_container_read(map->parts[index].container, map->volume,
                             map->parts[index].offset + first * DEDUP_MAP_ENTRY_BYTES, map->window,
                             count * DEDUP_MAP_ENTRY_BYTES, err) != 0) {
        return -1;
    }
    map->window_entries = count;
    map->window_loaded = window;
    return 0;
}

static unsigned part_of_window(const struct dedup_map *map, size_t window)
{
    unsigned index = 0;

    while (index + 1 < map->open_parts && map->parts[index + 1].first_window <= window) {
        index++;
    }
    return index;
}
