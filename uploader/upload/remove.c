/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Deletes all objects under a prefix: parts of a run, segments. Names are taken a page at a time,
 * so that memory does not grow with the bucket.
 */
#include "upload_internal.h"

#include <string.h>

#define BATCH 1000

struct item {
    char *name;
    uint64_t generation;
};

struct batch {
    struct item items[BATCH];
    size_t count;
    bool is_full;
    const char *last; /* already seen in the batch before; or NULL */
};

static int batch_object(void *self, const char *name, const struct gcs_object *object,
                        struct error *err)
{
    struct batch *batch = self;
    if (batch->last != NULL && strcmp(name, batch->last) <= 0) {
        return 0; /* names ascend: a server that ignores startOffset brings no endless loop */
    }
    if (batch->count == BATCH) {
        /* Stops the listing; the caller looks at is_full, not at the error. */
        batch->is_full = true;
        return error_cancelled(err);
    }
    char *copy = strdup(name);
    if (copy == NULL) {
        return error_memory(err, "a list of objects to delete");
    }
    batch->items[batch->count++] = (struct item){.name = copy, .generation = object->generation};
    return 0;
}

static void batch_clear(struct batch *batch)
{
    for (size_t i = 0; i < batch->count; i++) {
        free(batch->items[i].name);
    }
    batch->count = 0;
    batch->is_full = false;
}

/* GCS_DONE also when some could not be deleted: they are counted in `left`. */
static enum gcs_answer batch_delete(struct uploader *uploader, const struct batch *batch,
                                    bool *is_denied, uint64_t *deleted, uint64_t *left,
                                    struct error *err)
{
    for (size_t i = 0; i < batch->count; i++) {
        enum gcs_answer answer = GCS_DENIED;
        if (!*is_denied) {
            answer =
                upload_call_delete(uploader, batch->items[i].name, batch->items[i].generation, err);
        }
        switch (answer) {
        case GCS_DONE:
        case GCS_NOT_FOUND:
            (*deleted)++;
            break;
        case GCS_ERROR:
            return GCS_ERROR;
        default:
            *is_denied = *is_denied || answer == GCS_DENIED;
            (*left)++;
            break;
        }
    }
    return GCS_DONE;
}

enum gcs_answer upload_remove_all(struct uploader *uploader, const char *prefix,
                                  uint64_t *ret_deleted, uint64_t *ret_left, struct error *err)
{
    CLEANUP_FREE struct batch *batch = calloc(1, sizeof(*batch));
    CLEANUP_FREE char *last = NULL;
    if (batch == NULL) {
        (void)error_memory(err, "a list of objects to delete");
        return GCS_ERROR;
    }
    *ret_deleted = 0;
    *ret_left = 0;
    bool is_denied = false;
    bool has_more = true;
    enum gcs_answer answer = GCS_DONE;
    while (has_more && answer == GCS_DONE) {
        struct gcs_listing listing = {
            .prefix = prefix, .start_offset = last, .object = batch_object, .self = batch};
        batch->last = last;
        answer = upload_call_list(uploader, &listing, err);
        has_more = batch->is_full;
        if (has_more) {
            answer = GCS_DONE;
            if (err != NULL) {
                *err = (struct error){0};
            }
        }
        if (answer == GCS_DONE) {
            answer = batch_delete(uploader, batch, &is_denied, ret_deleted, ret_left, err);
        }
        if (has_more) {
            free(last);
            last = TAKE(batch->items[batch->count - 1].name);
        }
        batch_clear(batch);
    }
    return answer;
}
