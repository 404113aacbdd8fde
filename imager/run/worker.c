/* SPDX-License-Identifier: GPL-3.0-or-later */
/* worker: takes work, opens streams, decides what an outcome means for the task. */
#include "run/worker_internal.h"

#include <string.h>

#include "run/journal.h"
#include "run/segments.h"

/* ---- what an outcome means ---------------------------------------------------------------- */

static void close_row(struct worker *worker, uint64_t task, struct ledger_row *row,
                      enum ledger_state state, const char *error, const void *content, size_t len)
{
    atomic_store_explicit(&row->state, (uint8_t)state, memory_order_release);
    journal_result(worker->run->journal, task, row, error, content, len);
    worker->run->objects_done++;
    work_look(worker->work);
}

void worker_uploaded(struct worker *worker, uint64_t task, const struct upload_result *result)
{
    struct ledger_row *row = ledger_row(worker->run->ledger, task);
    row->generation = result->generation;
    row->crc32c = result->crc32c;
    row->flags = (uint8_t)((result->already_present ? LEDGER_PRESENT : 0) |
                           (result->replaced ? LEDGER_REPLACED : 0));
    close_row(worker, task, row, LEDGER_UPLOADED, NULL, NULL, 0);
    segments_note(worker->run->segments, task);
}

void worker_inlined(struct worker *worker, uint64_t task, const void *bytes, size_t len)
{
    struct ledger_row *row = ledger_row(worker->run->ledger, task);
    row->crc32c = crc32c_update(0, bytes, len);
    worker->run->bytes_done += len;
    close_row(worker, task, row, LEDGER_INLINE, NULL, bytes, len);
}

void worker_failed(struct worker *worker, uint64_t task, const struct error *err)
{
    struct run *run = worker->run;
    if (err->kind == ERROR_FAIL_ENTRY) {
        struct ledger_row *row = ledger_row(run->ledger, task);
        row->reason = reason_number(err->reason);
        run->streams_failed++;
        close_row(worker, task, row, LEDGER_FAILED, err->message, NULL, 0);
    } else {
        /* Retries are used up, or there is no sense in going on: the task stays open for a resume.
         */
        run_stop(run, err);
    }
}

/* ---- a task's surroundings ---------------------------------------------------------------- */

int worker_open_task(struct worker *worker, uint64_t number, struct worker_task *ret_task,
                     struct error *err)
{
    struct run *run = worker->run;
    uint64_t local = 0;
    struct run_volume *volume = run_volume_of(run, number, &local);
    size_t index = (size_t)(volume - run->volumes);
    ret_task->number = number;
    ret_task->volume = volume;
    ret_task->task = plan_get_task(volume->plan, local);
    if (worker->namers[index] == NULL) {
        worker->namers[index] = plan_namer_new(volume->plan);
        if (worker->namers[index] == NULL) {
            return error_memory(err, "a worker's names");
        }
    }
    ret_task->namer = worker->namers[index];
    if (ret_task->task->through_reader && worker->readers[index] == NULL) {
        worker->readers[index] = volume_reader_new(volume->volume, err);
        if (worker->readers[index] == NULL) {
            return -1;
        }
    }
    ret_task->reader = worker->readers[index];
    if (worker->decoded == number) {
        return 0; /* the next part of the same stream: a million extents are decoded once */
    }
    worker->decoded = UINT64_MAX;
    worker->stream.task = NULL; /* it points into the view */
    if (catalog_get(volume->catalog, ret_task->task->entry, &worker->view, err) != 0) {
        return -1;
    }
    worker->decoded = number;
    return 0;
}

int worker_describe(struct worker *worker, const struct worker_task *task,
                    struct upload_object *ret_object, struct error *err)
{
    size_t len = 0;
    ret_object->name = plan_object_name(task->namer, task->task, &worker->view, &len);
    if (ret_object->name == NULL) {
        return error_memory(err, "an object's name");
    }
    ret_object->content_type = plan_content_type(ret_object->name, len);
    text_reset(&worker->metadata);
    plan_metadata(task->volume->plan, task->task, &worker->view, &worker->metadata);
    ret_object->metadata_json = text_str(&worker->metadata);
    ret_object->cache_control = worker->run->settings->cache_control;
    text_reset(&worker->custom_time);
    ret_object->custom_time = NULL;
    if (worker->run->settings->custom_time &&
        plan_custom_time(&worker->view, &worker->custom_time)) {
        ret_object->custom_time = text_str(&worker->custom_time);
    }
    bool failed = worker->metadata.failed || worker->custom_time.failed;
    return failed ? error_memory(err, "an object's metadata") : 0;
}

