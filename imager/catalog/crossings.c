/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Which entries and streams are cross-linked: only when the scan found clusters that speak against
 * somebody. Two passes over the catalog: the first finds, for each stream, the first such cluster;
 * the second finds who else claims those clusters. What is kept grows with the number of crossed
 * streams, in evictable files, and no list of a hostile volume makes a pass quadratic: a cluster
 * takes two claims, and then it is skipped.
 */
#include "catalog/catalog_internal.h"

#include <string.h>

#define ORDINAL_OTHER UINT16_MAX /* of a claim that is no stream */
#define CLAIM_NONE UINT64_MAX

/* Extents that one stream or another attribute claims. */
struct claim {
    uint64_t id; /* record, and above it the number of the stream */
    int64_t entry;
    uint16_t stream;
    uint8_t part; /* enum catalog_crossed_part */
    bool doubtful;
    const struct volume_extent *extents;
    size_t extent_count;
};

/* A cluster that speaks against somebody, and the first two claims of it. */
struct owned {
    uint64_t cluster;
    uint64_t first, second;
    size_t next; /* itself, or on the way to the next that has room */
};

struct search {
    struct catalog *catalog;
    const struct volume_claims *claims;
    struct catalog_view view;
    size_t crossing_count; /* the catalog's own stays 0 until they are sorted */
    struct area owned;
    size_t owned_count;
};

typedef int see_fn(struct search *search, const struct claim *claim, struct error *err);

static int each_claim(struct search *search, see_fn *see, struct error *err);
static int each_other(struct search *search, see_fn *see, struct error *err);
static int see_first(struct search *search, const struct claim *claim, struct error *err);
static void count_crossed(struct catalog_crossed_totals *totals, const struct claim *claim,
                          uint64_t cluster);
static int list_owned(struct search *search, struct error *err);
static int see_owner(struct search *search, const struct claim *claim, struct error *err);
static size_t first_from(const struct search *search, uint64_t cluster);
static size_t with_room(struct owned *owned, size_t count, size_t index);
static void name_others(struct search *search);
static void name_other(const struct search *search, struct catalog_crossing *crossing);
static int compare_owned(const void *a, const void *b);
static int compare_crossings(const void *a, const void *b);

int catalog_cross(struct catalog *catalog, const struct volume_claims *claims, struct error *err)
{
    const struct volume_claims_totals *found = volume_claims_totals(claims);
    struct search search = {.catalog = catalog, .claims = claims, .owned.fd = -1};

    catalog->crossed.claims = *found;
    if (found->twice == 0 && found->free == 0) {
        return 0;
    }
    int result = area_open(&catalog->crossings, "the catalog", catalog->folder, err);
    if (result == 0) {
        result = area_open(&search.owned, "the catalog", catalog->folder, err);
    }
    if (result == 0) {
        result = each_claim(&search, see_first, err);
    }
    if (result == 0) {
        result = list_owned(&search, err);
    }
    if (result == 0) {
        result = each_claim(&search, see_owner, err);
    }
    if (result == 0) {
        name_others(&search);
        area_seal(&catalog->crossings);
    }
    area_close(&search.owned);
    catalog_view_clear(&search.view);
    return result;
}

static int each_claim(struct search *search, see_fn *see, struct error *err)
{
    uint32_t count = catalog_count(search->catalog);

    for (uint32_t i = 0; i < count; i++) {
        if (catalog_get(search->catalog, i, &search->view, err) != 0) {
            return -1;
        }
        const struct volume_entry *entry = &search->view.entry;
        for (size_t n = 0; n < entry->stream_count && n < ORDINAL_OTHER; n++) {
            const struct volume_stream *stream = &entry->streams[n];
            struct claim claim = {
                .id = entry->record | (uint64_t)n << 48,
                .entry = i,
                .stream = (uint16_t)n,
                .part = CATALOG_CROSSED_STREAM,
                .doubtful = stream->doubtful,
                .extents = stream->extents,
                .extent_count = stream->extent_count,
            };
            if (volume_claims_counts(stream) && see(search, &claim, err) != 0) {
                return -1;
            }
        }
    }
    return each_other(search, see, err);
}

