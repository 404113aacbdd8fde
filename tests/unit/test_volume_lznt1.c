/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * LZNT1: hand-made chunks, good and bad, and random ones whose content is known by construction.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "volume/lznt1.h"

#define UNIT_BYTES 65536
#define RANDOM_UNITS 400

struct lznt1_case {
    const char *name;
    size_t len;
    uint8_t bytes[32];
    const char *problem; /* part of it; NULL: good */
    const char *text;    /* with which the unit begins; zeros follow */
};

static const struct lznt1_case cases[] = {
    {"nothing", 0, {0}, NULL, ""},
    {"end at once", 2, {0, 0}, NULL, ""},
    {"half a header", 1, {0xB0}, NULL, ""},
    {"literals", 6, {0x03, 0xB0, 0, 'a', 'b', 'c'}, NULL, "abc"},
    {"a word of literals",
     11,
     {0x08, 0xB0, 0, 'a', 'b', 'c', 'd', 'e', 'f', 'g', 'h'},
     NULL,
     "abcdefgh"},
    {"copy", 8, {0x05, 0xB0, 0x08, 'a', 'b', 'c', 0x00, 0x20}, NULL, "abcabc"},
    {"copy of one", 6, {0x03, 0xB0, 0x02, 'x', 0x03, 0x00}, NULL, "xxxxxxx"},
    {"end behind a chunk", 8, {0x03, 0xB0, 0, 'a', 'b', 'c', 0, 0}, NULL, "abc"},
    {"a flag byte alone", 3, {0x00, 0xB0, 0xFF}, NULL, ""},
    {"before the chunk", 6, {0x03, 0xB0, 0x02, 'a', 0x00, 0x10}, "before their chunk", NULL},
    {"copy first", 5, {0x02, 0xB0, 0x01, 0x00, 0x00}, "before their chunk", NULL},
    {"half a copy", 5, {0x02, 0xB0, 0x02, 'a', 0x00}, "too early", NULL},
    {"cut", 4, {0x0F, 0xB0, 0, 'a'}, "too early", NULL},
    {"header only", 2, {0x0F, 0xB0}, "too early", NULL},
    {"no signature", 4, {0x01, 0x80, 0, 'a'}, "malformed", NULL},
    {"plain and short", 4, {0x01, 0x30, 'a', 'b'}, "another size", NULL},
    /* 1 + 4,098 bytes at 12 bits of length. */
    {"overflow", 6, {0x03, 0xB0, 0x02, 'a', 0xFF, 0x0F}, "more than", NULL},
};

static void test_cases(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        uint8_t *from = malloc(cases[i].len + 1); /* exact, so that a sanitizer sees over-reads */
        uint8_t *to = malloc(UNIT_BYTES);
        assert_non_null(from);
        assert_non_null(to);
        memset(to, 0xEE, UNIT_BYTES);
        memcpy(from + 1, cases[i].bytes, cases[i].len);
        const char *problem = lznt1_decode(from + 1, cases[i].len, to, UNIT_BYTES);
        if (cases[i].problem == NULL) {
            if (problem != NULL) {
                fail_msg("%s: %s", cases[i].name, problem);
            }
            size_t len = strlen(cases[i].text);
            assert_memory_equal(to, cases[i].text, len);
            for (size_t at = len; at < UNIT_BYTES; at++) {
                assert_int_equal(to[at], 0);
            }
        } else if (problem == NULL || strstr(problem, cases[i].problem) == NULL) {
            fail_msg("%s: %s", cases[i].name, problem != NULL ? problem : "accepted");
        }
        free(from);
        free(to);
    }
}

/* ---- random units ------------------------------------------------------------------------ */

static uint64_t pick_state;

static unsigned pick_below(unsigned bound)
{
    pick_state = pick_state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (unsigned)(pick_state >> 33) % bound;
}

/* How many bits of a copy are its length, `position` bytes into the chunk: [MS-XCA] 2.5.1.4. */
static unsigned length_bits(size_t position)
{
    unsigned bits = 12;
    for (size_t at = position - 1; at >= 16; at /= 2) {
        bits--;
    }
    return bits;
}

static size_t add_copy(uint8_t *from, size_t in, uint8_t *chunk, size_t *out, size_t limit)
{
    size_t position = *out;
    unsigned bits = length_bits(position);
    size_t distance_max = (size_t)1 << (16 - bits);
    size_t length_max = ((size_t)1 << bits) + 2;
    distance_max = distance_max < position ? distance_max : position;
    length_max = length_max < limit - position ? length_max : limit - position;
    size_t distance = 1 + pick_below(pick_below(2) != 0 ? 10 : (unsigned)distance_max);
    distance = distance < distance_max ? distance : distance_max;
    size_t length = 3 + pick_below(pick_below(4) != 0 ? 12 : (unsigned)(length_max - 2));
    length = length < length_max ? length : length_max;
    unsigned token = (unsigned)((distance - 1) << bits | (length - 3));
    from[in] = (uint8_t)token;
    from[in + 1] = (uint8_t)(token >> 8);
    for (size_t i = 0; i < length; i++) {
        chunk[position + i] = chunk[position + i - distance];
    }
    *out = position + length;
    return in + 2;
}

/* A chunk of `limit` bytes of content; its stored length. */
static size_t make_chunk(uint8_t *from, uint8_t *chunk, size_t limit)
{
    size_t in = 2;
    size_t out = 0;
    unsigned copies = pick_below(100);

    while (out < limit && in < LZNT1_CHUNK_BYTES - 32) {
        size_t flags = in++;
        from[flags] = 0;
        for (unsigned i = 0; i < 8 && out < limit; i++) {
            if (out > 0 && limit - out >= 3 && pick_below(100) < copies) {
                from[flags] |= (uint8_t)(1U << i);
                in = add_copy(from, in, chunk, &out, limit);
            } else {
                chunk[out] = (uint8_t)pick_below(256);
                from[in++] = chunk[out++];
            }
        }
    }
    unsigned header = 0xB000U | (unsigned)(in - 3);
    from[0] = (uint8_t)header;
    from[1] = (uint8_t)(header >> 8);
    return in;
}

static void test_random(void **state)
{
    (void)state;
    pick_state = 20261201;
    uint8_t *made = malloc(2 * UNIT_BYTES);
    uint8_t *expected = malloc(UNIT_BYTES);
    uint8_t *to = malloc(UNIT_BYTES);
    assert_non_null(made);
    assert_non_null(expected);
    assert_non_null(to);
    for (unsigned unit = 0; unit < RANDOM_UNITS; unit++) {
        size_t len = 0;
        memset(expected, 0, UNIT_BYTES);
        for (size_t at = 0; at < UNIT_BYTES; at += LZNT1_CHUNK_BYTES) {
            size_t limit = pick_below(3) != 0 ? LZNT1_CHUNK_BYTES : 1 + pick_below(4095);
            len += make_chunk(made + len, expected + at, limit);
        }
        uint8_t *from = malloc(len);
        assert_non_null(from);
        memcpy(from, made, len);
        assert_null(lznt1_decode(from, len, to, UNIT_BYTES));
        assert_memory_equal(to, expected, UNIT_BYTES);
        /* Whatever is changed in it, nothing outside the buffers is touched. */
        for (unsigned change = 0; change < 20; change++) {
            from[pick_below((unsigned)len)] = (uint8_t)pick_below(256);
            (void)lznt1_decode(from, len, to, UNIT_BYTES);
        }
        free(from);
    }
    free(made);
    free(expected);
    free(to);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_cases),
        cmocka_unit_test(test_random),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
