/* SPDX-License-Identifier: GPL-3.0-or-later */
/* store: the live objects; puts, deletes and changes under one lock. */
#include "store.h"

#include <string.h>

#include "object_index.h"
#include "store_table.h"

#define FIRST_CHAINS 256

static uint64_t hash_name(const char *name)
{
    uint64_t hash = 0xcbf29ce484222325u; /* FNV-1a */
    for (const unsigned char *byte = (const unsigned char *)name; *byte != '\0'; byte++) {
        hash = (hash ^ *byte) * 0x100000001b3u;
    }
    return hash;
}

struct store *store_new(struct object_index *index)
{
    struct store *store = calloc(1, sizeof(*store));
    if (store != NULL) {
        (void)pthread_mutex_init(&store->lock, NULL); /* cannot fail on Linux */
        store->index = index;
    }
    return store;
}

void store_protect(struct store *store, const struct protection *protection)
{
    store->protection = *protection;
}

void store_free(struct store *store)
{
    if (store == NULL) {
        return;
    }
    while (store->buckets != NULL) {
        struct bucket *bucket = store->buckets;
        store->buckets = bucket->next;
        for (size_t i = 0; i < bucket->order_count; i++) {
            object_release(bucket->order[i]->current);
            free(bucket->order[i]);
        }
        free(bucket->order);
        free(bucket->chains);
        free(bucket->name);
        free(bucket);
    }
    (void)pthread_mutex_destroy(&store->lock);
    free(store);
}

struct bucket *store_find_bucket(struct store *store, const char *name)
{
    for (struct bucket *bucket = store->buckets; bucket != NULL; bucket = bucket->next) {
        if (strcmp(bucket->name, name) == 0) {
            return bucket;
        }
    }
    return NULL;
}

struct slot *store_find_slot(struct bucket *bucket, const char *name)
{
    if (bucket == NULL) {
        return NULL;
    }
    uint64_t hash = hash_name(name);
    struct slot *slot = bucket->chains[hash & (bucket->chain_count - 1)];
    while (slot != NULL && (slot->hash != hash || strcmp(slot->name, name) != 0)) {
        slot = slot->next;
    }
    return slot;
}

static struct bucket *need_bucket(struct store *store, const char *name)
{
    struct bucket *bucket = store_find_bucket(store, name);
    if (bucket != NULL) {
        return bucket;
    }
    bucket = calloc(1, sizeof(*bucket));
    if (bucket == NULL) {
        return NULL;
    }
    bucket->name = strdup(name);
    bucket->chains = calloc(FIRST_CHAINS, sizeof(*bucket->chains));
    if (bucket->name == NULL || bucket->chains == NULL) {
        free(bucket->name);
        free(bucket->chains);
        free(bucket);
        return NULL;
    }
    bucket->chain_count = FIRST_CHAINS;
    bucket->next = store->buckets;
    store->buckets = bucket;
    return bucket;
}

/* Twice the chains; without memory the old ones go on, only slower. */
static void grow_chains(struct bucket *bucket)
{
    size_t count = bucket->chain_count * 2;
    struct slot **chains = calloc(count, sizeof(*chains));
    if (chains == NULL) {
        return;
    }
    for (size_t i = 0; i < bucket->order_count; i++) {
        struct slot *slot = bucket->order[i];
        struct slot **head = &chains[slot->hash & (count - 1)];
        slot->next = *head;
        *head = slot;
    }
    free(bucket->chains);
    bucket->chains = chains;
    bucket->chain_count = count;
}

static bool is_part_name(const char *name)
{
    static const char folder[] = ".winch/parts/";
    return strncmp(name, folder, strlen(folder)) == 0 || strstr(name, "/.winch/parts/") != NULL;
}

static struct slot *need_slot(struct store *store, const char *bucket_name, const char *name)
{
    struct bucket *bucket = need_bucket(store, bucket_name);
    struct slot *slot = store_find_slot(bucket, name);
    if (bucket == NULL || slot != NULL) {
        return slot;
    }
    if (bucket->order_count == bucket->order_cap) {
        size_t cap = bucket->order_cap == 0 ? FIRST_CHAINS : bucket->order_cap * 2;
        struct slot **order = reallocarray(bucket->order, cap, sizeof(struct slot *));
        if (order == NULL) {
            return NULL;
        }
        bucket->order = order;
        bucket->order_cap = cap;
    }
    size_t len = strlen(name);
    slot = calloc(1, sizeof(*slot) + len + 1);
    if (slot == NULL) {
        return NULL;
    }
    memcpy(slot->name, name, len + 1);
    slot->hash = hash_name(name);
    slot->is_part = is_part_name(name);
    bucket->order[bucket->order_count++] = slot;
    if (bucket->order_count > bucket->chain_count) {
        grow_chains(bucket); /* links the new slot too, unless there is no memory */
    }
    if (store_find_slot(bucket, name) == NULL) {
        struct slot **head = &bucket->chains[slot->hash & (bucket->chain_count - 1)];
        slot->next = *head;
        *head = slot;
    }
    return slot;
}

