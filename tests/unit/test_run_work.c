/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What is handed out, in which order, and when there is nothing left. */
#include "run_work_fixture.h"

static void test_groups_and_wholes_in_order(void **state)
{
    (void)state;
    static const uint64_t first[] = {NEAR, NEAR, NEAR, WHOLE, NEAR, WHOLE, 0};
    static const uint64_t none[] = {0};
    static const uint64_t second[] = {WHOLE, NEAR, NEAR, 0};
    const uint64_t *const volumes[] = {none, first, none, second, none};
    struct made_run made = made_run_of(volumes, ARRAY_LEN(volumes));
    assert_int_equal(made.run->task_count, 9);
    (void)expect_item(&made, WORK_GROUP, 0, 3);
    (void)expect_item(&made, WORK_WHOLE, 3, 1);
    (void)expect_item(&made, WORK_GROUP, 4, 1);
    (void)expect_item(&made, WORK_WHOLE, 5, 1);
    (void)expect_item(&made, WORK_WHOLE, 6, 1); /* a group never reaches into another volume */
    (void)expect_item(&made, WORK_GROUP, 7, 2);
    expect_nothing(&made);
    expect_nothing(&made);
    made_run_free(&made);
}

/* Towards the end groups get smaller, so that no worker is left with much while others are idle. */
static void test_last_groups_are_small(void **state)
{
    (void)state;
    enum { FILES = 64, WORKERS = 4 };
    static uint64_t files[FILES + 1];
    for (unsigned i = 0; i < FILES; i++) {
        files[i] = NEAR;
    }
    const uint64_t *const volumes[] = {files};
    made_connections = WORKERS;
    struct made_run made = made_run_of(volumes, 1);
    made_connections = 1;
    struct work_item item;
    uint64_t at = 0;
    size_t before = FILES;
    while (work_take(made.work, &item)) {
        assert_int_equal(item.kind, WORK_GROUP);
        assert_int_equal(item.task, at);
        assert_true(item.count >= 1 && item.count <= before);
        assert_true(item.count == 1 || item.count * WORKERS <= FILES - at);
        before = item.count;
        at += item.count;
    }
    assert_int_equal(at, FILES);
    assert_int_equal(before, 1);
    made_run_free(&made);
}

static void test_nothing_to_do(void **state)
{
    (void)state;
    static const uint64_t none[] = {0};
    const uint64_t *const volumes[] = {none, none};
    for (size_t count = 1; count <= ARRAY_LEN(volumes); count++) {
        struct made_run made = made_run_of(volumes, count);
        expect_nothing(&made);
        made_run_free(&made);
    }
    work_free(NULL);
}

/* What an earlier session did is passed over; inside a group its users skip it. */
static void test_done_tasks_are_passed_over(void **state)
{
    (void)state;
    static const uint64_t files[] = {NEAR, NEAR, NEAR, NEAR, WHOLE, PARTS, WHOLE, NEAR, 0};
    const uint64_t *const volumes[] = {files};
    static const struct {
        uint8_t states[8];
        struct {
            enum work_kind kind;
            uint64_t task;
            size_t count;
        } items[4];
        size_t count;
    } cases[] = {
        {{1, 1, 1, 1, 1, 1, 1, 1}, {{WORK_GROUP, 0, 0}}, 0},
        {{1, 2, 0, 0, 1, 1, 1, 1}, {{WORK_GROUP, 2, 2}}, 1},
        {{0, 1, 1, 0, 1, 1, 0, 3}, {{WORK_GROUP, 0, 4}, {WORK_WHOLE, 6, 1}}, 2},
        {{1, 1, 1, 1, 0, 1, 1, 0}, {{WORK_WHOLE, 4, 1}, {WORK_GROUP, 7, 1}}, 2},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct made_run made = made_run_of(volumes, 1);
        for (uint64_t task = 0; task < 8; task++) {
            ledger_row(made.run->ledger, task)->state = cases[i].states[task];
        }
        for (size_t item = 0; item < cases[i].count; item++) {
            (void)expect_item(&made, cases[i].items[item].kind, cases[i].items[item].task,
                              cases[i].items[item].count);
        }
        expect_nothing(&made);
        made_run_free(&made);
    }
}

