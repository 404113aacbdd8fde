/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * work: what there is to do, handed out in disk order. Parts of large streams on their way come
 * first, so that the disk is read in one direction and no stream stays half sent for long.
 */
#ifndef WINCH_RUN_WORK_H
#define WINCH_RUN_WORK_H

#include "run/context.h"

struct work;

/* A large stream that several workers share. */
struct work_stream {
    struct upload_composite *composite;
    uint64_t task;
    uint64_t part_size;
    unsigned users; /* under the queue's lock */
    bool finished;  /* under the queue's lock */
    struct work_stream *next;
};

enum work_kind {
    WORK_GROUP, /* `count` tasks from `task` on, read together; skip those that are done */
    WORK_WHOLE, /* one streamed request */
    WORK_OPEN,  /* a large stream: make its composite, then work_opened() */
    WORK_PART,  /* one part of `stream`, then work_part_done() */
};

struct work_item {
    enum work_kind kind;
    uint64_t task;
    size_t count;
    struct work_stream *stream;
    uint32_t part;
};

struct work *work_new(struct run *run, struct error *err);
void work_free(struct work *work);

/* Wait until worker `index` (0 …) is worth having: pace.h. Returns at once when nothing is left to
 * do or the run winds up. Thread: any. */
void work_wait_turn(struct work *work, unsigned index);
/* Something was finished: may change how many workers are worth having. Cheap. Thread: any. */
void work_look(struct work *work);

/* The next item; waits while other workers may still bring some. False: nothing is left, or the run
 * winds up. Thread: any. */
bool work_take(struct work *work, struct work_item *ret_item);
/* After WORK_OPEN: composite NULL means that it came to nothing (the task is decided or the run
 * stops). Takes ownership. -1 when out of memory. */
int work_opened(struct work *work, uint64_t task, struct upload_composite *composite,
                uint64_t part_size, struct error *err) WARN_UNUSED;
/* After WORK_PART; `finished`: the composite is complete or failed. */
void work_part_done(struct work *work, struct work_stream *stream, bool finished);

#endif
