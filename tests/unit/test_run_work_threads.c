/* SPDX-License-Identifier: GPL-3.0-or-later */
/* When workers wait, when they stop, and that many of them share everything exactly once. */
#include "run_work_fixture.h"

#include <pthread.h>

enum { MANY_THREADS = 16 };

/* ---- waiting ---------------------------------------------------------------------------- */

struct waiter {
    struct work *work;
    struct work_item item;
    bool found;
    _Atomic bool back;
    pthread_t thread;
};

static void *wait_for_work(void *argument)
{
    struct waiter *waiter = argument;
    waiter->found = work_take(waiter->work, &waiter->item);
    waiter->back = true;
    return NULL;
}

static void start_waiter(struct waiter *waiter, struct work *work)
{
    waiter->work = work;
    waiter->back = false;
    assert_int_equal(pthread_create(&waiter->thread, NULL, wait_for_work, waiter), 0);
}

static void test_waits_for_an_opening(void **state)
{
    (void)state;
    static const uint64_t files[] = {PARTS, 0};
    const uint64_t *const volumes[] = {files};
    static const struct {
        uint32_t parts; /* 0: it comes to nothing */
        bool halt;
        bool found;
    } cases[] = {{1, false, true}, {0, false, false}, {0, true, false}};
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct error err = {0};
        struct made_run made = made_run_of(volumes, 1);
        struct waiter waiter = {0};
        (void)expect_item(&made, WORK_OPEN, 0, 1);
        start_waiter(&waiter, made.work);
        (void)clock_sleep_ms(20, NULL);
        assert_false(waiter.back); /* others may still bring something */
        if (cases[i].halt) {
            made.run->halt = true;
        } else {
            struct upload_composite *composite =
                cases[i].parts > 0 ? made_composite(cases[i].parts) : NULL;
            assert_int_equal(work_opened(made.work, 0, composite, 1000, &err), 0);
        }
        assert_int_equal(pthread_join(waiter.thread, NULL), 0);
        assert_int_equal(waiter.found, cases[i].found);
        if (waiter.found) {
            assert_int_equal(waiter.item.kind, WORK_PART);
            work_part_done(made.work, waiter.item.stream, true);
        }
        made_run_free(&made);
    }
}

/* All parts are handed out, none is back: one may yet be handed out again. */
static void test_waits_for_the_last_part(void **state)
{
    (void)state;
    static const uint64_t files[] = {PARTS, 0};
    const uint64_t *const volumes[] = {files};
    for (unsigned again = 0; again < 2; again++) {
        struct error err = {0};
        struct made_run made = made_run_of(volumes, 1);
        struct waiter waiter = {0};
        struct upload_composite *composite = made_composite(1);
        (void)expect_item(&made, WORK_OPEN, 0, 1);
        assert_int_equal(work_opened(made.work, 0, composite, 1000, &err), 0);
        struct work_item item = expect_item(&made, WORK_PART, 0, 1);
        start_waiter(&waiter, made.work);
        (void)clock_sleep_ms(20, NULL);
        assert_false(waiter.back);
        composite->parts += again;
        work_part_done(made.work, item.stream, again == 0);
        assert_int_equal(pthread_join(waiter.thread, NULL), 0);
        assert_int_equal(waiter.found, again != 0);
        if (again != 0) {
            assert_int_equal(waiter.item.part, 1);
            work_part_done(made.work, waiter.item.stream, true);
            expect_nothing(&made);
        }
        assert_int_equal(freed, 1);
        made_run_free(&made);
    }
}

struct turn {
    struct work *work;
    unsigned index;
    _Atomic bool back;
    pthread_t thread;
};

static void *wait_for_turn(void *argument)
{
    struct turn *turn = argument;
    work_wait_turn(turn->work, turn->index);
    turn->back = true;
    return NULL;
}

/* Workers that are not worth having wait while there is work, and no longer. */
static void test_waits_for_its_turn(void **state)
{
    (void)state;
    enum { ROUNDS = 5, AT_ONCE_MS = 100 };
    static const uint64_t files[] = {WHOLE, WHOLE, 0};
    const uint64_t *const volumes[] = {files};
    unsigned connections = made_connections;
    made_connections = 1;
    uint64_t fastest_ms = UINT64_MAX;
    for (unsigned round = 0; round <= ROUNDS; round++) {
        struct made_run made = made_run_of(volumes, 1);
        struct turn turn = {.work = made.work, .index = 1};
        work_wait_turn(made.work, 0); /* the first is always worth having */
        assert_int_equal(pthread_create(&turn.thread, NULL, wait_for_turn, &turn), 0);
        (void)expect_item(&made, WORK_WHOLE, 0, 1);
        (void)clock_sleep_ms(20, NULL);
        assert_false(turn.back);
        (void)expect_item(&made, WORK_WHOLE, 1, 1);
        uint64_t begun_ms = clock_monotonic_ms();
        if (round == ROUNDS) {
            made.run->halt = true;
        }
        expect_nothing(&made);
        assert_int_equal(pthread_join(turn.thread, NULL), 0);
        uint64_t took_ms = clock_monotonic_ms() - begun_ms;
        fastest_ms = took_ms < fastest_ms ? took_ms : fastest_ms;
        made_run_free(&made);
    }
    assert_true(fastest_ms < AT_ONCE_MS); /* the end is told to them, not found by looking */
    made_connections = connections;
}