static int each_other(struct search *search, see_fn *see, struct error *err)
{
    static const uint8_t parts[] = {
        [VOLUME_CLAIM_UNUSED] = CATALOG_CROSSED_UNUSED,
        [VOLUME_CLAIM_VALUE] = CATALOG_CROSSED_VALUE,
        [VOLUME_CLAIM_RECORD] = CATALOG_CROSSED_RECORD,
    };

    for (size_t i = 0; i < volume_claims_other_count(search->claims); i++) {
        const struct volume_claim *other = volume_claims_other(search->claims, i);
        struct claim claim = {
            .id = other->record | (uint64_t)ORDINAL_OTHER << 48,
            .entry = catalog_find(search->catalog, other->record),
            .stream = ORDINAL_OTHER,
            .part = parts[other->use],
            .doubtful = other->doubtful,
            .extents = &other->extent,
            .extent_count = 1,
        };
        if (see(search, &claim, err) != 0) {
            return -1;
        }
    }
    return 0;
}

/* Only the first of many extents of one attribute is kept. What nothing is read from, and what has
 * no entry, is counted and no more: the totals warn of it. */
static int see_first(struct search *search, const struct claim *claim, struct error *err)
{
    struct catalog *catalog = search->catalog;
    uint64_t cluster = 0;

    if (!volume_claims_crossed(search->claims, claim->extents, claim->extent_count, claim->doubtful,
                               &cluster)) {
        return 0;
    }
    if (search->crossing_count > 0 && claim->part != CATALOG_CROSSED_STREAM) {
        const struct catalog_crossing *last =
            (const struct catalog_crossing *)(const void *)catalog->crossings.bytes +
            search->crossing_count - 1;
        if (last->entry == claim->entry && last->part == claim->part) {
            return 0;
        }
    }
    count_crossed(&catalog->crossed, claim, cluster);
    if (claim->part == CATALOG_CROSSED_UNUSED || claim->entry < 0) {
        return 0;
    }
    uint8_t *to = area_reserve(&catalog->crossings, sizeof(struct catalog_crossing), err);
    if (to == NULL) {
        return -1;
    }
    *(struct catalog_crossing *)(void *)to = (struct catalog_crossing){
        .cluster = cluster,
        .other = claim->id, /* until name_other() */
        .entry = (uint32_t)claim->entry,
        .stream = claim->stream,
        .part = claim->part,
    };
    catalog->crossings.len += sizeof(struct catalog_crossing);
    search->crossing_count++;
    return 0;
}

static void count_crossed(struct catalog_crossed_totals *totals, const struct claim *claim,
                          uint64_t cluster)
{
    uint64_t record = VOLUME_REF_RECORD(claim->id);

    if (record < CATALOG_SYSTEM_RECORDS && record != CATALOG_ROOT_RECORD) {
        if (totals->system == 0) {
            totals->system_record = record;
            totals->system_cluster = cluster;
        }
        totals->system++;
    } else if (claim->part == CATALOG_CROSSED_UNUSED) {
        if (totals->unused == 0) {
            totals->unused_record = record;
            totals->unused_cluster = cluster;
        }
        totals->unused++;
    } else if (claim->part == CATALOG_CROSSED_STREAM) {
        totals->streams++;
    } else {
        totals->values++;
    }
}

/* Each cluster once, sorted. */
static int list_owned(struct search *search, struct error *err)
{
    const struct catalog *catalog = search->catalog;
    const struct catalog_crossing *crossings =
        (const struct catalog_crossing *)(const void *)catalog->crossings.bytes;
    size_t count = search->crossing_count;
    size_t kept = 0;

    struct owned *owned = (void *)area_reserve(&search->owned, (count + 1) * sizeof(*owned), err);
    if (owned == NULL) {
        return -1;
    }
    for (size_t i = 0; i < count; i++) {
        owned[i] = (struct owned){
            .cluster = crossings[i].cluster, .first = CLAIM_NONE, .second = CLAIM_NONE};
    }
    qsort(owned, count, sizeof(*owned), compare_owned);
    for (size_t i = 0; i < count; i++) {
        if (kept == 0 || owned[kept - 1].cluster != owned[i].cluster) {
            owned[kept] = owned[i];
            owned[kept].next = kept;
            kept++;
        }
    }
    search->owned_count = kept;
    return 0;
}

