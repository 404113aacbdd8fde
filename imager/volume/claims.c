/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Takes claims, and answers which of them are crossed. */
#include "volume/claims.h"

#include <string.h>

#define RECORD_MFT 0
#define RECORD_BITMAP 6

static int take_item(struct volume_claims *claims, uint64_t record,
                     const struct volume_extent *extents, const struct builder_item *item,
                     struct error *err);
static int take_extents(struct volume_claims *claims, const struct volume_extent *extents,
                        size_t count, bool doubtful, struct error *err);
static int keep_other(struct volume_claims *claims, const struct volume_claim *other,
                      struct error *err);
static enum volume_claim_use use_of(const struct builder_item *item);
static int take_bitmap(struct volume_claims *claims, const struct volume_extent *extents,
                       const struct builder_item *item, struct error *err);
static int claim_mft(struct volume_claims *claims, struct error *err);
static int cross_doubtful(struct volume_claims *claims, struct error *err);
static bool find_in_page(const struct volume_claims *claims, size_t page, unsigned first,
                         unsigned end, bool doubtful, unsigned *ret_bit);

struct volume_claims *volume_claims_new(struct volume *volume, const char *folder,
                                        struct error *err)
{
    struct volume_claims *claims = calloc(1, sizeof(*claims));

    if (claims == NULL) {
        (void)error_memory(err, "the map of clusters"); /* fills err; NULL says it */
        return NULL;
    }
    claims->volume = volume;
    claims->others.fd = -1;
    int result = area_open(&claims->others, "the map of clusters", folder, err);
    for (size_t i = 0; i < CLAIMS_SETS && result == 0; i++) {
        result = cluster_set_open(&claims->sets[i], volume->boot.cluster_count, folder, err);
    }
    if (result != 0) {
        volume_claims_free(claims);
        return NULL;
    }
    return claims;
}

void volume_claims_free(struct volume_claims *claims)
{
    if (claims == NULL) {
        return;
    }
    for (size_t i = 0; i < CLAIMS_SETS; i++) {
        cluster_set_close(&claims->sets[i]);
    }
    area_close(&claims->others);
    extent_list_free(&claims->bitmap.extents);
    free(claims->bitmap.bytes);
    free(claims);
}

int claims_take(struct volume_claims *claims, const struct builder *builder, struct error *err)
{
    uint64_t record = builder->entry.record;

    for (size_t i = 0; i < builder->item_count; i++) {
        const struct builder_item *item = &builder->items[i];
        const struct volume_extent *extents =
            item->extent_count > 0 ? builder->extents.items + item->extent_first : NULL;
        bool is_unnamed_data = item->type == ATTRIBUTE_DATA && item->name_len == 0;
        if (record == RECORD_BITMAP && is_unnamed_data &&
            take_bitmap(claims, extents, item, err) != 0) {
            return -1;
        }
        if (item->resident || item->lost || item->extent_count == 0) {
            continue;
        }
        if (take_item(claims, record, extents, item, err) != 0) {
            return -1;
        }
        if (record == RECORD_MFT && is_unnamed_data && !item->doubtful) {
            claims->mft_claimed = true;
        }
    }
    return 0;
}

int claims_finish(struct volume_claims *claims, struct error *err)
{
    if ((!claims->mft_claimed && claim_mft(claims, err) != 0) ||
        claims_compare_bitmap(claims, err) != 0 || cross_doubtful(claims, err) != 0) {
        return -1;
    }
    claims->totals.twice = cluster_set_count(&claims->sets[CLAIMS_FIRM_TWICE]) +
                           cluster_set_count(&claims->sets[CLAIMS_DOUBTFUL_TWICE]);
    claims->totals.free = cluster_set_count(&claims->sets[CLAIMS_FREE]);
    return 0;
}

const struct volume_claims_totals *volume_claims_totals(const struct volume_claims *claims)
{
    return &claims->totals;
}

