/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The second pass: base records with an attribute list, each with the extension records that the
 * list names. Only what is named and found in the right place counts.
 */
#include <string.h>

#include "volume/grow.h"
#include "volume/merge_list.h"
#include "volume/scan.h"

struct merge_found {
    struct attribute_list_entry key;
    struct record_attribute attribute;
    bool is_listed;
    size_t number; /* as found: hard links have the same key, and their order names the object */
};

struct merge {
    struct scan *scan;
    uint64_t base_ref;
    uint8_t *base; /* the base record */
    struct merge_list list;
    uint8_t
        *records; /* the extension records of one entry, so that attributes may point into them */
    size_t records_cap;
    struct merge_found *found;
    size_t found_count;
    const char *list_problem;
};

static int merge_init(struct merge *merge, struct scan *scan, struct error *err);
static void merge_clear(struct merge *merge);
static int merge_base(struct merge *merge, uint64_t number, struct error *err);
static int find_list(struct merge *merge, const struct record_header *header, struct error *err);
static void collect(struct merge *merge, const uint8_t *record, const struct record_header *header,
                    uint64_t ref);
static int collect_extensions(struct merge *merge, struct error *err);
static int collect_extension(struct merge *merge, struct scan_extension *extension, uint8_t *record,
                             struct error *err);
static int feed(struct merge *merge, struct error *err);
static void judge_missing(struct merge *merge);
static int compare_found(const void *a, const void *b);

int merge_listed_bases(struct scan *scan, struct error *err)
{
    CLEANUP(merge_clear) struct merge merge = {0};

    if (scan->listed_base_count == 0) {
        return 0;
    }
    if (merge_init(&merge, scan, err) != 0) {
        return -1;
    }
    for (size_t i = 0; i < scan->listed_base_count; i++) {
        if (merge_base(&merge, scan->listed_bases[i], err) != 0) {
            return -1;
        }
    }
    return 0;
}

static int merge_init(struct merge *merge, struct scan *scan, struct error *err)
{
    merge->scan = scan;
    merge->base = malloc(scan->volume->boot.record_bytes);
    merge->found = malloc(BUILDER_ITEMS_MAX * sizeof(*merge->found));
    if (merge->base == NULL || merge->found == NULL) {
        return error_memory(err, "records with an attribute list");
    }
    return merge_list_init(&merge->list, err);
}

static void merge_clear(struct merge *merge)
{
    free(merge->base);
    free(merge->records);
    free(merge->found);
    merge_list_clear(&merge->list);
}

static int merge_base(struct merge *merge, uint64_t number, struct error *err)
{
    struct scan *scan = merge->scan;
    uint32_t record_bytes = scan->volume->boot.record_bytes;
    struct record_header header;
    struct error cause = {0};

    if (volume_read_records(scan->volume, number, 1, merge->base, &cause) != 0) {
        if (cause.kind != ERROR_FAIL_ENTRY) {
            *err = cause;
            return -1;
        }
        memset(merge->base, 0, record_bytes);
    }
    const char *problem = record_fix_up(merge->base, record_bytes);
    if (problem == NULL) {
        problem = record_parse_header(merge->base, record_bytes, &header);
    }
    if (problem != NULL) { /* it was whole a moment ago: the device fails */
        builder_start(&scan->builder, number, NULL);
        builder_set_problem(&scan->builder, problem);
        return scan_hand_over(scan, err);
    }
    builder_start(&scan->builder, number, &header);
    merge->base_ref = number | (uint64_t)header.sequence << 48;
    merge->found_count = 0;
    merge->list_problem = NULL;
    if (find_list(merge, &header, err) != 0) {
        return -1;
    }
    collect(merge, merge->base, &header, merge->base_ref);
    if (collect_extensions(merge, err) != 0 || feed(merge, err) != 0) {
        return -1;
    }
    judge_missing(merge);
    return scan_hand_over(scan, err);
}

static int find_list(struct merge *merge, const struct record_header *header, struct error *err)
{
    struct record_attribute attribute;
    const char *ignored = NULL; /* collect() comes by the same fault */
    uint32_t at = header->first_attribute;

    merge->list.count = 0;
    while (record_next_attribute(merge->base, header, &at, &attribute, &ignored) > 0) {
        if (attribute.type == ATTRIBUTE_LIST) {
            if (merge_list_load(&merge->list, merge->scan->volume, &attribute, &merge->list_problem,
                                err) != 0) {
                return -1;
            }
            if (merge->list_problem != NULL) {
                builder_set_problem(&merge->scan->builder, merge->list_problem);
            }
            return builder_add(&merge->scan->builder, &attribute,
                               VOLUME_REF_RECORD(merge->base_ref), err); /* its clusters */
        }
    }
    return 0;
}

