/* SPDX-License-Identifier: GPL-3.0-or-later */
/* extent_map: offset in a stream → extent → disk. */
#include <string.h>

#include "volume/grow.h"
#include "volume/volume.h"

int volume_extent_map_set(struct volume_extent_map *map, uint32_t cluster_bytes,
                          const struct volume_extent *extents, size_t count, uint64_t need_bytes,
                          uint64_t record, struct error *err)
{
    uint64_t at = 0;

    if (grow_array((void **)&map->starts, &map->cap, count, sizeof(*map->starts)) != 0) {
        return error_memory(err, "an extent list");
    }
    map->extents = extents;
    map->count = count;
    map->cluster_bytes = cluster_bytes;
    map->cursor = 0;
    for (size_t i = 0; i < count; i++) {
        uint64_t bytes = 0;
        map->starts[i] = at;
        if (mul_overflows(extents[i].clusters, map->cluster_bytes, &bytes) ||
            add_overflows(at, bytes, &at)) {
            return error_entry(err, "bad-record", "record %llu: extents overflow",
                               (unsigned long long)record);
        }
    }
    if (at < need_bytes) {
        return error_entry(err, "bad-record",
                           "record %llu: the extents end before the valid data does",
                           (unsigned long long)record);
    }
    return 0;
}

void volume_extent_map_clear(struct volume_extent_map *map)
{
    free(map->starts);
    *map = (struct volume_extent_map){0};
}

size_t volume_extent_map_find(struct volume_extent_map *map, uint64_t offset)
{
    size_t low = map->cursor;
    size_t high = map->count;

    if (map->starts[low] <= offset) {
        if (low + 1 == high || map->starts[low + 1] > offset) {
            return low;
        }
        if (low + 2 == high || map->starts[low + 2] > offset) {
            map->cursor = low + 1;
            return low + 1;
        }
    } else {
        high = low;
        low = 0;
    }
    while (high - low > 1) {
        size_t middle = low + (high - low) / 2;
        if (map->starts[middle] <= offset) {
            low = middle;
        } else {
            high = middle;
        }
    }
    map->cursor = low;
    return low;
}

int volume_extent_map_read(struct volume_extent_map *map, const struct volume *volume,
                           struct disk *disk, uint64_t offset, void *buf, size_t len,
                           struct error *err)
{
    uint8_t *to = buf;

    while (len > 0) {
        size_t i = volume_extent_map_find(map, offset);
        const struct volume_extent *extent = &map->extents[i];
        uint64_t inside = offset - map->starts[i];
        uint64_t left = extent->clusters * map->cluster_bytes - inside;
        size_t take = len < left ? len : (size_t)left;
        if (extent->cluster == VOLUME_HOLE) {
            memset(to, 0, take);
        } else if (disk_read(disk, volume_cluster_position(volume, extent->cluster) + inside, to,
                             take, err) != 0) {
            return -1;
        }
        to += take;
        offset += take;
        len -= take;
    }
    return 0;
}
