/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Index roots and blocks: good ones, each length and flag changed, every cut, every byte. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "index_maker.h"
#include "volume/index.h"

enum { VCN = 7, ROOT_HEADER = 16 };
#define FILE_REF(n) (UINT64_C(3) << 48 | (uint64_t)(n))

/* Two names and the end mark, from `at` on; the node's header stands at `node`. */
static uint32_t put_node(uint8_t *bytes, uint32_t node, uint32_t at)
{
    put32(bytes + node, at - node);
    at += index_put_entry(bytes + at, FILE_REF(40), "one", false);
    at += index_put_entry(bytes + at, FILE_REF(41), "the other", true);
    put16(bytes + at + 8, 24);
    put16(bytes + at + 12, 3);
    at += 24;
    put32(bytes + node + 4, at - node);
    put32(bytes + node + 8, at - node);
    return at;
}

static uint32_t make_root(uint8_t root[1024])
{
    memset(root, 0, 1024);
    put32(root, ATTRIBUTE_NAME);
    put32(root + 4, 1);
    put32(root + 8, INDEX_BLOCK);
    return put_node(root, ROOT_HEADER, ROOT_HEADER + 16);
}

static void make_block(uint8_t block[INDEX_BLOCK])
{
    index_open_block(block, VCN);
    (void)put_node(block, INDEX_BLOCK_HEADER, 64);
}

static void see(void *self, const struct index_name *name)
{
    text_printf(self, "%llu-%u in %llu-%u %u ", (unsigned long long)(name->file_ref & 0xFFFFFF),
                (unsigned)(name->file_ref >> 48), (unsigned long long)(name->parent_ref & 0xFFFFFF),
                (unsigned)(name->parent_ref >> 48), name->space);
    for (size_t i = 0; i < name->len; i++) {
        text_add_char(self, (char)read_le16(name->units_le + 2 * i));
    }
    text_add(self, "\n");
}

#define ONE "40-3 in 5-5 1 one\n"
#define BOTH ONE "41-3 in 5-5 1 the other\n"

static const struct {
    uint32_t at; /* in the block, whose first entry stands at 64, the second at 152 */
    unsigned bytes;
    uint64_t value;
    const char *names, *problem;
} block_cases[] = {
    {0, 0, 0, BOTH, NULL},
    {0, 4, 0x44414142, "", "the index block has no INDX signature"},
    {16, 8, VCN + 1, "", "the index block belongs to another place"},
    {INDEX_BLOCK_HEADER, 4, 15, "", "the index node's lengths are wrong"},
    {INDEX_BLOCK_HEADER, 4, UINT32_MAX, "", "the index node's lengths are wrong"},
    {INDEX_BLOCK_HEADER + 4, 4, UINT32_MAX, "", "the index node's lengths are wrong"},
    {INDEX_BLOCK_HEADER + 4, 4, INDEX_BLOCK - INDEX_BLOCK_HEADER + 1, "",
     "the index node's lengths are wrong"},
    {INDEX_BLOCK_HEADER + 4, 4, 40, "", "the index node has no end"},
    {INDEX_BLOCK_HEADER + 4, 4, 40 + 88, ONE, "the index node has no end"},
    {64 + 8, 2, 0, "", "an index entry's length is wrong"},
    {64 + 8, 2, 89, "", "an index entry's length is wrong"},
    {64 + 8, 2, 0xFFF8, "", "an index entry's length is wrong"},
    {64 + 10, 2, 65, "", "an index entry's name lies outside it"},
    {64 + 10, 2, 73, "", "an index entry's name lies outside it"},
    {64 + 10, 2, UINT16_MAX, "", "an index entry's name lies outside it"},
    {64 + 12, 2, 1, "", "an index entry's name lies outside it"},
    {64 + 12, 2, 2, "", NULL},
    {64 + 16 + 64, 1, 0, "", "an index entry's name is damaged"},
    {64 + 16 + 64, 1, 4, "", "an index entry's name is damaged"},
    {64 + 16 + 65, 1, 4, "", "an index entry's name is damaged"},
    {152 + 16 + 64, 1, 200, ONE, "an index entry's name is damaged"},
    {152 + 8, 2, 8, ONE, "an index entry's length is wrong"},
};

static void assert_parsed(struct text *text, const char *problem, const char *names,
                          const char *expected)
{
    assert_string_equal(text_str(text), names);
    assert_int_equal(problem == NULL, expected == NULL);
    if (expected != NULL) {
        assert_string_equal(problem, expected);
    }
    text_free(text);
}

static void test_block(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(block_cases); i++) {
        uint8_t block[INDEX_BLOCK];
        uint8_t value[8];
        struct text text = TEXT_INIT(1000);
        make_block(block);
        put64(value, block_cases[i].value);
        memcpy(block + block_cases[i].at, value, block_cases[i].bytes);
        index_close_block(block);
        const char *problem = index_parse_block(block, INDEX_BLOCK, INDEX_BLOCK, VCN, see, &text);
        assert_parsed(&text, problem, block_cases[i].names, block_cases[i].problem);
    }
}

