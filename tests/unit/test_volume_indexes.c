/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Directory indexes against the names in the records: what is stale, missing, torn, unchecked. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "index_maker.h"
#include "volume/indexes.h"

enum { RECORDS = 32, MFT_CLUSTERS = RECORDS * MAKER_RECORD_BYTES / MAKER_CLUSTER_BYTES };
enum { FIRST_FILE = 24, NAMES = 4, BLOCKS = 3 };
enum damage { NONE, TORN, UNREADABLE, UNMARKED, HOLE, ELSEWHERE, NO_BITMAP, BAD_ROOT };

struct index_case {
    const char *name;
    const char *files[NAMES]; /* of records 24 …, in directory 5 */
    const char *root[NAMES];  /* in the same order: the n-th names record 24 + n */
    const char *blocks[BLOCKS][NAMES];
    enum damage damage; /* of the second block */
    uint16_t sequence;  /* in the index, instead of 1 */
    const char *expected;
};

#define SOME                                                                                       \
    {                                                                                              \
        "a", "b", "c", "d"                                                                         \
    }

static const struct index_case cases[] = {
    {.name = "all in the root", .files = SOME, .root = SOME, .expected = "1 directories\n"},
    {.name = "all in blocks",
     .files = SOME,
     .root = {"a"},
     .blocks = {{NULL, "b"}, {NULL, NULL, "c"}, {NULL, NULL, NULL, "d"}},
     .expected = "1 directories\n"},
    {.name = "a name that no record carries",
     .files = {"a"},
     .root = {"a", "gone"},
     .expected = "stale gone of 25-1\n1 directories\n1 different\n"},
    {.name = "a name that no index holds",
     .files = {"a", "lost", "c"},
     .root = {"a", NULL, "c"},
     .expected = "missing lost of 25-1\n1 directories\n1 different\n"},
    {.name = "another name",
     .files = {"a", "new"},
     .blocks = {{"a"}, {NULL, "old"}},
     .expected = "missing new of 25-1\nstale old of 25-1\n1 directories\n1 different\n"},
    {.name = "another sequence",
     .files = {"a"},
     .root = {"a"},
     .sequence = 2,
     .expected = "missing a of 24-1\nstale a of 24-2\n1 directories\n1 different\n"},
    {.name = "twice in the index",
     .files = {"a", "b"},
     .root = {"a", "b"},
     .blocks = {{"a"}},
     .expected = "stale a of 24-1\n1 directories\n1 different\n"},
    {.name = "a long name",
     .files = {"0123456789012345678901234567890123456789"},
     .root = {NULL},
     .expected = "missing 0123456789012345678901234567890 of 24-1\n1 directories\n1 different\n"},
    {.name = "a torn block",
     .files = SOME,
     .root = {"a", "b"},
     .blocks = {{NULL, NULL, "c"}, {NULL, NULL, NULL, "d"}},
     .damage = TORN,
     .expected = "1 directories\n1 torn\ntorn 5\n"},
    {.name = "a block that cannot be read",
     .files = SOME,
     .root = {"a", "b"},
     .blocks = {{NULL, NULL, "c"}, {NULL, NULL, NULL, "d"}},
     .damage = UNREADABLE,
     .expected = "1 directories\n1 torn\ntorn 5\n"},
    {.name = "a block of another place",
     .files = {"a", "b"},
     .root = {"a"},
     .blocks = {{NULL}, {NULL, "b"}},
     .damage = ELSEWHERE,
     .expected = "1 directories\n1 torn\ntorn 5\n"},
    {.name = "a block that is not in use any more",
     .files = {"a"},
     .root = {"a"},
     .blocks = {{NULL}, {NULL, "old"}},
     .damage = UNMARKED,
     .expected = "1 directories\n"},
    {.name = "a block in a hole",
     .files = {"a", "b"},
     .root = {"a"},
     .blocks = {{NULL}, {NULL, "b"}},
     .damage = HOLE,
     .expected = "1 directories\n1 unchecked\n"},
    {.name = "no bitmap",
     .files = {"a", "b"},
     .root = {"a"},
     .blocks = {{NULL, "b"}},
     .damage = NO_BITMAP,
     .expected = "1 directories\n1 torn\ntorn 5\n"},
    {.name = "a damaged root",
     .files = {"a", "b"},
     .root = {"a", "b"},
     .damage = BAD_ROOT,
     .expected = "1 directories\n1 torn\ntorn 5\n"},
};

