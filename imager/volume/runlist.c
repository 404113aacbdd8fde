/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Decodes mapping pairs: a byte with two lengths, a run length, and a signed distance from the run
 * before. Every sum is checked, since the bytes come from the disk.
 */
#include "volume/runlist.h"

#include "volume/grow.h"

static const char *append_run(struct extent_list *list, size_t first, uint64_t cluster,
                              uint64_t clusters, bool *ret_no_memory);
static int64_t read_signed(const uint8_t *bytes, unsigned len);

void extent_list_free(struct extent_list *list)
{
    free(list->items);
    *list = (struct extent_list){0};
}

const char *runlist_decode(const uint8_t *pairs, size_t len, uint64_t cluster_count,
                           uint64_t clusters, size_t first, struct extent_list *list,
                           bool *ret_no_memory)
{
    int64_t cluster = 0;
    uint64_t total = 0;
    size_t at = 0;

    for (;;) {
        if (at >= len) {
            return "its list of extents has no end";
        }
        unsigned length_len = pairs[at] & 0x0F;
        unsigned offset_len = pairs[at] >> 4;
        if (pairs[at] == 0) {
            break;
        }
        at++;
        if (length_len == 0 || length_len > 8 || offset_len > 8 ||
            length_len + offset_len > len - at) {
            return "its list of extents is malformed";
        }
        int64_t length = read_signed(pairs + at, length_len);
        uint64_t start = VOLUME_HOLE;
        at += length_len;
        if (length <= 0 || (uint64_t)length > clusters - total) {
            return "its extents do not add up to its clusters";
        }
        if (offset_len > 0) {
            if (__builtin_add_overflow(cluster, read_signed(pairs + at, offset_len), &cluster) ||
                cluster < 0 || (uint64_t)cluster >= cluster_count ||
                (uint64_t)length > cluster_count - (uint64_t)cluster) {
                return "an extent lies outside the volume";
            }
            start = (uint64_t)cluster;
            at += offset_len;
        }
        total += (uint64_t)length;
        const char *problem = append_run(list, first, start, (uint64_t)length, ret_no_memory);
        if (problem != NULL) {
            return problem;
        }
    }
    return total == clusters ? NULL : "its extents do not add up to its clusters";
}

static const char *append_run(struct extent_list *list, size_t first, uint64_t cluster,
                              uint64_t clusters, bool *ret_no_memory)
{
    if (list->count > first) {
        struct volume_extent *last = &list->items[list->count - 1];
        bool both_holes = last->cluster == VOLUME_HOLE && cluster == VOLUME_HOLE;
        bool neighbours = last->cluster != VOLUME_HOLE && cluster != VOLUME_HOLE &&
                          last->cluster + last->clusters == cluster;
        if (both_holes || neighbours) {
            last->clusters += clusters;
            return NULL;
        }
    }
    if (list->count >= RUNLIST_EXTENTS_MAX) {
        return "it has too many extents";
    }
    if (grow_array((void **)&list->items, &list->cap, list->count + 1, sizeof(*list->items)) != 0) {
        *ret_no_memory = true;
        return "out of memory";
    }
    list->items[list->count++] = (struct volume_extent){.cluster = cluster, .clusters = clusters};
    return NULL;
}

/* Little-endian two's complement of 1 to 8 bytes. */
static int64_t read_signed(const uint8_t *bytes, unsigned len)
{
    uint64_t value = (bytes[len - 1] & 0x80) != 0 ? UINT64_MAX : 0;

    for (unsigned i = len; i > 0; i--) {
        value = value << 8 | bytes[i - 1];
    }
    return (int64_t)value;
}