static void test_torn_block(void **state)
{
    (void)state;
    for (uint32_t i = 1; i <= INDEX_BLOCK / 512; i++) {
        uint8_t block[INDEX_BLOCK];
        struct text text = TEXT_INIT(1000);
        make_block(block);
        index_close_block(block);
        block[i * 512 - 1] ^= 0xFF;
        const char *problem = index_parse_block(block, INDEX_BLOCK, INDEX_BLOCK, VCN, see, &text);
        assert_parsed(&text, problem, "", "the index block is torn: it was not written to its end");
    }
}

/* The bytes under a fix-up are those of the array. */
static void test_fix_up_in_a_name(void **state)
{
    (void)state;
    uint8_t block[INDEX_BLOCK];
    struct text text = TEXT_INIT(1000);
    make_block(block);
    uint32_t at = 512 - 2 - 66 - 16; /* the first unit of the name stands under the fix-up */
    put32(block + INDEX_BLOCK_HEADER, at / 8 * 8 - INDEX_BLOCK_HEADER);
    at = at / 8 * 8;
    at += index_put_entry(block + at, FILE_REF(42), "abcd", false);
    put16(block + at + 8, 16);
    put16(block + at + 12, 2);
    put32(block + INDEX_BLOCK_HEADER + 4, at + 16 - INDEX_BLOCK_HEADER);
    index_close_block(block);
    const char *problem = index_parse_block(block, INDEX_BLOCK, INDEX_BLOCK, VCN, see, &text);
    assert_parsed(&text, problem, "42-3 in 5-5 1 abcd\n", NULL);
}

static void test_block_sizes(void **state)
{
    (void)state;
    static const uint32_t sizes[] = {0, 1, 256, 511, 3000, 8192, 131072, UINT32_MAX};
    for (size_t i = 0; i < ARRAY_LEN(sizes); i++) {
        uint8_t block[INDEX_BLOCK];
        struct text text = TEXT_INIT(1000);
        make_block(block);
        index_close_block(block);
        const char *problem = index_parse_block(block, INDEX_BLOCK, sizes[i], VCN, see, &text);
        assert_parsed(&text, problem, "", "the index block has an impossible size");
    }
}

static void test_root(void **state)
{
    (void)state;
    uint8_t root[1024];
    uint32_t len = make_root(root);
    struct text text = TEXT_INIT(1000);

    assert_parsed(&text, index_parse_root(root, len, see, &text), BOTH, NULL);
    assert_int_equal(index_block_bytes(root, len), INDEX_BLOCK);
    put32(root + 8, 3000);
    assert_int_equal(index_block_bytes(root, len), 0);
    put32(root + 8, 0x80000000);
    assert_int_equal(index_block_bytes(root, len), 0);
    assert_int_equal(index_block_bytes(root, 15), 0);
    put32(root, 0);
    struct text none = TEXT_INIT(1000);
    assert_parsed(&none, index_parse_root(root, len, see, &none), "",
                  "the index root is not one of names");
    assert_int_equal(index_block_bytes(root, len), 0);
}

/* In memory of exactly that length, so that a sanitizer sees the first byte too far. */
static void test_cuts(void **state)
{
    (void)state;
    uint8_t root[1024];
    uint32_t whole = make_root(root);
    for (uint32_t len = 0; len < whole; len++) {
        struct text text = TEXT_INIT(1000);
        CLEANUP_FREE uint8_t *cut = malloc(len + (len == 0));
        assert_non_null(cut);
        memcpy(cut, root, len);
        assert_non_null(index_parse_root(cut, len, see, &text));
        text_free(&text);
    }
}

static void count(void *self, const struct index_name *name)
{
    unsigned *seen = self;
    volatile uint8_t last = name->units_le[2 * name->len - 1];

    (void)last;
    (*seen)++;
}

/* Whatever a byte becomes, the parser ends, inside, with no more names than fit. */
static void test_every_byte(void **state)
{
    (void)state;
    static const uint8_t values[] = {0, 1, 2, 3, 8, 0x7F, 0x80, 0xF8, 0xFF};
    uint8_t root[1024];
    uint32_t len = make_root(root);
    for (uint32_t at = 0; at < len; at++) {
        for (size_t i = 0; i < ARRAY_LEN(values); i++) {
            CLEANUP_FREE uint8_t *changed = malloc(len);
            unsigned seen = 0;
            assert_non_null(changed);
            memcpy(changed, root, len);
            changed[at] = values[i];
            (void)index_parse_root(changed, len, count, &seen);
            assert_in_range(seen, 0, 2);
        }
    }
    for (uint32_t at = 0; at < 300; at++) {
        for (size_t i = 0; i < ARRAY_LEN(values); i++) {
            CLEANUP_FREE uint8_t *changed = malloc(INDEX_BLOCK);
            unsigned seen = 0;
            assert_non_null(changed);
            make_block(changed);
            changed[at] = values[i];
            index_close_block(changed);
            (void)index_parse_block(changed, INDEX_BLOCK, INDEX_BLOCK, VCN, count, &seen);
            assert_in_range(seen, 0, 2);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_block),
        cmocka_unit_test(test_torn_block),
        cmocka_unit_test(test_fix_up_in_a_name),
        cmocka_unit_test(test_block_sizes),
        cmocka_unit_test(test_root),
        cmocka_unit_test(test_cuts),
        cmocka_unit_test(test_every_byte),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