static uint32_t put_names(uint8_t *to, const char *const names[NAMES], const struct index_case *row)
{
    uint32_t at = 0;

    for (uint64_t i = 0; i < NAMES; i++) {
        if (names[i] != NULL) {
            uint64_t sequence = row->sequence != 0 ? row->sequence : 1;
            at += index_put_entry(to + at, (FIRST_FILE + i) | sequence << 48, names[i], false);
        }
    }
    return at;
}

static void make_directory(uint8_t *record, const struct index_case *row)
{
    static const uint8_t whole[] = {0x11, BLOCKS, MFT_CLUSTERS, 0};
    static const uint8_t holed[] = {0x11, 1, MFT_CLUSTERS, 0x01, 1, 0x11, 1, 2, 0};
    uint8_t root[512] = {0};
    uint8_t bits[8] = {row->damage == UNMARKED ? 5 : 7};

    put32(root, ATTRIBUTE_NAME);
    put32(root + 8, INDEX_BLOCK);
    uint32_t len = index_end_node(root, 16, 32, 32 + put_names(root + 32, row->root, row));
    if (row->damage == BAD_ROOT) {
        put32(root + 20, len);
    }
    maker_open(record, 5, 0);
    put16(record + 22, RECORD_FLAG_IN_USE | RECORD_FLAG_DIRECTORY);
    (void)maker_resident(record, ATTRIBUTE_INDEX_ROOT, "$I30", root, len);
    if (row->damage == HOLE) {
        (void)maker_nonresident(record, ATTRIBUTE_INDEX_ALLOCATION, "$I30", 0, BLOCKS, holed,
                                sizeof(holed));
    } else {
        (void)maker_nonresident(record, ATTRIBUTE_INDEX_ALLOCATION, "$I30", 0, BLOCKS, whole,
                                sizeof(whole));
    }
    if (row->damage != NO_BITMAP) {
        (void)maker_resident(record, ATTRIBUTE_BITMAP, "$I30", bits, sizeof(bits));
    }
    maker_close(record);
}

static struct volume *make_volume(const struct index_case *row)
{
    CLEANUP_FREE uint8_t *bytes = calloc(MFT_CLUSTERS + BLOCKS, MAKER_CLUSTER_BYTES);

    assert_non_null(bytes);
    make_directory(bytes + 5 * MAKER_RECORD_BYTES, row);
    for (unsigned i = 0; i < NAMES; i++) {
        uint8_t *record = bytes + (size_t)(FIRST_FILE + i) * MAKER_RECORD_BYTES;
        if (row->files[i] != NULL) {
            maker_open(record, 1, 0);
            maker_name(record, INDEX_PARENT, row->files[i]);
            maker_close(record);
        }
    }
    for (unsigned i = 0; i < BLOCKS; i++) {
        uint8_t *block = bytes + (size_t)(MFT_CLUSTERS + i) * MAKER_CLUSTER_BYTES;
        index_open_block(block, i + (i == 1 && row->damage == ELSEWHERE ? 1U : 0U));
        (void)index_end_node(block, INDEX_BLOCK_HEADER, INDEX_FIRST,
                             INDEX_FIRST + put_names(block + INDEX_FIRST, row->blocks[i], row));
        index_close_block(block);
        block[1023] ^= i == 1 && row->damage == TORN ? 1 : 0;
    }
    struct volume *volume = maker_volume(bytes, RECORDS + BLOCKS * 4);
    volume->info.mft_records = RECORDS;
    volume->mft_valid_bytes = RECORDS * (uint64_t)MAKER_RECORD_BYTES;
    volume->mft_runs[0].clusters = MFT_CLUSTERS;
    return volume;
}

/* Lines of differences, sorted, so that no hash decides their order. */
struct seen {
    char lines[2 * NAMES][80];
    size_t count;
};

