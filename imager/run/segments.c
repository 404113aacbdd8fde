/* SPDX-License-Identifier: GPL-3.0-or-later */
/* segments: the writing side. */
#include "run/segments.h"

#include <string.h>

#include "run/gzip.h"
#include "run/identity.h"
#include "run/journal.h"
#include "run/ledger.h"
#include "run/manifest.h"

#define CLOSE_FIRST_MS 10000 /* a run that dies early has a segment to show, too */
#define CLOSE_EVERY_MS 60000
#define LOOK_MS 1000
#define CLOSE_TASKS 200000 /* about 64 MiB of lines */
#define LINE_LIMIT (1U << 20)

struct segments {
    struct run *run;
    struct uploader *uploader; /* the thread's own */
    uint64_t number;
    pthread_t thread;
    bool started;
    pthread_mutex_t lock; /* guards the fields below */
    pthread_cond_t wake;
    uint64_t *tasks;
    size_t count, cap;
    bool stopping;
};

static int upload_segment(struct run *run, struct uploader *uploader, uint64_t number,
                          const struct text *packed, struct error *err)
{
    char tail[64];
    CLEANUP_TEXT struct text name = TEXT_INIT(GCS_NAME_MAX * 2);
    struct upload_result result;
    (void)snprintf(tail, sizeof(tail), "segments/%05llu.jsonl.gz", (unsigned long long)number);
    run_control_name(run, run->identity.run, tail, &name);
    if (name.failed) {
        return error_memory(err, "a segment's name");
    }
    struct upload_object object = {.name = name.data, .content_type = "application/gzip"};
    return upload_control(uploader, &object, packed->data, packed->len, &result, err);
}

static int pack_header(struct run *run, struct gzip *gzip, struct error *err)
{
    CLEANUP_TEXT struct text line = TEXT_INIT(LINE_LIMIT);
    identity_write(&run->identity, &line);
    text_add_char(&line, '\n');
    if (line.failed || gzip_add(gzip, line.data, line.len) != 0) {
        return error_memory(err, "a segment");
    }
    return 0;
}

static int write_first(struct run *run, struct error *err)
{
    CLEANUP_TEXT struct text packed = TEXT_INIT(1 << 20);
    struct gzip *gzip = gzip_new(&packed);
    int result = gzip == NULL ? error_memory(err, "a segment") : pack_header(run, gzip, err);
    if (result == 0) {
        result = gzip_finish(gzip) != 0 ? error_memory(err, "a segment")
                                        : upload_segment(run, run->uploader, 0, &packed, err);
    }
    gzip_free(gzip);
    return result;
}

static int pack_tasks(struct segments *segments, const uint64_t *tasks, size_t count,
                      struct gzip *gzip, struct error *err)
{
    struct manifest_writer writer = {.run = segments->run};
    CLEANUP_TEXT struct text line = TEXT_INIT(LINE_LIMIT);
    int result = pack_header(segments->run, gzip, err);
    for (size_t i = 0; i < count && result == 0; i++) {
        if (ledger_row(segments->run->ledger, tasks[i])->state != LEDGER_UPLOADED) {
            continue; /* noted by an earlier session, and opened again since */
        }
        text_reset(&line);
        result = manifest_write_task(&writer, tasks[i], &line, err);
        if (result == 0 && (line.failed || gzip_add(gzip, line.data, line.len) != 0)) {
            result = error_memory(err, "a segment");
        }
    }
    manifest_writer_clear(&writer);
    return result;
}

/* A segment that cannot be written costs a later machine some requests, no data: say so, go on. */
static void write_segment(struct segments *segments, const uint64_t *tasks, size_t count,
                          uint64_t covered_utc_ms)
{
    struct error err = {0};
    CLEANUP_TEXT struct text packed = TEXT_INIT(64ULL << 20);
    struct gzip *gzip = gzip_new(&packed);
    int result = gzip == NULL ? error_memory(&err, "a segment")
                              : pack_tasks(segments, tasks, count, gzip, &err);
    if (result == 0) {
        journal_segment(segments->run->journal, segments->number + 1, covered_utc_ms);
        result = gzip_finish(gzip) != 0 ? error_memory(&err, "a segment")
                                        : upload_segment(segments->run, segments->uploader,
                                                         segments->number, &packed, &err);
        segments->number++;
    }
    gzip_free(gzip);
    if (result != 0 && err.kind != ERROR_CANCELLED) {
        run_message(segments->run, true, "A segment could not be written: %s", err.message);
    }
}