void worker_look(struct upload_object *object, const void *bytes, size_t len)
{
    if (strcmp(object->content_type, PLAN_TYPE_UNKNOWN) == 0) {
        const char *type = plan_content_look(bytes, len < PLAN_LOOK_BYTES ? len : PLAN_LOOK_BYTES);
        object->content_type = type != NULL ? type : object->content_type;
    }
}

/* What cannot be read is found, and named, by the upload. */
static void look_at_stream(struct worker *worker, struct upload_object *object)
{
    struct error err = {0};
    if (strcmp(object->content_type, PLAN_TYPE_UNKNOWN) == 0) {
        ssize_t got = stream_read(&worker->stream, 0, worker->small, PLAN_LOOK_BYTES, &err);
        worker_look(object, worker->small, got > 0 ? (size_t)got : 0);
    }
}

/* ---- large streams ------------------------------------------------------------------------ */

static void send_whole(struct worker *worker, uint64_t number)
{
    struct error err = {0};
    struct worker_task task;
    struct upload_object object;
    struct upload_result result;
    if (worker_open_task(worker, number, &task, &err) != 0 ||
        stream_open(&worker->stream, worker->run, task.volume, task.task, &worker->view,
                    task.reader, &err) != 0 ||
        worker_describe(worker, &task, &object, &err) != 0) {
        worker_failed(worker, number, &err);
        return;
    }
    look_at_stream(worker, &object);
    struct upload_source source = stream_source(&worker->stream);
    if (upload_whole(worker->uploader, &object, &source, &result, &err) != 0) {
        worker_failed(worker, number, &err);
        return;
    }
    worker->run->bytes_done += task.task->size_bytes;
    worker_uploaded(worker, number, &result);
}

static struct upload_composite *open_composite(struct worker *worker, uint64_t number,
                                               uint64_t *ret_part_size, struct error *err)
{
    struct run *run = worker->run;
    struct worker_task task;
    struct upload_object object;
    CLEANUP_TEXT struct text prefix = TEXT_INIT(GCS_NAME_MAX * 2);
    /* Opened to see that it can be: what is wrong with the stream fails the task here, once. */
    if (worker_open_task(worker, number, &task, err) != 0 ||
        stream_open(&worker->stream, run, task.volume, task.task, &worker->view, task.reader,
                    err) != 0 ||
        worker_describe(worker, &task, &object, err) != 0) {
        return NULL;
    }
    look_at_stream(worker, &object);
    plan_parts_prefix(task.volume->plan, task.task, &worker->view, &prefix);
    if (prefix.failed) {
        (void)error_memory(err, "the name of a part");
        return NULL;
    }
    uint64_t part_size = run->settings->part_size_bytes;
    if (part_size == 0) {
        part_size = upload_part_size(task.task->size_bytes);
    }
    struct upload_composite *composite = upload_composite_new(
        run->engine, &object, task.task->size_bytes, part_size, prefix.data, number, err);
    if (composite == NULL) {
        return NULL;
    }
    run->bytes_done += upload_composite_zeros(composite, stream_is_zero, &worker->stream);
    if (run->resumed) {
        (void)journal_hint(run->journal, number, composite); /* none is as good */
        if (upload_composite_survey(worker->uploader, composite, err) != 0) {
            upload_composite_free(composite);
            return NULL;
        }
    }
    *ret_part_size = part_size;
    return composite;
}

static void open_parts(struct worker *worker, struct work *work, uint64_t number)
{
    struct error err = {0};
    uint64_t part_size = 0;
    struct upload_composite *composite = open_composite(worker, number, &part_size, &err);
    if (composite == NULL) {
        worker_failed(worker, number, &err);
    }
    if (work_opened(work, number, composite, part_size, &err) != 0) {
        run_stop(worker->run, &err);
    }
}

