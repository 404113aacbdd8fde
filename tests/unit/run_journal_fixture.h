/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Journals of tests: opened, written to, loaded. The composite that takes hints is the test's. */
#ifndef WINCH_TESTS_RUN_JOURNAL_FIXTURE_H
#define WINCH_TESTS_RUN_JOURNAL_FIXTURE_H

#include "run_fixture.h"

#include "plan/plan.h"
#include "run/journal.h"

struct upload_composite {
    struct {
        unsigned level;
        uint32_t index;
        uint64_t generation;
        uint32_t crc32c;
    } hints[16];
    size_t count;
};

void upload_composite_hint(struct upload_composite *composite, unsigned level, uint32_t index,
                           uint64_t generation, uint32_t crc32c)
{
    size_t at = composite->count++;
    composite->hints[at].level = level;
    composite->hints[at].index = index;
    composite->hints[at].generation = generation;
    composite->hints[at].crc32c = crc32c;
}

struct failure {
    _Atomic unsigned count;
    struct error err; /* read once the writer has stopped */
};

static inline void take_failure(void *self, const struct error *err)
{
    struct failure *failure = self;
    if (failure->count++ == 0) {
        failure->err = *err;
    }
}

struct loaded {
    uint64_t count, last_utc_ms, highest;
};

static inline void take_task(void *self, uint64_t task, uint64_t done_utc_ms)
{
    struct loaded *loaded = self;
    loaded->count++;
    loaded->last_utc_ms = done_utc_ms;
    loaded->highest = task > loaded->highest ? task : loaded->highest;
}

static inline struct journal *open_started(const char *path, struct failure *failure)
{
    struct error err = {0};
    struct journal *journal = journal_open(path, &err);
    assert_non_null(journal);
    assert_int_equal(journal_start(journal, take_failure, failure, &err), 0);
    return journal;
}

static inline void stop_and_close(struct journal *journal, const struct failure *failure)
{
    struct error err = {0};
    assert_int_equal(journal_stop(journal, &err), 0);
    assert_int_equal(failure->count, 0);
    journal_close(journal);
}

static inline struct journal *open_loaded(const char *path, const struct folder *folder,
                                          uint64_t tasks, struct ledger **ret_ledger,
                                          struct loaded *loaded)
{
    struct error err = {0};
    struct journal *journal = journal_open(path, &err);
    assert_non_null(journal);
    *ret_ledger = ledger_new(tasks, folder->path, &err);
    assert_non_null(*ret_ledger);
    *loaded = (struct loaded){0};
    assert_int_equal(journal_load(journal, *ret_ledger, tasks, take_task, loaded, &err), 0);
    return journal;
}

static inline void note(struct journal *journal, uint64_t task, enum ledger_state state,
                        uint8_t flags)
{
    struct ledger_row row = {
        .generation = (1ULL << 60) + task,
        .crc32c = 0xfffffff0U - (uint32_t)task,
        .state = (uint8_t)state,
        .reason = reason_number(REASON_BAD_SECTOR),
        .flags = flags,
    };
    journal_result(journal, task, &row, NULL, NULL, 0);
}

static inline void assert_row(struct ledger *ledger, uint64_t task, enum ledger_state state,
                              uint8_t flags)
{
    const struct ledger_row *row = ledger_row(ledger, task);
    assert_int_equal(row->state, state);
    if (state != LEDGER_OPEN) {
        assert_true(row->generation == (1ULL << 60) + task);
        assert_int_equal(row->crc32c, 0xfffffff0U - (uint32_t)task);
        assert_int_equal(row->flags, flags);
    } else {
        assert_true(row->generation == 0 && row->crc32c == 0);
    }
}

#endif
