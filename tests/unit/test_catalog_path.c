/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Names and the way up to the root, on trees as a disk should have them and as it should not. */
#include "catalog_fixture.h"

static uint32_t chain[CATALOG_DEPTH_MAX];

static uint32_t find(const struct catalog *catalog, uint64_t record)
{
    int64_t index = catalog_find(catalog, record);
    assert_true(index >= 0);
    return (uint32_t)index;
}

static const struct {
    uint64_t record;
    enum catalog_root root;
    size_t depth;
    uint64_t gap;
    uint64_t chain[2];
} chain_cases[] = {
    {5, CATALOG_SYSTEM, 0, 0, {0}},
    {6, CATALOG_SYSTEM, 0, 0, {0}},
    {11, CATALOG_SYSTEM, 0, 0, {0}},
    {24, CATALOG_SYSTEM, 1, 0, {11}},
    {25, CATALOG_SYSTEM, 2, 0, {11, 24}},
    {30, CATALOG_ROOTED, 0, 0, {0}},
    {31, CATALOG_ROOTED, 1, 0, {30}},
    {32, CATALOG_ROOTED, 2, 0, {30, 31}},
    {33, CATALOG_ROOTED, 2, 0, {30, 31}},
    {34, CATALOG_ORPHAN, 0, REF(31, 3), {0}},
    {35, CATALOG_ORPHAN, 0, REF(999, 1), {0}},
    {36, CATALOG_ORPHAN, 0, REF(32, 1), {0}},
    {40, CATALOG_ORPHAN, 0, REF(41, 1), {0}},
    {42, CATALOG_ORPHAN, 0, REF(41, 1), {0}},
    {43, CATALOG_ORPHAN, 0, REF(43, 1), {0}},
    {45, CATALOG_ORPHAN, 1, REF(999, 2), {44}},
    {46, CATALOG_ORPHAN, 0, REF(5, 9), {0}},
    {47, CATALOG_ROOTED, 0, 0, {0}},
    {48, CATALOG_ORPHAN, 0, REF(0xFFFFFFFFFFFF, 1), {0}},
    {49, CATALOG_ORPHAN, 0, 0, {0}},
    {50, CATALOG_ORPHAN, 0, REF(49, 1), {0}},
};

static void test_chains(void **state)
{
    (void)state;
    struct catalog *catalog = made_catalog();
    made_add_root(catalog);
    made_add_file(catalog, 6, 6, ROOT, "$Bitmap");
    made_add_directory(catalog, 11, 11, ROOT, "$Extend");
    made_add_directory(catalog, 24, 1, REF(11, 11), "$RmMetadata");
    made_add_file(catalog, 25, 1, REF(24, 1), "$Repair");
    made_add_directory(catalog, 30, 3, ROOT, "dir");
    made_add_directory(catalog, 31, 4, REF(30, 3), "sub");
    made_add_file(catalog, 32, 1, REF(31, 4), "file");
    made_add_file(catalog, 33, 1, REF(31, 0), "no sequence");
    made_add_file(catalog, 34, 1, REF(31, 3), "stale");
    made_add_file(catalog, 35, 1, REF(999, 1), "no parent");
    made_add_file(catalog, 36, 1, REF(32, 1), "parent is a file");
    made_add_directory(catalog, 40, 1, REF(41, 1), "loop a");
    made_add_directory(catalog, 41, 1, REF(40, 1), "loop b");
    made_add_file(catalog, 42, 1, REF(41, 1), "below the loop");
    made_add_directory(catalog, 43, 1, REF(43, 1), "own parent");
    made_add_directory(catalog, 44, 1, REF(999, 2), "lost dir");
    made_add_file(catalog, 45, 1, REF(44, 1), "in lost dir");
    made_add_file(catalog, 46, 1, REF(5, 9), "other root");
    made_add_file(catalog, 47, 1, REF(5, 0), "any root");
    made_add_file(catalog, 48, 1, REF(0xFFFFFFFFFFFF, 1), "far parent");
    struct made made;
    made_start(&made, 49, 1);
    made.entry.directory = true;
    made_add(catalog, &made); /* without a name */
    made_add_file(catalog, 50, 1, REF(49, 1), "below nameless");
    made_finish(catalog, 100);
    for (size_t i = 0; i < ARRAY_LEN(chain_cases); i++) {
        size_t depth;
        uint64_t gap;
        uint32_t index = find(catalog, chain_cases[i].record);
        assert_int_equal(catalog_chain(catalog, index, 0, chain, &depth, &gap),
                         chain_cases[i].root);
        assert_int_equal(depth, chain_cases[i].depth);
        assert_true(gap == chain_cases[i].gap);
        for (size_t j = 0; j < depth; j++) {
            assert_int_equal(catalog_record(catalog, chain[j]), chain_cases[i].chain[j]);
        }
    }
    catalog_free(catalog);
}

