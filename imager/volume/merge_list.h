/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The attribute list of one base record: read, parsed, sorted, and asked which attributes it names.
 */
#ifndef WINCH_VOLUME_MERGE_LIST_H
#define WINCH_VOLUME_MERGE_LIST_H

#include "volume/attribute_list.h"
#include "volume/record.h"
#include "volume/runlist.h"
#include "volume/volume_internal.h"

/* The shortest entry has 26 bytes. */
#define MERGE_LIST_ENTRIES_MAX (ATTRIBUTE_LIST_BYTES_MAX / 26 + 1)

struct merge_list_entry {
    struct attribute_list_entry named;
    size_t found; /* attributes with this key; counted in the first of equal entries */
};

struct merge_list {
    uint8_t *bytes;                   /* ATTRIBUTE_LIST_BYTES_MAX */
    struct merge_list_entry *entries; /* sorted by merge_list_compare() */
    size_t count;
    struct extent_list extents;
};

int merge_list_init(struct merge_list *list, struct error *err) WARN_UNUSED;
void merge_list_clear(struct merge_list *list);

/* Read the list that `attribute` holds. *ret_problem: it cannot be trusted; what could be parsed is
 * there all the same. Fails when the whole disk does. */
int merge_list_load(struct merge_list *list, struct volume *volume,
                    const struct record_attribute *attribute, const char **ret_problem,
                    struct error *err) WARN_UNUSED;
/* By record, sequence, type, name and first cluster. */
int merge_list_compare(const struct attribute_list_entry *a, const struct attribute_list_entry *b);
/* The first of the entries with that key, or NULL. */
struct merge_list_entry *merge_list_find(struct merge_list *list,
                                         const struct attribute_list_entry *key);

#endif
