/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Claims against $Bitmap, page by page; a page of claims and the bytes of $Bitmap for it are alike.
 * Where $Bitmap tells nothing, that is held against nobody.
 */
#include <string.h>

#include "volume/claims.h"

/* Pages of one read. Pages without a claim are not read, unless they lie between others. */
#define BLOCK_PAGES 256

struct bitmap_walk {
    struct volume_claims *claims;
    uint8_t *block;
    size_t extent; /* a cursor: the reads go up */
    uint64_t extent_start;
};

static const char *judge_bitmap(struct volume_claims *claims);
static int compare_blocks(struct volume_claims *claims, struct error *err);
static int compare_block(struct bitmap_walk *walk, size_t first, size_t count, struct error *err);
static int read_bytes(struct bitmap_walk *walk, uint64_t offset, uint8_t *to, size_t len,
                      struct error *err);
static int compare_page(struct volume_claims *claims, size_t page, const uint8_t *bytes,
                        uint64_t known_bits, struct error *err);
static bool is_claimed(const struct volume_claims *claims, size_t page);
static size_t known_bytes(const struct volume_claims *claims, size_t page);
static int give_up(struct volume_claims *claims, const char *problem, struct error *err);

int claims_compare_bitmap(struct volume_claims *claims, struct error *err)
{
    const struct claims_bitmap *bitmap = &claims->bitmap;
    uint64_t cluster = 0;
    const char *problem = judge_bitmap(claims);

    if (problem != NULL) {
        return give_up(claims, problem, err);
    }
    if (compare_blocks(claims, err) != 0) {
        return -1;
    }
    if (volume_claims_crossed(claims, bitmap->extents.items, bitmap->extents.count, false,
                              &cluster)) {
        return give_up(claims, "it says that its own clusters are free", err);
    }
    return 0;
}

static const char *judge_bitmap(struct volume_claims *claims)
{
    const struct claims_bitmap *bitmap = &claims->bitmap;
    uint64_t cluster = 0;

    if (!bitmap->found) {
        return "its record cannot be read";
    }
    if (bitmap->problem != NULL) {
        return bitmap->problem;
    }
    for (size_t i = 0; i < bitmap->extents.count; i++) {
        if (bitmap->extents.items[i].cluster == VOLUME_HOLE) {
            return "it has holes, which it never has";
        }
    }
    if (volume_claims_crossed(claims, bitmap->extents.items, bitmap->extents.count, false,
                              &cluster)) {
        return "its own clusters are claimed by others too";
    }
    return NULL;
}

static int compare_blocks(struct volume_claims *claims, struct error *err)
{
    CLEANUP_FREE uint8_t *block = malloc(BLOCK_PAGES * CLUSTER_SET_PAGE_BYTES);
    struct bitmap_walk walk = {.claims = claims, .block = block};
    size_t page_count = claims->sets[CLAIMS_FIRM].page_count;

    if (block == NULL) {
        return error_memory(err, "$Bitmap");
    }
    for (size_t first = 0; first < page_count;) {
        if (!is_claimed(claims, first)) {
            first++;
            continue;
        }
        size_t count = 1;
        for (size_t i = 1; i < BLOCK_PAGES && first + i < page_count; i++) {
            count = is_claimed(claims, first + i) ? i + 1 : count;
        }
        if (compare_block(&walk, first, count, err) != 0) {
            return -1;
        }
        first += count;
    }
    return 0;
}

/* Where a block has a bad sector its pages are read one by one. */
static int compare_block(struct bitmap_walk *walk, size_t first, size_t count, struct error *err)
{
    struct volume_claims *claims = walk->claims;
    struct bitmap_walk start = *walk;
    struct error cause = {0};
    size_t len = 0;

    for (size_t i = 0; i < count; i++) {
        len += known_bytes(claims, first + i);
    }
    bool whole =
        read_bytes(walk, first * (uint64_t)CLUSTER_SET_PAGE_BYTES, walk->block, len, &cause) == 0;
    for (size_t i = 0; i < count; i++) {
        uint8_t *bytes = walk->block + i * CLUSTER_SET_PAGE_BYTES;
        uint64_t known = known_bytes(claims, first + i);
        if (!whole && cause.kind == ERROR_FAIL_ENTRY &&
            read_bytes(&start, (first + i) * (uint64_t)CLUSTER_SET_PAGE_BYTES, bytes, (size_t)known,
                       &cause) != 0) {
            known = 0;
        }
        if (!whole && cause.kind != ERROR_FAIL_ENTRY) {
            *err = cause;
            return -1;
        }
        if (compare_page(claims, first + i, bytes, known * 8, err) != 0) {
            return -1;
        }
    }
    return 0;
}

