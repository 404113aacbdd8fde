/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Who claims which cluster: filled while $MFT is scanned, then compared with $Bitmap. volume.h has
 * what the catalog asks afterwards. Two kinds of claims:
 *
 * A firm claim comes from a list of extents that decoded to its end and tiles its attribute. Two of
 * them on one cluster accuse each other: nothing says which one is right.
 *
 * A doubtful claim comes from a list of extents that is itself damaged; libntfs-3g may read such a
 * stream all the same. It accuses nobody, but is crossed itself where anybody else claims a
 * cluster of it.
 *
 * A stream that is lost claims nothing: nobody reads it. Neither does a record that is no good as a
 * whole (a stray), or a hole.
 */
#ifndef WINCH_VOLUME_CLAIMS_H
#define WINCH_VOLUME_CLAIMS_H

#include "volume/builder.h"
#include "volume/cluster_set.h"

enum claims_set {
    CLAIMS_FIRM,           /* by a firm claim */
    CLAIMS_FIRM_TWICE,     /* by two */
    CLAIMS_DOUBTFUL,       /* by a doubtful one */
    CLAIMS_DOUBTFUL_TWICE, /* by two */
    CLAIMS_FREE,           /* claimed by either, and free by $Bitmap */
    CLAIMS_SETS,
};

/* The stream of record 6 as the scan found it. */
struct claims_bitmap {
    bool found;
    const char *problem; /* NULL, or why it cannot be used at all: a sentence part */
    struct extent_list extents;
    uint8_t *bytes; /* a resident one */
    uint64_t len;   /* bytes that mean something */
};

struct volume_claims {
    struct volume *volume; /* borrowed */
    struct cluster_set sets[CLAIMS_SETS];
    struct area others; /* struct volume_claim: those that are no $DATA */
    size_t other_count;
    bool mft_claimed; /* by its own record */
    struct claims_bitmap bitmap;
    struct volume_claims_totals totals;
};

/* Take the claims of the entry that the builder has finished. */
int claims_take(struct volume_claims *claims, const struct builder *builder,
                struct error *err) WARN_UNUSED;
/* All claims are in: compare with $Bitmap, count. Fails when the whole disk does. */
int claims_finish(struct volume_claims *claims, struct error *err) WARN_UNUSED;

/* ---- claims_bitmap.c --------------------------------------------------------------------- */

/* Fill CLAIMS_FREE and the number of claimed clusters of which $Bitmap says nothing. */
int claims_compare_bitmap(struct volume_claims *claims, struct error *err) WARN_UNUSED;

#endif