static void send_part(struct worker *worker, struct work *work, const struct work_item *item)
{
    struct run *run = worker->run;
    struct error err = {0};
    struct worker_task task;
    struct upload_result result;
    if (worker_open_task(worker, item->task, &task, &err) != 0 ||
        stream_open(&worker->stream, run, task.volume, task.task, &worker->view, task.reader,
                    &err) != 0) {
        /* Opening has gone well once for this task: only memory can be the cause. */
        run_stop(run, &err);
        work_part_done(work, item->stream, false);
        return;
    }
    struct upload_source source = stream_source(&worker->stream);
    enum upload_progress progress = upload_composite_part(worker->uploader, item->stream->composite,
                                                          item->part, &source, &result, &err);
    uint64_t at = item->part * item->stream->part_size;
    uint64_t left = task.task->size_bytes - at;
    if (progress != UPLOAD_FAILED) {
        run->bytes_done += left < item->stream->part_size ? left : item->stream->part_size;
        work_look(work);
    }
    if (progress == UPLOAD_COMPLETE) {
        worker_uploaded(worker, item->task, &result);
    } else if (progress == UPLOAD_FAILED) {
        worker_failed(worker, item->task, &err);
    }
    work_part_done(work, item->stream, progress != UPLOAD_GOING_ON);
}

/* ---- threads ------------------------------------------------------------------------------ */

static void worker_clear(struct worker *worker)
{
    for (size_t i = 0; i < RUN_VOLUME_MAX; i++) {
        plan_namer_free(worker->namers[i]);
        volume_reader_free(worker->readers[i]);
    }
    catalog_view_clear(&worker->view);
    stream_clear(&worker->stream);
    text_free(&worker->metadata);
    text_free(&worker->custom_time);
    uploader_free(worker->uploader);
    free(worker->buffer);
    free(worker->small);
}

static void *worker_main(void *argument)
{
    struct worker *worker = argument;
    struct work_item item;
    for (;;) {
        work_wait_turn(worker->work, worker->index);
        if (!work_take(worker->work, &item)) {
            break;
        }
        switch (item.kind) {
        case WORK_GROUP:
            worker_send_group(worker, item.task, item.count);
            break;
        case WORK_WHOLE:
            send_whole(worker, item.task);
            break;
        case WORK_OPEN:
            open_parts(worker, worker->work, item.task);
            break;
        case WORK_PART:
            send_part(worker, worker->work, &item);
            break;
        }
    }
    return NULL;
}

static int worker_init(struct worker *worker, struct run *run, struct work *work, struct error *err)
{
    worker->run = run;
    worker->work = work;
    worker->decoded = UINT64_MAX;
    worker->metadata = TEXT_INIT(6 * GCS_METADATA_MAX); /* escaped */
    worker->custom_time = TEXT_INIT(64);
    worker->buffer = malloc(WORKER_BUFFER_BYTES); /* touched only as far as used */
    worker->small = malloc(PLAN_SMALL_MAX);
    if (worker->buffer == NULL || worker->small == NULL) {
        return error_memory(err, "a worker's buffer");
    }
    worker->uploader = uploader_new(run->engine, err);
    return worker->uploader != NULL ? 0 : -1;
}

int workers_run(struct run *run, struct work *work, struct error *err)
{
    unsigned wanted = run->settings->connections;
    if (wanted > run->task_count) {
        wanted = run->task_count > 0 ? (unsigned)run->task_count : 1;
    }
    /* Parts of one stream are many workers' work even when there are few tasks. */
    if (run->summary->planned.parts > 0) {
        wanted = run->settings->connections;
    }
    CLEANUP_FREE struct worker *workers = calloc(wanted, sizeof(*workers));
    if (workers == NULL) {
        return error_memory(err, "the workers");
    }
    unsigned started = 0;
    int result = 0;
    while (started < wanted && result == 0) {
        struct worker *worker = &workers[started];
        worker->index = started;
        result = worker_init(worker, run, work, err);
        if (result == 0 && pthread_create(&worker->thread, NULL, worker_main, worker) != 0) {
            result = error_memory(err, "a worker's thread");
        }
        if (result != 0) {
            worker_clear(worker);
        } else {
            started++;
        }
    }
    for (unsigned i = 0; i < started; i++) {
        (void)pthread_join(workers[i].thread, NULL); /* ours, joined once */
        worker_clear(&workers[i]);
    }
    return started > 0 ? 0 : result;
}
