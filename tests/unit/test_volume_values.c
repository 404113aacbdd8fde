/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The outer form of extended attributes, reparse data and descriptors, from hostile disks. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "base/base.h"
#include "volume/record.h"
#include "volume/values.h"

struct value_case {
    const char *name;
    size_t len;
    uint8_t bytes[48];
    bool good;
};
#define BYTES(...)                                                                                 \
    sizeof((uint8_t[]){__VA_ARGS__}),                                                              \
    {                                                                                              \
        __VA_ARGS__                                                                                \
    }

static void check(uint32_t type, const struct value_case *cases, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        uint8_t *exact = malloc(cases[i].len + 1); /* a sanitizer sees what is read behind it */
        assert_non_null(exact);
        memcpy(exact + 1, cases[i].bytes, cases[i].len);
        bool good = values_problem(type, exact + 1, cases[i].len) == NULL;
        free(exact);
        if (good != cases[i].good) {
            fail_msg("%s", cases[i].name);
        }
    }
    assert_non_null(values_problem(type, NULL, 0));
}

static void test_ea(void **state)
{
    (void)state;
    static const struct value_case cases[] = {
        {"one", BYTES(16, 0, 0, 0, 0, 3, 3, 0, 'A', 'B', 'C', 0, 'x', 'y', 'z', 0), true},
        {"two",
         BYTES(12, 0, 0, 0, 0, 1, 1, 0, 'A', 0, 'x', 0, 12, 0, 0, 0, 0, 1, 1, 0, 'B', 0, 'y', 0),
         true},
        {"ends with 0", BYTES(0, 0, 0, 0, 0, 1, 1, 0, 'A', 0, 'x', 0), true},
        {"0 in the middle",
         BYTES(0, 0, 0, 0, 0, 1, 1, 0, 'A', 0, 'x', 0, 12, 0, 0, 0, 0, 1, 1, 0, 'B', 0, 'y', 0),
         false},
        {"loops: shorter than itself", BYTES(4, 0, 0, 0, 0, 1, 1, 0, 'A', 0, 'x', 0), false},
        {"next behind the end", BYTES(16, 0, 0, 0, 0, 1, 1, 0, 'A', 0, 'x', 0), false},
        {"next far behind", BYTES(0xFC, 0xFF, 0xFF, 0xFF, 0, 1, 1, 0, 'A', 0, 'x', 0), false},
        {"name behind the end", BYTES(12, 0, 0, 0, 0, 200, 1, 0, 'A', 0, 'x', 0), false},
        {"value behind the end", BYTES(12, 0, 0, 0, 0, 1, 0xFF, 0xFF, 'A', 0, 'x', 0), false},
        {"cut header", BYTES(12, 0, 0, 0, 0, 1, 1), false},
        {"rest of a header", BYTES(12, 0, 0, 0, 0, 1, 1, 0, 'A', 0, 'x', 0, 1, 2), false},
    };
    check(ATTRIBUTE_EA, cases, ARRAY_LEN(cases));
    assert_null(values_problem(ATTRIBUTE_EA, (const uint8_t *)"", 0));
}

static void test_reparse(void **state)
{
    (void)state;
    static const struct value_case cases[] = {
        {"empty", BYTES(0x0C, 0, 0, 0xA0, 0, 0, 0, 0), true},
        {"as it says", BYTES(0x0C, 0, 0, 0xA0, 2, 0, 0, 0, 1, 2), true},
        {"longer", BYTES(0x0C, 0, 0, 0xA0, 2, 0, 0, 0, 1, 2, 3), false},
        {"shorter", BYTES(0x0C, 0, 0, 0xA0, 4, 0, 0, 0, 1, 2), false},
        {"says 64 KiB", BYTES(0x0C, 0, 0, 0xA0, 0xFF, 0xFF, 0, 0, 1, 2), false},
        {"half a header", BYTES(0x0C, 0, 0, 0xA0, 0), false},
        {"with a GUID",
         BYTES(1, 0, 0, 0x20, 1, 0, 0, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16,
               'x'),
         true},
        {"half a GUID", BYTES(1, 0, 0, 0x20, 1, 0, 0, 0, 1, 2, 3, 4, 5, 'x'), false},
        {"Microsoft's with a GUID",
         BYTES(1, 0, 0, 0x80, 1, 0, 0, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16,
               'x'),
         false},
    };
    check(ATTRIBUTE_REPARSE, cases, ARRAY_LEN(cases));
}

static void test_security(void **state)
{
    (void)state;
    static const struct value_case cases[] = {
        {"nothing but a header",
         BYTES(1, 0, 0, 0x80, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0), true},
        {"owner behind the end",
         BYTES(1, 0, 0, 0x80, 20, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0), false},
        {"list in the header",
         BYTES(1, 0, 4, 0x80, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 4, 0, 0, 0, 1, 2), false},
        {"other revision", BYTES(2, 0, 0, 0x80, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0),
         false},
        {"short", BYTES(1, 0, 0, 0x80, 0, 0, 0, 0), false},
    };
    check(ATTRIBUTE_SECURITY, cases, ARRAY_LEN(cases));
    assert_non_null(values_problem(ATTRIBUTE_SECURITY, (const uint8_t *)"", 0));
    uint8_t *longest = calloc(1, 65536); /* as long as a value may be */
    assert_non_null(longest);
    longest[0] = 1;
    longest[3] = 0x80;
    assert_null(values_problem(ATTRIBUTE_SECURITY, longest, 65536));
    free(longest);
}

static void test_others(void **state)
{
    (void)state;
    uint8_t id[64] = {1};
    assert_null(values_problem(ATTRIBUTE_OBJECT_ID, id, 16));
    assert_null(values_problem(ATTRIBUTE_OBJECT_ID, id, 64));
    assert_non_null(values_problem(ATTRIBUTE_OBJECT_ID, id, 15));
    assert_non_null(values_problem(ATTRIBUTE_UTILITY, NULL, 0));
    assert_null(values_problem(ATTRIBUTE_UTILITY, id, 64));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_ea),
        cmocka_unit_test(test_reparse),
        cmocka_unit_test(test_security),
        cmocka_unit_test(test_others),
    };
    return cmocka_run_group_tests_name("volume values", tests, NULL, NULL);
}