/* An attribute that claims a cluster twice takes both places, so that every look fills one. */
static int see_owner(struct search *search, const struct claim *claim, struct error *err)
{
    struct owned *owned = (struct owned *)(void *)search->owned.bytes;
    size_t count = search->owned_count;

    (void)err; /* nothing here can fail */
    for (size_t i = 0; i < claim->extent_count; i++) {
        const struct volume_extent *extent = &claim->extents[i];
        if (extent->cluster == VOLUME_HOLE) {
            continue;
        }
        size_t at = with_room(owned, count, first_from(search, extent->cluster));
        while (at < count && owned[at].cluster - extent->cluster < extent->clusters) {
            if (owned[at].first == CLAIM_NONE) {
                owned[at].first = claim->id;
            } else {
                owned[at].second = claim->id;
                owned[at].next = at + 1;
            }
            at = with_room(owned, count, at + 1);
        }
    }
    return 0;
}

static size_t first_from(const struct search *search, uint64_t cluster)
{
    const struct owned *owned = (const struct owned *)(const void *)search->owned.bytes;
    size_t low = 0;
    size_t high = search->owned_count;

    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (owned[middle].cluster < cluster) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low;
}

/* The first from `index` on that has room for a claim; the ways there are made shorter. */
static size_t with_room(struct owned *owned, size_t count, size_t index)
{
    while (index < count && owned[index].next != index) {
        size_t next = owned[index].next;
        if (next < count) {
            owned[index].next = owned[next].next;
        }
        index = next;
    }
    return index;
}

static void name_others(struct search *search)
{
    struct catalog *catalog = search->catalog;
    struct catalog_crossing *crossings =
        (struct catalog_crossing *)(void *)catalog->crossings.bytes;

    for (size_t i = 0; i < search->crossing_count; i++) {
        name_other(search, &crossings[i]);
    }
    if (search->crossing_count > 0) {
        qsort(crossings, search->crossing_count, sizeof(*crossings), compare_crossings);
    }
    catalog->crossing_count = search->crossing_count;
}

static void name_other(const struct search *search, struct catalog_crossing *crossing)
{
    const struct owned *owned = (const struct owned *)(const void *)search->owned.bytes +
                                first_from(search, crossing->cluster);
    uint64_t own = crossing->other;
    uint64_t other = owned->first != own ? owned->first : owned->second;

    crossing->other = VOLUME_REF_RECORD(other);
    if (other == own) {
        crossing->how = CATALOG_CROSSED_ITSELF;
    } else if (other != CLAIM_NONE) {
        crossing->how = VOLUME_REF_RECORD(other) == VOLUME_REF_RECORD(own) ? CATALOG_CROSSED_SIBLING
                                                                           : CATALOG_CROSSED_OTHER;
    } else {
        crossing->how = volume_claims_is_free(search->claims, crossing->cluster)
                            ? CATALOG_CROSSED_FREE
                            : CATALOG_CROSSED_UNNAMED;
    }
}

static int compare_owned(const void *a, const void *b)
{
    const struct owned *left = a;
    const struct owned *right = b;

    return (left->cluster > right->cluster) - (left->cluster < right->cluster);
}

static int compare_crossings(const void *a, const void *b)
{
    const struct catalog_crossing *left = a;
    const struct catalog_crossing *right = b;

    if (left->entry != right->entry) {
        return left->entry < right->entry ? -1 : 1;
    }
    if (left->stream != right->stream) {
        return left->stream < right->stream ? -1 : 1;
    }
    return (left->part > right->part) - (left->part < right->part);
}