/* A torn root or $Extend must neither scatter all files nor send what is the file system's own. */
static void test_without_root_record(void **state)
{
    (void)state;
    struct catalog *catalog = made_catalog();
    made_add_file(catalog, 30, 1, ROOT, "file");
    made_add_file(catalog, 31, 1, REF(11, 11), "$UsnJrnl");
    made_finish(catalog, 100);
    size_t depth;
    uint64_t gap;
    assert_int_equal(catalog_chain(catalog, 0, 0, chain, &depth, &gap), CATALOG_ROOTED);
    assert_int_equal(catalog_chain(catalog, 1, 0, chain, &depth, &gap), CATALOG_SYSTEM);
    catalog_free(catalog);
}

static void test_depth(void **state)
{
    (void)state;
    enum { FIRST = 100 };
    struct catalog *catalog = made_catalog();
    made_add_root(catalog);
    for (uint64_t i = 0; i < CATALOG_DEPTH_MAX + 2; i++) {
        made_add_directory(catalog, FIRST + i, 1, i == 0 ? ROOT : REF(FIRST + i - 1, 1), "d");
    }
    made_finish(catalog, FIRST + CATALOG_DEPTH_MAX + 2);
    size_t depth;
    uint64_t gap;
    uint32_t deepest = find(catalog, FIRST + CATALOG_DEPTH_MAX);
    assert_int_equal(catalog_chain(catalog, deepest, 0, chain, &depth, &gap), CATALOG_ROOTED);
    assert_int_equal(depth, CATALOG_DEPTH_MAX);
    assert_int_equal(catalog_record(catalog, chain[0]), FIRST);
    assert_int_equal(catalog_chain(catalog, deepest + 1, 0, chain, &depth, &gap), CATALOG_ORPHAN);
    assert_int_equal(depth, 0);
    assert_true(gap == REF(FIRST + CATALOG_DEPTH_MAX, 1));
    catalog_free(catalog);
}

/* All circles up to a length, with a tail of every length leading into them. */
static void test_circles(void **state)
{
    (void)state;
    for (uint64_t circle = 1; circle <= 9; circle++) {
        for (uint64_t tail = 0; tail <= 9; tail++) {
            struct catalog *catalog = made_catalog();
            made_add_root(catalog);
            for (uint64_t i = 0; i < circle + tail; i++) {
                uint64_t parent = i + 1 < circle + tail ? i + 1 : tail;
                made_add_directory(catalog, 30 + i, 1, REF(30 + parent, 1), "d");
            }
            made_finish(catalog, 100);
            size_t depth;
            uint64_t gap;
            uint32_t index = find(catalog, 30);
            assert_int_equal(catalog_chain(catalog, index, 0, chain, &depth, &gap), CATALOG_ORPHAN);
            assert_int_equal(depth, 0);
            catalog_free(catalog);
        }
    }
}

static void test_names(void **state)
{
    (void)state;
    struct catalog *catalog = made_catalog();
    struct made made;
    made_start(&made, 30, 1);
    made_name(&made, ROOT, "LONGFI~1.TXT", SPACE_DOS);
    made_name(&made, ROOT, "long file.txt", SPACE_WIN32);
    made_name(&made, REF(40, 2), "link", SPACE_POSIX);
    made_add(catalog, &made);
    made_start(&made, 31, 1);
    made_name(&made, ROOT, "ONLY~1", SPACE_DOS);
    made_add(catalog, &made);
    made_start(&made, 32, 1);
    made_name(&made, ROOT, "short", SPACE_BOTH);
    made_add(catalog, &made);
    made_finish(catalog, 64);
    struct catalog_name name;
    assert_int_equal(catalog_name_count(catalog, 0), 2);
    assert_true(catalog_name(catalog, 0, 0, &name));
    assert_int_equal(name.len, 13);
    assert_true(catalog_name(catalog, 0, 1, &name));
    assert_true(name.parent_ref == REF(40, 2) && name.len == 4);
    assert_false(catalog_name(catalog, 0, 2, &name));
    assert_true(catalog_short_name(catalog, 0, &name));
    assert_int_equal(name.len, 12);
    assert_int_equal(catalog_name_count(catalog, 1), 1);
    assert_true(catalog_name(catalog, 1, 0, &name));
    assert_true(catalog_short_name(catalog, 1, &name));
    assert_int_equal(catalog_name_count(catalog, 2), 1);
    assert_false(catalog_short_name(catalog, 2, &name));
    catalog_free(catalog);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_chains), cmocka_unit_test(test_without_root_record),
        cmocka_unit_test(test_depth),  cmocka_unit_test(test_circles),
        cmocka_unit_test(test_names),
    };
    return cmocka_run_group_tests_name("catalog paths", tests, NULL, NULL);
}
