/* SPDX-License-Identifier: GPL-3.0-or-later */
/* mpu_table: the open multipart uploads and their parts. */
#include "mpu_table.h"

#include <string.h>

#define UPLOADS_MAX 10000

struct uploads {
    pthread_mutex_t lock; /* guards the list; never taken with an upload's lock held */
    struct upload *first;
    uint64_t count;
};

struct uploads *uploads_new(void)
{
    struct uploads *uploads = calloc(1, sizeof(*uploads));
    if (uploads != NULL) {
        (void)pthread_mutex_init(&uploads->lock, NULL); /* cannot fail on Linux */
    }
    return uploads;
}

void uploads_free(struct uploads *uploads)
{
    if (uploads == NULL) {
        return;
    }
    while (uploads->first != NULL) {
        struct upload *upload = uploads->first;
        uploads->first = upload->next;
        upload_release(upload);
    }
    (void)pthread_mutex_destroy(&uploads->lock);
    free(uploads);
}

uint64_t uploads_count_open(struct uploads *uploads)
{
    (void)pthread_mutex_lock(&uploads->lock);
    uint64_t count = uploads->count;
    (void)pthread_mutex_unlock(&uploads->lock);
    return count;
}

void upload_release(struct upload *upload)
{
    if (upload == NULL || atomic_fetch_sub(&upload->references, 1) != 1) {
        return;
    }
    for (size_t i = 0; i < upload->part_count; i++) {
        blob_release(upload->parts[i].blob);
    }
    attributes_clear(&upload->attributes);
    (void)pthread_mutex_destroy(&upload->lock);
    free(upload->parts);
    free(upload->bucket);
    free(upload->name);
    free(upload);
}

void upload_cleanup(struct upload **upload)
{
    upload_release(*upload);
}

struct upload *upload_new(struct uploads *uploads, const char *bucket, const char *name,
                          struct attributes *attributes)
{
    struct upload *upload = calloc(1, sizeof(*upload));
    if (upload == NULL) {
        return NULL;
    }
    struct text id CLEANUP_TEXT = TEXT_INIT(sizeof(upload->id) - 1);
    uint8_t bytes[16];
    random_bytes(bytes, sizeof(bytes));
    text_add_hex(&id, bytes, sizeof(bytes));
    memcpy(upload->id, text_str(&id), id.len + 1);
    upload->bucket = strdup(bucket);
    upload->name = strdup(name);
    upload->attributes = *attributes;
    *attributes = (struct attributes){0};
    atomic_init(&upload->references, 1);
    (void)pthread_mutex_init(&upload->lock, NULL); /* cannot fail on Linux */

    (void)pthread_mutex_lock(&uploads->lock);
    bool good = uploads->count < UPLOADS_MAX && upload->bucket != NULL && upload->name != NULL &&
                !id.failed;
    if (good) {
        atomic_fetch_add(&upload->references, 1);
        upload->next = uploads->first;
        uploads->first = upload;
        uploads->count++;
    }
    (void)pthread_mutex_unlock(&uploads->lock);
    if (!good) {
        upload_release(upload);
        return NULL;
    }
    return upload;
}

struct upload *upload_find(struct uploads *uploads, const char *bucket, const char *name,
                           const char *id)
{
    (void)pthread_mutex_lock(&uploads->lock);
    struct upload *upload = uploads->first;
    while (upload != NULL && (strcmp(upload->id, id) != 0 || strcmp(upload->bucket, bucket) != 0 ||
                              strcmp(upload->name, name) != 0)) {
        upload = upload->next;
    }
    if (upload != NULL) {
        atomic_fetch_add(&upload->references, 1);
    }
    (void)pthread_mutex_unlock(&uploads->lock);
    return upload;
}

void upload_remove(struct uploads *uploads, struct upload *upload)
{
    bool found = false;
    (void)pthread_mutex_lock(&uploads->lock);
    struct upload **link = &uploads->first;
    while (*link != NULL && *link != upload) {
        link = &(*link)->next;
    }
    if (*link == upload) {
        *link = upload->next;
        uploads->count--;
        found = true;
    }
    (void)pthread_mutex_unlock(&uploads->lock);
    if (found) {
        upload_release(upload);
    }
}

/* Index of the first part whose number is not less. */
static size_t place_of(const struct upload *upload, unsigned number)
{
    size_t low = 0;
    size_t high = upload->part_count;
    while (low < high) {
        size_t middle = (low + high) / 2;
        if (upload->parts[middle].number < number) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low;
}

const struct part *upload_find_part(const struct upload *upload, unsigned number)
{
    size_t i = place_of(upload, number);
    return i < upload->part_count && upload->parts[i].number == number ? &upload->parts[i] : NULL;
}

int upload_set_part(struct upload *upload, const struct part *part)
{
    size_t i = place_of(upload, part->number);
    if (upload_find_part(upload, part->number) != NULL) {
        blob_release(upload->parts[i].blob);
    } else {
        struct part *parts =
            reallocarray(upload->parts, upload->part_count + 1, sizeof(*upload->parts));
        if (parts == NULL) {
            return -1;
        }
        upload->parts = parts;
        memmove(&parts[i + 1], &parts[i], (upload->part_count - i) * sizeof(*parts));
        upload->part_count++;
    }
    upload->parts[i] = *part;
    (void)blob_retain(part->blob);
    return 0;
}

void uploads_visit(struct uploads *uploads, const char *bucket,
                   void (*visit)(void *self, const struct upload *upload), void *self)
{
    (void)pthread_mutex_lock(&uploads->lock);
    for (struct upload *upload = uploads->first; upload != NULL; upload = upload->next) {
        if (strcmp(upload->bucket, bucket) == 0) {
            visit(self, upload);
        }
    }
    (void)pthread_mutex_unlock(&uploads->lock);
}