/* Attributes of the base record count in any case; those of an extension only when listed. */
static void collect(struct merge *merge, const uint8_t *record, const struct record_header *header,
                    uint64_t ref)
{
    struct builder *builder = &merge->scan->builder;
    struct record_attribute attribute;
    const char *problem = NULL;
    uint32_t at = header->first_attribute;

    while (record_next_attribute(record, header, &at, &attribute, &problem) > 0) {
        struct merge_found found = {
            .key = {.type = attribute.type,
                    .name = attribute.name,
                    .name_len = attribute.name_len,
                    .lowest_vcn = attribute.resident ? 0 : attribute.lowest_vcn,
                    .ref = ref},
            .attribute = attribute,
            .number = merge->found_count,
        };
        struct merge_list_entry *entry = merge_list_find(&merge->list, &found.key);
        if (entry != NULL) {
            entry->found++;
            found.is_listed = true;
        } else if (ref != merge->base_ref) {
            continue;
        }
        if (merge->found_count >= BUILDER_ITEMS_MAX) {
            builder_set_problem(builder, "it has too many attributes");
            return;
        }
        if (attribute.type != ATTRIBUTE_LIST) {
            merge->found[merge->found_count++] = found;
        }
    }
    if (problem != NULL) {
        builder_set_problem(builder, problem);
    }
}

static int collect_extensions(struct merge *merge, struct error *err)
{
    struct scan *scan = merge->scan;
    uint32_t record_bytes = scan->volume->boot.record_bytes;
    uint64_t last_ref = merge->base_ref;
    size_t count = 0;

    /* Sorted by record, so that each comes once. Room first: pointers into the records must
     * hold. */
    for (size_t i = 0; i < merge->list.count; i++) {
        count += i == 0 || merge->list.entries[i].named.ref != merge->list.entries[i - 1].named.ref;
    }
    if (grow_array((void **)&merge->records, &merge->records_cap, count, record_bytes) != 0) {
        return error_memory(err, "extension records");
    }
    count = 0;
    for (size_t i = 0; i < merge->list.count; i++) {
        uint64_t ref = merge->list.entries[i].named.ref;
        if (ref == last_ref || ref == merge->base_ref) {
            continue;
        }
        last_ref = ref;
        struct scan_extension *extension = scan_find_extension(scan, ref, merge->base_ref);
        if (extension != NULL &&
            collect_extension(merge, extension, merge->records + count++ * record_bytes, err) !=
                0) {
            return -1;
        }
    }
    return 0;
}

static int collect_extension(struct merge *merge, struct scan_extension *extension, uint8_t *record,
                             struct error *err)
{
    struct scan *scan = merge->scan;
    uint32_t record_bytes = scan->volume->boot.record_bytes;
    struct record_header header;
    struct error cause = {0};

    if (!extension->claimed) {
        extension->claimed = true;
        scan->totals.extensions++;
    }
    if (volume_read_records(scan->volume, extension->record, 1, record, &cause) != 0) {
        if (cause.kind != ERROR_FAIL_ENTRY) {
            *err = cause;
            return -1;
        }
        return 0; /* its pieces will be missing */
    }
    if (record_fix_up(record, record_bytes) == NULL &&
        record_parse_header(record, record_bytes, &header) == NULL) {
        collect(merge, record, &header, extension->record | (uint64_t)extension->sequence << 48);
    }
    return 0;
}

/* Hand the attributes to the builder, pieces of a stream one after the other. */
static int feed(struct merge *merge, struct error *err)
{
    struct builder *builder = &merge->scan->builder;

    qsort(merge->found, merge->found_count, sizeof(*merge->found), compare_found);
    for (size_t i = 0; i < merge->found_count; i++) {
        const struct merge_found *found = &merge->found[i];
        if (builder_add(builder, &found->attribute, VOLUME_REF_RECORD(found->key.ref), err) != 0) {
            return -1;
        }
        if (found->key.type == ATTRIBUTE_DATA && !found->is_listed) {
            builder_spoil_stream(builder, found->key.name, found->key.name_len,
                                 merge->list_problem != NULL
                                     ? merge->list_problem
                                     : "the attribute list does not name it");
        }
    }
    return 0;
}

static void judge_missing(struct merge *merge)
{
    struct builder *builder = &merge->scan->builder;

    for (size_t i = 0; i < merge->list.count;) {
        const struct merge_list_entry *entry = &merge->list.entries[i];
        size_t same = 1;
        while (i + same < merge->list.count &&
               merge_list_compare(&entry->named, &merge->list.entries[i + same].named) == 0) {
            same++;
        }
        i += same;
        bool is_name = entry->named.type == ATTRIBUTE_NAME; /* hard links have the same key */
        if (entry->found > 0 && !(is_name && entry->found < same)) {
            continue;
        }
        switch (entry->named.type) {
        case ATTRIBUTE_DATA:
            builder_spoil_stream(builder, entry->named.name, entry->named.name_len,
                                 "a piece is missing: the attribute list names one that is not "
                                 "there");
            break;
        case ATTRIBUTE_NAME:
            builder_set_problem(builder, "a name is missing that the attribute list names");
            break;
        case ATTRIBUTE_STANDARD:
            builder_set_problem(builder, "its standard information is missing");
            break;
        case ATTRIBUTE_REPARSE:
            builder_set_problem(builder, "its reparse data is missing");
            break;
        default:
            break;
        }
    }
}

/* By type, name and first cluster: the order that the builder needs. */
static int compare_found(const void *a, const void *b)
{
    const struct merge_found *left = a;
    const struct merge_found *right = b;
    struct attribute_list_entry left_key = left->key;
    struct attribute_list_entry right_key = right->key;

    left_key.ref = 0;
    right_key.ref = 0;
    int order = merge_list_compare(&left_key, &right_key);
    if (order == 0) {
        order = (left->key.ref > right->key.ref) - (left->key.ref < right->key.ref);
    }
    return order != 0 ? order
                      : (left->number > right->number) - (left->number < right->number);
}
