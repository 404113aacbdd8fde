/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Bits in pages, and ranges of them. */
#include "volume/cluster_set.h"

#include <string.h>

#define PAGE_NONE 0
#define PAGE_FULL UINT32_MAX
#define WORD_BITS 64U

static int add_in_page(struct cluster_set *set, size_t page, unsigned first, unsigned count,
                       struct cluster_set *again, struct error *err);
static int open_page(struct cluster_set *set, size_t page, struct error *err);
static uint64_t *words_of(const struct cluster_set *set, size_t page);
static size_t next_page(struct cluster_set *set, size_t page);
static uint64_t mask_of(unsigned word, unsigned first, unsigned end);

int cluster_set_open(struct cluster_set *set, uint64_t cluster_count, const char *folder,
                     struct error *err)
{
    *set = (struct cluster_set){.area.fd = -1};
    set->page_count = (size_t)(cluster_count / CLUSTER_SET_PAGE_BITS) + 1;
    if (area_open(&set->area, "the map of clusters", folder, err) != 0) {
        return -1;
    }
    set->table = calloc(set->page_count, sizeof(*set->table)); /* untouched pages of it cost none */
    set->skip = calloc(set->page_count, sizeof(*set->skip));
    set->full = malloc(CLUSTER_SET_PAGE_BYTES);
    if (set->table == NULL || set->skip == NULL || set->full == NULL) {
        return error_memory(err, "the map of clusters");
    }
    memset(set->full, UINT8_MAX, CLUSTER_SET_PAGE_BYTES);
    return 0;
}

void cluster_set_close(struct cluster_set *set)
{
    if (set->page_count > 0) {
        area_close(&set->area);
    }
    free(set->table);
    free(set->skip);
    free(set->full);
    *set = (struct cluster_set){0};
}

void cluster_set_empty(struct cluster_set *set)
{
    for (size_t page = 0; set->touched > 0 && page < set->page_count; page++) {
        set->skip[page] = 0;
        if (set->table[page] != PAGE_NONE) {
            set->table[page] = PAGE_NONE;
            set->touched--;
        }
    }
    if (set->area.len > 0) {
        memset(set->area.bytes, 0, set->area.len);
        set->area.len = 0;
    }
}

int cluster_set_add(struct cluster_set *set, uint64_t first, uint64_t count,
                    struct cluster_set *again, struct error *err)
{
    uint64_t end = first + count;

    while (first < end) {
        size_t page = (size_t)(first / CLUSTER_SET_PAGE_BITS);
        if (set->skip[page] != 0) {
            first = next_page(set, page) * CLUSTER_SET_PAGE_BITS;
            continue;
        }
        uint64_t start = page * CLUSTER_SET_PAGE_BITS;
        uint64_t stop = end - start < CLUSTER_SET_PAGE_BITS ? end : start + CLUSTER_SET_PAGE_BITS;
        if (add_in_page(set, page, (unsigned)(first - start), (unsigned)(stop - first), again,
                        err) != 0) {
            return -1;
        }
        if (again != NULL && set->table[page] == PAGE_FULL && again->table[page] == PAGE_FULL) {
            set->skip[page] = 1;
        }
        first = stop;
    }
    return 0;
}

int cluster_set_add_words(struct cluster_set *set, size_t page,
                          const uint64_t words[CLUSTER_SET_PAGE_WORDS], struct error *err)
{
    if (set->table[page] == PAGE_FULL) {
        return 0;
    }
    if (open_page(set, page, err) != 0) {
        return -1;
    }
    uint64_t *to = words_of(set, page);
    for (size_t i = 0; i < CLUSTER_SET_PAGE_WORDS; i++) {
        to[i] |= words[i];
    }
    return 0;
}

const uint64_t *cluster_set_page(const struct cluster_set *set, size_t page)
{
    if (set->table[page] == PAGE_NONE) {
        return NULL;
    }
    return set->table[page] == PAGE_FULL ? set->full : words_of(set, page);
}

uint64_t cluster_set_count(const struct cluster_set *set)
{
    uint64_t count = 0;

    for (size_t page = 0; set->touched > 0 && page < set->page_count; page++) {
        const uint64_t *words = cluster_set_page(set, page);
        for (size_t i = 0; words != NULL && i < CLUSTER_SET_PAGE_WORDS; i++) {
            count += (uint64_t)__builtin_popcountll(words[i]);
        }
    }
    return count;
}

static int add_in_page(struct cluster_set *set, size_t page, unsigned first, unsigned count,
                       struct cluster_set *again, struct error *err)
{
    if (set->table[page] == PAGE_NONE && count == CLUSTER_SET_PAGE_BITS) {
        set->table[page] = PAGE_FULL;
        set->touched++;
        return 0;
    }
    if (set->table[page] == PAGE_FULL) {
        return again == NULL ? 0 : add_in_page(again, page, first, count, NULL, err);
    }
    if (open_page(set, page, err) != 0) {
        return -1;
    }
    uint64_t *words = words_of(set, page);
    if (count == CLUSTER_SET_PAGE_BITS) { /* its own page stays where it is, unused from now on */
        set->table[page] = PAGE_FULL;
    }
    uint64_t *twice = NULL;
    unsigned end = first + count;
    for (unsigned word = first / WORD_BITS; word * WORD_BITS < end; word++) {
        uint64_t mask = mask_of(word, first, end);
        uint64_t both = words[word] & mask;
        words[word] |= mask;
        if (both == 0 || again == NULL || again->table[page] == PAGE_FULL) {
            continue;
        }
        if (twice == NULL) {
            if (open_page(again, page, err) != 0) {
                return -1;
            }
            twice = words_of(again, page);
        }
        twice[word] |= both;
    }
    return 0;
}

/* Make the page unless it is there; not for one that is full. */
static int open_page(struct cluster_set *set, size_t page, struct error *err)
{
    if (set->table[page] != PAGE_NONE) {
        return 0;
    }
    if (area_reserve(&set->area, CLUSTER_SET_PAGE_BYTES, err) == NULL) {
        return -1;
    }
    size_t number = set->area.len / CLUSTER_SET_PAGE_BYTES;
    if (number >= PAGE_FULL - 1) {
        return error_memory(err, "the map of clusters");
    }
    set->area.len += CLUSTER_SET_PAGE_BYTES;
    set->table[page] = (uint32_t)number + 1;
    set->touched++;
    return 0;
}

static uint64_t *words_of(const struct cluster_set *set, size_t page)
{
    size_t number = set->table[page] - 1;

    return (uint64_t *)(void *)(set->area.bytes + number * CLUSTER_SET_PAGE_BYTES);
}

/* The first page behind `page` that is not to be skipped; the way there is made shorter. */
static size_t next_page(struct cluster_set *set, size_t page)
{
    size_t end = page;

    while (end < set->page_count && set->skip[end] != 0) {
        end += set->skip[end];
    }
    while (page < end) {
        size_t next = page + set->skip[page];
        size_t distance = end - page;
        set->skip[page] = distance < UINT32_MAX ? (uint32_t)distance : UINT32_MAX;
        page = next;
    }
    return end;
}

/* The bits of a word that lie in [first, end). */
static uint64_t mask_of(unsigned word, unsigned first, unsigned end)
{
    unsigned start = word * WORD_BITS;
    uint64_t mask = UINT64_MAX;

    if (first > start) {
        mask &= UINT64_MAX << (first - start);
    }
    if (end - start < WORD_BITS) {
        mask &= UINT64_MAX >> (WORD_BITS - (end - start));
    }
    return mask;
}
