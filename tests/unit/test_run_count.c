/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The sums of a run, and that every way in which they can differ shows. */
#include "run_books_fixture.h"

#include "run/count.h"

static uint64_t reason_counted(const struct run_summary *summary, const char *reason)
{
    for (size_t i = 0; i < summary->reason_count; i++) {
        if (strcmp(summary->reasons[i].reason, reason) == 0) {
            return summary->reasons[i].count;
        }
    }
    return 0;
}

static void count(struct made_run *made)
{
    struct error err = {0};
    (void)memset(made->summary, 0, sizeof(*made->summary));
    assert_int_equal(count_entries(made->run, &err), 0);
}

/* Two volumes with everything, 3 extensions and 2 strays in each. */
static struct made_run made_two_volumes(void)
{
    struct made_run made = made_run_new();
    for (unsigned i = 0; i < 2; i++) {
        struct error err = {0};
        begin_volume(&made);
        add_all_kinds(&made);
        assert_int_equal(catalog_add_stray(made.catalog, 200, 1, 0, "torn", &err), 0);
        assert_int_equal(catalog_add_stray(made.catalog, 201, 1, 30, "not named", &err), 0);
        made.totals.records_in_use += 2 + 3;
        made.totals.extensions = 3;
        end_volume(&made, &plain_settings);
    }
    begin_count(&made);
    return made;
}

static void test_sums(void **state)
{
    (void)state;
    struct made_run made = made_two_volumes();
    uint64_t inlined = task_of(&made, 1, FILE_OK, 1);
    set_row(&made, inlined, LEDGER_INLINE, NULL);
    set_row(&made, task_of(&made, 1, EMPTY, 0), LEDGER_FAILED, REASON_CONFLICT);
    ledger_row(made.run->ledger, task_of(&made, 0, FILE_OK, 0))->flags = LEDGER_PRESENT;
    ledger_row(made.run->ledger, task_of(&made, 1, FILE_OK, 0))->flags = LEDGER_REPLACED;
    count(&made);
    const struct run_summary *summary = made.summary;
    assert_true(summary->counts_agree);
    assert_int_equal(summary->records_in_use, 2 * (14 + 5));
    assert_int_equal(summary->extension, 6);
    assert_int_equal(summary->uploaded, 2 * 3 - 1);
    assert_int_equal(summary->directories, 4);
    assert_int_equal(summary->links, 4);
    assert_int_equal(summary->excluded, 4);
    assert_int_equal(summary->failed, 2 * (5 + 2) + 1);
    assert_int_equal(summary->accepted, 0);
    assert_int_equal(reason_counted(summary, REASON_EFS), 4);
    assert_int_equal(reason_counted(summary, REASON_DEDUP), 2);
    assert_int_equal(reason_counted(summary, REASON_BAD_RECORD), 2 * (2 + 2));
    assert_int_equal(reason_counted(summary, REASON_CONFLICT), 1);
    assert_int_equal(summary->reason_count, 4);
    assert_int_equal(summary->names, 2 * 2);
    /* Streams: ok 2, efs stream 1, folder 1, link 1, dedup 1, empty 1, linked 1. */
    assert_int_equal(made.run->task_count, 2 * 8);
    assert_int_equal(summary->streams_uploaded, 2 * 8 - 1);
    uint64_t failed_by_plan = plan_get_totals(made.run->volumes[0].plan)->streams_failed +
                              plan_get_totals(made.run->volumes[1].plan)->streams_failed;
    assert_int_equal(summary->streams_failed, failed_by_plan + 1);
    assert_int_equal(summary->inline_streams, 1);
    assert_int_equal(summary->already_present, 1);
    assert_int_equal(summary->replaced, 1);
    assert_int_equal(summary->bytes, 2 * (10 + 11 + 100 + 100 + 100 + 26 + 0 + 7));
    made_run_free(&made);
}

static void test_accepted(void **state)
{
    (void)state;
    static const struct {
        const char *reasons[3];
        size_t count;
        uint64_t accepted;
    } cases[] = {
        {{NULL}, 0, 0},
        {{REASON_EFS}, 1, 4},
        {{REASON_EFS, REASON_DEDUP}, 2, 6},
        {{REASON_BAD_RECORD}, 1, 8}, /* strays too */
        {{REASON_EFS, REASON_DEDUP, REASON_BAD_RECORD}, 3, 14},
        {{REASON_EFS, REASON_EFS}, 2, 4},
        {{REASON_STALE, "ef", ""}, 3, 0},
        {{REASON_EXCLUDED, REASON_SYSTEM}, 2, 0}, /* what is left out has not failed */
    };
    struct made_run made = made_two_volumes();
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        made.settings->accepted_reasons = cases[i].reasons;
        made.settings->accepted_reason_count = cases[i].count;
        count(&made);
        assert_int_equal(made.summary->accepted, cases[i].accepted);
        assert_int_equal(made.summary->failed, 14); /* accepted ones stay failed, with reasons */
        assert_int_equal(reason_counted(made.summary, REASON_EFS), 4);
        assert_true(made.summary->counts_agree);
    }
    made_run_free(&made);
}

/* Every way in which the numbers can differ has to show. */
static void test_disagreement(void **state)
{
    (void)state;
    struct made_run made = made_two_volumes();
    count(&made);
    assert_true(made.summary->counts_agree);
    uint64_t task = task_of(&made, 1, FILE_OK, 0);
    set_row(&made, task, LEDGER_OPEN, NULL);
    count(&made);
    assert_false(made.summary->counts_agree);
    assert_int_equal(made.run->tasks_undecided, 1);
    set_row(&made, task, LEDGER_UPLOADED, NULL);
    struct volume_scan_totals *totals = &made.run->volumes[1].catalog->totals;
    const int changes[] = {1, -1};
    for (size_t i = 0; i < ARRAY_LEN(changes); i++) {
        totals->records_in_use += (uint64_t)changes[i];
        count(&made);
        assert_false(made.summary->counts_agree);
        totals->records_in_use -= (uint64_t)changes[i];
        totals->extensions += (uint64_t)changes[i];
        count(&made);
        assert_false(made.summary->counts_agree);
        totals->extensions -= (uint64_t)changes[i];
    }
    count(&made);
    assert_true(made.summary->counts_agree);
    assert_int_equal(made.run->tasks_undecided, 0);
    made_run_free(&made);
}

/* A run that ended before its plan has nothing to count, and does not say that it agrees. */
static void test_without_plan(void **state)
{
    (void)state;
    struct error err = {0};
    struct made_run made = made_run_new();
    made.run->volume_count = 1;
    assert_int_equal(count_entries(made.run, &err), 0);
    assert_false(made.summary->counts_agree);
    assert_int_equal(made.summary->records_in_use, 0);
    made_run_free(&made);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_sums),
        cmocka_unit_test(test_accepted),
        cmocka_unit_test(test_disagreement),
        cmocka_unit_test(test_without_plan),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
