/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * MBR entries and chains of extended partitions: numbers as Linux gives them, and everything broken
 * is listed, in bounded time.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "disk_maker.h"

#define DISK_BYTES ((size_t)SECTORS * SECTOR)
#define EXTENDED 100
#define EXTENDED_SECTORS 3900

static uint8_t *make_extended(void)
{
    uint8_t *disk = calloc(SECTORS, SECTOR);

    assert_non_null(disk);
    make_mbr_entry(disk, 0, 0x0F, EXTENDED, EXTENDED_SECTORS);
    return disk;
}

/* A link at `at` (in the extended partition) with a partition of 2 sectors and a way on. */
static void make_link(uint8_t *disk, uint32_t at, uint32_t next)
{
    uint8_t *sector = disk + (size_t)(EXTENDED + at) * SECTOR;

    make_mbr_entry(sector, 0, 0x07, 1, 2);
    if (next != UINT32_MAX) {
        make_mbr_entry(sector, 1, 0x05, next, 3);
    }
}

static const struct disk_partition *find_kind(const struct disk_layout *layout, const char *kind)
{
    const struct disk_partition *found = NULL;

    for (size_t i = 0; i < layout->count; i++) {
        if (strcmp(layout->partitions[i].kind, kind) == 0) {
            assert_null(found);
            found = &layout->partitions[i];
        }
    }
    return found;
}

static void impossible_entries(void **state)
{
    (void)state;
    CLEANUP_FREE uint8_t *disk = calloc(SECTORS, SECTOR);

    assert_non_null(disk);
    make_mbr_entry(disk, 0, 0x07, 64, 1000);
    make_mbr_entry(disk, 1, 0x07, 2000, 0);
    make_mbr_entry(disk, 2, 0x07, 0, 1000);
    make_mbr_entry(disk, 3, 0x05, 0, 0);
    make_ntfs(disk + (size_t)64 * SECTOR);
    struct disk_layout layout = look(disk, DISK_BYTES);
    assert_string_equal(layout.table, "mbr");
    assert_int_equal(layout.count, 4);
    assert_int_equal(layout.partitions[0].content, DISK_NTFS);
    for (size_t i = 1; i < 4; i++) {
        assert_int_equal(layout.partitions[i].number, i + 1);
        assert_int_equal(layout.partitions[i].content, DISK_LOST);
        assert_true(layout.partitions[i].advice[0] != '\0');
    }
    disk_layout_clear(&layout);
}

/* Nothing else in the table: still a table. */
static void only_impossible(void **state)
{
    (void)state;
    CLEANUP_FREE uint8_t *disk = calloc(SECTORS, SECTOR);

    assert_non_null(disk);
    make_mbr_entry(disk, 2, 0x07, 2000, 0);
    struct disk_layout layout = look(disk, DISK_BYTES);
    assert_string_equal(layout.table, "mbr");
    assert_int_equal(layout.count, 1);
    assert_int_equal(layout.partitions[0].number, 3);
    assert_int_equal(layout.partitions[0].content, DISK_LOST);
    disk_layout_clear(&layout);
}

static void chain(void **state)
{
    (void)state;
    CLEANUP_FREE uint8_t *disk = make_extended();

    make_link(disk, 0, 10);
    make_link(disk, 10, 20);
    memset(disk + (size_t)(EXTENDED + 10) * SECTOR + 446, 0, 16); /* deleted: no number */
    make_link(disk, 20, 30);
    put(disk + (size_t)(EXTENDED + 20) * SECTOR + 446 + 12, 0, 4); /* no length: no number */
    make_link(disk, 30, UINT32_MAX);
    make_mbr_entry(disk + (size_t)(EXTENDED + 30) * SECTOR, 2, 0x07, 1, 100000); /* rubbish */
    struct disk_layout layout = look(disk, DISK_BYTES);
    assert_int_equal(layout.count, 3);
    assert_int_equal(layout.partitions[0].number, 5);
    assert_int_equal(layout.partitions[0].offset_bytes, (EXTENDED + 1) * SECTOR);
    assert_int_equal(layout.partitions[0].size_bytes, 2 * SECTOR);
    assert_int_equal(layout.partitions[1].number, 0);
    assert_string_equal(layout.partitions[1].kind, "impossible");
    assert_int_equal(layout.partitions[2].number, 6);
    assert_int_equal(layout.partitions[2].offset_bytes, (EXTENDED + 31) * SECTOR);
    disk_layout_clear(&layout);
}