static void count_object(struct store *store, const struct slot *slot, int sign)
{
    uint64_t one = sign > 0 ? 1 : UINT64_MAX; /* wraps: subtracts one */
    uint64_t size = slot->current->digest.size_bytes;
    store->numbers.objects += one;
    store->numbers.bytes += sign > 0 ? size : 0 - size;
    store->numbers.part_objects += slot->is_part ? one : 0;
}

/* The live object of the slot becomes `object` (NULL: none). The old one is returned, for the
 * caller to release without the lock. */
static struct object *replace_current(struct store *store, struct slot *slot, struct object *object)
{
    struct object *old = slot->current;
    if (old != NULL) {
        count_object(store, slot, -1);
        blob_set_keep(old->blob, false);
    }
    slot->current = object == NULL ? NULL : object_retain(object);
    if (object != NULL) {
        count_object(store, slot, +1);
        blob_set_keep(object->blob, true);
    }
    return old;
}

static enum store_result check_protection(const struct store *store, const struct object *object)
{
    switch (protection_check(&store->protection, object, clock_utc_ns())) {
    case PROTECTION_RETAINED:
        return STORE_RETAINED;
    case PROTECTION_HELD:
        return STORE_HELD;
    default:
        return STORE_OK;
    }
}

static void count_soft_delete(struct store *store, const struct object *old)
{
    if (old != NULL && store->protection.soft_delete) {
        store->numbers.soft_deleted++;
        store->numbers.soft_deleted_bytes += old->digest.size_bytes;
    }
}

static enum store_result check_put(struct store *store, const struct store_put *put,
                                   enum condition *ret_failed)
{
    struct slot *slot = store_find_slot(store_find_bucket(store, put->bucket), put->name);
    struct object *live = slot == NULL ? NULL : slot->current;
    if (live != NULL && !put->may_replace) {
        return STORE_NEEDS_DELETE; /* told before preconditions are looked at */
    }
    uint64_t generation = live == NULL ? 0 : live->generation;
    uint64_t metageneration = live == NULL ? 0 : live->metageneration;
    if (!conditions_met(put->conditions, generation, metageneration, ret_failed)) {
        return STORE_CONDITION;
    }
    return live == NULL ? STORE_OK : check_protection(store, live);
}

enum store_result store_check_put(struct store *store, const struct store_put *put,
                                  enum condition *ret_failed)
{
    (void)pthread_mutex_lock(&store->lock);
    enum store_result result = check_put(store, put, ret_failed);
    (void)pthread_mutex_unlock(&store->lock);
    return result;
}

/* With the lock held and the conditions met. */
static enum store_result put_checked(struct store *store, const struct store_put *put,
                                     struct object *object, struct object **ret_old)
{
    struct slot *slot = need_slot(store, put->bucket, put->name);
    if (slot == NULL) {
        return STORE_FAILED;
    }
    object->bucket = store_find_bucket(store, put->bucket)->name;
    object->name = slot->name;
    object->created_ns = clock_utc_ns();
    object->updated_ns = object->created_ns;
    uint64_t generation = object->created_ns / 1000;
    if (generation <= store->last_generation) {
        generation = store->last_generation + 1;
    }
    object->generation = generation;
    store->last_generation = generation;
    if (store->protection.default_event_hold &&
        attribute_set(&object->attributes, ATTRIBUTE_EVENT_HOLD, "true") != 0) {
        return STORE_FAILED;
    }
    if (object_index_write_put(store->index, object) != 0) {
        return STORE_FAILED;
    }
    *ret_old = replace_current(store, slot, object);
    count_soft_delete(store, *ret_old);
    if (put->kind == PUT_INSERT) {
        slot->inserts++;
        if (slot->inserts > store->numbers.max_inserts_per_object) {
            store->numbers.max_inserts_per_object = slot->inserts;
        }
    }
    return STORE_OK;
}

enum store_result store_put(struct store *store, const struct store_put *put, struct object *object,
                            enum condition *ret_failed)
{
    struct object *old CLEANUP(object_cleanup) = NULL;
    (void)pthread_mutex_lock(&store->lock);
    enum store_result result = check_put(store, put, ret_failed);
    if (result == STORE_OK) {
        result = put_checked(store, put, object, &old);
    }
    (void)pthread_mutex_unlock(&store->lock);
    return result;
}

