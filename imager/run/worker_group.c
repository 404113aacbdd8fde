/* SPDX-License-Identifier: GPL-3.0-or-later */
/* worker: small streams. Neighbours on the disk are read with one read and sent one by one; when
 * that read fails, each is tried alone, so that one bad sector costs one entry. */
#include "run/worker_internal.h"

#include <string.h>

static void send_bytes(struct worker *worker, const struct worker_task *task, const void *bytes,
                       size_t len)
{
    struct error err = {0};
    struct upload_object object;
    struct upload_result result;
    if (task->task->way == PLAN_INLINE) {
        worker_inlined(worker, task->number, bytes, len);
        return;
    }
    if (worker_describe(worker, task, &object, &err) != 0) {
        worker_failed(worker, task->number, &err);
        return;
    }
    worker_look(&object, bytes, len);
    if (upload_small(worker->uploader, &object, bytes, len, &result, &err) != 0) {
        worker_failed(worker, task->number, &err);
        return;
    }
    worker->run->bytes_done += len;
    worker_uploaded(worker, task->number, &result);
}

static int read_alone(struct worker *worker, const struct worker_task *task, struct error *err)
{
    uint64_t size = task->task->size_bytes;
    uint64_t done = 0;
    if (stream_open(&worker->stream, worker->run, task->volume, task->task, &worker->view,
                    task->reader, err) != 0) {
        return -1;
    }
    while (done < size) {
        ssize_t got =
            stream_read(&worker->stream, done, worker->small + done, (size_t)(size - done), err);
        if (got <= 0) {
            return got < 0 ? -1
                           : error_entry(err, REASON_BAD_RECORD, "the stream ends before its size");
        }
        done += (uint64_t)got;
    }
    return 0;
}

static void send_alone(struct worker *worker, uint64_t number)
{
    struct error err = {0};
    struct worker_task task;
    if (worker_open_task(worker, number, &task, &err) != 0 ||
        read_alone(worker, &task, &err) != 0) {
        worker_failed(worker, number, &err);
        return;
    }
    send_bytes(worker, &task, worker->small, (size_t)task.task->size_bytes);
}

static bool is_open(struct worker *worker, uint64_t number)
{
    return ledger_row(worker->run->ledger, number)->state == LEDGER_OPEN;
}

static void send_each_alone(struct worker *worker, uint64_t first, size_t count)
{
    for (size_t i = 0; i < count && !worker->run->halt; i++) {
        if (is_open(worker, first + i)) {
            send_alone(worker, first + i);
        }
    }
}

/* ---- resident data: a run of records ------------------------------------------------------- */

/* The record of a resident task, from its position; records of one group lie within one span. */
static int record_of(struct worker *worker, uint64_t number, uint64_t *ret_record,
                     struct error *err)
{
    struct worker_task task;
    if (worker_open_task(worker, number, &task, err) != 0) {
        return -1;
    }
    *ret_record = worker->view.entry.streams[task.task->stream].record;
    return 0;
}

static bool read_record_span(struct worker *worker, uint64_t first, size_t count,
                             struct run_volume *volume, uint64_t *ret_first_record)
{
    struct error err = {0};
    uint64_t low = UINT64_MAX;
    uint64_t high = 0;
    uint32_t record_bytes = volume_get_info(volume->volume)->record_bytes;
    for (size_t i = 0; i < count; i++) {
        uint64_t record = 0;
        if (record_of(worker, first + i, &record, &err) != 0) {
            return false;
        }
        low = record < low ? record : low;
        high = record > high ? record : high;
    }
    /* Neighbours on the disk need not be neighbours in a fragmented $MFT. */
    if (high - low >= WORKER_BUFFER_BYTES / record_bytes) {
        return false;
    }
    *ret_first_record = low;
    return volume_read_records(volume->volume, low, (size_t)(high - low + 1), worker->buffer,
                               &err) == 0;
}

