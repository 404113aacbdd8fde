/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Clock, sleeping that can be cancelled, and random numbers. */
#include "base/base.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <pthread.h>
#include <stdatomic.h>
#include <string.h>

static void test_formats(void **state)
{
    (void)state;
    static const struct {
        uint64_t seconds;
        const char *utc;
        const char *compact;
    } cases[] = {
        {0, "1970-01-01T00:00:00Z", "19700101T000000Z"},
        {951782399, "2000-02-28T23:59:59Z", "20000228T235959Z"},
        {951782400, "2000-02-29T00:00:00Z", "20000229T000000Z"},
        {1795989792, "2026-11-29T22:03:12Z", "20261129T220312Z"},
        {18446744073, "2554-07-21T23:34:33Z", "25540721T233433Z"},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        char out[32];
        uint64_t utc_ns = cases[i].seconds * 1000000000 + 709551615;
        clock_format_utc(utc_ns, out);
        assert_string_equal(out, cases[i].utc);
        clock_format_compact(utc_ns, out);
        assert_string_equal(out, cases[i].compact);
    }
}

static void test_clocks_advance(void **state)
{
    (void)state;
    uint64_t before_ns = clock_monotonic_ns();
    assert_true(clock_monotonic_ns() >= before_ns);
    assert_true(clock_monotonic_ms() >= before_ns / 1000000);
    assert_true(clock_utc_ns() > UINT64_C(1700000000) * 1000000000);
}

static void test_sleep(void **state)
{
    (void)state;
    _Atomic bool cancel = false;
    uint64_t start_ms = clock_monotonic_ms();
    assert_int_equal(clock_sleep_ms(60, NULL), 0);
    assert_true(clock_monotonic_ms() - start_ms >= 60);
    assert_int_equal(clock_sleep_ms(0, &cancel), 0);
    atomic_store(&cancel, true);
    start_ms = clock_monotonic_ms();
    assert_int_equal(clock_sleep_ms(UINT64_MAX, &cancel), -1);
    assert_int_equal(clock_sleep_ms(0, &cancel), -1);
    assert_true(clock_monotonic_ms() - start_ms < 5000);
}

static void *sleep_long(void *cancel)
{
    return clock_sleep_ms(3600000, cancel) == -1 ? cancel : NULL;
}

static void test_sleep_is_cancelled_from_outside(void **state)
{
    (void)state;
    static _Atomic bool cancel = false;
    pthread_t thread;
    void *result = NULL;
    assert_int_equal(pthread_create(&thread, NULL, sleep_long, (void *)&cancel), 0);
    assert_int_equal(clock_sleep_ms(20, NULL), 0);
    uint64_t start_ms = clock_monotonic_ms();
    atomic_store(&cancel, true);
    assert_int_equal(pthread_join(thread, &result), 0);
    assert_ptr_equal(result, (void *)&cancel);
    assert_true(clock_monotonic_ms() - start_ms < 5000); /* 50 ms and a busy machine */
}

static void test_uuid(void **state)
{
    (void)state;
    char last[37] = "";
    for (int i = 0; i < 100; i++) {
        char uuid[37];
        random_uuid(uuid);
        assert_int_equal(strlen(uuid), 36);
        for (size_t k = 0; k < 36; k++) {
            bool dash = k == 8 || k == 13 || k == 18 || k == 23;
            assert_true(dash ? uuid[k] == '-' : strchr("0123456789abcdef", uuid[k]) != NULL);
        }
        assert_int_equal(uuid[14], '4');
        assert_non_null(strchr("89ab", uuid[19]));
        assert_string_not_equal(uuid, last);
        memcpy(last, uuid, sizeof(last));
    }
}

static void test_below(void **state)
{
    (void)state;
    unsigned hits[3] = {0};
    for (int i = 0; i < 3000; i++) {
        uint64_t value = random_below(3);
        assert_in_range(value, 0, 2);
        hits[value]++;
    }
    for (size_t i = 0; i < ARRAY_LEN(hits); i++) {
        assert_in_range(hits[i], 700, 1300); /* ten standard deviations */
    }
    assert_int_equal(random_below(1), 0);
    (void)random_below(UINT64_MAX);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_formats), cmocka_unit_test(test_clocks_advance),
        cmocka_unit_test(test_sleep),   cmocka_unit_test(test_sleep_is_cancelled_from_outside),
        cmocka_unit_test(test_uuid),    cmocka_unit_test(test_below),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
