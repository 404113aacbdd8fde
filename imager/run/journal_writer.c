/* SPDX-License-Identifier: GPL-3.0-or-later */
/* journal: the queue that workers fill and the one thread that commits it. */
#include "run/journal_internal.h"

#include <string.h>

#define COMMIT_EVERY_MS 250
#define COMMIT_ITEMS 10000
#define QUEUE_MAX 100000 /* a folder that stalls holds the workers up, but fills no memory */

static void item_free(struct journal_item *item)
{
    free(item->detail);
}

static int put_result(struct journal *journal, const struct journal_item *item, struct error *err)
{
    sqlite3_stmt *put = journal->put_result;
    (void)sqlite3_bind_int64(put, 1, (sqlite3_int64)item->task);
    (void)sqlite3_bind_int(put, 2, item->state);
    (void)sqlite3_bind_int64(put, 3, (sqlite3_int64)item->generation);
    (void)sqlite3_bind_int64(put, 4, item->crc32c);
    (void)sqlite3_bind_int(put, 5, item->flags);
    (void)sqlite3_bind_int64(put, 6, (sqlite3_int64)item->at_utc_ms);
    if (item->state == LEDGER_FAILED) {
        (void)sqlite3_bind_text(put, 7, reason_name(item->reason), -1, SQLITE_STATIC);
    } else {
        (void)sqlite3_bind_null(put, 7);
    }
    if (item->error_len > 0) {
        (void)sqlite3_bind_text(put, 8, item->detail, (int)item->error_len, SQLITE_STATIC);
    } else {
        (void)sqlite3_bind_null(put, 8);
    }
    if (item->content_len > 0) {
        (void)sqlite3_bind_blob(put, 9, item->detail + item->error_len + 1, (int)item->content_len,
                                SQLITE_STATIC);
    } else {
        (void)sqlite3_bind_null(put, 9);
    }
    int step = sqlite3_step(put);
    (void)sqlite3_reset(put); /* the step's result is looked at */
    return step == SQLITE_DONE ? 0 : journal_error(journal, "cannot write", err);
}

static int put_node(struct journal *journal, const struct journal_item *item, struct error *err)
{
    sqlite3_stmt *put = journal->put_node;
    (void)sqlite3_bind_int64(put, 1, (sqlite3_int64)item->task);
    (void)sqlite3_bind_int64(put, 2, item->level);
    (void)sqlite3_bind_int64(put, 3, item->index);
    (void)sqlite3_bind_int64(put, 4, (sqlite3_int64)item->generation);
    (void)sqlite3_bind_int64(put, 5, item->crc32c);
    int step = sqlite3_step(put);
    (void)sqlite3_reset(put); /* the step's result is looked at */
    return step == SQLITE_DONE ? 0 : journal_error(journal, "cannot write", err);
}

static int put_segment(struct journal *journal, const struct journal_item *item, struct error *err)
{
    char value[32];
    (void)snprintf(value, sizeof(value), "%llu", (unsigned long long)item->task);
    if (journal_put_meta(journal, "segment", value, err) != 0) {
        return -1;
    }
    (void)snprintf(value, sizeof(value), "%llu", (unsigned long long)item->at_utc_ms);
    return journal_put_meta(journal, "segmented", value, err);
}

static int put_item(struct journal *journal, const struct journal_item *item, struct error *err)
{
    switch (item->kind) {
    case JOURNAL_RESULT:
        return put_result(journal, item, err);
    case JOURNAL_NODE:
        return put_node(journal, item, err);
    case JOURNAL_SEGMENT:
        return put_segment(journal, item, err);
    }
    return 0;
}

static int commit(struct journal *journal, struct journal_item *items, size_t count,
                  struct error *err)
{
    int result = journal_exec(journal, "BEGIN", err);
    for (size_t i = 0; i < count && result == 0; i++) {
        result = put_item(journal, &items[i], err);
    }
    if (result == 0) {
        result = journal_exec(journal, "COMMIT", err);
    }
    return result;
}

/* Wait for a full batch, the end of the interval, or the stop. Called and returns with the lock. */
static void wait_for_items(struct journal *journal)
{
    uint64_t until_ms = clock_monotonic_ms() + COMMIT_EVERY_MS;
    while (!journal->stopping && journal->queued < COMMIT_ITEMS) {
        if (clock_wait(&journal->wake, &journal->lock, until_ms) != 0) {
            break;
        }
    }
}

static void break_journal(struct journal *journal, const struct error *err)
{
    (void)pthread_mutex_lock(&journal->lock);
    bool first = !journal->broken;
    journal->broken = true;
    journal->error = first ? *err : journal->error;
    (void)pthread_cond_broadcast(&journal->room);
    (void)pthread_mutex_unlock(&journal->lock);
    if (first && journal->failed != NULL) {
        journal->failed(journal->failed_self, err);
    }
}

