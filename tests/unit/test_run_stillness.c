/* SPDX-License-Identifier: GPL-3.0-or-later */
/* When it is said that nothing moves, and in which words. */
#include "run/stillness.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#define MINUTE 60000ULL

static void test_when(void **state)
{
    (void)state;
    static const uint64_t told[] = {1, 5, 15, 60, 120, 180, 240};
    struct stillness stillness = {0};
    uint64_t still_ms = 0;
    size_t count = 0;
    for (uint64_t ms = 0; ms <= 250 * MINUTE; ms += 250) {
        if (stillness_look(&stillness, 7, 5000 + ms, &still_ms)) {
            assert_true(count < ARRAY_LEN(told));
            assert_int_equal(still_ms, told[count] * MINUTE);
            count++;
        }
    }
    assert_int_equal(count, ARRAY_LEN(told));
}

static void test_movement_begins_anew(void **state)
{
    (void)state;
    struct stillness stillness = {0};
    uint64_t still_ms = 0;
    for (uint64_t ms = 1; ms < 100 * MINUTE; ms += 1000) {
        assert_false(stillness_look(&stillness, ms / (MINUTE - 1000), ms, &still_ms));
    }
    assert_false(stillness_look(&stillness, 1000, 200 * MINUTE, &still_ms));
    assert_true(stillness_look(&stillness, 1000, 201 * MINUTE, &still_ms));
    assert_int_equal(still_ms, MINUTE);
}

static void test_words(void **state)
{
    (void)state;
    static const struct {
        struct upload_counters counters;
        uint64_t blocked_ms;
        const char *want;
    } cases[] = {
        {{0},
         0,
         "Nothing has moved for 1 min 00 s: 0 requests are under way. What fails is tried again "
         "until --give-up."},
        {{.in_requests = 1, .has_failed = true, .failed_status = 503, .failed_ago_ms = 2000},
         999,
         "Nothing has moved for 1 min 00 s: 1 request is under way (the last failure was HTTP 503, "
         "2.0 s ago). What fails is tried again until --give-up."},
        {{.in_requests = 8, .has_failed = true, .in_window = 1, .in_ramp = 2, .in_bandwidth = 3},
         70000,
         "Nothing has moved for 1 min 00 s: the disk has not answered a read at byte 4096 for 1 "
         "min "
         "10 s; 8 requests are under way (the last try without a reply ended 0.0 s ago); 1 waits "
         "for a place among them; 2 wait for the ramp of writes; 3 wait for the bandwidth limit. "
         "What fails is tried again until --give-up."},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        CLEANUP_TEXT struct text text = TEXT_INIT(1000);
        stillness_describe(MINUTE, &cases[i].counters, cases[i].blocked_ms, 4096, &text);
        assert_string_equal(text_str(&text), cases[i].want);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_when),
        cmocka_unit_test(test_movement_begins_anew),
        cmocka_unit_test(test_words),
    };
    return cmocka_run_group_tests_name("stillness", tests, NULL, NULL);
}
