/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * store_list: names in order. A bucket keeps its slots sorted up to the names that have come since
 * the last listing; those are sorted and merged in when somebody lists.
 */
#include <string.h>

#include "store_table.h"

static int compare_slots(const void *a, const void *b)
{
    const struct slot *const *left = a;
    const struct slot *const *right = b;
    return strcmp((*left)->name, (*right)->name);
}

int store_sort_bucket(struct bucket *bucket)
{
    size_t fresh_count = bucket->order_count - bucket->sorted_count;
    if (fresh_count == 0) {
        return 0;
    }
    struct slot **fresh = reallocarray(NULL, fresh_count, sizeof(struct slot *));
    if (fresh == NULL) {
        return -1;
    }
    memcpy(fresh, bucket->order + bucket->sorted_count, fresh_count * sizeof(struct slot *));
    qsort(fresh, fresh_count, sizeof(struct slot *), compare_slots);
    size_t old_left = bucket->sorted_count;
    size_t fresh_left = fresh_count;
    while (fresh_left > 0) { /* merge from the end, in place */
        struct slot **place = &bucket->order[old_left + fresh_left - 1];
        if (old_left > 0 &&
            compare_slots(&bucket->order[old_left - 1], &fresh[fresh_left - 1]) > 0) {
            *place = bucket->order[--old_left];
        } else {
            *place = fresh[--fresh_left];
        }
    }
    free(fresh);
    bucket->sorted_count = bucket->order_count;
    return 0;
}

/* Index of the first slot whose name is not less than `name`. */
static size_t lower_bound(const struct bucket *bucket, const char *name)
{
    size_t low = 0;
    size_t high = bucket->sorted_count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (strcmp(bucket->order[middle]->name, name) < 0) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low;
}

static bool has_prefix(const char *name, const char *prefix, size_t len)
{
    return strncmp(name, prefix, len) == 0;
}

static int add_object(struct store_page *page, struct object *object, size_t max)
{
    if (page->objects == NULL) {
        page->objects = reallocarray(NULL, max, sizeof(struct object *));
        if (page->objects == NULL) {
            return -1;
        }
    }
    page->objects[page->object_count++] = object_retain(object);
    return 0;
}

static int add_prefix(struct store_page *page, const char *name, size_t len, size_t max)
{
    if (page->prefixes == NULL) {
        page->prefixes = reallocarray(NULL, max, sizeof(char *));
        if (page->prefixes == NULL) {
            return -1;
        }
    }
    char *prefix = strndup(name, len);
    if (prefix == NULL) {
        return -1;
    }
    page->prefixes[page->prefix_count++] = prefix;
    return 0;
}

/* Length of the common prefix that `name` falls under, 0 if none. */
static size_t group_len(const struct store_query *query, size_t prefix_len, const char *name)
{
    if (query->delimiter[0] == '\0') {
        return 0;
    }
    const char *found = strstr(name + prefix_len, query->delimiter);
    return found == NULL ? 0 : (size_t)(found - name) + strlen(query->delimiter);
}

/* Is the slot's name one that an earlier page has told? */
static bool already_told(const struct store_query *query, const char *name)
{
    if (query->skip_start_group) {
        return has_prefix(name, query->start, strlen(query->start));
    }
    return query->start_excluded && strcmp(name, query->start) == 0;
}

static int fill_page(const struct bucket *bucket, const struct store_query *query,
                     struct store_page *page)
{
    size_t prefix_len = strlen(query->prefix);
    const char *from = strcmp(query->start, query->prefix) > 0 ? query->start : query->prefix;
    for (size_t i = lower_bound(bucket, from); i < bucket->sorted_count; i++) {
        const struct slot *slot = bucket->order[i];
        const char *name = slot->name;
        if (!has_prefix(name, query->prefix, prefix_len) ||
            (query->end[0] != '\0' && strcmp(name, query->end) >= 0)) {
            break;
        }
        if (slot->current == NULL || already_told(query, name)) {
            continue;
        }
        size_t len = group_len(query, prefix_len, name);
        if (len > 0 && page->last_is_prefix && strlen(page->last) == len &&
            has_prefix(name, page->last, len)) {
            continue; /* the group that was just told */
        }
        if (page->object_count + page->prefix_count == query->max_results) {
            page->more = true;
            break;
        }
        int result = len > 0 ? add_prefix(page, name, len, query->max_results)
                             : add_object(page, slot->current, query->max_results);
        if (result != 0) {
            return -1;
        }
        page->last_is_prefix = len > 0;
        memcpy(page->last, name, len > 0 ? len : strlen(name));
        page->last[len > 0 ? len : strlen(name)] = '\0';
    }
    return 0;
}

int store_list(struct store *store, const struct store_query *query, struct store_page *ret)
{
    *ret = (struct store_page){0};
    int result = 0;
    (void)pthread_mutex_lock(&store->lock);
    struct bucket *bucket = store_find_bucket(store, query->bucket);
    if (bucket != NULL) {
        result = store_sort_bucket(bucket);
        if (result == 0) {
            result = fill_page(bucket, query, ret);
        }
    }
    (void)pthread_mutex_unlock(&store->lock);
    if (result != 0) {
        store_page_clear(ret);
    }
    return result;
}

void store_page_clear(struct store_page *page)
{
    for (size_t i = 0; i < page->object_count; i++) {
        object_release(page->objects[i]);
    }
    for (size_t i = 0; i < page->prefix_count; i++) {
        free(page->prefixes[i]);
    }
    free(page->objects);
    free(page->prefixes);
    *page = (struct store_page){0};
}

int store_visit(struct store *store, const char *bucket_name,
                void (*visit)(void *self, const struct object *object, uint64_t inserts),
                void *self)
{
    int result = 0;
    (void)pthread_mutex_lock(&store->lock);
    for (struct bucket *bucket = store->buckets; bucket != NULL; bucket = bucket->next) {
        if (bucket_name != NULL && strcmp(bucket->name, bucket_name) != 0) {
            continue;
        }
        if (store_sort_bucket(bucket) != 0) {
            result = -1;
            break;
        }
        for (size_t i = 0; i < bucket->order_count; i++) {
            const struct slot *slot = bucket->order[i];
            if (slot->current != NULL) {
                visit(self, slot->current, slot->inserts);
            }
        }
    }
    (void)pthread_mutex_unlock(&store->lock);
    return result;
}

void store_visit_buckets(struct store *store, void (*visit)(void *self, const char *bucket),
                         void *self)
{
    (void)pthread_mutex_lock(&store->lock);
    for (struct bucket *bucket = store->buckets; bucket != NULL; bucket = bucket->next) {
        visit(self, bucket->name);
    }
    (void)pthread_mutex_unlock(&store->lock);
}