static void *writer(void *argument)
{
    struct journal *journal = argument;
    struct journal_item *items = NULL;
    size_t cap = 0;
    bool going_on = true;
    while (going_on) {
        (void)pthread_mutex_lock(&journal->lock);
        wait_for_items(journal);
        going_on = !journal->stopping || journal->queued > 0;
        struct journal_item *taken = journal->queue;
        size_t count = journal->queued;
        size_t taken_cap = journal->queue_cap;
        journal->queue = items;
        journal->queue_cap = cap;
        journal->queued = 0;
        (void)pthread_cond_broadcast(&journal->room);
        bool broken = journal->broken;
        (void)pthread_mutex_unlock(&journal->lock);
        items = taken;
        cap = taken_cap;

        struct error err = {0};
        if (count > 0 && !broken && commit(journal, items, count, &err) != 0) {
            break_journal(journal, &err);
        }
        for (size_t i = 0; i < count; i++) {
            item_free(&items[i]);
        }
    }
    free(items);
    return NULL;
}

int journal_start(struct journal *journal, void (*failed)(void *self, const struct error *err),
                  void *self, struct error *err)
{
    journal->failed = failed;
    journal->failed_self = self;
    journal->stopping = false;
    if (pthread_create(&journal->thread, NULL, writer, journal) != 0) {
        return error_memory(err, "the journal's thread");
    }
    journal->running = true;
    return 0;
}

static void stop_writer(struct journal *journal)
{
    if (!journal->running) {
        return;
    }
    (void)pthread_mutex_lock(&journal->lock);
    journal->stopping = true;
    (void)pthread_cond_signal(&journal->wake);
    (void)pthread_mutex_unlock(&journal->lock);
    (void)pthread_join(journal->thread, NULL); /* ours, joined once */
    journal->running = false;
}

int journal_stop(struct journal *journal, struct error *err)
{
    stop_writer(journal);
    if (journal->broken) {
        *err = journal->error;
        return -1;
    }
    return 0;
}

void journal_writer_abandon(struct journal *journal)
{
    stop_writer(journal);
    for (size_t i = 0; i < journal->queued; i++) {
        item_free(&journal->queue[i]);
    }
    free(journal->queue);
}

static void hand_over(struct journal *journal, struct journal_item *item)
{
    (void)pthread_mutex_lock(&journal->lock);
    while (journal->running && !journal->broken && journal->queued >= QUEUE_MAX) {
        (void)pthread_cond_wait(&journal->room, &journal->lock);
    }
    bool taken = false;
    bool broken = journal->broken;
    if (!broken) {
        if (journal->queued == journal->queue_cap) {
            size_t cap = journal->queue_cap == 0 ? 1024 : journal->queue_cap * 2;
            struct journal_item *queue = realloc(journal->queue, cap * sizeof(*queue));
            if (queue != NULL) {
                journal->queue = queue;
                journal->queue_cap = cap;
            }
        }
        if (journal->queued < journal->queue_cap) {
            journal->queue[journal->queued++] = *item;
            taken = true;
            if (journal->queued == COMMIT_ITEMS) {
                (void)pthread_cond_signal(&journal->wake);
            }
        }
    }
    (void)pthread_mutex_unlock(&journal->lock);
    if (!taken) {
        item_free(item);
    }
    if (!taken && !broken) {
        struct error err = {0};
        (void)error_memory(&err, "the journal's queue"); /* fills err */
        break_journal(journal, &err);
    }
}

void journal_result(struct journal *journal, uint64_t task, const struct ledger_row *row,
                    const char *error, const void *content, size_t content_len)
{
    struct journal_item item = {
        .kind = JOURNAL_RESULT,
        .task = task,
        .state = row->state,
        .reason = row->reason,
        .flags = row->flags,
        .crc32c = row->crc32c,
        .generation = row->generation,
        .at_utc_ms = clock_utc_ns() / 1000000,
        .error_len = error != NULL ? strlen(error) : 0,
        .content_len = content_len,
    };
    if (item.error_len + content_len > 0) {
        item.detail = malloc(item.error_len + 1 + content_len);
        if (item.detail == NULL) {
            struct error err = {0};
            (void)error_memory(&err, "a result for the journal"); /* fills err */
            break_journal(journal, &err); /* what it lacks would be missing from the manifest */
            return;
        }
        memcpy(item.detail, error != NULL ? error : "", item.error_len + 1);
        if (content_len > 0) {
            memcpy(item.detail + item.error_len + 1, content, content_len);
        }
    }
    hand_over(journal, &item);
}

void journal_node(struct journal *journal, uint64_t task, unsigned level, uint32_t index,
                  uint64_t generation, uint32_t crc32c)
{
    struct journal_item item = {
        .kind = JOURNAL_NODE,
        .task = task,
        .level = level,
        .index = index,
        .generation = generation,
        .crc32c = crc32c,
    };
    hand_over(journal, &item);
}

void journal_segment(struct journal *journal, uint64_t next_number, uint64_t covered_utc_ms)
{
    struct journal_item item = {
        .kind = JOURNAL_SEGMENT,
        .task = next_number,
        .at_utc_ms = covered_utc_ms,
    };
    hand_over(journal, &item);
}
