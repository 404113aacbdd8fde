/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What the two passes of a scan share.
 */
#ifndef WINCH_VOLUME_SCAN_H
#define WINCH_VOLUME_SCAN_H

#include "volume/builder.h"

/* A whole extension record in use, as found in the first pass. */
struct scan_extension {
    uint64_t record;
    uint64_t base_ref;
    uint16_t sequence;
    bool claimed; /* its base's attribute list names it */
};

struct scan {
    struct volume *volume;
    const struct volume_visitor *visitor;
    struct volume_scan_totals totals;
    struct builder builder;
    uint8_t *block;                    /* raw records */
    bool *unreadable;                  /* which records of the block could not be read */
    uint8_t *bitmap;                   /* of $MFT, one bit per record */
    uint8_t *bitmap_unknown;           /* one bit per BITMAP_PIECE_BYTES that could not be read */
    struct scan_extension *extensions; /* by record number */
    size_t extension_count;
    size_t extension_cap;
    uint64_t *listed_bases; /* records with an attribute list, by number */
    size_t listed_base_count;
    size_t listed_base_cap;
};

/* Finish the builder's entry and hand it to the visitor. */
int scan_hand_over(struct scan *scan, struct error *err) WARN_UNUSED;
int scan_stray(struct scan *scan, uint64_t record, uint16_t sequence, uint64_t base,
               const char *why, struct error *err) WARN_UNUSED;
/* The extension with that record and sequence that names `base_ref` as its base, or NULL. */
struct scan_extension *scan_find_extension(struct scan *scan, uint64_t ref, uint64_t base_ref);

/* ---- merge.c: the second pass ------------------------------------------------------------ */

int merge_listed_bases(struct scan *scan, struct error *err) WARN_UNUSED;

#endif
