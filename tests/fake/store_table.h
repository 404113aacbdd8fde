/* SPDX-License-Identifier: GPL-3.0-or-later */
/* store_table: what store.c and store_list.c share: buckets, names, their order. */
#ifndef FAKE_STORE_TABLE_H
#define FAKE_STORE_TABLE_H

#include <pthread.h>

#include "store.h"

/* One name that exists or has existed; lives as long as the store. */
struct slot {
    uint64_t hash;
    struct slot *next; /* in the hash chain */
    struct object *current;
    uint64_t inserts;
    bool is_part;
    char name[];
};

struct bucket {
    struct bucket *next;
    char *name;
    struct slot **chains; /* chain_count of them, a power of two */
    size_t chain_count;
    /* All slots: the first sorted_count are in order of names, the rest as they came. */
    struct slot **order;
    size_t order_count;
    size_t order_cap;
    size_t sorted_count;
};

struct store {
    pthread_mutex_t lock; /* guards everything below */
    struct object_index *index;
    struct bucket *buckets;
    struct store_numbers numbers;
    struct protection protection;
    uint64_t last_generation;
};

/* All three with the lock held. */
struct bucket *store_find_bucket(struct store *store, const char *name);
struct slot *store_find_slot(struct bucket *bucket, const char *name);
/* Bring `order` into order. -1: out of memory. */
int store_sort_bucket(struct bucket *bucket);

#endif
