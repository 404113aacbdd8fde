/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The ramp of writes, by a clock of the test's own. */
#include "upload/upload_internal.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#define SECOND 1000000000ULL

/* Writes within `seconds` by somebody who wants `wanted` a second; of each thousand that go,
 * `refused` are answered by 429. */
static unsigned push(struct upload_ramp *ramp, uint64_t *now_ns, double seconds, double wanted,
                     unsigned refused)
{
    unsigned count = 0;
    uint64_t end_ns = *now_ns + (uint64_t)(seconds * (double)SECOND);
    while (*now_ns < end_ns) {
        uint64_t wait_ns = upload_ramp_grant(ramp, *now_ns);
        if (wait_ns > 0) {
            *now_ns += wait_ns;
            continue;
        }
        count++;
        if (count % 1000 < refused) {
            upload_ramp_note_refused(ramp);
        }
        *now_ns += (uint64_t)((double)SECOND / wanted);
    }
    return count;
}

static struct upload_ramp start(void)
{
    struct upload_ramp ramp;
    struct error err = {0};
    assert_int_equal(upload_ramp_open(&ramp, true, &err), 0);
    return ramp;
}

static void test_begins_at_a_thousand_and_grows_freely(void **state)
{
    (void)state;
    struct upload_ramp ramp = start();
    uint64_t now_ns = 1000 * SECOND;
    assert_in_range(push(&ramp, &now_ns, 1, 50000, 0), 1000, 1110);
    assert_in_range(push(&ramp, &now_ns, 1, 50000, 0), 1900, 2200);
    assert_in_range(push(&ramp, &now_ns, 1, 50000, 0), 3800, 4400);
    (void)push(&ramp, &now_ns, 4, 50000, 0);
    assert_in_range(push(&ramp, &now_ns, 1, 50000, 0), 49000, 50001);
    upload_ramp_close(&ramp);
}

static void test_what_is_not_used_does_not_grow(void **state)
{
    (void)state;
    struct upload_ramp ramp = start();
    uint64_t now_ns = 1000 * SECOND;
    assert_in_range(push(&ramp, &now_ns, 60, 300, 0), 17900, 18001);
    assert_true(ramp.allowed > 999 && ramp.allowed < 1001);
    upload_ramp_close(&ramp);
}

static void test_doubles_in_twenty_minutes_once_it_was_too_much(void **state)
{
    (void)state;
    struct upload_ramp ramp = start();
    uint64_t now_ns = 1000 * SECOND;
    (void)push(&ramp, &now_ns, 3, 50000, 0);
    (void)push(&ramp, &now_ns, 1.1, 50000, 100);
    assert_true(ramp.is_cut);
    double first = ramp.base;
    assert_true(first > 2000 && first < 6000);
    unsigned now = push(&ramp, &now_ns, 10, 50000, 0);
    assert_in_range(now, (unsigned)(first * 9.9), (unsigned)(first * 10.3));
    now_ns += 1200 * SECOND;
    now = push(&ramp, &now_ns, 10, 50000, 0);
    assert_in_range(now, (unsigned)(first * 19.8), (unsigned)(first * 20.6));
    /* Refused on: down once a minute, but never to nothing. */
    double before = ramp.allowed;
    (void)push(&ramp, &now_ns, 55, 50000, 1000);
    assert_true(ramp.base > before * 0.6 && ramp.base < before * 0.8);
    (void)push(&ramp, &now_ns, 2000, 50000, 1000);
    assert_true(ramp.base > 499 && ramp.base < 501);
    upload_ramp_close(&ramp);
}

/* Minutes in which next to nothing goes and all is refused do not make a crawl of what follows. */
static void test_an_outage_is_no_wish_for_a_crawl(void **state)
{
    (void)state;
    struct upload_ramp ramp = start();
    uint64_t now_ns = 1000 * SECOND;
    (void)push(&ramp, &now_ns, 8, 4000, 0);
    for (int i = 0; i < 500; i++) {
        upload_ramp_note_refused(&ramp);
    }
    now_ns += 50 * SECOND;
    (void)push(&ramp, &now_ns, 3, 4000, 0);
    assert_true(ramp.is_cut);
    assert_true(ramp.base > 2000);
    upload_ramp_close(&ramp);
}

static void test_a_few_refusals_are_no_wish(void **state)
{
    (void)state;
    struct upload_ramp ramp = start();
    uint64_t now_ns = 1000 * SECOND;
    (void)push(&ramp, &now_ns, 20, 900, 5);
    assert_false(ramp.is_cut);
    upload_ramp_close(&ramp);
}

static void test_off_waits_for_nothing(void **state)
{
    (void)state;
    struct upload_ramp ramp;
    struct error err = {0};
    uint64_t waited_ns = 1;
    assert_int_equal(upload_ramp_open(&ramp, false, &err), 0);
    for (int i = 0; i < 100000; i++) {
        assert_int_equal(upload_ramp_wait(&ramp, NULL, &waited_ns, &err), 0);
        assert_int_equal(waited_ns, 0);
    }
    upload_ramp_close(&ramp);
}

static void test_waits_and_is_cancelled(void **state)
{
    (void)state;
    struct upload_ramp ramp = start();
    struct error err = {0};
    uint64_t waited_ns = 0;
    uint64_t started_ns = clock_monotonic_ns();
    for (int i = 0; i < 400; i++) {
        assert_int_equal(upload_ramp_wait(&ramp, NULL, &waited_ns, &err), 0);
    }
    uint64_t elapsed_ns = clock_monotonic_ns() - started_ns;
    assert_true(elapsed_ns > SECOND / 5); /* 400 at 1,000 a second, less what may be caught up */
    _Atomic bool cancel = true;
    int status = 0;
    for (int i = 0; i < 1000 && status == 0; i++) {
        status = upload_ramp_wait(&ramp, &cancel, &waited_ns, &err);
    }
    assert_int_equal(status, -1);
    assert_int_equal(err.kind, ERROR_CANCELLED);
    upload_ramp_close(&ramp);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_begins_at_a_thousand_and_grows_freely),
        cmocka_unit_test(test_what_is_not_used_does_not_grow),
        cmocka_unit_test(test_doubles_in_twenty_minutes_once_it_was_too_much),
        cmocka_unit_test(test_an_outage_is_no_wish_for_a_crawl),
        cmocka_unit_test(test_a_few_refusals_are_no_wish),
        cmocka_unit_test(test_off_waits_for_nothing),
        cmocka_unit_test(test_waits_and_is_cancelled),
    };
    return cmocka_run_group_tests_name("ramp of writes", tests, NULL, NULL);
}
