/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Percent-encoding, base64, hexadecimal digits. */
#include "base/base.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <string.h>

static void test_url(void **state)
{
    (void)state;
    CLEANUP_TEXT struct text text = TEXT_INIT(100);
    static const char bytes[] = "aZ09-._~/ +%\xC3\xA4";
    text_add_url(&text, bytes, sizeof(bytes) - 1);
    assert_string_equal(text_str(&text), "aZ09-._~%2F%20%2B%25%C3%A4");
    text_reset(&text);
    text_add_url(&text, "\0", 1);
    assert_string_equal(text_str(&text), "%00");
}

static void test_hex(void **state)
{
    (void)state;
    CLEANUP_TEXT struct text text = TEXT_INIT(10000);
    text_add_hex(&text, "\x00\x7f\xff", 3);
    assert_string_equal(text_str(&text), "007fff");
    static const uint8_t zeros[2000];
    text_add_hex(&text, zeros, sizeof(zeros));
    assert_int_equal(text.len, 6 + 4000);
}

static void test_base64(void **state)
{
    (void)state;
    static const struct {
        const char *plain;
        const char *encoded;
    } cases[] = {
        {"", ""},
        {"f", "Zg=="},
        {"fo", "Zm8="},
        {"foo", "Zm9v"},
        {"foob", "Zm9vYg=="},
        {"fooba", "Zm9vYmE="},
        {"foobar", "Zm9vYmFy"},
        {"\xFB\xFF", "+/8="},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        CLEANUP_TEXT struct text text = TEXT_INIT(100);
        text_add_base64(&text, cases[i].plain, strlen(cases[i].plain));
        assert_string_equal(text_str(&text), cases[i].encoded);
        CLEANUP_FREE uint8_t *bytes = NULL;
        size_t len = 99;
        assert_int_equal(base64_decode(text_str(&text), text.len, &bytes, &len), 0);
        assert_int_equal(len, strlen(cases[i].plain));
        assert_string_equal((const char *)bytes, cases[i].plain);
    }
}

static void test_base64_long(void **state)
{
    (void)state;
    uint8_t bytes[5000];
    random_bytes(bytes, sizeof(bytes));
    for (size_t len = sizeof(bytes) - 4; len <= sizeof(bytes); len++) {
        CLEANUP_TEXT struct text text = TEXT_INIT(10000);
        text_add_base64(&text, bytes, len);
        assert_false(text.failed);
        CLEANUP_FREE uint8_t *back = NULL;
        size_t back_len = 0;
        assert_int_equal(base64_decode(text_str(&text), text.len, &back, &back_len), 0);
        assert_int_equal(back_len, len);
        assert_memory_equal(back, bytes, len);
    }
}

static void test_base64_malformed(void **state)
{
    (void)state;
    static const char *const cases[] = {
        "Z",    "Zg",       "Zg=",  "Zg===",  "====", "=Zg=",       "Z===", "Zh==",
        "Zm9=", "Zg==Zg==", "Zm 9", "Zm9v\n", "Zm-_", "Zm\xC3\xA4", "Z=g=",
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        CLEANUP_FREE uint8_t *bytes = NULL;
        size_t len;
        if (base64_decode(cases[i], strlen(cases[i]), &bytes, &len) != -1) {
            fail_msg("\"%s\" was decoded", cases[i]);
        }
        assert_null(bytes);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_url),
        cmocka_unit_test(test_hex),
        cmocka_unit_test(test_base64),
        cmocka_unit_test(test_base64_long),
        cmocka_unit_test(test_base64_malformed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