static void see(void *self, const struct volume_difference *difference)
{
    struct seen *seen = self;
    char name[VOLUME_DIFFERENCE_UNITS + 1] = "";

    assert_true(seen->count < ARRAY_LEN(seen->lines));
    assert_true(difference->parent_ref == INDEX_PARENT);
    for (size_t i = 0; i < difference->len && i < VOLUME_DIFFERENCE_UNITS; i++) {
        name[i] = (char)difference->units[i];
    }
    (void)snprintf(seen->lines[seen->count++], sizeof(seen->lines[0]), "%s %s of %llu-%u\n",
                   difference->in_index ? "stale" : "missing", name,
                   (unsigned long long)VOLUME_REF_RECORD(difference->file_ref),
                   VOLUME_REF_SEQUENCE(difference->file_ref));
}

static int compare_lines(const void *a, const void *b)
{
    return strcmp(a, b);
}

static int take_nothing(void *self, const struct volume_entry *entry, struct error *err)
{
    (void)self;
    (void)entry;
    (void)err;
    return 0;
}

static int fail_second_block(void *self, uint64_t offset, size_t len)
{
    uint64_t start = (MFT_CLUSTERS + 1) * (uint64_t)MAKER_CLUSTER_BYTES;

    (void)self;
    return offset < start + MAKER_CLUSTER_BYTES && offset + len > start ? EIO : 0;
}

static int fail_all_blocks(void *self, uint64_t offset, size_t len)
{
    (void)self;
    return offset + len > MFT_CLUSTERS * (uint64_t)MAKER_CLUSTER_BYTES ? EIO : 0;
}

static void print_totals(struct text *text, const struct volume_indexes *indexes,
                         const struct volume_indexes_totals *totals)
{
    const struct {
        const char *name;
        uint64_t value;
    } numbers[] = {{"directories", totals->directories},
                   {"torn", totals->torn},
                   {"unchecked", totals->unchecked},
                   {"different", totals->different}};

    for (size_t i = 0; i < ARRAY_LEN(numbers); i++) {
        if (numbers[i].value > 0) {
            text_printf(text, "%llu %s\n", (unsigned long long)numbers[i].value, numbers[i].name);
        }
    }
    for (int64_t record = volume_indexes_torn(indexes, 0); record >= 0;
         record = volume_indexes_torn(indexes, (uint64_t)record + 1)) {
        text_printf(text, "torn %lld\n", (long long)record);
    }
}

static void run_case(const struct index_case *row,
                     int (*fault)(void *self, uint64_t offset, size_t len), const char *expected)
{
    struct volume *volume = make_volume(row);
    struct error err = {0};
    struct seen seen = {.count = 0};
    struct text text = TEXT_INIT(1000);
    struct volume_scan_totals scanned = {0};
    struct volume_indexes_totals totals = {0};
    struct volume_indexes *indexes = volume_indexes_new(volume, "/tmp", &err);
    struct volume_visitor visitor = {.entry = take_nothing, .indexes = indexes};

    assert_non_null(indexes);
    assert_int_equal(volume_scan(volume, &visitor, &scanned, &err), 0);
    if (fault != NULL) {
        disk_set_fault(volume->disk, fault, NULL);
    }
    assert_int_equal(volume_indexes_check(indexes, see, &seen, &totals, &err), 0);
    qsort(seen.lines, seen.count, sizeof(seen.lines[0]), compare_lines);
    for (size_t i = 0; i < seen.count; i++) {
        text_add(&text, seen.lines[i]);
    }
    print_totals(&text, indexes, &totals);
    if (strcmp(text_str(&text), expected) != 0) {
        print_error("%s:\n%s", row->name, text_str(&text));
        fail();
    }
    text_free(&text);
    volume_indexes_free(indexes);
    maker_volume_free(volume);
}

static void test_cases(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        run_case(&cases[i], cases[i].damage == UNREADABLE ? fail_second_block : NULL,
                 cases[i].expected);
    }
}

static void test_no_block_can_be_read(void **state)
{
    (void)state;
    run_case(&cases[1], fail_all_blocks, "1 directories\n1 torn\ntorn 5\n");
}

