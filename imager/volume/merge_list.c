/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Reads and sorts attribute lists.
 */
#include "volume/merge_list.h"

#include <string.h>

static int load_bytes(struct merge_list *list, struct volume *volume,
                      const struct record_attribute *attribute, size_t *ret_len,
                      const char **ret_problem, struct error *err);
static int compare_entries(const void *a, const void *b);

int merge_list_init(struct merge_list *list, struct error *err)
{
    *list = (struct merge_list){0};
    list->bytes = malloc(ATTRIBUTE_LIST_BYTES_MAX);
    list->entries = malloc(MERGE_LIST_ENTRIES_MAX * sizeof(*list->entries));
    if (list->bytes == NULL || list->entries == NULL) {
        merge_list_clear(list);
        return error_memory(err, "attribute lists");
    }
    return 0;
}

void merge_list_clear(struct merge_list *list)
{
    free(list->bytes);
    free(list->entries);
    extent_list_free(&list->extents);
    *list = (struct merge_list){0};
}

int merge_list_load(struct merge_list *list, struct volume *volume,
                    const struct record_attribute *attribute, const char **ret_problem,
                    struct error *err)
{
    size_t len = 0;
    size_t at = 0;

    list->count = 0;
    if (load_bytes(list, volume, attribute, &len, ret_problem, err) != 0) {
        return -1;
    }
    for (;;) {
        struct merge_list_entry *entry = &list->entries[list->count];
        int more = attribute_list_next(list->bytes, len, &at, &entry->named);
        if (more <= 0) {
            if (more < 0) {
                *ret_problem = "its attribute list is malformed";
            }
            break;
        }
        entry->found = 0;
        list->count++;
    }
    qsort(list->entries, list->count, sizeof(*list->entries), compare_entries);
    return 0;
}

int merge_list_compare(const struct attribute_list_entry *a, const struct attribute_list_entry *b)
{
    if (a->ref != b->ref) {
        return a->ref < b->ref ? -1 : 1;
    }
    if (a->type != b->type) {
        return a->type < b->type ? -1 : 1;
    }
    if (a->name_len != b->name_len) {
        return a->name_len < b->name_len ? -1 : 1;
    }
    int names = memcmp(a->name, b->name, a->name_len * (size_t)2);
    if (names != 0) {
        return names;
    }
    return a->lowest_vcn < b->lowest_vcn ? -1 : a->lowest_vcn > b->lowest_vcn ? 1 : 0;
}

struct merge_list_entry *merge_list_find(struct merge_list *list,
                                         const struct attribute_list_entry *key)
{
    size_t low = 0;
    size_t high = list->count;

    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (merge_list_compare(&list->entries[middle].named, key) < 0) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    bool is_there = low < list->count && merge_list_compare(&list->entries[low].named, key) == 0;
    return is_there ? &list->entries[low] : NULL;
}

static int load_bytes(struct merge_list *list, struct volume *volume,
                      const struct record_attribute *attribute, size_t *ret_len,
                      const char **ret_problem, struct error *err)
{
    struct error cause = {0};
    bool no_memory = false;

    if (attribute->resident) {
        *ret_len = attribute->value_len < ATTRIBUTE_LIST_BYTES_MAX ? attribute->value_len
                                                                   : ATTRIBUTE_LIST_BYTES_MAX;
        memcpy(list->bytes, attribute->value, *ret_len);
        return 0;
    }
    uint64_t covered = attribute->clusters * volume->boot.cluster_bytes;
    if (attribute->lowest_vcn != 0 || attribute->clusters > ATTRIBUTE_LIST_BYTES_MAX ||
        attribute->size_bytes > ATTRIBUTE_LIST_BYTES_MAX || attribute->size_bytes > covered ||
        attribute->valid_bytes != attribute->size_bytes ||
        (attribute->flags & ATTRIBUTE_FLAG_COMPRESSION) != 0) {
        *ret_problem = "its attribute list is malformed";
        return 0;
    }
    list->extents.count = 0;
    const char *problem =
        runlist_decode(attribute->pairs, attribute->pairs_len, volume->boot.cluster_count,
                       attribute->clusters, 0, &list->extents, &no_memory);
    if (no_memory) {
        return error_memory(err, "extents of an attribute list");
    }
    if (problem != NULL) {
        *ret_problem = "the extents of its attribute list are damaged";
        return 0;
    }
    if (mft_read_extents(volume, list->extents.items, list->extents.count, attribute->valid_bytes,
                         list->bytes, (size_t)attribute->size_bytes, &cause) != 0) {
        if (cause.kind != ERROR_FAIL_ENTRY) {
            *err = cause;
            return -1;
        }
        *ret_problem = "its attribute list cannot be read";
        return 0;
    }
    *ret_len = (size_t)attribute->size_bytes;
    return 0;
}

static int compare_entries(const void *a, const void *b)
{
    const struct merge_list_entry *left = a;
    const struct merge_list_entry *right = b;

    return merge_list_compare(&left->named, &right->named);
}
