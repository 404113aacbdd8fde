/* SPDX-License-Identifier: GPL-3.0-or-later */
/* UTF-8 and UTF-16, valid and not; upper case. */
#include "base/base.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <string.h>

static void test_every_code_point(void **state)
{
    (void)state;
    for (uint32_t code_point = 0; code_point <= 0x110000; code_point++) {
        char bytes[4];
        size_t len = utf_put_utf8(code_point, bytes);
        bool valid = code_point <= 0x10FFFF && (code_point < 0xD800 || code_point > 0xDFFF);
        if (!valid) {
            assert_int_equal(len, 0);
            continue;
        }
        size_t index = 0;
        uint16_t units[2];
        ssize_t count = utf_to_utf16(bytes, len, units, 2);
        size_t unit_index = 0;
        if (utf_next_utf8(bytes, len, &index) != code_point || index != len ||
            count != (code_point < 0x10000 ? 1 : 2) ||
            utf_next_utf16(units, (size_t)count, &unit_index) != code_point ||
            unit_index != (size_t)count) {
            fail_msg("U+%04X does not come back", (unsigned)code_point);
        }
    }
}

static void test_lone_surrogates(void **state)
{
    (void)state;
    static const struct {
        uint16_t units[3];
        size_t count;
        uint32_t want[3];
        size_t want_count;
    } cases[] = {
        {{0xD800}, 1, {0xD800}, 1},
        {{0xDC00}, 1, {0xDC00}, 1},
        {{0xD800, 'a'}, 2, {0xD800, 'a'}, 2},
        {{0xDC00, 0xD800}, 2, {0xDC00, 0xD800}, 2},
        {{0xD800, 0xD83D, 0xDE00}, 3, {0xD800, 0x1F600}, 2},
        {{0xD83D, 0xDE00, 0xDE00}, 3, {0x1F600, 0xDE00}, 2},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        size_t index = 0;
        for (size_t k = 0; k < cases[i].want_count; k++) {
            assert_int_equal(utf_next_utf16(cases[i].units, cases[i].count, &index),
                             cases[i].want[k]);
        }
        assert_int_equal(index, cases[i].count);
    }
}

static void test_invalid_utf8(void **state)
{
    (void)state;
    static const char *const cases[] = {
        "\x80",
        "\xBF",
        "\xC0\x80",
        "\xC1\xBF",
        "\xC3",
        "\xC3(",
        "\xE0\x9F\xBF",
        "\xE2\x82",
        "\xED\xA0\x80",
        "\xED\xBF\xBF",
        "\xF0\x8F\xBF\xBF",
        "\xF4\x90\x80\x80",
        "\xF5\x80\x80\x80",
        "\xF8\x88\x80\x80",
        "\xFE",
        "\xFF",
        "\xF0\x9F\x98",
        "\xE2(\xAC",
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        size_t len = strlen(cases[i]);
        size_t index = 0;
        uint16_t units[4];
        assert_int_equal(utf_next_utf8(cases[i], len, &index), UINT32_MAX);
        assert_int_equal(index, 1);
        assert_false(utf_valid_utf8(cases[i], len));
        assert_int_equal(utf_to_utf16(cases[i], len, units, ARRAY_LEN(units)), -1);
    }
    assert_true(utf_valid_utf8("", 0));
    assert_true(utf_valid_utf8("a\0\xE2\x82\xAC", 5));
}

static void test_to_utf16_limit(void **state)
{
    (void)state;
    uint16_t units[3] = {0, 0, 0x55};
    assert_int_equal(utf_to_utf16("a\xF0\x9F\x98\x80", 5, units, 2), -1);
    assert_int_equal(units[2], 0x55);
    assert_int_equal(utf_to_utf16("a\xF0\x9F\x98\x80", 5, units, 3), 3);
    assert_int_equal(units[1], 0xD83D);
    assert_int_equal(units[2], 0xDE00);
    assert_int_equal(utf_to_utf16("", 0, units, 0), 0);
}

static void test_upper(void **state)
{
    (void)state;
    static const struct {
        uint32_t lower;
        uint32_t upper;
    } cases[] = {
        {'a', 'A'},       {'z', 'Z'},         {'A', 'A'},       {'{', '{'},     {'`', '`'},
        {0xE4, 0xC4},     {0xF7, 0xF7},       {0xD7, 0xD7},     {0xDF, 0xDF},   {0xFF, 0x178},
        {0xFE, 0xDE},     {0x105, 0x104},     {0x104, 0x104},   {0x131, 0x131}, {0x130, 0x130},
        {0x142, 0x141},   {0x17E, 0x17D},     {0x3AC, 0x386},   {0x3B1, 0x391}, {0x3C2, 0x3A3},
        {0x3C9, 0x3A9},   {0x3CC, 0x38C},     {0x3CE, 0x38F},   {0x430, 0x410}, {0x44F, 0x42F},
        {0x451, 0x401},   {0x45F, 0x40F},     {0x491, 0x490},   {0x4CF, 0x4C0}, {0x4D9, 0x4D8},
        {0x4E00, 0x4E00}, {0x1F600, 0x1F600}, {0xD800, 0xD800}, {0x410, 0x410}, {0x0, 0x0},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        if (utf_upper(cases[i].lower) != cases[i].upper) {
            fail_msg("U+%04X becomes U+%04X", (unsigned)cases[i].lower,
                     (unsigned)utf_upper(cases[i].lower));
        }
    }
    for (uint32_t code_point = 0; code_point < 0x10000; code_point++) {
        assert_int_equal(utf_upper(utf_upper(code_point)), utf_upper(code_point));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_code_point),
        cmocka_unit_test(test_lone_surrogates),
        cmocka_unit_test(test_invalid_utf8),
        cmocka_unit_test(test_to_utf16_limit),
        cmocka_unit_test(test_upper),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