struct broken_case {
    const char *why;
    uint32_t next;
};

static void broken_chain(void **state)
{
    (void)state;
    static const struct broken_case cases[] = {
        {"no partition table stands there", 50},
        {"leads back", 0},
        {"leads out of the extended partition", EXTENDED_SECTORS},
        {"leads out of the extended partition", UINT32_MAX - 1},
    };

    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        CLEANUP_FREE uint8_t *disk = make_extended();
        make_link(disk, 0, 10);
        make_link(disk, 10, cases[i].next);
        struct disk_layout layout = look(disk, DISK_BYTES);
        assert_int_equal(layout.count, 3);
        const struct disk_partition *lost = find_kind(&layout, "lost-chain");
        assert_non_null(lost);
        assert_int_equal(lost->content, DISK_LOST);
        assert_int_equal(lost->number, 0);
        assert_int_equal(lost->offset_bytes, (EXTENDED + (uint64_t)cases[i].next) * SECTOR);
        assert_true(warns(&layout, cases[i].why));
        disk_layout_clear(&layout);
    }
}

static void chain_behind_the_end(void **state)
{
    (void)state;
    CLEANUP_FREE uint8_t *disk = make_extended();

    make_link(disk, 0, 3000);
    struct disk_layout layout = look(disk, DISK_BYTES / 2);
    assert_non_null(find_kind(&layout, "lost-chain"));
    assert_true(warns(&layout, "behind the end of the device"));
    assert_true(warns(&layout, "cut off"));
    disk_layout_clear(&layout);
}

/* As long as the disk allows, and one whose links hold nothing. */
static void long_chain(void **state)
{
    (void)state;
    CLEANUP_FREE uint8_t *disk = make_extended();

    for (uint32_t at = 0; at + 3 < EXTENDED_SECTORS; at += 3) {
        make_link(disk, at, at + 3);
    }
    struct disk_layout layout = look(disk, DISK_BYTES);
    assert_int_equal(layout.count, DISK_PARTITION_MAX + 1);
    assert_true(layout.left_out > 0);
    assert_int_equal(layout.partitions[255].number, 260);
    assert_ptr_equal(find_kind(&layout, "left-out"), &layout.partitions[256]);
    assert_true(warns(&layout, "more than 256"));
    disk_layout_clear(&layout);

    for (uint32_t at = 0; at + 3 < EXTENDED_SECTORS; at += 3) {
        memset(disk + (size_t)(EXTENDED + at) * SECTOR + 446, 0, 16);
    }
    layout = look(disk, DISK_BYTES);
    assert_int_equal(layout.count, 1);
    assert_string_equal(layout.partitions[0].kind, "lost-chain");
    assert_true(warns(&layout, "too long"));
    disk_layout_clear(&layout);
}

/* The GPT of a hybrid disk is gone, its MBR has a part of the partitions. */
static void hybrid_without_gpt(void **state)
{
    (void)state;
    CLEANUP_FREE uint8_t *disk = calloc(SECTORS, SECTOR);

    assert_non_null(disk);
    make_mbr_entry(disk, 0, 0xEE, 1, 63);
    make_mbr_entry(disk, 1, 0x07, 64, 4000);
    make_ntfs(disk + (size_t)64 * SECTOR);
    struct disk_layout layout = look(disk, DISK_BYTES);
    assert_int_equal(layout.count, 2);
    assert_string_equal(layout.partitions[0].kind, "lost-gpt");
    assert_int_equal(layout.partitions[1].content, DISK_NTFS);
    assert_true(warns(&layout, "no whole backup was found"));
    disk_layout_clear(&layout);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(impossible_entries),
        cmocka_unit_test(only_impossible),
        cmocka_unit_test(chain),
        cmocka_unit_test(broken_chain),
        cmocka_unit_test(long_chain),
        cmocka_unit_test(chain_behind_the_end),
        cmocka_unit_test(hybrid_without_gpt),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
