/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Bounded text: growth, limit, JSON and the form shown to people. */
#include "base/base.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <string.h>

struct encode_case {
    const char *name;
    const char *bytes;
    size_t len;
    const char *want;
};

#define CASE(name, bytes, want)                                                                    \
    {                                                                                              \
        name, bytes, sizeof(bytes) - 1, want                                                       \
    }

static void test_appends(void **state)
{
    (void)state;
    CLEANUP_TEXT struct text text = TEXT_INIT(1000);
    assert_string_equal(text_str(&text), "");
    text_add(&text, "a");
    text_add_char(&text, '-');
    text_add_bytes(&text, "bcd", 2);
    text_add_bytes(&text, NULL, 0);
    text_add_u64(&text, 0);
    text_add_char(&text, ' ');
    text_add_u64(&text, UINT64_MAX);
    text_printf(&text, " %s %d", "x", -5);
    assert_string_equal(text_str(&text), "a-bc0 18446744073709551615 x -5");
    assert_int_equal(text.len, strlen(text_str(&text)));
    assert_false(text.failed);
    text_printf(&text, "%0200d", 1); /* more than the first allocation */
    assert_int_equal(text.len, 31 + 200);

    text_reset(&text);
    assert_string_equal(text_str(&text), "");
    assert_non_null(text.data);
    text_free(&text);
    assert_null(text.data);
    assert_int_equal(text.limit, 1000);
    text_free(&text);
}

static void test_filetime(void **state)
{
    (void)state;
    static const struct {
        uint64_t ticks;
        const char *want;
    } cases[] = {
        {0, "1601-01-01T00:00:00.0000000Z"},
        {1, "1601-01-01T00:00:00.0000001Z"},
        {116444736000000000ULL, "1970-01-01T00:00:00.0000000Z"},
        {116444735999999999ULL, "1969-12-31T23:59:59.9999999Z"},
        {125963423999999999ULL, "2000-02-29T23:59:59.9999999Z"},
        {125963424000000000ULL, "2000-03-01T00:00:00.0000000Z"},
        {2650467744000000000ULL, "10000-01-01T00:00:00.0000000Z"},
        {UINT64_MAX, "60056-05-28T05:36:10.9551615Z"},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        CLEANUP_TEXT struct text text = TEXT_INIT(100);
        text_add_filetime(&text, cases[i].ticks);
        assert_string_equal(text_str(&text), cases[i].want);
    }
}

static void test_limit(void **state)
{
    (void)state;
    CLEANUP_TEXT struct text text = TEXT_INIT(5);
    text_add(&text, "12345");
    assert_false(text.failed);
    assert_int_equal(text.len, 5);
    text_add_char(&text, '6');
    assert_true(text.failed);
    assert_string_equal(text_str(&text), "12345");
    text_add(&text, "");
    text_printf(&text, "%d", 1);
    assert_string_equal(text_str(&text), "12345");

    text_reset(&text);
    text_printf(&text, "%d", 123456);
    assert_true(text.failed);
    assert_string_equal(text_str(&text), "");
    text_reset(&text);
    text_printf(&text, "%d", 12345);
    assert_false(text.failed);

    CLEANUP_TEXT struct text none = {0};
    text_add(&none, "x");
    assert_true(none.failed);
    assert_string_equal(text_str(&none), "");
    CLEANUP_TEXT struct text open = TEXT_INIT(SIZE_MAX);
    text_add(&open, "x");
    assert_false(open.failed);
}

static void check(const struct encode_case *cases, size_t count,
                  void (*add)(struct text *, const char *, size_t))
{
    for (size_t i = 0; i < count; i++) {
        CLEANUP_TEXT struct text text = TEXT_INIT(100000);
        add(&text, cases[i].bytes, cases[i].len);
        if (strcmp(text_str(&text), cases[i].want) != 0) {
            fail_msg("%s: got %s", cases[i].name, text_str(&text));
        }
    }
}

