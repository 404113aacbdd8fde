/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The one state in which an entry ends: plan and ledger joined. */
#include "run_books_fixture.h"

static struct outcome outcome_at(struct made_run *made, size_t volume, uint64_t record)
{
    CLEANUP_VIEW struct catalog_view view = {0};
    const struct run_volume *owner = &made->run->volumes[volume];
    made_view(owner->plan, record, &view);
    return outcome_of_entry(made->run, owner, &view);
}

static void expect_outcome(struct made_run *made, size_t volume, uint64_t record,
                           enum outcome_state state, const char *reason)
{
    struct outcome outcome = outcome_at(made, volume, record);
    if (outcome.state != state) {
        fail_msg("record %u: %s", (unsigned)record, outcome_name(outcome.state));
    }
    if (reason == NULL) {
        assert_null(outcome.reason);
    } else {
        assert_non_null(outcome.reason);
        assert_string_equal(outcome.reason, reason);
    }
}

static const char *const three[] = {"", "b", "c"};

/* The three streams of one file in all their states: the worst counts. */
static void test_worst_stream(void **state)
{
    (void)state;
    const enum ledger_state U = LEDGER_UPLOADED, I = LEDGER_INLINE, F = LEDGER_FAILED,
                            O = LEDGER_OPEN;
    const struct {
        enum ledger_state rows[3];
        const char *reasons[3];
        enum outcome_state state;
        int from; /* stream that the reason is from */
    } cases[] = {
        {{U, I, I}, {NULL, NULL, NULL}, OUTCOME_UPLOADED, -1},
        {{U, U, U}, {NULL, NULL, NULL}, OUTCOME_UPLOADED, -1},
        {{F, I, I}, {REASON_CONFLICT, NULL, NULL}, OUTCOME_FAILED, 0},
        {{U, F, I}, {NULL, REASON_BAD_SECTOR, NULL}, OUTCOME_FAILED, 1},
        {{U, I, F}, {NULL, NULL, REASON_STALE}, OUTCOME_FAILED, 2},
        {{U, F, F}, {NULL, REASON_NAME, REASON_STALE}, OUTCOME_FAILED, 1},
        {{O, I, I}, {NULL, NULL, NULL}, OUTCOME_UNDECIDED, 0},
        {{U, I, O}, {NULL, NULL, NULL}, OUTCOME_UNDECIDED, 2},
        {{O, F, I}, {NULL, REASON_NAME, NULL}, OUTCOME_FAILED, 1},
        {{F, O, I}, {REASON_NAME, NULL, NULL}, OUTCOME_FAILED, 0},
        {{O, O, F}, {NULL, NULL, "no-such-reason"}, OUTCOME_FAILED, 2},
    };
    struct made_run made = made_run_new();
    begin_volume(&made);
    add_file(&made, 29, "before", three, 1);
    add_file(&made, 30, "file", three, 3);
    add_file(&made, 31, "behind", three, 1);
    end_volume(&made, &plain_settings);
    begin_count(&made);
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        for (unsigned stream = 0; stream < 3; stream++) {
            set_row(&made, task_of(&made, 0, 30, stream), cases[i].rows[stream],
                    cases[i].reasons[stream]);
        }
        struct outcome outcome = outcome_at(&made, 0, 30);
        assert_int_equal(outcome.state, cases[i].state);
        assert_null(outcome.sentence); /* the journal has it */
        if (cases[i].from < 0) {
            assert_true(outcome.task == UINT64_MAX && outcome.reason == NULL);
        } else {
            assert_true(outcome.task == task_of(&made, 0, 30, (unsigned)cases[i].from));
        }
        if (cases[i].state == OUTCOME_FAILED) {
            const char *reason = cases[i].reasons[cases[i].from];
            assert_string_equal(outcome.reason, reason_name(reason_number(reason)));
        }
        expect_outcome(&made, 0, 29, OUTCOME_UPLOADED, NULL);
        expect_outcome(&made, 0, 31, OUTCOME_UPLOADED, NULL);
    }
    made_run_free(&made);
}

