/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Runs of tests: small catalogs, their plans, a ledger, and the index that joins them. */
#ifndef WINCH_TESTS_RUN_BOOKS_FIXTURE_H
#define WINCH_TESTS_RUN_BOOKS_FIXTURE_H

#include "plan_fixture.h"

#include "run/ledger.h"
#include "run/outcome.h"

#define TAG_SYMLINK 0xA000000CU
#define TAG_DEDUP 0x80000013U

struct made_run {
    struct run *run;
    struct run_settings *settings;
    struct run_summary *summary;
    struct catalog *catalog; /* of the last volume, while it is being filled */
    struct volume_scan_totals totals;
};

static inline struct made_run made_run_new(void)
{
    struct made_run made = {.run = calloc(1, sizeof(struct run)),
                            .settings = calloc(1, sizeof(struct run_settings)),
                            .summary = calloc(1, sizeof(struct run_summary))};
    assert_true(made.run != NULL && made.settings != NULL && made.summary != NULL);
    made.run->settings = made.settings;
    made.run->summary = made.summary;
    return made;
}

static inline void begin_volume(struct made_run *made)
{
    made->catalog = made_catalog();
    made->totals = (struct volume_scan_totals){0};
}

/* As source.c has it; that file needs a disk. */
static inline void index_tasks(struct run_volume *volume)
{
    uint32_t entries = catalog_count(volume->catalog);
    uint64_t tasks = plan_task_count(volume->plan);
    volume->entry_first = calloc((size_t)entries + 1, sizeof(uint32_t));
    volume->entry_tasks = calloc((size_t)tasks + 1, sizeof(uint32_t));
    assert_true(volume->entry_first != NULL && volume->entry_tasks != NULL);
    uint32_t at = 0;
    for (uint32_t entry = 0; entry < entries; entry++) {
        volume->entry_first[entry] = at;
        for (uint64_t task = 0; task < tasks; task++) {
            if (plan_get_task(volume->plan, task)->entry == entry) {
                volume->entry_tasks[at++] = (uint32_t)task;
            }
        }
    }
    volume->entry_first[entries] = at;
}

static inline void end_volume(struct made_run *made, const struct plan_settings *settings)
{
    struct error err = {0};
    made->totals.records = 1000;
    assert_int_equal(catalog_finish(made->catalog, &made->totals, &err), 0);
    struct run_volume *volume = &made->run->volumes[made->run->volume_count++];
    volume->catalog = made->catalog;
    struct plan_settings without_stores = *settings;
    without_stores.dedup = PLAN_DEDUP_FAIL;
    volume->plan = made_plan(made->catalog, &without_stores);
    volume->first_task = made->run->task_count;
    made->run->task_count += plan_task_count(volume->plan);
    index_tasks(volume);
}

/* After the last volume. Every task is uploaded, as `generation` 1, until a test says otherwise. */
static inline void begin_count(struct made_run *made)
{
    struct error err = {0};
    made->run->ledger = ledger_new(made->run->task_count, "/tmp", &err);
    assert_non_null(made->run->ledger);
    for (uint64_t task = 0; task < made->run->task_count; task++) {
        ledger_row(made->run->ledger, task)->state = LEDGER_UPLOADED;
    }
}

static inline void made_run_free(struct made_run *made)
{
    for (size_t i = 0; i < made->run->volume_count; i++) {
        struct run_volume *volume = &made->run->volumes[i];
        plan_free(volume->plan);
        catalog_free(volume->catalog);
        free(volume->entry_first);
        free(volume->entry_tasks);
    }
    ledger_free(made->run->ledger);
    free(made->run);
    free(made->settings);
    free(made->summary);
}

static inline void add_entry(struct made_run *made, const struct made *entry)
{
    made_add(made->catalog, entry);
    made->totals.records_in_use++;
}

/* A file with resident streams: "" unnamed, or names of alternate ones. */
static inline void add_file(struct made_run *made, uint64_t record, const char *name,
                            const char *const *streams, size_t count)
{
    struct made entry;
    made_start(&entry, record, 1);
    made_name(&entry, ROOT, name, SPACE_BOTH);
    for (size_t i = 0; i < count; i++) {
        (void)made_stream(&entry, streams[i], VOLUME_RESIDENT, 10 + i);
    }
    add_entry(made, &entry);
}

