/* SPDX-License-Identifier: GPL-3.0-or-later */
/* mpu_table: one open multipart upload and its parts; what mpu.c and mpu_table.c share. */
#ifndef FAKE_MPU_TABLE_H
#define FAKE_MPU_TABLE_H

#include <pthread.h>

#include "insert.h"
#include "mpu.h"

#define MPU_PARTS_MAX 10000
#define MPU_PART_MIN ((uint64_t)5 << 20) /* but for the last */
#define MPU_PART_MAX ((uint64_t)5 << 30)

struct part {
    unsigned number; /* from 1 */
    struct digest digest;
    struct blob *blob;
    char etag[40]; /* with its quotes */
};

struct upload {
    struct upload *next; /* guarded by the table's lock */
    char id[33];
    char *bucket;
    char *name;
    atomic_uint references;
    pthread_mutex_t lock; /* guards all that follows */
    struct attributes attributes;
    struct part *parts; /* by number */
    size_t part_count;
    bool dead; /* complete or aborted */
};

/* Held by the table and by the caller; takes the attributes over. NULL: too many or no memory. */
struct upload *upload_new(struct uploads *uploads, const char *bucket, const char *name,
                          struct attributes *attributes);
/* A reference to the open upload of this bucket and name, or NULL. */
struct upload *upload_find(struct uploads *uploads, const char *bucket, const char *name,
                           const char *id);
void upload_release(struct upload *upload);
void upload_cleanup(struct upload **upload);
/* It is over: later calls find nothing. */
void upload_remove(struct uploads *uploads, struct upload *upload);
/* Store a part in place of an earlier one of its number; retains the blob. Lock held. */
int upload_set_part(struct upload *upload, const struct part *part);
/* The part with this number, or NULL. Lock held. */
const struct part *upload_find_part(const struct upload *upload, unsigned number);
/* Every open upload of a bucket. */
void uploads_visit(struct uploads *uploads, const char *bucket,
                   void (*visit)(void *self, const struct upload *upload), void *self);

#endif
