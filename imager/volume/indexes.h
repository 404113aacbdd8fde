/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The directory indexes as a check of $MFT, which stays the truth. Every name has a hash over all
 * that an index repeats of it: record, parent, name, name space. While $MFT is scanned each record
 * adds its names' hashes to the sum of their parent, and each directory subtracts those in its
 * index root; the index blocks are noted. indexes_walk.c reads the blocks, in the order of the
 * disk, and subtracts theirs. Where the sum is not zero something differs; only then a second scan
 * collects the names of those directories.
 */
#ifndef WINCH_VOLUME_INDEXES_H
#define WINCH_VOLUME_INDEXES_H

#include "volume/builder.h"
#include "volume/cluster_set.h"
#include "volume/index.h"

/* Directories that are looked into, and names that are collected for it: more than anybody reads,
 * and at most 88 MB of an evictable file. */
#define INDEXES_DETAIL_DIRECTORIES 1000
#define INDEXES_DETAIL_NAMES (UINT32_C(1) << 20)
/* A hostile volume can list any number of blocks; more than this could not be read in time. */
#define INDEXES_BLOCKS_MAX (UINT32_C(16) << 20)
#define INDEXES_NAME_UNITS VOLUME_DIFFERENCE_UNITS

struct indexes_block {
    uint64_t position; /* on the disk */
    uint64_t vcn;
    uint32_t directory; /* record */
    uint32_t bytes;
};

struct indexes_found {
    struct volume_difference name; /* first, so that it can be handed out */
    uint64_t hash;
};

struct volume_indexes {
    struct volume *volume; /* borrowed */
    struct area sums;      /* uint64_t per record */
    struct area blocks;    /* struct indexes_block */
    size_t block_count;
    struct cluster_set directories; /* records with an index */
    struct cluster_set torn;        /* a part of the index cannot be read or makes no sense */
    struct cluster_set unchecked;   /* time was up, or a block lies in pieces */
    struct cluster_set selected;    /* to be looked into */
    bool collecting;                /* the second scan */
    bool cut;                       /* more names than INDEXES_DETAIL_NAMES */
    struct area found;              /* struct indexes_found */
    size_t found_count;
    struct volume_indexes_totals totals;
};

/* Take the entry that the builder has finished. */
int indexes_take(struct volume_indexes *indexes, const struct builder *builder,
                 struct error *err) WARN_UNUSED;
/* Names of an index, subtracted or collected. Not for several threads while collecting. */
struct indexes_names {
    struct volume_indexes *indexes;
    uint64_t directory;
    bool no_room; /* out: the names could not be kept */
    struct error *err;
};
void indexes_see_name(void *self, const struct index_name *name);

static inline bool indexes_has(const struct cluster_set *set, uint64_t record)
{
    const uint64_t *words = cluster_set_page(set, (size_t)(record / CLUSTER_SET_PAGE_BITS));
    uint64_t bit = record % CLUSTER_SET_PAGE_BITS;

    return words != NULL && (words[bit / 64] >> bit % 64 & 1) != 0;
}

/* ---- indexes_walk.c ---------------------------------------------------------------------- */

/* Read all noted blocks. */
int indexes_walk(struct volume_indexes *indexes, struct error *err) WARN_UNUSED;

#endif
