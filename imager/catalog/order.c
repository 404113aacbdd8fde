/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Slots in the order of their records. A scan adds most entries in order and those with attribute
 * lists behind them, so the work is to merge a short tail.
 */
#include "catalog/catalog_internal.h"

#include <string.h>

static bool before(const struct catalog_slot *a, const struct catalog_slot *b);
static int compare(const void *a, const void *b);
static uint32_t sorted_length(const struct catalog_slot *slots, uint32_t count);
static int merge_tail(struct catalog_slot *slots, uint32_t sorted, uint32_t count);
static uint32_t drop_repeated(struct catalog_slot *slots, uint32_t count);

int catalog_order(struct catalog *catalog, struct error *err)
{
    if (catalog->count == 0) {
        return 0;
    }
    struct catalog_slot *slots = catalog_slots(catalog);
    uint32_t sorted = sorted_length(slots, catalog->count);
    if (sorted < catalog->count && merge_tail(slots, sorted, catalog->count) != 0) {
        return error_memory(err, "the catalog");
    }
    catalog->count = drop_repeated(slots, catalog->count);
    catalog->slots.len = catalog->count * sizeof(*slots);
    return 0;
}

/* Of equal records the one added first, whose blob comes first. */
static bool before(const struct catalog_slot *a, const struct catalog_slot *b)
{
    uint64_t record_a = VOLUME_REF_RECORD(a->ref);
    uint64_t record_b = VOLUME_REF_RECORD(b->ref);
    return record_a < record_b || (record_a == record_b && a->place < b->place);
}

static int compare(const void *a, const void *b)
{
    return before(a, b) ? -1 : (before(b, a) ? 1 : 0);
}

static uint32_t sorted_length(const struct catalog_slot *slots, uint32_t count)
{
    uint32_t length = 1;
    while (length < count && before(&slots[length - 1], &slots[length])) {
        length++;
    }
    return length;
}

static int merge_tail(struct catalog_slot *slots, uint32_t sorted, uint32_t count)
{
    uint32_t tail_count = count - sorted;
    CLEANUP_FREE struct catalog_slot *tail = malloc(tail_count * sizeof(*tail));
    if (tail == NULL) {
        return -1;
    }
    memcpy(tail, slots + sorted, tail_count * sizeof(*tail));
    if (sorted_length(tail, tail_count) < tail_count) {
        qsort(tail, tail_count, sizeof(*tail), compare);
    }
    /* From behind, so that nothing is overwritten before it was moved. */
    uint32_t to = count;
    while (tail_count > 0) {
        bool from_tail = sorted == 0 || before(&slots[sorted - 1], &tail[tail_count - 1]);
        slots[--to] = from_tail ? tail[--tail_count] : slots[--sorted];
    }
    return 0;
}

static uint32_t drop_repeated(struct catalog_slot *slots, uint32_t count)
{
    uint32_t kept = 1;
    for (uint32_t i = 1; i < count; i++) {
        if (VOLUME_REF_RECORD(slots[i].ref) != VOLUME_REF_RECORD(slots[kept - 1].ref)) {
            slots[kept++] = slots[i];
        }
    }
    return kept;
}
