/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The value of --bwlimit. */
#include "cli/bandwidth_option.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

static void test_good(void **state)
{
    (void)state;
    static const struct {
        const char *value;
        size_t count;
        struct upload_rate_row last;
    } cases[] = {
        {"20M", 1, {-1, 0, 20 << 20}},
        {"1K", 1, {-1, 0, 1024}},
        {"off", 1, {-1, 0, 0}},
        {"08:00,20M 19:00,off", 2, {-1, 19 * 60, 0}},
        {"  08:00,1.5M  ", 1, {-1, 480, 3 << 19}},
        {"Mon-08:00,20M sat-00:00,OFF Sun-23:59,5G", 3, {0, 1439, 5ULL << 30}},
        {"08:00,20M Mon-08:00,10M", 2, {1, 480, 10 << 20}},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct option_mistakes mistakes = OPTION_MISTAKES_INIT;
        struct upload_timetable table;
        bandwidth_option_read(cases[i].value, &table, &mistakes);
        if (mistakes.count != 0) {
            fail_msg("%s: %s", cases[i].value, text_str(&mistakes.text));
        }
        assert_int_equal(table.count, cases[i].count);
        const struct upload_rate_row *row = &table.rows[table.count - 1];
        assert_int_equal(row->weekday, cases[i].last.weekday);
        assert_int_equal(row->minute, cases[i].last.minute);
        assert_int_equal(row->bytes_per_second, cases[i].last.bytes_per_second);
        option_mistakes_clear(&mistakes);
    }
}

static void test_bad(void **state)
{
    (void)state;
    static const struct {
        const char *value;
        const char *want;
    } cases[] = {
        {"fast", "is no rate"},
        {"0", "is no rate"},
        {"1023", "1K at least"},
        {"-5M", "is no rate"},
        {" ", "is empty"},
        {"08:00", "a row is TIME,RATE"},
        {"08:00,", "a rate is"},
        {"08:00,x", "a rate is"},
        {"08:00,100", "a rate is"},
        {"8:00,20M", "a time is"},
        {"24:00,20M", "a time is"},
        {"08:60,20M", "a time is"},
        {"0800,20M", "a time is"},
        {"Mo-08:00,20M", "a time is"},
        {"Monday-08:00,20M", "a time is"},
        {",20M", "a time is"},
        {"08:00,20M 08:00,10M", "there twice"},
        {"08:00,20M 19:00", "19:00: a row is"},
        {"08:00,2000000000000000000000000000000000000000000000000000000000000000M", "too long"},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct option_mistakes mistakes = OPTION_MISTAKES_INIT;
        struct upload_timetable table;
        bandwidth_option_read(cases[i].value, &table, &mistakes);
        if (mistakes.count != 1 || strstr(text_str(&mistakes.text), cases[i].want) == NULL) {
            fail_msg("%s: %s", cases[i].value, text_str(&mistakes.text));
        }
        option_mistakes_clear(&mistakes);
    }
}

static void test_most_rows(void **state)
{
    (void)state;
    CLEANUP_TEXT struct text value = TEXT_INIT(4096);
    for (int i = 0; i < UPLOAD_RATE_ROWS_MAX; i++) {
        text_printf(&value, "%02d:%02d,1M ", i / 60, i % 60);
    }
    struct option_mistakes mistakes = OPTION_MISTAKES_INIT;
    struct upload_timetable table;
    bandwidth_option_read(text_str(&value), &table, &mistakes);
    assert_int_equal(mistakes.count, 0);
    assert_int_equal(table.count, UPLOAD_RATE_ROWS_MAX);
    text_add(&value, "23:59,1M");
    bandwidth_option_read(text_str(&value), &table, &mistakes);
    assert_int_equal(mistakes.count, 1);
    option_mistakes_clear(&mistakes);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_good),
        cmocka_unit_test(test_bad),
        cmocka_unit_test(test_most_rows),
    };
    return cmocka_run_group_tests_name("--bwlimit", tests, NULL, NULL);
}