enum store_result store_restore(struct store *store, const char *bucket, const char *name,
                                struct object *object)
{
    struct object *old CLEANUP(object_cleanup) = NULL;
    (void)pthread_mutex_lock(&store->lock);
    struct slot *slot = need_slot(store, bucket, name);
    if (slot != NULL) {
        object->bucket = store_find_bucket(store, bucket)->name;
        object->name = slot->name;
        old = replace_current(store, slot, object);
        if (object->generation > store->last_generation) {
            store->last_generation = object->generation;
        }
    }
    (void)pthread_mutex_unlock(&store->lock);
    return slot == NULL ? STORE_FAILED : STORE_OK;
}

void store_restore_delete(struct store *store, const char *bucket, const char *name)
{
    struct object *old CLEANUP(object_cleanup) = NULL;
    (void)pthread_mutex_lock(&store->lock);
    struct slot *slot = store_find_slot(store_find_bucket(store, bucket), name);
    if (slot != NULL) {
        old = replace_current(store, slot, NULL);
    }
    (void)pthread_mutex_unlock(&store->lock);
}

static struct slot *find_live(struct store *store, const char *bucket, const char *name,
                              uint64_t generation)
{
    struct slot *slot = store_find_slot(store_find_bucket(store, bucket), name);
    if (slot == NULL || slot->current == NULL ||
        (generation != 0 && slot->current->generation != generation)) {
        return NULL;
    }
    return slot;
}

struct object *store_get(struct store *store, const char *bucket, const char *name,
                         uint64_t generation)
{
    (void)pthread_mutex_lock(&store->lock);
    struct slot *slot = find_live(store, bucket, name, generation);
    struct object *object = slot == NULL ? NULL : object_retain(slot->current);
    (void)pthread_mutex_unlock(&store->lock);
    return object;
}

/* With the lock held. The old object is the caller's to release without it. */
static enum store_result delete_live(struct store *store, struct slot *slot,
                                     struct object **ret_old)
{
    enum store_result result = check_protection(store, slot->current);
    if (result != STORE_OK) {
        return result;
    }
    if (object_index_write_delete(store->index, slot->current) != 0) {
        return STORE_FAILED;
    }
    *ret_old = replace_current(store, slot, NULL);
    return STORE_OK;
}

enum store_result store_delete(struct store *store, const char *bucket, const char *name,
                               uint64_t generation, const struct conditions *conditions,
                               enum condition *ret_failed)
{
    struct object *old CLEANUP(object_cleanup) = NULL;
    enum store_result result = STORE_NOT_FOUND;
    (void)pthread_mutex_lock(&store->lock);
    struct slot *slot = find_live(store, bucket, name, generation);
    if (slot != NULL) {
        bool met = conditions_met(conditions, slot->current->generation,
                                  slot->current->metageneration, ret_failed);
        result = met ? delete_live(store, slot, &old) : STORE_CONDITION;
        count_soft_delete(store, old);
    }
    (void)pthread_mutex_unlock(&store->lock);
    return result;
}

enum store_result store_delete_source(struct store *store, const struct object *source)
{
    struct object *old CLEANUP(object_cleanup) = NULL;
    (void)pthread_mutex_lock(&store->lock);
    struct slot *slot = find_live(store, source->bucket, source->name, source->generation);
    enum store_result result = slot == NULL ? STORE_NOT_FOUND : delete_live(store, slot, &old);
    (void)pthread_mutex_unlock(&store->lock);
    return result;
}

enum store_result store_update(struct store *store, const struct object *old,
                               struct object *changed)
{
    struct object *replaced CLEANUP(object_cleanup) = NULL;
    enum store_result result = STORE_CONDITION;
    (void)pthread_mutex_lock(&store->lock);
    struct slot *slot = find_live(store, old->bucket, old->name, old->generation);
    if (slot != NULL && slot->current == old) {
        changed->bucket = old->bucket;
        changed->name = old->name;
        changed->generation = old->generation;
        changed->component_count = old->component_count;
        changed->created_ns = old->created_ns;
        changed->updated_ns = clock_utc_ns();
        changed->metageneration = old->metageneration + 1;
        result = object_index_write_put(store->index, changed) == 0 ? STORE_OK : STORE_FAILED;
        if (result == STORE_OK) {
            replaced = replace_current(store, slot, changed);
        }
    }
    (void)pthread_mutex_unlock(&store->lock);
    return result;
}

void store_count(struct store *store, struct store_numbers *ret)
{
    (void)pthread_mutex_lock(&store->lock);
    *ret = store->numbers;
    (void)pthread_mutex_unlock(&store->lock);
}