/* ---- many threads ----------------------------------------------------------------------- */

struct crowd {
    struct made_run *made;
    _Atomic unsigned handed[FILES_MAX]; /* how often each task was given out */
    _Atomic unsigned parts_done;
    _Atomic unsigned wrong;
    uint64_t halt_at; /* stop after so many tasks; 0: never */
    _Atomic uint64_t taken;
};

static void do_item(struct crowd *crowd, const struct work_item *item, struct work *work)
{
    struct error err = {0};
    struct run *run = crowd->made->run;
    switch (item->kind) {
    case WORK_GROUP:
    case WORK_WHOLE:
        for (uint64_t task = item->task; task < item->task + item->count; task++) {
            crowd->handed[task]++;
            atomic_store(&ledger_row(run->ledger, task)->state, LEDGER_UPLOADED);
        }
        break;
    case WORK_OPEN: {
        crowd->handed[item->task]++;
        struct upload_composite *composite = NULL;
        if (item->task % 5 != 0) {
            composite = calloc(1, sizeof(*composite));
            composite->parts = 1 + (uint32_t)item->task % 40;
            composite->freed = &freed;
        }
        crowd->wrong += work_opened(work, item->task, composite, 1, &err) != 0 ? 1 : 0;
        break;
    }
    case WORK_PART: {
        struct upload_composite *composite = item->stream->composite;
        bool last = ++composite->done == composite->parts;
        crowd->parts_done++;
        work_part_done(work, item->stream, last);
        break;
    }
    }
}

static void *work_on(void *argument)
{
    struct crowd *crowd = argument;
    struct work_item item;
    while (work_take(crowd->made->work, &item)) {
        do_item(crowd, &item, crowd->made->work);
        if (++crowd->taken == crowd->halt_at) {
            crowd->made->run->halt = true;
        }
    }
    return NULL;
}

static void run_crowd(struct crowd *crowd)
{
    pthread_t threads[MANY_THREADS];
    for (unsigned i = 0; i < MANY_THREADS; i++) {
        assert_int_equal(pthread_create(&threads[i], NULL, work_on, crowd), 0);
    }
    for (unsigned i = 0; i < MANY_THREADS; i++) {
        assert_int_equal(pthread_join(threads[i], NULL), 0);
    }
    assert_int_equal(crowd->wrong, 0);
}

static void fill_sizes(uint64_t sizes[FILES_MAX])
{
    static const uint64_t kinds[] = {NEAR, NEAR, PARTS, WHOLE, NEAR, PARTS, PARTS};
    for (unsigned i = 0; i < FILES_MAX - 1; i++) {
        sizes[i] = kinds[i % ARRAY_LEN(kinds)];
    }
    sizes[FILES_MAX - 1] = 0;
}

static void test_many_threads(void **state)
{
    (void)state;
    static uint64_t sizes[FILES_MAX];
    fill_sizes(sizes);
    const uint64_t *const volumes[] = {sizes};
    for (unsigned round = 0; round < 20; round++) {
        struct made_run made = made_run_of(volumes, 1);
        struct crowd crowd = {.made = &made};
        run_crowd(&crowd);
        unsigned parts = 0;
        unsigned streams = 0;
        for (uint64_t task = 0; task < made.run->task_count; task++) {
            assert_int_equal(crowd.handed[task], 1);
            if (plan_get_task(made.run->volumes[0].plan, task)->way == PLAN_PARTS &&
                task % 5 != 0) {
                parts += 1 + (unsigned)task % 40;
                streams++;
            }
        }
        assert_int_equal(crowd.parts_done, parts);
        assert_int_equal(freed, streams);
        expect_nothing(&made);
        made_run_free(&made);
    }
}

static void test_many_threads_halt(void **state)
{
    (void)state;
    static uint64_t sizes[FILES_MAX];
    fill_sizes(sizes);
    const uint64_t *const volumes[] = {sizes};
    for (uint64_t halt_at = 1; halt_at < 400; halt_at += 57) {
        struct made_run made = made_run_of(volumes, 1);
        struct crowd crowd = {.made = &made, .halt_at = halt_at};
        run_crowd(&crowd);
        assert_true(crowd.taken >= halt_at);
        for (uint64_t task = 0; task < made.run->task_count; task++) {
            assert_true(crowd.handed[task] <= 1);
        }
        expect_nothing(&made);
        made_run_free(&made);
    }
}

int main(void)
{
    made_connections = MANY_THREADS;
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_waits_for_an_opening), cmocka_unit_test(test_waits_for_the_last_part),
        cmocka_unit_test(test_waits_for_its_turn),   cmocka_unit_test(test_many_threads),
        cmocka_unit_test(test_many_threads_halt),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