bool volume_claims_crossed(const struct volume_claims *claims, const struct volume_extent *extents,
                           size_t count, bool doubtful, uint64_t *ret_cluster)
{
    for (size_t i = 0; i < count; i++) {
        uint64_t at = extents[i].cluster;
        uint64_t rest = at == VOLUME_HOLE ? 0 : extents[i].clusters;
        while (rest > 0) {
            size_t page = (size_t)(at / CLUSTER_SET_PAGE_BITS);
            uint64_t first = at % CLUSTER_SET_PAGE_BITS;
            uint64_t room = CLUSTER_SET_PAGE_BITS - first;
            uint64_t here = rest < room ? rest : room;
            unsigned bit = 0;
            if (find_in_page(claims, page, (unsigned)first, (unsigned)(first + here), doubtful,
                             &bit)) {
                *ret_cluster = page * CLUSTER_SET_PAGE_BITS + bit;
                return true;
            }
            at += here;
            rest -= here;
        }
    }
    return false;
}

bool volume_claims_is_free(const struct volume_claims *claims, uint64_t cluster)
{
    const uint64_t *words =
        cluster_set_page(&claims->sets[CLAIMS_FREE], (size_t)(cluster / CLUSTER_SET_PAGE_BITS));
    uint64_t bit = cluster % CLUSTER_SET_PAGE_BITS;

    return words != NULL && (words[bit / 64] >> bit % 64 & 1) != 0;
}

bool volume_claims_counts(const struct volume_stream *stream)
{
    return !stream->lost && stream->extent_count > 0;
}

size_t volume_claims_other_count(const struct volume_claims *claims)
{
    return claims->other_count;
}

const struct volume_claim *volume_claims_other(const struct volume_claims *claims, size_t index)
{
    return (const struct volume_claim *)(const void *)claims->others.bytes + index;
}

static int take_item(struct volume_claims *claims, uint64_t record,
                     const struct volume_extent *extents, const struct builder_item *item,
                     struct error *err)
{
    if (take_extents(claims, extents, item->extent_count, item->doubtful, err) != 0) {
        return -1;
    }
    struct volume_claim other = {
        .record = record, .type = item->type, .use = use_of(item), .doubtful = item->doubtful};
    for (size_t i = 0; item->type != ATTRIBUTE_DATA && i < item->extent_count; i++) {
        other.extent = extents[i];
        if (keep_other(claims, &other, err) != 0) {
            return -1;
        }
    }
    return 0;
}

static int take_extents(struct volume_claims *claims, const struct volume_extent *extents,
                        size_t count, bool doubtful, struct error *err)
{
    struct cluster_set *set = &claims->sets[doubtful ? CLAIMS_DOUBTFUL : CLAIMS_FIRM];
    struct cluster_set *again = &claims->sets[doubtful ? CLAIMS_DOUBTFUL_TWICE : CLAIMS_FIRM_TWICE];

    for (size_t i = 0; i < count; i++) {
        if (extents[i].cluster != VOLUME_HOLE &&
            cluster_set_add(set, extents[i].cluster, extents[i].clusters, again, err) != 0) {
            return -1;
        }
    }
    return 0;
}

static int keep_other(struct volume_claims *claims, const struct volume_claim *other,
                      struct error *err)
{
    if (other->extent.cluster == VOLUME_HOLE) {
        return 0;
    }
    uint8_t *to = area_reserve(&claims->others, sizeof(*other), err);
    if (to == NULL) {
        return -1;
    }
    memcpy(to, other, sizeof(*other));
    claims->others.len += sizeof(*other);
    claims->other_count++;
    return 0;
}

static enum volume_claim_use use_of(const struct builder_item *item)
{
    if (item->type == ATTRIBUTE_LIST || item->type == ATTRIBUTE_REPARSE) {
        return VOLUME_CLAIM_RECORD;
    }
    return item->unused ? VOLUME_CLAIM_UNUSED : VOLUME_CLAIM_VALUE;
}

