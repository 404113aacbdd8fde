/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Numbers, sizes and durations, read and written. */
#include "base/base.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <string.h>

enum { BAD = -1 };

struct parse_case {
    const char *string;
    int result;
    uint64_t value;
};

static void check_parse(const struct parse_case *cases, size_t count,
                        int (*parse)(const char *, uint64_t *))
{
    for (size_t i = 0; i < count; i++) {
        uint64_t value = 4711;
        int result = parse(cases[i].string, &value);
        uint64_t want = cases[i].result == 0 ? cases[i].value : 4711;
        if (result != cases[i].result || value != want) {
            fail_msg("\"%s\": %d, %llu", cases[i].string, result, (unsigned long long)value);
        }
    }
}

static void test_parse_u64(void **state)
{
    (void)state;
    static const struct parse_case cases[] = {
        {"0", 0, 0},
        {"007", 0, 7},
        {"18446744073709551615", 0, UINT64_MAX},
        {"18446744073709551616", BAD, 0},
        {"99999999999999999999999", BAD, 0},
        {"", BAD, 0},
        {"-1", BAD, 0},
        {"+1", BAD, 0},
        {" 1", BAD, 0},
        {"1 ", BAD, 0},
        {"0x10", BAD, 0},
        {"1.0", BAD, 0},
        {"a", BAD, 0},
    };
    check_parse(cases, ARRAY_LEN(cases), parse_u64);
}

static void test_parse_size(void **state)
{
    (void)state;
    static const struct parse_case cases[] = {
        {"0", 0, 0},
        {"300", 0, 300},
        {"300B", 0, 300},
        {"64M", 0, UINT64_C(64) << 20},
        {"64MB", 0, UINT64_C(64) << 20},
        {"64MiB", 0, UINT64_C(64) << 20},
        {"2k", 0, 2048},
        {"1.5G", 0, UINT64_C(3) << 29},
        {"0.25K", 0, 256},
        {"1.0000000000000000000001K", 0, 1024},
        {"0.999999T", 0, UINT64_C(1099510528264)},
        {"16777215T", 0, UINT64_C(16777215) << 40},
        {"16777216T", BAD, 0},
        {"16777215.999999T", 0, (UINT64_C(16777215) << 40) + UINT64_C(1099510528264)},
        {"18446744073709551615", 0, UINT64_MAX},
        {"18446744073709551615K", BAD, 0},
        {"", BAD, 0},
        {"M", BAD, 0},
        {"1.5", BAD, 0},
        {"1.5B", BAD, 0},
        {"1.M", BAD, 0},
        {".5M", BAD, 0},
        {"-1M", BAD, 0},
        {"1X", BAD, 0},
        {"1Mi", BAD, 0},
        {"1iB", BAD, 0},
        {"1MBB", BAD, 0},
        {"1 M", BAD, 0},
        {"1M ", BAD, 0},
    };
    check_parse(cases, ARRAY_LEN(cases), parse_size);
}

static void test_parse_duration(void **state)
{
    (void)state;
    static const struct parse_case cases[] = {
        {"0", 0, 0},
        {"5", 0, 5000},
        {"90s", 0, 90000},
        {"15m", 0, 900000},
        {"1h", 0, 3600000},
        {"2d", 0, 172800000},
        {"18446744073709551s", 0, UINT64_C(18446744073709551000)},
        {"18446744073709552s", BAD, 0},
        {"", BAD, 0},
        {"s", BAD, 0},
        {"1w", BAD, 0},
        {"1hh", BAD, 0},
        {"1h30m", BAD, 0},
        {"-1s", BAD, 0},
        {"1.5h", BAD, 0},
        {"1s ", BAD, 0},
    };
    check_parse(cases, ARRAY_LEN(cases), parse_duration_ms);
}

struct format_case {
    uint64_t value;
    const char *want;
};

static void check_format(const struct format_case *cases, size_t count, size_t size,
                         void (*format)(uint64_t, char *))
{
    for (size_t i = 0; i < count; i++) {
        char out[40];
        memset(out, '#', sizeof(out));
        format(cases[i].value, out);
        assert_string_equal(out, cases[i].want);
        for (size_t k = size; k < sizeof(out); k++) {
            assert_int_equal(out[k], '#');
        }
    }
}

static void test_format_bytes(void **state)
{
    (void)state;
    static const struct format_case cases[] = {
        {0, "0 B"},
        {812, "812 B"},
        {1023, "1023 B"},
        {1024, "1.0 KiB"},
        {1536, "1.5 KiB"},
        {1048524, "1023.9 KiB"},
        {1048525, "1.0 MiB"},
        {UINT64_C(1) << 20, "1.0 MiB"},
        {UINT64_C(4) << 30, "4.0 GiB"},
        {(UINT64_C(1) << 40) - 1, "1.0 TiB"},
        {UINT64_C(5) << 50, "5.0 PiB"},
        {UINT64_MAX, "16.0 EiB"},
    };
    check_format(cases, ARRAY_LEN(cases), 24, format_bytes);
}

static void test_format_count(void **state)
{
    (void)state;
    static const struct format_case cases[] = {
        {0, "0"},
        {999, "999"},
        {1000, "1,000"},
        {1234567, "1,234,567"},
        {UINT64_MAX, "18,446,744,073,709,551,615"},
    };
    check_format(cases, ARRAY_LEN(cases), 32, format_count);
}

static void test_format_duration(void **state)
{
    (void)state;
    static const struct format_case cases[] = {
        {0, "0.0 s"},
        {49, "0.0 s"},
        {50, "0.1 s"},
        {3200, "3.2 s"},
        {59949, "59.9 s"},
        {59950, "1 min 00 s"},
        {245000, "4 min 05 s"},
        {3599499, "59 min 59 s"},
        {3599500, "1 h 00 min"},
        {49800000, "13 h 50 min"},
        {UINT64_MAX, "5124095576030 h 26 min"},
    };
    check_format(cases, ARRAY_LEN(cases), 32, format_duration);
}

static void test_little_endian(void **state)
{
    (void)state;
    static const uint8_t bytes[] = {0xFF, 0x01, 0x82, 0x03, 0x84, 0x05, 0x06, 0x07, 0xF8};
    assert_int_equal(read_le16(bytes + 1), 0x8201);
    assert_int_equal(read_le32(bytes + 1), 0x84038201);
    assert_true(read_le64(bytes + 1) == UINT64_C(0xF807060584038201));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_parse_u64),      cmocka_unit_test(test_parse_size),
        cmocka_unit_test(test_parse_duration), cmocka_unit_test(test_format_bytes),
        cmocka_unit_test(test_format_count),   cmocka_unit_test(test_format_duration),
        cmocka_unit_test(test_little_endian),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
