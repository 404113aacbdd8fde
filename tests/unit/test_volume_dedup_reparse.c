/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Reparse data of deduplicated files, and the names of stores and containers. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "volume/dedup.h"

enum { SIZE = 281996 };

/* Version 3.1: "FeRp" with nine items, as a file of Windows Server had it (its head was published,
 * with this store, time and size), and a "DdRp" with one map. */
static const uint8_t head[] = {
    0x13, 0,    0,    0x80, 0x84, 0x01, 0,    0,    0x03, 0x01, 0x84, 0x01, 'F',  'e',  'R',  'p',
    0xBC, 0xF4, 0xB6, 0xB5, 0x7C, 0x01, 0,    0,    0,    0,    0x09, 0,    0x0A, 0,    0x04, 0,
    0x5C, 0,    0,    0,    0x0A, 0,    0x04, 0,    0x58, 0,    0,    0,    0x0C, 0,    0x10, 0,
    0x60, 0,    0,    0,    0x0B, 0,    0x08, 0,    0x70, 0,    0,    0,    0x06, 0,    0x08, 0,
    0x78, 0,    0,    0,    0x05, 0,    0x04, 0,    0x80, 0,    0,    0,    0x09, 0,    0x04, 0,
    0x84, 0,    0,    0,    0x0D, 0,    0x80, 0,    0x88, 0,    0,    0,    0x0D, 0,    0x74, 0,
    0x08, 0x01, 0,    0,    0,    0,    0,    0,    0x01, 0,    0,    0,    0xFA, 0x7B, 0x1B, 0x5D,
    0x3E, 0xB7, 0xA0, 0x42, 0x95, 0xCB, 0x91, 0xCE, 0x19, 0x21, 0xCF, 0xB2, 0x59, 0xF8, 0x51, 0x72,
    0x66, 0x6F, 0xD3, 0x01, 0x8C, 0x4D, 0x04, 0,    0,    0,    0,    0,    0,    0,    0,    0,
    0,    0,    0,    0,    'R',  'b',  'R',  'p',  0x21, 0x61, 0x0D, 0x2B, 0x80, 0,    0,    0};
enum { BLOCK_AT = 12, DATA_AT = BLOCK_AT + 0x108, WHOLE = 8 + 0x184 };

static void put32(uint8_t *at, uint32_t value)
{
    for (unsigned i = 0; i < 4; i++) {
        at[i] = (uint8_t)(value >> 8 * i);
    }
}

static void seal(uint8_t *value, size_t len)
{
    uint32_t crc = UINT32_MAX;
    for (size_t i = 0; i < (len - 12) * 8; i++) {
        uint32_t bit = (crc ^ value[8 + i / 8] >> i % 8) & 1;
        crc = crc >> 1 ^ (bit != 0 ? UINT32_C(0xEDB88320) : 0);
    }
    put32(value + len - 4, ~crc);
}

static void put_part(uint8_t *at, uint32_t begin, uint32_t end)
{
    put32(at, 7);
    put32(at + 4, 1);
    put32(at + 8, 0x5000);
    put32(at + 24, 8 + 5 * 64);
    memset(at + 32, 0xD1, 16);
    put32(at + 48, end);
    put32(at + 56, begin);
}

static void make(uint8_t value[WHOLE])
{
    static const uint8_t data[] = {'D', 'd', 'R', 'p', 0,  0, 0,  0, 0x74, 0, 0,  0, 0, 0,
                                   3,   0,   10,  0,   4,  0, 40, 0, 0,    0, 14, 0, 8, 0,
                                   44,  0,   0,   0,   13, 0, 64, 0, 52,   0, 0,  0};
    memset(value, 0, WHOLE);
    memcpy(value, head, sizeof(head));
    memcpy(value + DATA_AT, data, sizeof(data));
    put_part(value + DATA_AT + 52, 0, SIZE);
    seal(value, WHOLE);
}

static void test_version_3(void **state)
{
    (void)state;
    struct dedup_reference *reference = malloc(sizeof(*reference));
    uint8_t value[WHOLE];
    assert_non_null(reference);
    make(value);
    assert_null(dedup_parse_reparse(value, WHOLE, SIZE, reference));
    assert_int_equal(reference->part_count, 1);
    assert_memory_equal(reference->store, head + 0x6C, 16);
    const struct dedup_part *part = &reference->parts[0];
    assert_int_equal(part->number, 7);
    assert_int_equal(part->container, 1);
    assert_int_equal(part->offset, 0x5000);
    assert_int_equal(part->map_bytes, 8 + 5 * 64);
    assert_int_equal(part->digest[15], 0xD1);
    assert_int_equal(part->begin, 0);
    assert_int_equal(part->end, SIZE);
    for (size_t len = 0; len < WHOLE; len++) {
        assert_non_null(dedup_parse_reparse(value, len, SIZE, reference));
    }
    assert_non_null(dedup_parse_reparse(value, WHOLE, SIZE + 1, reference));
    /* A flipped bit is seen; with the right checksum nothing is read outside. */
    for (size_t i = 8; i < WHOLE; i++) {
        for (unsigned bit = 0; bit < 8; bit++) {
            make(value);
            value[i] ^= (uint8_t)(1U << bit);
            assert_non_null(dedup_parse_reparse(value, WHOLE, SIZE, reference));
            uint8_t *copy = malloc(WHOLE);
            assert_non_null(copy);
            memcpy(copy, value, WHOLE);
            seal(copy, WHOLE);
            (void)dedup_parse_reparse(copy, WHOLE, SIZE, reference);
            free(copy);
        }
    }
    free(reference);
}

static void test_names(void **state)
{
    (void)state;
    static const struct {
        const char *name;
        bool store, container;
    } cases[] = {
        {"{5D1B7BFA-B73E-42A0-95CB-91CE1921CFB2}.ddp", true, false},
        {"{5d1b7bfa-b73e-42a0-95cb-91ce1921cfb2}.DDP", true, false},
        {"{5D1B7BFA-B73E-42A0-95CB-91CE1921CFB2}.ddq", false, false},
        {"{5D1B7BFA-B73E-42A0-95CB-91CE1921CFBG}.ddp", false, false},
        {"5D1B7BFA-B73E-42A0-95CB-91CE1921CFB2}}.ddp", false, false},
        {"{5D1B7BFA-B73E-42A0-95CB-91CE1921CFB2}.dd", false, false},
        {"00000001.0000000a.ccc", false, true},
        {"00000001.0000000A.CCC", false, true},
        {"0000000g.0000000a.ccc", false, false},
        {"00000001-0000000a.ccc", false, false},
        {"00000001.0000000a.ccd", false, false},
        {"", false, false},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        uint8_t units[128] = {0};
        uint8_t store[VOLUME_DEDUP_STORE_BYTES] = {0};
        uint32_t id = 0;
        uint32_t generation = 0;
        size_t len = strlen(cases[i].name);
        for (size_t n = 0; n < len; n++) {
            units[2 * n] = (uint8_t)cases[i].name[n];
        }
        assert_int_equal(volume_dedup_store_name(units, len, store), cases[i].store);
        assert_int_equal(volume_dedup_container_name(units, len, &id, &generation),
                         cases[i].container);
        if (cases[i].store) {
            assert_memory_equal(store, head + 0x6C, sizeof(store));
        }
        if (cases[i].container) {
            assert_int_equal(id, 1);
            assert_int_equal(generation, 10);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_version_3),
        cmocka_unit_test(test_names),
    };
    return cmocka_run_group_tests_name("dedup reparse data", tests, NULL, NULL);
}
