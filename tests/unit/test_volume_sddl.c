/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Security descriptors as text: put together by hand, good and hostile. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "volume/volume.h"

struct made {
    uint8_t bytes[70000];
    size_t len;
};

static void put(struct made *made, uint64_t value, size_t width)
{
    for (size_t i = 0; i < width; i++) {
        made->bytes[made->len++] = i < sizeof(value) ? (uint8_t)(value >> (8 * i)) : 0;
    }
}

static void put_at(struct made *made, size_t at, uint32_t value)
{
    size_t len = made->len;
    made->len = at;
    put(made, value, 4);
    made->len = len;
}

/* Authority, then sub-authorities up to UINT32_MAX. */
static void put_sid(struct made *made, uint64_t authority, const uint32_t *subs)
{
    size_t count = 0;
    while (subs[count] != UINT32_MAX) {
        count++;
    }
    put(made, 1, 1);
    put(made, count, 1);
    for (size_t i = 0; i < 6; i++) {
        put(made, authority >> (40 - 8 * i) & 0xFF, 1);
    }
    for (size_t i = 0; i < count; i++) {
        put(made, subs[i], 4);
    }
}
#define SUBS(...) ((const uint32_t[]){__VA_ARGS__, UINT32_MAX})
#define ADMINS 5, SUBS(32, 544)
#define SYSTEM 5, SUBS(18)
#define ANNA 5, SUBS(21, 1111111111, 2222222222, 3333333333, 1004)

static void start(struct made *made, uint16_t control)
{
    *made = (struct made){0};
    put(made, 1, 1);
    put(made, 0, 1);
    put(made, 0x8000U | control, 2);
    put(made, 0, 16);
}

static size_t start_acl(struct made *made, size_t field)
{
    size_t at = made->len;
    put_at(made, field, (uint32_t)at);
    put(made, 2, 2);
    put(made, 0, 6);
    return at;
}

static void end_ace(struct made *made, size_t acl, size_t ace)
{
    size_t size = made->len - ace;
    made->bytes[ace + 2] = (uint8_t)size;
    made->bytes[ace + 3] = (uint8_t)(size >> 8);
    size = made->len - acl;
    made->bytes[acl + 2] = (uint8_t)size;
    made->bytes[acl + 3] = (uint8_t)(size >> 8);
    made->bytes[acl + 4]++;
}

static void put_ace(struct made *made, size_t acl, uint8_t type, uint8_t flags, uint32_t mask,
                    uint64_t authority, const uint32_t *subs)
{
    size_t ace = made->len;
    put(made, type, 1);
    put(made, flags, 1);
    put(made, 0, 2);
    put(made, mask, 4);
    put_sid(made, authority, subs);
    end_ace(made, acl, ace);
}

static void check(const struct made *made, const char *expected)
{
    struct text text = TEXT_INIT(8 << 20);
    text_add(&text, "before ");
    uint8_t *exact = malloc(made->len + 1); /* a sanitizer sees what is read behind it */
    assert_non_null(exact);
    memcpy(exact + 1, made->bytes, made->len);
    bool said = volume_sddl(exact + 1, made->len, &text);
    free(exact);
    assert_int_equal(said, expected != NULL);
    assert_memory_equal(text.data, "before ", 7);
    assert_string_equal(text.data + 7, expected != NULL ? expected : "");
    text_free(&text);
}

static void put_owner_and_group(struct made *made)
{
    put_at(made, 4, (uint32_t)made->len);
    put_sid(made, ADMINS);
    put_at(made, 8, (uint32_t)made->len);
    put_sid(made, ANNA);
}

static void test_ordinary(void **state)
{
    (void)state;
    struct made made;
    start(&made, 0x0004 | 0x0010 | 0x1000 | 0x0400 | 0x0800);
    put_owner_and_group(&made);
    size_t dacl = start_acl(&made, 16);
    put_ace(&made, dacl, 0, 0x03, 0x001F01FF, SYSTEM);
    put_ace(&made, dacl, 0, 0x1B, 0x001301BF, ANNA);
    put_ace(&made, dacl, 1, 0, 0x00010000, 1, SUBS(0));
    size_t sacl = start_acl(&made, 12);
    put_ace(&made, sacl, 0x11, 0, 1, 16, SUBS(4096));
    put_ace(&made, sacl, 2, 0xC0, 0xFFFFFFFF, 1, SUBS(0));
    check(&made, "O:BAG:S-1-5-21-1111111111-2222222222-3333333333-1004"
                 "D:PAI(A;OICI;FA;;;SY)"
                 "(A;OICIIOID;0x1301bf;;;S-1-5-21-1111111111-2222222222-3333333333-1004)"
                 "(D;;0x10000;;;WD)"
                 "S:AI(ML;;NW;;;LW)(AU;SAFA;0xffffffff;;;WD)");
}

static void test_absent_and_empty(void **state)
{
    (void)state;
    struct made made;
    start(&made, 0);
    check(&made, "");
    start(&made, 0x0004);
    check(&made, "D:NO_ACCESS_CONTROL");
    start(&made, 0x0004 | 0x0100);
    size_t acl = start_acl(&made, 16);
    made.bytes[acl + 2] = 8;
    check(&made, "D:AR");
    start(&made, 0);
    put_owner_and_group(&made);
    check(&made, "O:BAG:S-1-5-21-1111111111-2222222222-3333333333-1004");
}

