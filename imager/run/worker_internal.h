/* SPDX-License-Identifier: GPL-3.0-or-later */
/* One worker's own things; worker.c (large streams, threads), worker_group.c (small streams). */
#ifndef WINCH_RUN_WORKER_INTERNAL_H
#define WINCH_RUN_WORKER_INTERNAL_H

#include <stdatomic.h>

#include "run/ledger.h"
#include "run/stream.h"
#include "run/worker.h"

/* One read of a group: its span, and the last stream that begins within it. */
#define WORKER_BUFFER_BYTES (PLAN_GROUP_SPAN + PLAN_SMALL_MAX)

struct worker {
    struct run *run;
    struct work *work;
    unsigned index;
    pthread_t thread;
    struct uploader *uploader;
    struct plan_namer *namers[RUN_VOLUME_MAX];
    struct volume_reader *readers[RUN_VOLUME_MAX];
    struct catalog_view view;
    uint64_t decoded; /* the task whose entry the view holds, or UINT64_MAX */
    struct stream stream;
    struct text metadata, custom_time;
    uint8_t *buffer; /* WORKER_BUFFER_BYTES: what one read brought */
    uint8_t *small;  /* PLAN_SMALL_MAX: one stream on its own */
};

/* A task with what is needed to work on it; worker->view holds its entry. */
struct worker_task {
    uint64_t number;
    struct run_volume *volume;
    const struct plan_task *task;
    struct plan_namer *namer;
    struct volume_reader *reader;
};

int worker_open_task(struct worker *worker, uint64_t number, struct worker_task *ret_task,
                     struct error *err) WARN_UNUSED;
int worker_describe(struct worker *worker, const struct worker_task *task,
                    struct upload_object *ret_object, struct error *err) WARN_UNUSED;

/* The content type by a look at the first bytes, where the extension says nothing. */
void worker_look(struct upload_object *object, const void *bytes, size_t len);

/* The three ends of a task. */
void worker_uploaded(struct worker *worker, uint64_t task, const struct upload_result *result);
void worker_inlined(struct worker *worker, uint64_t task, const void *bytes, size_t len);
void worker_failed(struct worker *worker, uint64_t task, const struct error *err);

/* worker_group.c: read a group of small streams at once and send each. */
void worker_send_group(struct worker *worker, uint64_t first, size_t count);

#endif