/* Offsets never go down. */
static int read_bytes(struct bitmap_walk *walk, uint64_t offset, uint8_t *to, size_t len,
                      struct error *err)
{
    const struct claims_bitmap *bitmap = &walk->claims->bitmap;
    struct volume *volume = walk->claims->volume;

    if (bitmap->bytes != NULL && len > 0) {
        memcpy(to, bitmap->bytes + offset, len);
        return 0;
    }
    while (len > 0) {
        const struct volume_extent *extent = &bitmap->extents.items[walk->extent];
        uint64_t extent_bytes = extent->clusters * volume->boot.cluster_bytes;
        uint64_t skip = offset - walk->extent_start;
        if (skip >= extent_bytes) {
            walk->extent++;
            walk->extent_start += extent_bytes;
            continue;
        }
        uint64_t rest = extent_bytes - skip;
        size_t count = len < rest ? len : (size_t)rest;
        if (disk_read(volume->disk, volume_cluster_position(volume, extent->cluster) + skip, to,
                      count, err) != 0) {
            return -1;
        }
        to += count;
        offset += count;
        len -= count;
    }
    return 0;
}

static int compare_page(struct volume_claims *claims, size_t page, const uint8_t *bytes,
                        uint64_t known_bits, struct error *err)
{
    const uint64_t *firm = cluster_set_page(&claims->sets[CLAIMS_FIRM], page);
    const uint64_t *doubtful = cluster_set_page(&claims->sets[CLAIMS_DOUBTFUL], page);
    uint64_t loose[CLUSTER_SET_PAGE_WORDS] = {0};
    uint64_t any = 0;

    for (size_t i = 0; i < CLUSTER_SET_PAGE_WORDS; i++) {
        uint64_t claimed = (firm != NULL ? firm[i] : 0) | (doubtful != NULL ? doubtful[i] : 0);
        uint64_t known = i * 64 >= known_bits       ? 0
                         : known_bits - i * 64 < 64 ? UINT64_MAX >> (64 - (known_bits - i * 64))
                                                    : UINT64_MAX;
        if (claimed == 0) {
            continue;
        }
        if (known != UINT64_MAX) {
            claims->totals.unknown += (uint64_t)__builtin_popcountll(claimed & ~known);
        }
        if (known != 0) {
            uint8_t word[8] = {0};
            memcpy(word, bytes + i * 8, known_bits - i * 64 < 64 ? (known_bits - i * 64) / 8 : 8);
            loose[i] = claimed & known & ~read_le64(word);
            any |= loose[i];
        }
    }
    return any == 0 ? 0 : cluster_set_add_words(&claims->sets[CLAIMS_FREE], page, loose, err);
}

static bool is_claimed(const struct volume_claims *claims, size_t page)
{
    return cluster_set_page(&claims->sets[CLAIMS_FIRM], page) != NULL ||
           cluster_set_page(&claims->sets[CLAIMS_DOUBTFUL], page) != NULL;
}

/* Whole bytes of $Bitmap that belong to the page: it may be shorter than the volume. */
static size_t known_bytes(const struct volume_claims *claims, size_t page)
{
    uint64_t start = page * (uint64_t)CLUSTER_SET_PAGE_BYTES;

    if (claims->bitmap.len <= start) {
        return 0;
    }
    uint64_t rest = claims->bitmap.len - start;
    return rest < CLUSTER_SET_PAGE_BYTES ? (size_t)rest : CLUSTER_SET_PAGE_BYTES;
}

static int give_up(struct volume_claims *claims, const char *problem, struct error *err)
{
    uint8_t nothing[CLUSTER_SET_PAGE_BYTES];

    cluster_set_empty(&claims->sets[CLAIMS_FREE]);
    claims->totals.bitmap_problem = problem;
    claims->totals.unknown = 0;
    for (size_t page = 0; page < claims->sets[CLAIMS_FIRM].page_count; page++) {
        if (is_claimed(claims, page) && compare_page(claims, page, nothing, 0, err) != 0) {
            return -1;
        }
    }
    return 0;
}
