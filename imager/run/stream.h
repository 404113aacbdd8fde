/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * stream: the bytes of one task at any offset, for one worker. Plain and sparse data come straight
 * from the disk by extents: holes are zeros, and so is everything behind the valid length (it holds
 * other people's deleted data on disk). Encrypted data come as they stand there, when the plan says
 * so. Compressed and doubtful streams come through a
 * volume_reader.
 */
#ifndef WINCH_RUN_STREAM_H
#define WINCH_RUN_STREAM_H

#include "run/context.h"

struct stream {
    struct run *run;
    struct run_volume *volume;
    const struct plan_task *task;
    const struct volume_entry *entry;
    const struct volume_stream *stream;
    struct volume_reader *reader; /* when the task goes through it */
    struct volume_extent_map map;
};

/* Point it at a task. `view` (the task's entry, decoded) must live as long as the stream is read;
 * `reader` may be NULL unless task->through_reader. Opening the same task again costs nothing; set
 * `task` to NULL when the view is decoded anew. */
int stream_open(struct stream *stream, struct run *run, struct run_volume *volume,
                const struct plan_task *task, const struct catalog_view *view,
                struct volume_reader *reader, struct error *err) WARN_UNUSED;
void stream_clear(struct stream *stream);

struct upload_source stream_source(struct stream *stream);
/* For upload_source: between 1 and len bytes, or -1. */
ssize_t stream_read(void *stream, uint64_t offset, void *buf, size_t len, struct error *err);

#endif