static void test_accounts(void **state)
{
    (void)state;
    static const struct {
        uint64_t authority;
        uint32_t subs[4];
        const char *text;
    } cases[] = {
        {1, {0, UINT32_MAX}, "O:WD"},
        {3, {0, UINT32_MAX}, "O:CO"},
        {5, {11, UINT32_MAX}, "O:AU"},
        {5, {32, 545, UINT32_MAX}, "O:BU"},
        {5, {32, 999, UINT32_MAX}, "O:S-1-5-32-999"},
        {5, {UINT32_MAX}, "O:S-1-5"},
        {0x123456789ABC, {7, UINT32_MAX}, "O:S-1-0x123456789abc-7"},
        {0xFFFFFFFF, {7, UINT32_MAX}, "O:S-1-4294967295-7"},
        {22, {1, 0, UINT32_MAX}, "O:S-1-22-1-0"},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct made made;
        start(&made, 0);
        put_at(&made, 4, (uint32_t)made.len);
        put_sid(&made, cases[i].authority, cases[i].subs);
        check(&made, cases[i].text);
    }
}

static void test_objects(void **state)
{
    (void)state;
    for (uint32_t flags = 0; flags < 5; flags++) {
        struct made made;
        start(&made, 0x0004);
        size_t acl = start_acl(&made, 16);
        size_t ace = made.len;
        put(&made, 5, 4);
        put(&made, 0x00120089, 4);
        put(&made, flags, 4);
        for (uint32_t bit = 1; bit < 4; bit <<= 1) {
            for (size_t i = 0; (flags & bit) != 0 && i < 16; i++) {
                put(&made, bit * 0x10 + i, 1);
            }
        }
        put_sid(&made, SYSTEM);
        end_ace(&made, acl, ace);
        static const char *const texts[] = {
            "D:(OA;;FR;;;SY)",
            "D:(OA;;FR;13121110-1514-1716-1819-1a1b1c1d1e1f;;SY)",
            "D:(OA;;FR;;23222120-2524-2726-2829-2a2b2c2d2e2f;SY)",
            "D:(OA;;FR;13121110-1514-1716-1819-1a1b1c1d1e1f;"
            "23222120-2524-2726-2829-2a2b2c2d2e2f;SY)",
            NULL,
        };
        check(&made, texts[flags]);
    }
}

/* What the text cannot say is not said at all. */
static void test_not_said(void **state)
{
    (void)state;
    static const struct {
        uint8_t type, flags;
    } cases[] = {{9, 0}, {0x0A, 0}, {0x0C, 0}, {0x12, 0}, {0x7F, 0}, {4, 0}, {0, 0x20}};
    struct made made;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        start(&made, 0x0004);
        put_owner_and_group(&made);
        size_t acl = start_acl(&made, 16);
        put_ace(&made, acl, cases[i].type, cases[i].flags, 1, SYSTEM);
        check(&made, NULL);
    }
    start(&made, 0x0004); /* bytes behind the account */
    size_t acl = start_acl(&made, 16);
    size_t ace = made.len;
    put(&made, 0, 4);
    put(&made, 1, 4);
    put_sid(&made, SYSTEM);
    put(&made, 0x78747261, 4);
    end_ace(&made, acl, ace);
    check(&made, NULL);
}

/* Every cut and every changed byte: no read behind the end, and nothing half said. */
static void test_damaged(void **state)
{
    (void)state;
    struct made good;
    start(&good, 0x0004 | 0x0010);
    put_owner_and_group(&good);
    size_t dacl = start_acl(&good, 16);
    put_ace(&good, dacl, 0, 0x03, 0x001F01FF, SYSTEM);
    size_t sacl = start_acl(&good, 12);
    put_ace(&good, sacl, 2, 0xC0, 1, ANNA);
    for (size_t len = 0; len < good.len; len++) {
        struct made made = good;
        made.len = len;
        check(&made, NULL);
    }
    for (size_t at = 0; at < good.len; at++) {
        for (unsigned value = 0; value < 256; value += 15) {
            uint8_t *exact = malloc(good.len);
            assert_non_null(exact);
            memcpy(exact, good.bytes, good.len);
            exact[at] = (uint8_t)value;
            struct text text = TEXT_INIT(8 << 20);
            if (!volume_sddl(exact, good.len, &text)) {
                assert_int_equal(text.len, 0);
            }
            text_free(&text);
            free(exact);
        }
    }
    struct made made;
    start(&made, 0); /* no self-relative one */
    made.bytes[3] = 0;
    check(&made, NULL);
}

/* A list of 64 KiB is the longest there is. */
static void test_longest(void **state)
{
    (void)state;
    struct made made;
    start(&made, 0x0004);
    size_t acl = start_acl(&made, 16);
    unsigned count = 0;
    while (made.len - acl + 20 <= 65535) {
        put_ace(&made, acl, 0, 0, 1, SYSTEM);
        count++;
        made.bytes[acl + 4] = (uint8_t)count;
        made.bytes[acl + 5] = (uint8_t)(count >> 8);
    }
    struct text text = TEXT_INIT(8 << 20);
    assert_true(volume_sddl(made.bytes, made.len, &text));
    assert_int_equal(text.len, 2 + count * strlen("(A;;0x1;;;SY)"));
    text_free(&text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_ordinary), cmocka_unit_test(test_absent_and_empty),
        cmocka_unit_test(test_accounts), cmocka_unit_test(test_objects),
        cmocka_unit_test(test_not_said), cmocka_unit_test(test_damaged),
        cmocka_unit_test(test_longest),
    };
    return cmocka_run_group_tests_name("volume sddl", tests, NULL, NULL);
}
