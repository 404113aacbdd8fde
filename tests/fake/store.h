/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * store: buckets and the live object of every name. One lock, held briefly; any thread may call.
 * Names that have once existed stay known, which is how inserts per name are counted.
 */
#ifndef FAKE_STORE_H
#define FAKE_STORE_H

#include "base/base.h"
#include "conditions.h"
#include "object.h"
#include "protection.h"

struct store;
struct object_index;

enum store_result {
    STORE_OK,
    STORE_NOT_FOUND,
    STORE_CONDITION,    /* a precondition does not hold */
    STORE_NEEDS_DELETE, /* the name exists and the caller may not replace */
    STORE_RETAINED,     /* a retention policy keeps what is there */
    STORE_HELD,         /* a hold does */
    STORE_FAILED,       /* out of memory or disk */
};

/* `index` may be NULL; it is told of every change, in order, under the lock. */
struct store *store_new(struct object_index *index);
void store_free(struct store *store);
/* How deletions are judged and counted. Start only; without it nothing is protected. */
void store_protect(struct store *store, const struct protection *protection);

/* Why an object is put: only inserts are counted per name. */
enum put_kind { PUT_INSERT, PUT_COMPOSE, PUT_COPY };

struct store_put {
    const char *bucket;
    const char *name;
    const struct conditions *conditions; /* on the live object of that name */
    bool may_replace;
    enum put_kind kind;
};

/* Make `object` the live one of its name: gives it bucket, name, generation and times. The store
 * keeps its own reference. On STORE_CONDITION `ret_failed` names the condition. */
enum store_result store_put(struct store *store, const struct store_put *put, struct object *object,
                            enum condition *ret_failed);
/* Would store_put() go well now? */
enum store_result store_check_put(struct store *store, const struct store_put *put,
                                  enum condition *ret_failed);
/* Put back what the index says; generation and times are set already. Bucket and name become the
 * store's. Start only. */
enum store_result store_restore(struct store *store, const char *bucket, const char *name,
                                struct object *object);
void store_restore_delete(struct store *store, const char *bucket, const char *name);

/* A reference to the live object, if its generation is `generation` (0: any); else NULL. */
struct object *store_get(struct store *store, const char *bucket, const char *name,
                         uint64_t generation);

enum store_result store_delete(struct store *store, const char *bucket, const char *name,
                               uint64_t generation, const struct conditions *conditions,
                               enum condition *ret_failed);
/* The same for a source of a compose: for good, whatever soft delete says. */
enum store_result store_delete_source(struct store *store, const struct object *source);

/* Replace `old` by `changed`, same generation, next metageneration; STORE_CONDITION when `old` is
 * no longer the live one. */
enum store_result store_update(struct store *store, const struct object *old,
                               struct object *changed);

struct store_query {
    const char *bucket;
    const char *prefix;    /* "" for all */
    const char *delimiter; /* "" for none */
    const char *start;     /* first name allowed */
    const char *end;       /* first name no longer allowed; "" for none */
    bool start_excluded;   /* names must be greater than start */
    bool skip_start_group; /* `start` is a common prefix, which has been told already */
    size_t max_results;
};

struct store_page {
    struct object **objects; /* references */
    size_t object_count;
    char **prefixes;
    size_t prefix_count;
    bool more;
    bool last_is_prefix; /* where the next page goes on */
    char last[OBJECT_NAME_MAX + 1];
};

/* One page of a listing, in order of names. -1: out of memory. */
int store_list(struct store *store, const struct store_query *query, struct store_page *ret);
void store_page_clear(struct store_page *page);

/* Every live object of `bucket`, or of all buckets if NULL, with its count of inserts. */
int store_visit(struct store *store, const char *bucket,
                void (*visit)(void *self, const struct object *object, uint64_t inserts),
                void *self);
/* The names of all buckets that ever held an object. */
void store_visit_buckets(struct store *store, void (*visit)(void *self, const char *bucket),
                         void *self);

struct store_numbers {
    uint64_t objects;
    uint64_t bytes;
    uint64_t part_objects; /* under any .winch/parts/ */
    uint64_t max_inserts_per_object;
    uint64_t soft_deleted; /* generations that soft delete keeps, and their bytes */
    uint64_t soft_deleted_bytes;
};

void store_count(struct store *store, struct store_numbers *ret);

#endif
