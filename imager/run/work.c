/* SPDX-License-Identifier: GPL-3.0-or-later */
/* work: one lock, one condition; no I/O under the lock. */
#include "run/work.h"

#include <stdatomic.h>

#include "run/ledger.h"
#include "run/pace.h"

#define WAIT_MS 200 /* how often a waiting worker looks whether the run winds up */
#define LOOK_MS 50  /* how often at most the pace is looked at */

struct work {
    struct run *run;
    pthread_mutex_t lock;
    pthread_cond_t wake;
    uint64_t next;               /* first task not handed out */
    unsigned opening;            /* WORK_OPEN items handed out and not yet reported */
    struct work_stream *streams; /* oldest first */
    struct pace pace;
    _Atomic uint64_t next_look_ms; /* not under the lock */
};

static uint64_t units_done(const struct run *run)
{
    return run->objects_done + run->bytes_done / RUN_OBJECT_BYTES;
}

struct work *work_new(struct run *run, struct error *err)
{
    struct work *work = calloc(1, sizeof(*work));
    if (work == NULL) {
        (void)error_memory(err, "the work queue");
        return NULL;
    }
    work->run = run;
    (void)pthread_mutex_init(&work->lock, NULL); /* default attributes cannot fail on Linux */
    (void)pthread_cond_init(&work->wake, NULL);
    pace_begin(&work->pace, processor_count(), run->settings->connections, clock_monotonic_ms(),
               units_done(run));
    return work;
}

void work_free(struct work *work)
{
    if (work == NULL) {
        return;
    }
    while (work->streams != NULL) {
        struct work_stream *stream = work->streams;
        work->streams = stream->next;
        upload_composite_free(stream->composite);
        free(stream);
    }
    (void)pthread_mutex_destroy(&work->lock);
    (void)pthread_cond_destroy(&work->wake);
    free(work);
}

static bool take_part(struct work *work, struct work_item *item)
{
    for (struct work_stream *stream = work->streams; stream != NULL; stream = stream->next) {
        if (!stream->finished && upload_composite_claim(stream->composite, &item->part)) {
            stream->users++;
            item->kind = WORK_PART;
            item->stream = stream;
            item->task = stream->task;
            return true;
        }
    }
    return false;
}

/* Large groups save reads; towards the end they would leave one worker with much and others idle.
 */
static size_t fair_count(const struct work *work, size_t group)
{
    uint64_t left = work->run->task_count - work->next;
    uint64_t share = left / (2ULL * work->pace.active) + 1;
    return share < group ? (size_t)share : group;
}

static bool take_task(struct work *work, struct work_item *item)
{
    struct run *run = work->run;
    while (work->next < run->task_count &&
           ledger_row(run->ledger, work->next)->state != LEDGER_OPEN) {
        work->next++;
    }
    if (work->next >= run->task_count) {
        return false;
    }
    uint64_t number = 0;
    struct run_volume *volume = run_volume_of(run, work->next, &number);
    const struct plan_task *task = plan_get_task(volume->plan, number);
    item->task = work->next;
    item->count = 1;
    switch ((enum plan_way)task->way) {
    case PLAN_INLINE:
    case PLAN_BATCH:
        item->kind = WORK_GROUP;
        item->count = fair_count(work, plan_group(volume->plan, number));
        break;
    case PLAN_WHOLE:
        item->kind = WORK_WHOLE;
        break;
    case PLAN_PARTS:
        item->kind = WORK_OPEN;
        work->opening++;
        break;
    }
    work->next += item->count;
    return true;
}

static void wait_a_little(struct work *work)
{
    /* A timeout is as good. */
    (void)clock_wait(&work->wake, &work->lock, clock_monotonic_ms() + WAIT_MS);
}

/* Nothing to hand out now or later. */
static bool is_exhausted(const struct work *work)
{
    return work->next >= work->run->task_count && work->opening == 0 && work->streams == NULL;
}

void work_wait_turn(struct work *work, unsigned index)
{
    (void)pthread_mutex_lock(&work->lock);
    while (index >= work->pace.active && !work->run->halt && !is_exhausted(work)) {
        wait_a_little(work);
    }
    (void)pthread_mutex_unlock(&work->lock);
}

void work_look(struct work *work)
{
    uint64_t now_ms = clock_monotonic_ms();
    if (now_ms < atomic_load_explicit(&work->next_look_ms, memory_order_relaxed)) {
        return;
    }
    atomic_store_explicit(&work->next_look_ms, now_ms + LOOK_MS, memory_order_relaxed);
    uint64_t units = units_done(work->run);
    (void)pthread_mutex_lock(&work->lock);
    if (pace_look(&work->pace, now_ms, units)) {
        (void)pthread_cond_broadcast(&work->wake);
    }
    (void)pthread_mutex_unlock(&work->lock);
}

bool work_take(struct work *work, struct work_item *ret_item)
{
    bool found = false;
    (void)pthread_mutex_lock(&work->lock);
    while (!work->run->halt) {
        found = take_part(work, ret_item) || take_task(work, ret_item);
        if (found || (work->opening == 0 && work->streams == NULL)) {
            break;
        }
        wait_a_little(work);
    }
    if (!found) {
        (void)pthread_cond_broadcast(&work->wake); /* the others wait for nothing, too */
    }
    (void)pthread_mutex_unlock(&work->lock);
    return found;
}

int work_opened(struct work *work, uint64_t task, struct upload_composite *composite,
                uint64_t part_size, struct error *err)
{
    struct work_stream *stream = composite != NULL ? calloc(1, sizeof(*stream)) : NULL;
    int result = 0;
    if (composite != NULL && stream == NULL) {
        upload_composite_free(composite);
        result = error_memory(err, "a large stream");
    }
    (void)pthread_mutex_lock(&work->lock);
    work->opening--;
    if (stream != NULL) {
        stream->composite = composite;
        stream->task = task;
        stream->part_size = part_size;
        struct work_stream **last = &work->streams;
        while (*last != NULL) {
            last = &(*last)->next;
        }
        *last = stream;
    }
    (void)pthread_cond_broadcast(&work->wake);
    (void)pthread_mutex_unlock(&work->lock);
    return result;
}

void work_part_done(struct work *work, struct work_stream *stream, bool finished)
{
    struct work_stream *dead = NULL;
    (void)pthread_mutex_lock(&work->lock);
    stream->users--;
    stream->finished = stream->finished || finished;
    if (stream->finished && stream->users == 0) {
        struct work_stream **link = &work->streams;
        while (*link != stream) {
            link = &(*link)->next;
        }
        *link = stream->next;
        dead = stream;
    }
    (void)pthread_cond_broadcast(&work->wake);
    (void)pthread_mutex_unlock(&work->lock);
    if (dead != NULL) {
        upload_composite_free(dead->composite);
        free(dead);
    }
}
