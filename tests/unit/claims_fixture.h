/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Volumes with a $MFT and a $Bitmap, for the tests of claims: which attribute lies where is a
 * table. Record n stands at n; the clusters of $MFT come first, those of $Bitmap behind them.
 */
#ifndef WINCH_TEST_CLAIMS_FIXTURE_H
#define WINCH_TEST_CLAIMS_FIXTURE_H

#include "record_maker.h"

#define CLAIMS_RECORDS 32
#define CLAIMS_MFT_CLUSTERS (CLAIMS_RECORDS * MAKER_RECORD_BYTES / MAKER_CLUSTER_BYTES)
#define CLAIMS_BITMAP_AT CLAIMS_MFT_CLUSTERS
#define CLAIMS_BITMAP_CLUSTERS (MAKER_CLUSTERS / 8 / MAKER_CLUSTER_BYTES + 1)
#define CLAIMS_RUNS 4
#define CLAIMS_ATTRIBUTES 6
#define CLAIMS_HOLE UINT32_MAX

enum claims_damage {
    CLAIMS_WHOLE,
    CLAIMS_BAD_PAIRS,   /* the list of extents ends in a run that cannot be */
    CLAIMS_BAD_SIZE,    /* more data than clusters */
    CLAIMS_BAD_VALID,   /* more valid than there is: libntfs-3g reads it */
    CLAIMS_LATER_PIECE, /* begins behind its first cluster */
};

struct claims_attribute {
    uint8_t record;
    uint32_t type;
    const char *name;
    struct {
        uint32_t cluster, count;
    } runs[CLAIMS_RUNS];
    enum claims_damage damage;
};

/* Lengths of two bytes, distances of three. */
static inline uint32_t claims_pairs(const struct claims_attribute *attribute, uint8_t *pairs,
                                    uint64_t *ret_clusters)
{
    uint32_t len = 0;
    int64_t last = 0;

    *ret_clusters = 0;
    for (size_t i = 0; i < CLAIMS_RUNS && attribute->runs[i].count > 0; i++) {
        bool hole = attribute->runs[i].cluster == CLAIMS_HOLE;
        int64_t distance = hole ? 0 : (int64_t)attribute->runs[i].cluster - last;
        pairs[len++] = hole ? 0x03 : 0x33;
        put32(pairs + len, attribute->runs[i].count);
        len += 3;
        if (!hole) {
            put32(pairs + len, (uint64_t)distance & 0xFFFFFF);
            last += distance;
            len += 3;
        }
        *ret_clusters += attribute->runs[i].count;
    }
    if (attribute->damage == CLAIMS_BAD_PAIRS) {
        pairs[len++] = 0xFF;
    }
    pairs[len++] = 0;
    return len;
}

static inline void claims_add(uint8_t *record, const struct claims_attribute *attribute)
{
    uint8_t pairs[64];
    uint64_t clusters = 0;
    uint32_t len = claims_pairs(attribute, pairs, &clusters);
    uint64_t lowest = attribute->damage == CLAIMS_LATER_PIECE ? 7 : 0;
    uint8_t *at =
        maker_nonresident(record, attribute->type, attribute->name != NULL ? attribute->name : "",
                          lowest, clusters, pairs, len);

    if (attribute->damage == CLAIMS_BAD_SIZE) {
        put64(at + 48, (clusters + 1) * MAKER_CLUSTER_BYTES);
    }
    if (attribute->damage == CLAIMS_BAD_VALID) {
        put64(at + 56, clusters * MAKER_CLUSTER_BYTES + 1);
    }
}

struct claims_case {
    const char *name;
    struct claims_attribute attributes[CLAIMS_ATTRIBUTES]; /* by record */
    uint32_t free[2];      /* clusters that $Bitmap calls free; 0: none */
    uint32_t bitmap_bytes; /* 0: all */
    bool no_bitmap, no_mft;
    const char *expected;
};

static inline struct volume *claims_volume(const struct claims_case *row)
{
    size_t clusters = CLAIMS_MFT_CLUSTERS + CLAIMS_BITMAP_CLUSTERS;
    CLEANUP_FREE uint8_t *bytes = calloc(clusters, MAKER_CLUSTER_BYTES);
    const struct claims_attribute mft = {.type = ATTRIBUTE_DATA,
                                         .runs = {{0, CLAIMS_MFT_CLUSTERS}}};
    const struct claims_attribute bitmap = {.type = ATTRIBUTE_DATA,
                                            .runs = {{CLAIMS_BITMAP_AT, CLAIMS_BITMAP_CLUSTERS}}};

    if (bytes == NULL) {
        abort();
    }
    for (unsigned number = 0; number < CLAIMS_RECORDS; number++) {
        uint8_t *record = bytes + (size_t)number * MAKER_RECORD_BYTES;
        bool used = (number == 0 && !row->no_mft) || (number == 6 && !row->no_bitmap);
        maker_open(record, 1, 0);
        if (number == 0) {
            claims_add(record, &mft);
        }
        if (number == 6) {
            claims_add(record, &bitmap);
            if (row->bitmap_bytes != 0) {
                uint8_t *at = record + MAKER_ATTRIBUTES_AT;
                put64(at + 48, row->bitmap_bytes);
                put64(at + 56, row->bitmap_bytes);
            }
        }
        for (size_t i = 0; i < CLAIMS_ATTRIBUTES; i++) {
            if (row->attributes[i].type != 0 && row->attributes[i].record == number) {
                claims_add(record, &row->attributes[i]);
                used = true;
            }
        }
        maker_close(record);
        if (!used) {
            memset(record, 0, MAKER_RECORD_BYTES);
        }
    }
    uint8_t *bits = bytes + (size_t)CLAIMS_BITMAP_AT * MAKER_CLUSTER_BYTES;
    memset(bits, 0xFF, MAKER_CLUSTERS / 8);
    for (size_t i = 0; i < ARRAY_LEN(row->free); i++) {
        if (row->free[i] != 0) {
            bits[row->free[i] / 8] &= (uint8_t) ~(1U << row->free[i] % 8);
        }
    }
    struct volume *volume =
        maker_volume(bytes, clusters * (MAKER_CLUSTER_BYTES / MAKER_RECORD_BYTES));
    volume->info.mft_records = CLAIMS_RECORDS;
    volume->mft_valid_bytes = CLAIMS_RECORDS * (uint64_t)MAKER_RECORD_BYTES;
    volume->mft_runs[0].clusters = CLAIMS_MFT_CLUSTERS;
    return volume;
}

#endif
