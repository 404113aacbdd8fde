/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The two halves of the journal: journal.c (open, load, look up), journal_writer.c (the thread). */
#ifndef WINCH_RUN_JOURNAL_INTERNAL_H
#define WINCH_RUN_JOURNAL_INTERNAL_H

#include <pthread.h>
#include <sqlite3.h>

#include "run/journal.h"

struct journal_node {
    uint64_t task;
    uint64_t generation;
    uint32_t crc32c;
    uint32_t index;
    unsigned level;
};

enum journal_kind { JOURNAL_RESULT, JOURNAL_NODE, JOURNAL_SEGMENT };

/* One thing to write. `detail` holds the error sentence (with its NUL), then the content. */
struct journal_item {
    enum journal_kind kind;
    uint8_t state, reason, flags;
    uint32_t crc32c;
    uint64_t task;
    uint64_t generation;
    uint64_t at_utc_ms;
    unsigned level;
    uint32_t index;
    char *detail;
    size_t error_len, content_len;
};

struct journal {
    char *path;
    sqlite3 *db;
    sqlite3_stmt *put_result, *put_node, *put_meta, *get_detail;

    struct journal_node *nodes; /* of unfinished tasks, by task; constant after the load */
    size_t node_count, node_cap;

    pthread_mutex_t lock; /* guards the fields below */
    pthread_cond_t wake;  /* for the writer: there is enough to commit */
    pthread_cond_t room;  /* for workers: the writer has taken the queue */
    struct journal_item *queue;
    size_t queued, queue_cap;
    bool running, stopping, broken;
    pthread_t thread;
    void (*failed)(void *self, const struct error *err);
    void *failed_self;
    struct error error; /* the writer's, once broken */
};

int journal_error(struct journal *journal, const char *doing, struct error *err);
int journal_exec(struct journal *journal, const char *sql, struct error *err);
int journal_put_meta(struct journal *journal, const char *key, const char *value,
                     struct error *err);
void journal_writer_abandon(struct journal *journal);

#endif
