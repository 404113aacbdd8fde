/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Plans of catalogs put together by hand. The two positions that a plan asks the volume for are
 * defined here, in place of the volume's: clusters of 4 KiB from byte 0 on, records of 1 KiB from
 * 1 GiB on.
 */
#ifndef WINCH_TESTS_PLAN_FIXTURE_H
#define WINCH_TESTS_PLAN_FIXTURE_H

#include "catalog_fixture.h"

#include "plan/plan_internal.h"

#define MFT_POSITION (1ULL << 30)
enum { CLUSTER = 4096, RECORD = 1024 };

uint64_t volume_cluster_position(const struct volume *volume, uint64_t cluster)
{
    (void)volume;
    return cluster * CLUSTER;
}

uint64_t volume_record_position(const struct volume *volume, uint64_t record)
{
    (void)volume;
    return MFT_POSITION + record * RECORD;
}

static const struct plan_settings plain_settings = {
    .prefix = "",
    .volume_name = "",
    .run = "20261129T220312Z-7f3a9c01",
    .default_excludes = true,
    .composites = true,
};

static inline struct plan *made_plan(const struct catalog *catalog,
                                     const struct plan_settings *settings)
{
    struct error err = {0};
    struct plan *plan = plan_build(catalog, NULL, settings, &err);
    assert_non_null(plan);
    const struct plan_totals *totals = plan_get_totals(plan);
    assert_int_equal(totals->tasks + totals->spares, plan_task_count(plan));
    assert_int_equal(totals->tasks, totals->objects + totals->inlines);
    assert_int_equal(totals->objects, totals->batch + totals->whole + totals->parts);
    assert_int_equal(catalog_count(catalog), totals->entries_send + totals->entries_directory +
                                                 totals->entries_link + totals->entries_excluded +
                                                 totals->entries_failed);
    return plan;
}

static inline uint32_t made_index(const struct catalog *catalog, uint64_t record)
{
    int64_t index = catalog_find(catalog, record);
    assert_true(index >= 0);
    return (uint32_t)index;
}

/* The task of a stream, or NULL. */
static inline const struct plan_task *made_task(const struct plan *plan, uint64_t record,
                                                uint16_t stream)
{
    uint32_t index = made_index(plan->catalog, record);
    for (uint64_t i = 0; i < plan_task_count(plan); i++) {
        const struct plan_task *task = plan_get_task(plan, i);
        if (task->entry == index && task->stream == stream) {
            return task;
        }
    }
    return NULL;
}

static inline void made_view(const struct plan *plan, uint64_t record, struct catalog_view *view)
{
    struct error err = {0};
    assert_int_equal(catalog_get(plan->catalog, made_index(plan->catalog, record), view, &err), 0);
}

static inline struct plan_decision made_entry_decision(const struct plan *plan, uint64_t record)
{
    return plan_entry_decision(plan, made_index(plan->catalog, record));
}

static inline struct plan_decision made_stream_decision(const struct plan *plan, uint64_t record,
                                                        unsigned stream)
{
    CLEANUP_VIEW struct catalog_view view = {0};
    made_view(plan, record, &view);
    struct plan_decision decision = plan_stream_decision(plan, &view, stream);
    bool is_task = made_task(plan, record, (uint16_t)stream) != NULL;
    assert_int_equal(decision.state == PLAN_SEND, is_task);
    return decision;
}

static inline void assert_reason(struct plan_decision decision, enum plan_state state,
                                 const char *reason)
{
    assert_int_equal(decision.state, state);
    if (reason == NULL) {
        assert_null(decision.reason);
    } else {
        assert_non_null(decision.reason);
        assert_string_equal(decision.reason, reason);
        assert_non_null(decision.sentence);
    }
}

static inline void assert_object(const struct plan *plan, uint64_t record, uint16_t stream,
                                 const char *name)
{
    CLEANUP_VIEW struct catalog_view view = {0};
    made_view(plan, record, &view);
    const struct plan_task *task = made_task(plan, record, stream);
    assert_non_null(task);
    struct plan_namer *namer = plan_namer_new(plan);
    assert_non_null(namer);
    size_t len;
    const char *object = plan_object_name(namer, task, &view, &len);
    assert_non_null(object);
    assert_string_equal(object, name);
    assert_int_equal(len, strlen(name));
    plan_namer_free(namer);
}

static inline void assert_path(const struct plan *plan, uint64_t record, unsigned name,
                               const char *path, bool exact)
{
    struct plan_namer *namer = plan_namer_new(plan);
    assert_non_null(namer);
    size_t len;
    bool is_exact;
    const char *found = plan_path(namer, made_index(plan->catalog, record), name, &len, &is_exact);
    assert_non_null(found);
    assert_string_equal(found, path);
    assert_int_equal(len, strlen(path));
    assert_int_equal(is_exact, exact);
    plan_namer_free(namer);
}

#endif
