/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Work queues of tests. Plans are small ones put together by hand; the composite is the test's, a
 * number of parts and nothing else. */
#ifndef WINCH_TESTS_RUN_WORK_FIXTURE_H
#define WINCH_TESTS_RUN_WORK_FIXTURE_H

#include "plan_fixture.h"

#include <stdatomic.h>

#include "run/ledger.h"
#include "run/work.h"

struct upload_composite {
    _Atomic uint32_t parts, claimed, done;
    _Atomic unsigned *freed;
};

bool upload_composite_claim(struct upload_composite *composite, uint32_t *ret_index)
{
    uint32_t index = composite->claimed;
    while (index < composite->parts) {
        if (atomic_compare_exchange_weak(&composite->claimed, &index, index + 1)) {
            *ret_index = index;
            return true;
        }
    }
    return false;
}

void upload_composite_free(struct upload_composite *composite)
{
    (*composite->freed)++;
    free(composite);
}

static _Atomic unsigned freed;

static inline struct upload_composite *made_composite(uint32_t parts)
{
    struct upload_composite *composite = calloc(1, sizeof(*composite));
    assert_non_null(composite);
    composite->parts = parts;
    composite->freed = &freed;
    return composite;
}

/* As source.c has it; that file needs a disk. */
struct run_volume *run_volume_of(struct run *run, uint64_t task, uint64_t *ret_number)
{
    size_t i = run->volume_count - 1;
    while (i > 0 && run->volumes[i].first_task > task) {
        i--;
    }
    *ret_number = task - run->volumes[i].first_task;
    return &run->volumes[i];
}

/* ---- runs ------------------------------------------------------------------------------- */

/* Sizes of the files of one volume, one after the other on the disk, far from each other unless
 * small. 0 ends it. */
#define NEAR 10000
#define WHOLE (2ULL << 20)
#define PARTS (100ULL << 20)
enum { FILES_MAX = 200 };

static inline struct catalog *made_files(const uint64_t *sizes)
{
    struct catalog *catalog = made_catalog();
    uint64_t cluster = 1000;
    for (unsigned i = 0; i < FILES_MAX && sizes[i] != 0; i++) {
        struct made made;
        char name[32];
        (void)snprintf(name, sizeof(name), "f%u", i);
        made_start(&made, 30 + i, 1);
        made_name(&made, ROOT, name, SPACE_BOTH);
        uint64_t clusters = (sizes[i] - 1) / CLUSTER + 1;
        (void)made_stream(&made, "", VOLUME_PLAIN, sizes[i]);
        made_extent(&made, cluster, clusters);
        made_add(catalog, &made);
        cluster += clusters;
    }
    made_finish(catalog, 300);
    return catalog;
}

/* With one worker a group is handed out as large as the plan makes it, but for the last tasks. */
static unsigned made_connections = 1;

struct made_run {
    struct run *run;
    struct run_settings *settings;
    struct work *work;
};

static inline struct made_run made_run_of(const uint64_t *const *volumes, size_t count)
{
    struct error err = {0};
    struct made_run made = {calloc(1, sizeof(struct run)), calloc(1, sizeof(struct run_settings)),
                            NULL};
    assert_true(made.run != NULL && made.settings != NULL);
    made.settings->connections = made_connections;
    made.run->settings = made.settings;
    for (size_t i = 0; i < count; i++) {
        struct run_volume *volume = &made.run->volumes[i];
        volume->catalog = made_files(volumes[i]);
        volume->plan = made_plan(volume->catalog, &plain_settings);
        volume->first_task = made.run->task_count;
        made.run->task_count += plan_task_count(volume->plan);
    }
    made.run->volume_count = count;
    made.run->ledger = ledger_new(made.run->task_count, "/tmp", &err);
    assert_non_null(made.run->ledger);
    made.work = work_new(made.run, &err);
    assert_non_null(made.work);
    freed = 0;
    return made;
}

static inline void made_run_free(struct made_run *made)
{
    work_free(made->work);
    for (size_t i = 0; i < made->run->volume_count; i++) {
        plan_free(made->run->volumes[i].plan);
        catalog_free(made->run->volumes[i].catalog);
    }
    ledger_free(made->run->ledger);
    free(made->settings);
    free(made->run);
}

static inline struct work_item expect_item(struct made_run *made, enum work_kind kind,
                                           uint64_t task, size_t count)
{
    struct work_item item = {0};
    assert_true(work_take(made->work, &item));
    assert_int_equal(item.kind, kind);
    assert_int_equal(item.task, task);
    if (kind == WORK_GROUP) {
        assert_int_equal(item.count, count);
    }
    return item;
}

static inline void expect_nothing(struct made_run *made)
{
    struct work_item item;
    assert_false(work_take(made->work, &item));
}

#endif