static void test_json(void **state)
{
    (void)state;
    static const struct encode_case cases[] = {
        CASE("empty", "", "\"\""),
        CASE("plain", "hello, world", "\"hello, world\""),
        CASE("quote far in", "0123456789abcdef\"", "\"0123456789abcdef\\\"\""),
        CASE("backslash", "C:\\x", "\"C:\\\\x\""),
        CASE("short escapes", "\b\f\n\r\t", "\"\\b\\f\\n\\r\\t\""),
        CASE("controls", "\0\x01\x1f", "\"\\u0000\\u0001\\u001f\""),
        CASE("DEL", "\x7f/", "\"\\u007f/\""),
        CASE("DEL far in", "0123456789abcdef\x7f", "\"0123456789abcdef\\u007f\""),
        CASE("C1 and bidi", "\xC2\x9B\xE2\x80\xAE.", "\"\\u009b\\u202e.\""),
        CASE("tag", "\xF3\xA0\x80\x81", "\"\\udb40\\udc01\""),
        CASE("UTF-8 stays", "a\xC3\xA4\xE2\x82\xAC\xF0\x9F\x98\x80z",
             "\"a\xC3\xA4\xE2\x82\xAC\xF0\x9F\x98\x80z\""),
        CASE("stray byte", "a\xFFz", "\"a\xEF\xBF\xBDz\""),
        CASE("cut sequence", "abc\xE2\x82", "\"abc\xEF\xBF\xBD\xEF\xBF\xBD\""),
        CASE("surrogate", "\xED\xA0\x80", "\"\xEF\xBF\xBD\xEF\xBF\xBD\xEF\xBF\xBD\""),
        CASE("overlong slash", "\xC0\xAF", "\"\xEF\xBF\xBD\xEF\xBF\xBD\""),
    };
    check(cases, ARRAY_LEN(cases), text_add_json);
}

/* Every byte at every place of the eight that are looked at together. */
static void test_json_positions(void **state)
{
    (void)state;
    for (unsigned c = 0; c < 256; c++) {
        for (size_t place = 0; place < 16; place++) {
            char bytes[16];
            memset(bytes, 'a', sizeof(bytes));
            bytes[place] = (char)c;
            CLEANUP_TEXT struct text text = TEXT_INIT(100);
            text_add_json(&text, bytes, sizeof(bytes));
            bool plain = c >= 0x20 && c < 0x7F && c != '"' && c != '\\';
            if ((text.len == 18) != plain || (plain && text.data[place + 1] != (char)c)) {
                fail_msg("byte %02x at %zu: %s", c, place, text_str(&text));
            }
        }
    }
}

static void add_shown(struct text *text, const char *bytes, size_t len)
{
    text_add_shown(text, bytes, len, SIZE_MAX);
}

static void test_shown(void **state)
{
    (void)state;
    static const struct encode_case cases[] = {
        CASE("plain", "a b\\c", "a b\\c"),
        CASE("controls", "a\x1b[2J\n\x7f\0", "a\\x1b[2J\\x0a\\x7f\\x00"),
        CASE("C1", "\xC2\x9B", "\\u009b"),
        CASE("bidi",
             "\xE2\x80\xAE"
             "fdp\xE2\x81\xA6",
             "\\u202efdp\\u2066"),
        CASE("marks", "\xD8\x9C\xE2\x80\x8F\xE2\x80\xA8\xEF\xBB\xBF",
             "\\u061c\\u200f\\u2028\\ufeff"),
        CASE("invisible", "\xC2\xAD\xE2\x81\xA0\xE3\x85\xA4", "\\u00ad\\u2060\\u3164"),
        CASE("tag", "\xF3\xA0\x80\x81", "\\ue0001"),
        CASE("invalid",
             "\xFF"
             "a\xC3",
             "\\xffa\\xc3"),
        CASE("letters stay", "\xC3\xA4\xD7\x90\xF0\x9F\x98\x80",
             "\xC3\xA4\xD7\x90\xF0\x9F\x98\x80"),
    };
    check(cases, ARRAY_LEN(cases), add_shown);
}

static void test_shown_max(void **state)
{
    (void)state;
    static const struct {
        const char *bytes;
        size_t max;
        const char *want;
    } cases[] = {
        {"abc", 3, "abc"},
        {"abcd", 3, "abc\xE2\x80\xA6"},
        {"a\xC3\xA4z", 2, "a\xE2\x80\xA6"},
        {"a\xC3\xA4z", 3, "a\xC3\xA4\xE2\x80\xA6"},
        {"\n\n", 1, "\\x0a\xE2\x80\xA6"},
        {"abc", 0, "\xE2\x80\xA6"},
        {"", 0, ""},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        CLEANUP_TEXT struct text text = TEXT_INIT(100);
        text_add_shown(&text, cases[i].bytes, strlen(cases[i].bytes), cases[i].max);
        assert_string_equal(text_str(&text), cases[i].want);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_appends),        cmocka_unit_test(test_filetime),
        cmocka_unit_test(test_limit),          cmocka_unit_test(test_json),
        cmocka_unit_test(test_json_positions), cmocka_unit_test(test_shown),
        cmocka_unit_test(test_shown_max),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
