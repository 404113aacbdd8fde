/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Plain LZ77 XPRESS: the examples of [MS-XCA], each form of a length, and everything that lies. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "volume/xpress.h"

enum { ROOM = 131072 };

struct coded {
    uint8_t bytes[64];
    size_t len;
};

static void decodes_to(const struct coded *coded, const uint8_t *plain, size_t len)
{
    /* Of exact sizes, so that sanitizers see a byte too many. */
    uint8_t *from = malloc(coded->len);
    uint8_t *to = malloc(len);
    assert_true(from != NULL && to != NULL);
    memcpy(from, coded->bytes, coded->len);
    assert_null(xpress_decode(from, coded->len, to, len));
    assert_memory_equal(to, plain, len);
    for (size_t cut = 0; cut < coded->len; cut++) {
        uint8_t *shorter = malloc(cut + 1);
        assert_non_null(shorter);
        memcpy(shorter, coded->bytes, cut);
        assert_non_null(xpress_decode(shorter, cut, to, len));
        free(shorter);
    }
    free(from);
    free(to);
}

static void test_examples(void **state)
{
    (void)state;
    struct coded letters = {.bytes = {0x3F, 0, 0, 0}, .len = 4};
    uint8_t plain[300];
    for (unsigned i = 0; i < 26; i++) {
        plain[i] = (uint8_t)('a' + i);
    }
    memcpy(letters.bytes + 4, plain, 26);
    letters.len += 26;
    decodes_to(&letters, plain, 26);
    static const struct coded repeated = {
        .bytes = {0xFF, 0xFF, 0xFF, 0x1F, 'a', 'b', 'c', 0x17, 0x00, 0x0F, 0xFF, 0x26, 0x01},
        .len = 13};
    for (size_t i = 0; i < sizeof(plain); i++) {
        plain[i] = (uint8_t)("abc"[i % 3]);
    }
    decodes_to(&repeated, plain, sizeof(plain));
}

/* 'x', then one or two copies of it. */
static void test_lengths(void **state)
{
    (void)state;
    static const struct {
        struct coded coded;
        size_t len;
    } cases[] = {
        {{{0, 0, 0, 0x40, 'x', 0x00, 0x00}, 7}, 1 + 3},
        {{{0, 0, 0, 0x40, 'x', 0x06, 0x00}, 7}, 1 + 9},
        {{{0, 0, 0, 0x40, 'x', 0x07, 0x00, 0x00}, 8}, 1 + 10},
        {{{0, 0, 0, 0x40, 'x', 0x07, 0x00, 0x0E}, 8}, 1 + 24},
        {{{0, 0, 0, 0x40, 'x', 0x07, 0x00, 0x0F, 0x00}, 9}, 1 + 25},
        {{{0, 0, 0, 0x40, 'x', 0x07, 0x00, 0x0F, 0xFE}, 9}, 1 + 279},
        {{{0, 0, 0, 0x40, 'x', 0x07, 0x00, 0x0F, 0xFF, 0x15, 0x01}, 11}, 1 + 280},
        {{{0, 0, 0, 0x40, 'x', 0x07, 0x00, 0x0F, 0xFF, 0xFF, 0xFF}, 11}, 1 + 65538},
        {{{0, 0, 0, 0x40, 'x', 0x07, 0x00, 0x0F, 0xFF, 0, 0, 0, 0, 1, 0}, 15}, 1 + 65539},
        /* Two long copies share a byte. */
        {{{0, 0, 0, 0x60, 'x', 0x07, 0x00, 0x21, 0x07, 0x00}, 10}, 1 + 11 + 12},
    };
    uint8_t *plain = malloc(ROOM);
    assert_non_null(plain);
    memset(plain, 'x', ROOM);
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        decodes_to(&cases[i].coded, plain, cases[i].len);
        uint8_t *to = malloc(cases[i].len - 1);
        assert_non_null(to);
        assert_non_null(
            xpress_decode(cases[i].coded.bytes, cases[i].coded.len, to, cases[i].len - 1));
        free(to);
    }
    free(plain);
}

static void test_lies(void **state)
{
    (void)state;
    static const struct coded lies[] = {
        {{0, 0, 0, 0x80, 0x00, 0x00}, 6},                               /* copies from nothing */
        {{0, 0, 0, 0x40, 'x', 0x08, 0x00}, 7},                          /* from before the start */
        {{0, 0, 0, 0x40, 'x', 0x07, 0x00, 0x0F, 0xFF, 0x15, 0x00}, 11}, /* less than 22 */
        {{0, 0, 0, 0x40, 'x', 0x07, 0x00, 0x0F, 0xFF, 0, 0, 9, 0, 0, 0}, 15},
        {{0, 0, 0, 0x40, 'x', 0x07, 0x00, 0x0F, 0xFF, 0, 0, 0xFF, 0xFF, 0xFF, 0xFF}, 15},
        {{0, 0, 0}, 3},
    };
    uint8_t *to = malloc(ROOM);
    assert_non_null(to);
    for (size_t i = 0; i < ARRAY_LEN(lies); i++) {
        assert_non_null(xpress_decode(lies[i].bytes, lies[i].len, to, ROOM));
    }
    assert_null(xpress_decode(lies[0].bytes, 0, to, 0));
    free(to);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_examples),
        cmocka_unit_test(test_lengths),
        cmocka_unit_test(test_lies),
    };
    return cmocka_run_group_tests_name("xpress", tests, NULL, NULL);
}