static int take_bitmap(struct volume_claims *claims, const struct volume_extent *extents,
                       const struct builder_item *item, struct error *err)
{
    struct claims_bitmap *bitmap = &claims->bitmap;
    size_t bytes = item->resident ? (size_t)item->size_bytes
                                  : item->extent_count * sizeof(struct volume_extent);

    bitmap->found = true;
    bitmap->problem = item->problem;
    if ((item->flags & (ATTRIBUTE_FLAG_COMPRESSION | ATTRIBUTE_FLAG_ENCRYPTED)) != 0) {
        bitmap->problem = "it is compressed or encrypted, which it never is";
    }
    bitmap->len = item->valid_bytes < item->size_bytes ? item->valid_bytes : item->size_bytes;
    void *copy = malloc(bytes + 1);
    if (copy == NULL) {
        return error_memory(err, "$Bitmap");
    }
    if (bytes > 0) {
        memcpy(copy, item->resident ? (const void *)item->value : (const void *)extents, bytes);
    }
    if (item->resident) {
        bitmap->bytes = copy;
    } else {
        bitmap->extents = (struct extent_list){
            .items = copy, .count = item->extent_count, .cap = item->extent_count};
    }
    return 0;
}

/* Its record is no good, but the mount has found where it lies. */
static int claim_mft(struct volume_claims *claims, struct error *err)
{
    const struct volume *volume = claims->volume;
    struct volume_claim other = {.record = RECORD_MFT, .type = ATTRIBUTE_DATA};

    for (size_t i = 0; i < volume->mft_run_count; i++) {
        other.extent = (struct volume_extent){.cluster = volume->mft_runs[i].cluster,
                                              .clusters = volume->mft_runs[i].clusters};
        if (take_extents(claims, &other.extent, 1, false, err) != 0 ||
            keep_other(claims, &other, err) != 0) {
            return -1;
        }
    }
    return 0;
}

/* A doubtful claim is crossed by a firm one; the firm one is not. */
static int cross_doubtful(struct volume_claims *claims, struct error *err)
{
    const struct cluster_set *doubtful = &claims->sets[CLAIMS_DOUBTFUL];
    uint64_t both[CLUSTER_SET_PAGE_WORDS];

    for (size_t page = 0; doubtful->touched > 0 && page < doubtful->page_count; page++) {
        const uint64_t *words = cluster_set_page(doubtful, page);
        const uint64_t *firm = cluster_set_page(&claims->sets[CLAIMS_FIRM], page);
        uint64_t any = 0;
        for (size_t i = 0; words != NULL && firm != NULL && i < CLUSTER_SET_PAGE_WORDS; i++) {
            both[i] = words[i] & firm[i];
            any |= both[i];
        }
        if (any != 0 &&
            cluster_set_add_words(&claims->sets[CLAIMS_DOUBTFUL_TWICE], page, both, err) != 0) {
            return -1;
        }
    }
    return 0;
}

static bool find_in_page(const struct volume_claims *claims, size_t page, unsigned first,
                         unsigned end, bool doubtful, unsigned *ret_bit)
{
    const uint64_t *twice =
        cluster_set_page(&claims->sets[doubtful ? CLAIMS_DOUBTFUL_TWICE : CLAIMS_FIRM_TWICE], page);
    const uint64_t *loose = cluster_set_page(&claims->sets[CLAIMS_FREE], page);

    if (twice == NULL && loose == NULL) {
        return false;
    }
    for (unsigned bit = first; bit < end;) {
        uint64_t word =
            (twice != NULL ? twice[bit / 64] : 0) | (loose != NULL ? loose[bit / 64] : 0);
        word &= UINT64_MAX << bit % 64;
        unsigned next = (bit / 64 + 1) * 64;
        if (word != 0) {
            unsigned found = next - 64 + (unsigned)__builtin_ctzll(word);
            *ret_bit = found;
            return found < end;
        }
        bit = next;
    }
    return false;
}