/* The fix-ups of a record are undone once, though several streams may stand in it. */
struct fixed {
    uint64_t record;
    bool good;
};

static void send_resident(struct worker *worker, const struct worker_task *task, uint8_t *record,
                          struct fixed *fixed)
{
    struct error err = {0};
    const struct volume_stream *stream = &worker->view.entry.streams[task->task->stream];
    const uint8_t *bytes = NULL;
    uint32_t len = 0;
    if (fixed->record != stream->record) {
        fixed->record = stream->record;
        fixed->good = volume_record_fix_up(task->volume->volume, record, stream->record, &err) == 0;
    } else if (!fixed->good) {
        (void)error_entry(&err, REASON_BAD_RECORD, "record %llu is torn",
                          (unsigned long long)stream->record);
    }
    if (!fixed->good || volume_record_resident(task->volume->volume, record, stream->name,
                                               stream->name_len, &bytes, &len, &err) != 0) {
        worker_failed(worker, task->number, &err);
        return;
    }
    if (len != task->task->size_bytes) {
        (void)error_entry(&err, REASON_BAD_RECORD, "record %llu: its resident data changed size",
                          (unsigned long long)stream->record);
        worker_failed(worker, task->number, &err);
        return;
    }
    send_bytes(worker, task, bytes, len);
}

static void send_resident_group(struct worker *worker, uint64_t first, size_t count,
                                struct run_volume *volume)
{
    uint64_t first_record = 0;
    uint32_t record_bytes = volume_get_info(volume->volume)->record_bytes;
    if (!read_record_span(worker, first, count, volume, &first_record)) {
        send_each_alone(worker, first, count);
        return;
    }
    struct fixed fixed = {.record = UINT64_MAX};
    for (size_t i = 0; i < count && !worker->run->halt; i++) {
        struct error err = {0};
        struct worker_task task;
        if (!is_open(worker, first + i)) {
            continue;
        }
        if (worker_open_task(worker, first + i, &task, &err) != 0) {
            worker_failed(worker, first + i, &err);
            continue;
        }
        uint64_t record = worker->view.entry.streams[task.task->stream].record;
        send_resident(worker, &task, worker->buffer + (record - first_record) * record_bytes,
                      &fixed);
    }
}

/* ---- data in one extent each --------------------------------------------------------------- */

static void send_extent_group(struct worker *worker, uint64_t first, size_t count,
                              struct run_volume *volume, uint64_t local)
{
    struct error err = {0};
    uint64_t start = plan_get_task(volume->plan, local)->position;
    uint64_t end = start;
    for (size_t i = 0; i < count; i++) {
        const struct plan_task *task = plan_get_task(volume->plan, local + i);
        uint64_t task_end = task->position + task->size_bytes;
        end = task_end > end ? task_end : end;
    }
    if (end - start > WORKER_BUFFER_BYTES ||
        disk_read(worker->run->disk, start, worker->buffer, (size_t)(end - start), &err) != 0) {
        send_each_alone(worker, first, count);
        return;
    }
    for (size_t i = 0; i < count && !worker->run->halt; i++) {
        struct worker_task task;
        if (!is_open(worker, first + i)) {
            continue;
        }
        if (worker_open_task(worker, first + i, &task, &err) != 0) {
            worker_failed(worker, first + i, &err);
            continue;
        }
        send_bytes(worker, &task, worker->buffer + (task.task->position - start),
                   (size_t)task.task->size_bytes);
    }
}

void worker_send_group(struct worker *worker, uint64_t first, size_t count)
{
    uint64_t local = 0;
    struct run_volume *volume = run_volume_of(worker->run, first, &local);
    const struct plan_task *task = plan_get_task(volume->plan, local);
    if (count == 1) {
        send_each_alone(worker, first, 1);
    } else if (task->resident) {
        send_resident_group(worker, first, count, volume);
    } else {
        send_extent_group(worker, first, count, volume, local);
    }
}
