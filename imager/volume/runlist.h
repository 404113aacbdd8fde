/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Mapping pairs: where the clusters of a stream lie. Pure functions on buffers.
 */
#ifndef WINCH_VOLUME_RUNLIST_H
#define WINCH_VOLUME_RUNLIST_H

#include "volume/volume.h"

/* Extents of one entry: 32 MiB of memory. A file of 256 KiB of attribute list, the most NTFS
 * allows, can hold about as many. */
#define RUNLIST_EXTENTS_MAX (UINT32_C(2) << 20)

struct extent_list {
    struct volume_extent *items;
    size_t count;
    size_t cap;
};

void extent_list_free(struct extent_list *list);

/* Append the runs in `pairs` to `list`, joining a run with the one before it where both are
 * neighbours and the earlier one has an index of at least `first`. `clusters` is how many clusters
 * the runs must cover in all.
 * Returns NULL, or why the runs cannot be trusted (a sentence part that lives forever). After that
 * the list holds what was decoded before the fault; out of memory sets *ret_no_memory. */
const char *runlist_decode(const uint8_t *pairs, size_t len, uint64_t cluster_count,
                           uint64_t clusters, size_t first, struct extent_list *list,
                           bool *ret_no_memory);

#endif