static void *segments_main(void *argument)
{
    struct segments *segments = argument;
    uint64_t last_ms = clock_monotonic_ms();
    (void)pthread_mutex_lock(&segments->lock);
    while (!segments->stopping) {
        (void)clock_wait(&segments->wake, &segments->lock, clock_monotonic_ms() + LOOK_MS);
        uint64_t every_ms = segments->number <= 1 ? CLOSE_FIRST_MS : CLOSE_EVERY_MS;
        bool due = segments->count >= CLOSE_TASKS || clock_monotonic_ms() - last_ms >= every_ms;
        if (segments->stopping || !due) {
            continue;
        }
        last_ms = clock_monotonic_ms();
        if (segments->count == 0) {
            continue;
        }
        uint64_t *tasks = segments->tasks;
        size_t count = segments->count;
        uint64_t now_utc_ms = clock_utc_ns() / 1000000;
        segments->tasks = NULL;
        segments->count = 0;
        segments->cap = 0;
        (void)pthread_mutex_unlock(&segments->lock);
        write_segment(segments, tasks, count, now_utc_ms);
        free(tasks);
        (void)pthread_mutex_lock(&segments->lock);
    }
    (void)pthread_mutex_unlock(&segments->lock);
    return NULL;
}

struct segments *segments_start(struct run *run, uint64_t first_number, struct error *err)
{
    if (!run_has(run, GCS_RIGHT_GET | GCS_RIGHT_LIST | GCS_RIGHT_DELETE)) {
        return NULL;
    }
    /* Also for a resumed run, whose first session may have died before; equal content stays. */
    if (write_first(run, err) != 0) {
        return NULL;
    }
    struct segments *segments = calloc(1, sizeof(*segments));
    if (segments == NULL) {
        (void)error_memory(err, "the segments");
        return NULL;
    }
    segments->run = run;
    segments->number = first_number;
    (void)pthread_mutex_init(&segments->lock, NULL); /* default attributes cannot fail on Linux */
    (void)pthread_cond_init(&segments->wake, NULL);
    segments->uploader = uploader_new(run->engine, err);
    if (segments->uploader == NULL) {
        segments_stop(segments);
        return NULL;
    }
    if (pthread_create(&segments->thread, NULL, segments_main, segments) != 0) {
        (void)error_memory(err, "the segments' thread");
        segments_stop(segments);
        return NULL;
    }
    segments->started = true;
    return segments;
}

void segments_note(struct segments *segments, uint64_t task)
{
    if (segments == NULL) {
        return;
    }
    (void)pthread_mutex_lock(&segments->lock);
    if (segments->count == segments->cap) {
        size_t cap = segments->cap == 0 ? 4096 : segments->cap * 2;
        uint64_t *tasks = realloc(segments->tasks, cap * sizeof(*tasks));
        if (tasks != NULL) {
            segments->tasks = tasks;
            segments->cap = cap;
        }
    }
    if (segments->count < segments->cap) {
        segments->tasks[segments->count++] = task; /* else forgotten: a later look finds it again */
    }
    (void)pthread_mutex_unlock(&segments->lock);
}

void segments_stop(struct segments *segments)
{
    if (segments == NULL) {
        return;
    }
    if (segments->started) {
        (void)pthread_mutex_lock(&segments->lock);
        segments->stopping = true;
        (void)pthread_cond_signal(&segments->wake);
        (void)pthread_mutex_unlock(&segments->lock);
        (void)pthread_join(segments->thread, NULL); /* ours, joined once */
    }
    uploader_free(segments->uploader);
    (void)pthread_mutex_destroy(&segments->lock);
    (void)pthread_cond_destroy(&segments->wake);
    free(segments->tasks);
    free(segments);
}