/* A failure that --accept names must not hide one that it does not name. */
static void test_accepted_hides_nothing(void **state)
{
    (void)state;
    static const struct {
        const char *reasons[3]; /* NULL: uploaded */
        const char *wanted;
    } cases[] = {
        {{REASON_STALE, NULL, NULL}, REASON_STALE},
        {{REASON_NAME, REASON_STALE, NULL}, REASON_NAME},
        {{REASON_STALE, REASON_NAME, NULL}, REASON_NAME},
        {{REASON_STALE, NULL, REASON_NAME}, REASON_NAME},
        {{REASON_STALE, REASON_STALE, REASON_CONFLICT}, REASON_CONFLICT},
        {{REASON_STALE, REASON_NAME, REASON_CONFLICT}, REASON_NAME},
        {{REASON_NAME, REASON_STALE, REASON_CONFLICT}, REASON_NAME},
    };
    static const char *const accepted[] = {REASON_STALE};
    struct made_run made = made_run_new();
    made.settings->accepted_reasons = accepted;
    made.settings->accepted_reason_count = 1;
    begin_volume(&made);
    add_file(&made, 30, "file", three, 3);
    end_volume(&made, &plain_settings);
    begin_count(&made);
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        for (unsigned stream = 0; stream < 3; stream++) {
            const char *reason = cases[i].reasons[stream];
            set_row(&made, task_of(&made, 0, 30, stream),
                    reason == NULL ? LEDGER_UPLOADED : LEDGER_FAILED, reason);
        }
        expect_outcome(&made, 0, 30, OUTCOME_FAILED, cases[i].wanted);
    }
    made_run_free(&made);
}

static void test_every_state(void **state)
{
    (void)state;
    static const struct {
        uint64_t record;
        enum outcome_state state;
        const char *reason;
    } cases[] = {
        {5, OUTCOME_EXCLUDED, REASON_SYSTEM},
        {FILE_OK, OUTCOME_UPLOADED, NULL},
        {FILE_EFS, OUTCOME_FAILED, REASON_EFS},
        {FILE_EFS_STREAM, OUTCOME_FAILED, REASON_EFS},
        {FOLDER, OUTCOME_DIRECTORY, NULL},
        {FOLDER_STREAM, OUTCOME_DIRECTORY, NULL},
        {LINK, OUTCOME_LINK, NULL},
        {LINK_STREAM, OUTCOME_LINK, NULL},
        {DEDUP, OUTCOME_FAILED, REASON_DEDUP},
        {PAGEFILE, OUTCOME_EXCLUDED, REASON_EXCLUDED},
        {BROKEN, OUTCOME_FAILED, REASON_BAD_RECORD},
        {NO_DATA, OUTCOME_FAILED, REASON_BAD_RECORD},
        {EMPTY, OUTCOME_UPLOADED, NULL},
        {HARD_LINKED, OUTCOME_UPLOADED, NULL},
    };
    struct made_run made = made_run_new();
    begin_volume(&made);
    add_all_kinds(&made);
    end_volume(&made, &plain_settings);
    begin_count(&made);
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        expect_outcome(&made, 0, cases[i].record, cases[i].state, cases[i].reason);
        if (cases[i].state == OUTCOME_FAILED) {
            struct outcome outcome = outcome_at(&made, 0, cases[i].record);
            assert_non_null(outcome.sentence);
            assert_true(outcome.task == UINT64_MAX);
        }
    }
    /* Streams of folders and links count for them; those of a failed file change nothing. */
    set_row(&made, task_of(&made, 0, FOLDER_STREAM, 0), LEDGER_FAILED, REASON_CONFLICT);
    set_row(&made, task_of(&made, 0, LINK_STREAM, 0), LEDGER_OPEN, NULL);
    set_row(&made, task_of(&made, 0, DEDUP, 1), LEDGER_FAILED, REASON_NAME);
    expect_outcome(&made, 0, FOLDER_STREAM, OUTCOME_FAILED, REASON_CONFLICT);
    expect_outcome(&made, 0, LINK_STREAM, OUTCOME_UNDECIDED, NULL);
    expect_outcome(&made, 0, DEDUP, OUTCOME_FAILED, REASON_DEDUP);
    assert_true(task_of(&made, 0, PAGEFILE, 0) == UINT64_MAX);
    assert_true(task_of(&made, 0, FILE_OK, 2) == UINT64_MAX);
    static const char *const names[] = {"uploaded", "directory", "link",
                                        "excluded", "failed",    "undecided"};
    for (unsigned i = 0; i < ARRAY_LEN(names); i++) {
        assert_string_equal(outcome_name((enum outcome_state)i), names[i]);
    }
    made_run_free(&made);
}

static void test_left_out_streams(void **state)
{
    (void)state;
    struct made_run made = made_run_new();
    struct plan_settings settings = plain_settings;
    settings.streams = PLAN_STREAMS_NONE;
    begin_volume(&made);
    add_file(&made, 30, "file", three, 3);
    end_volume(&made, &settings);
    begin_count(&made);
    assert_int_equal(made.run->task_count, 1);
    expect_outcome(&made, 0, 30, OUTCOME_UPLOADED, NULL);
    made_run_free(&made);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_worst_stream),
        cmocka_unit_test(test_accepted_hides_nothing),
        cmocka_unit_test(test_every_state),
        cmocka_unit_test(test_left_out_streams),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