enum { MANY = 2048, MANY_RECORDS = FIRST_FILE + MANY, MANY_CLUSTERS = MANY_RECORDS / 4 };

/* A directory with one name in each of so many blocks that several threads read them. */
static struct volume *make_large(unsigned changed)
{
    CLEANUP_FREE uint8_t *bytes = calloc(MANY_CLUSTERS + MANY, MAKER_CLUSTER_BYTES);
    uint8_t *directory = bytes + 5 * MAKER_RECORD_BYTES;
    uint8_t pairs[] = {0x22, MANY & 255, MANY >> 8, MANY_CLUSTERS & 255, MANY_CLUSTERS >> 8, 0};
    uint8_t bits[MANY / 8];
    uint8_t root[48] = {0};

    assert_non_null(bytes);
    put32(root, ATTRIBUTE_NAME);
    put32(root + 8, INDEX_BLOCK);
    (void)index_end_node(root, 16, 32, 32);
    memset(bits, 0xFF, sizeof(bits));
    maker_open(directory, 5, 0);
    (void)maker_resident(directory, ATTRIBUTE_INDEX_ROOT, "$I30", root, sizeof(root));
    (void)maker_nonresident(directory, ATTRIBUTE_INDEX_ALLOCATION, "$I30", 0, MANY, pairs,
                            sizeof(pairs));
    (void)maker_resident(directory, ATTRIBUTE_BITMAP, "$I30", bits, sizeof(bits));
    maker_close(directory);
    for (unsigned i = 0; i < MANY; i++) {
        uint8_t *record = bytes + (size_t)(FIRST_FILE + i) * MAKER_RECORD_BYTES;
        uint8_t *block = bytes + (size_t)(MANY_CLUSTERS + i) * MAKER_CLUSTER_BYTES;
        char name[16];
        (void)snprintf(name, sizeof(name), "name %u", i);
        maker_open(record, 1, 0);
        maker_name(record, INDEX_PARENT, name);
        maker_close(record);
        name[0] = i == changed ? 'N' : 'n';
        uint64_t ref = (uint64_t)(FIRST_FILE + i) | UINT64_C(1) << 48;
        index_open_block(block, i);
        (void)index_end_node(block, INDEX_BLOCK_HEADER, INDEX_FIRST,
                             INDEX_FIRST + index_put_entry(block + INDEX_FIRST, ref, name, false));
        index_close_block(block);
    }
    struct volume *volume = maker_volume(bytes, MANY_RECORDS + MANY * 4);
    volume->info.mft_records = MANY_RECORDS;
    volume->mft_valid_bytes = MANY_RECORDS * (uint64_t)MAKER_RECORD_BYTES;
    volume->mft_runs[0].clusters = MANY_CLUSTERS;
    return volume;
}

static void test_threads(void **state)
{
    (void)state;
    for (unsigned round = 0; round < 2; round++) {
        struct volume *volume = make_large(round == 0 ? MANY : MANY - 1);
        struct error err = {0};
        struct seen seen = {.count = 0};
        struct volume_scan_totals scanned = {0};
        struct volume_indexes_totals totals = {0};
        struct volume_indexes *indexes = volume_indexes_new(volume, "/tmp", &err);
        struct volume_visitor visitor = {.entry = take_nothing, .indexes = indexes};
        assert_non_null(indexes);
        assert_int_equal(volume_scan(volume, &visitor, &scanned, &err), 0);
        assert_int_equal(volume_indexes_check(indexes, see, &seen, &totals, &err), 0);
        assert_int_equal(totals.blocks, MANY);
        assert_int_equal(totals.torn + totals.unchecked, 0);
        assert_int_equal(totals.different, round);
        qsort(seen.lines, seen.count, sizeof(seen.lines[0]), compare_lines);
        assert_int_equal(seen.count, 2 * round);
        if (round == 1) {
            assert_string_equal(seen.lines[0], "missing name 2047 of 2071-1\n");
            assert_string_equal(seen.lines[1], "stale Name 2047 of 2071-1\n");
        }
        volume_indexes_free(indexes);
        maker_volume_free(volume);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_cases),
        cmocka_unit_test(test_no_block_can_be_read),
        cmocka_unit_test(test_threads),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
