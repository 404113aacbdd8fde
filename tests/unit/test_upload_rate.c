/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The bandwidth limit: which row holds, and how evenly bytes go, by a clock of the test's own. */
#include "upload/upload_internal.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#define MS 1000000ULL
#define SECOND (1000 * MS)
#define MIB (1ULL << 20)

static void test_rows(void **state)
{
    (void)state;
    static const struct upload_timetable once = {.rows = {{-1, 0, 5}}, .count = 1};
    static const struct upload_timetable daily = {.rows = {{-1, 19 * 60, 0}, {-1, 8 * 60, 20}},
                                                  .count = 2};
    static const struct upload_timetable weekly = {.rows = {{1, 8 * 60, 10}, {5, 18 * 60 + 30, 0}},
                                                   .count = 2};
    static const struct upload_timetable mixed = {
        .rows = {{-1, 8 * 60, 20}, {6, 8 * 60, 0}, {-1, 19 * 60, 30}}, .count = 3};
    static const struct upload_timetable none = {.count = 0};
    static const struct {
        const struct upload_timetable *table;
        int weekday, minute;
        uint64_t want;
    } cases[] = {
        {&none, 0, 0, 0},      {&once, 0, 0, 5},
        {&once, 6, 1439, 5},   {&daily, 0, 0, 0}, /* since 19:00 of the day before */
        {&daily, 0, 479, 0},   {&daily, 0, 480, 20},
        {&daily, 3, 1139, 20}, {&daily, 3, 1140, 0},
        {&weekly, 1, 479, 0}, /* since Friday */
        {&weekly, 1, 480, 10}, {&weekly, 5, 1109, 10},
        {&weekly, 5, 1110, 0}, {&weekly, 0, 0, 0},
        {&mixed, 5, 480, 20},  {&mixed, 6, 480, 0}, /* the one that names its day */
        {&mixed, 6, 1140, 30}, {&mixed, 0, 480, 20},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        uint64_t found = upload_timetable_at(cases[i].table, cases[i].weekday, cases[i].minute);
        if (found != cases[i].want) {
            fail_msg("case %zu: %llu", i, (unsigned long long)found);
        }
    }
}

/* Bytes that go within `span_ns` when all that may go does, `want` at a time. */
static uint64_t pour(struct upload_rate *rate, uint64_t *now_ns, uint64_t span_ns, size_t want)
{
    uint64_t sum = 0;
    uint64_t end_ns = *now_ns + span_ns;
    while (*now_ns < end_ns) {
        size_t granted = 0;
        uint64_t wait_ns = upload_rate_grant(rate, *now_ns, want, &granted);
        if (wait_ns == 0) {
            assert_in_range(granted, 1, want);
            sum += granted;
        } else {
            *now_ns += wait_ns;
        }
    }
    return sum;
}

static void test_even(void **state)
{
    (void)state;
    static const uint64_t rates[] = {1024, 100000, MIB, 20 * MIB, 4096 * MIB};
    static const size_t wants[] = {100, 65536, MIB};
    for (size_t i = 0; i < ARRAY_LEN(rates); i++) {
        for (size_t j = 0; j < ARRAY_LEN(wants); j++) {
            struct upload_rate rate = {.bytes_per_second = rates[i]};
            uint64_t now_ns = 1000 * SECOND;
            (void)pour(&rate, &now_ns, SECOND, wants[j]);
            /* In half a second never more than that share and two slices. */
            uint64_t slice = rates[i] / 20 > 512 ? rates[i] / 20 : 512;
            for (int k = 0; k < 4; k++) {
                uint64_t sum = pour(&rate, &now_ns, SECOND / 2, wants[j]);
                assert_in_range(sum, rates[i] / 2 > 2 * slice ? rates[i] / 2 - 2 * slice : 0,
                                rates[i] / 2 + 2 * slice);
            }
        }
    }
}

static void test_idle_saves_little(void **state)
{
    (void)state;
    struct upload_rate rate = {.bytes_per_second = MIB};
    uint64_t now_ns = 1000 * SECOND;
    (void)pour(&rate, &now_ns, SECOND, 65536);
    now_ns += 3600 * SECOND;
    uint64_t sum = 0;
    size_t granted = 0;
    while (upload_rate_grant(&rate, now_ns, MIB, &granted) == 0) {
        sum += granted;
    }
    assert_in_range(sum, MIB / 4, MIB / 4 + MIB / 10);
}

static void test_off_is_off(void **state)
{
    (void)state;
    struct upload_rate rate = {.bytes_per_second = 0};
    size_t granted = 0;
    assert_int_equal(upload_rate_grant(&rate, 5, 12345, &granted), 0);
    assert_int_equal(granted, 12345);
    struct error err = {0};
    assert_int_equal(upload_rate_open(&rate, NULL, &err), 0);
    assert_int_equal(upload_rate_take(&rate, 77, NULL, &granted, &err), 0);
    assert_int_equal(granted, 77);
    upload_rate_close(&rate);
}

static void test_cancel(void **state)
{
    (void)state;
    static const struct upload_timetable slow = {.rows = {{-1, 0, 1024}}, .count = 1};
    struct upload_rate rate;
    struct error err = {0};
    assert_int_equal(upload_rate_open(&rate, &slow, &err), 0);
    _Atomic bool cancel = true;
    size_t granted = 0;
    int status = 0;
    uint64_t started_ms = clock_monotonic_ms();
    while (status == 0 && clock_monotonic_ms() - started_ms < 5000) {
        status = upload_rate_take(&rate, MIB, &cancel, &granted, &err);
    }
    assert_int_equal(status, -1);
    assert_int_equal(err.kind, ERROR_CANCELLED);
    upload_rate_close(&rate);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_rows),
        cmocka_unit_test(test_even),
        cmocka_unit_test(test_idle_saves_little),
        cmocka_unit_test(test_off_is_off),
        cmocka_unit_test(test_cancel),
    };
    return cmocka_run_group_tests_name("bandwidth limit", tests, NULL, NULL);
}