static void test_parts_come_first(void **state)
{
    (void)state;
    static const uint64_t files[] = {PARTS, NEAR, PARTS, WHOLE, 0};
    const uint64_t *const volumes[] = {files};
    struct error err = {0};
    struct made_run made = made_run_of(volumes, 1);
    (void)expect_item(&made, WORK_OPEN, 0, 1);
    (void)expect_item(&made, WORK_GROUP, 1, 1); /* others go on while it is being opened */
    (void)expect_item(&made, WORK_OPEN, 2, 1);
    assert_int_equal(work_opened(made.work, 2, made_composite(2), 1000, &err), 0);
    struct work_item two_0 = expect_item(&made, WORK_PART, 2, 1);
    assert_int_equal(two_0.part, 0);
    assert_int_equal(two_0.stream->part_size, 1000);
    assert_int_equal(two_0.stream->task, 2);
    assert_int_equal(work_opened(made.work, 0, made_composite(1), 2000, &err), 0);
    struct work_item two_1 = expect_item(&made, WORK_PART, 2, 1); /* the older one first */
    assert_int_equal(two_1.part, 1);
    struct work_item zero_0 = expect_item(&made, WORK_PART, 0, 1);
    assert_ptr_not_equal(zero_0.stream, two_0.stream);
    (void)expect_item(&made, WORK_WHOLE, 3, 1);
    work_part_done(made.work, two_1.stream, false);
    assert_int_equal(freed, 0);
    work_part_done(made.work, two_0.stream, true);
    assert_int_equal(freed, 1);
    work_part_done(made.work, zero_0.stream, true);
    assert_int_equal(freed, 2);
    expect_nothing(&made);
    made_run_free(&made);
}

/* A failed stream hands out nothing more, and goes when its last user has gone. */
static void test_failed_stream(void **state)
{
    (void)state;
    static const uint64_t files[] = {PARTS, WHOLE, 0};
    const uint64_t *const volumes[] = {files};
    struct error err = {0};
    struct made_run made = made_run_of(volumes, 1);
    (void)expect_item(&made, WORK_OPEN, 0, 1);
    assert_int_equal(work_opened(made.work, 0, made_composite(100), 1000, &err), 0);
    struct work_item one = expect_item(&made, WORK_PART, 0, 1);
    struct work_item two = expect_item(&made, WORK_PART, 0, 1);
    struct work_item three = expect_item(&made, WORK_PART, 0, 1);
    work_part_done(made.work, one.stream, true);
    (void)expect_item(&made, WORK_WHOLE, 1, 1);
    work_part_done(made.work, two.stream, false); /* the end, once said, stays said */
    assert_int_equal(freed, 0);
    work_part_done(made.work, three.stream, false);
    assert_int_equal(freed, 1);
    expect_nothing(&made);
    made_run_free(&made);
}

static void test_open_came_to_nothing(void **state)
{
    (void)state;
    static const uint64_t files[] = {PARTS, PARTS, 0};
    const uint64_t *const volumes[] = {files};
    struct error err = {0};
    struct made_run made = made_run_of(volumes, 1);
    (void)expect_item(&made, WORK_OPEN, 0, 1);
    assert_int_equal(work_opened(made.work, 0, NULL, 0, &err), 0);
    (void)expect_item(&made, WORK_OPEN, 1, 1);
    assert_int_equal(work_opened(made.work, 1, NULL, 0, &err), 0);
    expect_nothing(&made);
    made_run_free(&made);
}

static void test_halt(void **state)
{
    (void)state;
    static const uint64_t files[] = {PARTS, NEAR, 0};
    const uint64_t *const volumes[] = {files};
    struct error err = {0};
    struct made_run made = made_run_of(volumes, 1);
    (void)expect_item(&made, WORK_OPEN, 0, 1);
    assert_int_equal(work_opened(made.work, 0, made_composite(3), 1000, &err), 0);
    (void)expect_item(&made, WORK_PART, 0, 1);
    made.run->halt = true;
    expect_nothing(&made);
    expect_nothing(&made);
    made_run_free(&made); /* the stream that is still there goes with the queue */
    assert_int_equal(freed, 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_groups_and_wholes_in_order),
        cmocka_unit_test(test_last_groups_are_small),
        cmocka_unit_test(test_nothing_to_do),
        cmocka_unit_test(test_done_tasks_are_passed_over),
        cmocka_unit_test(test_parts_come_first),
        cmocka_unit_test(test_failed_stream),
        cmocka_unit_test(test_open_came_to_nothing),
        cmocka_unit_test(test_halt),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
