/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * A set of clusters: one bit each, in pages that exist only where a bit is set. The pages lie in an
 * evictable file of the state folder; a page whose bits are all set costs nothing but its place in
 * the table, so that a volume full of large files stays cheap.
 */
#ifndef WINCH_VOLUME_CLUSTER_SET_H
#define WINCH_VOLUME_CLUSTER_SET_H

#include "base/base.h"

#define CLUSTER_SET_PAGE_BYTES 4096
#define CLUSTER_SET_PAGE_BITS (CLUSTER_SET_PAGE_BYTES * UINT64_C(8))
#define CLUSTER_SET_PAGE_WORDS (CLUSTER_SET_PAGE_BYTES / sizeof(uint64_t))

struct cluster_set {
    struct area area;
    uint32_t *table; /* per page: 0 none, UINT32_MAX all bits are set, else its number + 1 */
    uint32_t *skip;  /* per page: how many to go on when it and `again` are full; 0: it is not */
    uint64_t *full;  /* what a page with all bits reads as */
    size_t page_count;
    size_t touched; /* pages that are not empty */
};

/* An empty set for clusters below `cluster_count`. `folder` is borrowed. */
int cluster_set_open(struct cluster_set *set, uint64_t cluster_count, const char *folder,
                     struct error *err) WARN_UNUSED;
void cluster_set_close(struct cluster_set *set); /* also of one that was never opened */
void cluster_set_empty(struct cluster_set *set);

/* Add `count` clusters from `first`, which lie within the volume. Those that are in the set already
 * go into `again` too, always the same set or NULL. A page that is full in both is not looked at
 * again, so that a hostile volume whose every file claims all of it ends in time. */
int cluster_set_add(struct cluster_set *set, uint64_t first, uint64_t count,
                    struct cluster_set *again, struct error *err) WARN_UNUSED;
/* Add the bits of `words` to a page. */
int cluster_set_add_words(struct cluster_set *set, size_t page,
                          const uint64_t words[CLUSTER_SET_PAGE_WORDS],
                          struct error *err) WARN_UNUSED;
/* The words of a page, lowest cluster first; NULL when no bit is set. Valid until the next add. */
const uint64_t *cluster_set_page(const struct cluster_set *set, size_t page);
uint64_t cluster_set_count(const struct cluster_set *set);

#endif
