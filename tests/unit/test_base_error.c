/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Errors: kinds, context, and messages that do not fit. */
#include "base/base.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <string.h>

enum { MESSAGE_MAX = sizeof(((struct error *)NULL)->message) - 1 };

static void test_kinds(void **state)
{
    (void)state;
    struct error stop = {0};
    struct error entry = {0};
    struct error retry = {0};
    struct error cancelled = {0};
    struct error memory = {0};
    assert_int_equal(error_stop(&stop, EXIT_STATUS_RIGHTS, "no right to %s", "write"), -1);
    assert_int_equal(error_entry(&entry, "efs", "file %d", 7), -1);
    assert_int_equal(error_retry(&retry, "no reply"), -1);
    assert_int_equal(error_cancelled(&cancelled), -1);
    assert_int_equal(error_memory(&memory, "the catalog"), -1);

    const struct {
        const struct error *err;
        enum error_kind kind;
        enum exit_status status;
        const char *message;
    } cases[] = {
        {&stop, ERROR_STOP_RUN, EXIT_STATUS_RIGHTS, "no right to write"},
        {&entry, ERROR_FAIL_ENTRY, EXIT_STATUS_NOT_CLEAN, "file 7"},
        {&retry, ERROR_RETRY, EXIT_STATUS_TEMPORARY, "no reply"},
        {&cancelled, ERROR_CANCELLED, EXIT_STATUS_INTERRUPTED, "interrupted"},
        {&memory, ERROR_STOP_RUN, EXIT_STATUS_TEMPORARY, "out of memory for the catalog"},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        assert_int_equal(cases[i].err->kind, cases[i].kind);
        assert_int_equal(cases[i].err->exit_status, cases[i].status);
        assert_string_equal(cases[i].err->message, cases[i].message);
    }
    assert_string_equal(entry.reason, "efs");
    assert_null(stop.reason);
}

static void test_null_is_allowed(void **state)
{
    (void)state;
    assert_int_equal(error_stop(NULL, EXIT_STATUS_FAILED, "x"), -1);
    assert_int_equal(error_entry(NULL, "efs", "x"), -1);
    assert_int_equal(error_retry(NULL, "x"), -1);
    assert_int_equal(error_cancelled(NULL), -1);
    assert_int_equal(error_memory(NULL, "x"), -1);
    assert_int_equal(error_add(NULL, "x"), -1);
}

static void test_later_fill_replaces_all(void **state)
{
    (void)state;
    struct error err = {0};
    (void)error_entry(&err, "efs", "first");
    (void)error_stop(&err, EXIT_STATUS_SOURCE, "second, after: %s", err.message);
    assert_string_equal(err.message, "second, after: first");
    assert_null(err.reason);
}

static void test_add(void **state)
{
    (void)state;
    struct error err = {0};
    (void)error_entry(&err, "bad-sector", "input/output error");
    assert_int_equal(error_add(&err, "record %d", 64), -1);
    (void)error_add(&err, "disk %s", "sdb");
    assert_string_equal(err.message, "disk sdb: record 64: input/output error");
    assert_int_equal(err.kind, ERROR_FAIL_ENTRY);
    assert_string_equal(err.reason, "bad-sector");
}

/* Context of one length before a cause of another: never too long, valid UTF-8, the end of the
 * cause there whenever it has less than its half. */
static void test_lengths(void **state)
{
    (void)state;
    static const size_t lens[] = {0,   1,   3,   490, 496, 497,  498,  499,  500,
                                  501, 996, 997, 998, 999, 1000, 1001, 40000};
    static const char *const units[] = {"a", "\xC3\xA4", "\xE2\x82\xAC", "\xF0\x9F\x98\x80"};
    for (size_t i = 0; i < ARRAY_LEN(lens) * ARRAY_LEN(lens) * ARRAY_LEN(units); i++) {
        size_t context_len = lens[i % ARRAY_LEN(lens)];
        size_t cause_len = lens[i / ARRAY_LEN(lens) % ARRAY_LEN(lens)];
        const char *unit = units[i / ARRAY_LEN(lens) / ARRAY_LEN(lens)];
        CLEANUP_TEXT struct text context = TEXT_INIT(1000000);
        CLEANUP_TEXT struct text cause = TEXT_INIT(1000000);
        while (context.len < context_len) {
            text_add(&context, unit);
        }
        while (cause.len < cause_len) {
            text_add(&cause, unit);
        }
        struct {
            struct error err;
            char guard[8];
        } frame = {.guard = "guard"};
        (void)error_stop(&frame.err, EXIT_STATUS_FAILED, "%s!", text_str(&cause));
        (void)error_add(&frame.err, "%s", text_str(&context));
        size_t len = strlen(frame.err.message);
        assert_in_range(len, 0, MESSAGE_MAX);
        assert_true(utf_valid_utf8(frame.err.message, len));
        assert_string_equal(frame.guard, "guard");
        assert_non_null(strstr(frame.err.message, ": "));
        if (cause.len < 490) {
            assert_int_equal(frame.err.message[len - 1], '!');
        }
        if (context.len + cause.len + 3 <= MESSAGE_MAX) {
            assert_int_equal(len, context.len + cause.len + 3);
        } else {
            assert_non_null(strstr(frame.err.message, "\xE2\x80\xA6"));
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_kinds),   cmocka_unit_test(test_null_is_allowed),
        cmocka_unit_test(test_add),     cmocka_unit_test(test_later_fill_replaces_all),
        cmocka_unit_test(test_lengths),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