static inline uint64_t task_of(const struct made_run *made, size_t volume, uint64_t record,
                               unsigned stream)
{
    const struct run_volume *owner = &made->run->volumes[volume];
    return outcome_task(owner, made_index(owner->catalog, record), stream);
}

static inline void set_row(struct made_run *made, uint64_t task, enum ledger_state state,
                           const char *reason)
{
    assert_true(task != UINT64_MAX);
    struct ledger_row *row = ledger_row(made->run->ledger, task);
    row->state = (uint8_t)state;
    row->reason = reason_number(reason);
}

enum {
    FILE_OK = 30,
    FILE_EFS,
    FILE_EFS_STREAM,
    FOLDER,
    FOLDER_STREAM,
    LINK,
    LINK_STREAM,
    DEDUP,
    PAGEFILE,
    BROKEN,
    NO_DATA,
    EMPTY,
    HARD_LINKED,
};

/* One of everything that a plan knows. 1 system, 13 others. */
static inline void add_all_kinds(struct made_run *made)
{
    static const char *const two[] = {"", "s"};
    struct made entry;
    made_start(&entry, 5, 5);
    made_name(&entry, ROOT, ".", SPACE_BOTH);
    entry.entry.directory = true;
    add_entry(made, &entry);
    add_file(made, FILE_OK, "ok", two, 2);
    made_start(&entry, FILE_EFS, 1);
    made_name(&entry, ROOT, "efs", SPACE_BOTH);
    (void)made_stream(&entry, "", VOLUME_EFS, 100);
    add_entry(made, &entry);
    made_start(&entry, FILE_EFS_STREAM, 1);
    made_name(&entry, ROOT, "efs stream", SPACE_BOTH);
    (void)made_stream(&entry, "", VOLUME_RESIDENT, 100);
    (void)made_stream(&entry, "secret", VOLUME_EFS, 100);
    add_entry(made, &entry);
    for (uint64_t record = FOLDER; record <= FOLDER_STREAM; record++) {
        made_start(&entry, record, 1);
        made_name(&entry, ROOT, record == FOLDER ? "d1" : "d2", SPACE_BOTH);
        entry.entry.directory = true;
        if (record == FOLDER_STREAM) {
            (void)made_stream(&entry, "s", VOLUME_RESIDENT, 100);
        }
        add_entry(made, &entry);
    }
    for (uint64_t record = LINK; record <= LINK_STREAM; record++) {
        made_start(&entry, record, 1);
        made_name(&entry, ROOT, record == LINK ? "l1" : "l2", SPACE_BOTH);
        entry.entry.reparse_tag = TAG_SYMLINK;
        if (record == LINK_STREAM) {
            (void)made_stream(&entry, "s", VOLUME_RESIDENT, 100);
        }
        add_entry(made, &entry);
    }
    made_start(&entry, DEDUP, 1);
    made_name(&entry, ROOT, "dedup", SPACE_BOTH);
    entry.entry.reparse_tag = TAG_DEDUP;
    (void)made_stream(&entry, "", VOLUME_SPARSE, 100000);
    (void)made_stream(&entry, "Zone.Identifier", VOLUME_RESIDENT, 26);
    add_entry(made, &entry);
    add_file(made, PAGEFILE, "pagefile.sys", two, 2);
    made_start(&entry, BROKEN, 1);
    made_name(&entry, ROOT, "broken", SPACE_BOTH);
    (void)made_stream(&entry, "", VOLUME_RESIDENT, 100);
    entry.entry.problem = "torn";
    add_entry(made, &entry);
    made_start(&entry, NO_DATA, 1);
    made_name(&entry, ROOT, "no data", SPACE_BOTH);
    add_entry(made, &entry);
    made_start(&entry, EMPTY, 1);
    made_name(&entry, ROOT, "empty", SPACE_BOTH);
    (void)made_stream(&entry, "", VOLUME_RESIDENT, 0);
    add_entry(made, &entry);
    made_start(&entry, HARD_LINKED, 1);
    made_name(&entry, ROOT, "one", SPACE_BOTH);
    made_name(&entry, ROOT, "two", SPACE_BOTH);
    made_name(&entry, ROOT, "three", SPACE_POSIX);
    (void)made_stream(&entry, "", VOLUME_RESIDENT, 7);
    add_entry(made, &entry);
}

#endif
