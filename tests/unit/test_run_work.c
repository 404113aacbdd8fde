/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What is handed out, in which order, when workers wait and when they stop. Plans are small ones put
 * together by hand; the composite is the test's, a number of parts and nothing else. */
#include "plan_fixture.h"

#include <pthread.h>
#include <stdatomic.h>

#include "run/ledger.h"
#include "run/work.h"

enum { MANY_THREADS = 16 };

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

static struct upload_composite *made_composite(uint32_t parts)
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

static struct catalog *made_files(const uint64_t *sizes)
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

struct made_run {
    struct run *run;
    struct work *work;
};

static struct made_run made_run_of(const uint64_t *const *volumes, size_t count)
{
    struct error err = {0};
    struct made_run made = {calloc(1, sizeof(struct run)), NULL};
    assert_non_null(made.run);
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

static void made_run_free(struct made_run *made)
{
    work_free(made->work);
    for (size_t i = 0; i < made->run->volume_count; i++) {
        plan_free(made->run->volumes[i].plan);
        catalog_free(made->run->volumes[i].catalog);
    }
    ledger_free(made->run->ledger);
    free(made->run);
}

static struct work_item expect_item(struct made_run *made, enum work_kind kind, uint64_t task,
                                    size_t count)
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

static void expect_nothing(struct made_run *made)
{
    struct work_item item;
    assert_false(work_take(made->work, &item));
}

/* ---- order ------------------------------------------------------------------------------ */

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
            if (plan_get_task(made.run->volumes[0].plan, task)->way == PLAN_PARTS && task % 5 != 0) {
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
        assert_true(crowd.taken >= halt_at && crowd.taken < halt_at + MANY_THREADS);
        for (uint64_t task = 0; task < made.run->task_count; task++) {
            assert_true(crowd.handed[task] <= 1);
        }
        expect_nothing(&made);
        made_run_free(&made);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_groups_and_wholes_in_order), cmocka_unit_test(test_nothing_to_do),
        cmocka_unit_test(test_done_tasks_are_passed_over), cmocka_unit_test(test_parts_come_first),
        cmocka_unit_test(test_failed_stream),              cmocka_unit_test(test_open_came_to_nothing),
        cmocka_unit_test(test_halt),                       cmocka_unit_test(test_waits_for_an_opening),
        cmocka_unit_test(test_waits_for_the_last_part),    cmocka_unit_test(test_many_threads),
        cmocka_unit_test(test_many_threads_halt),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
