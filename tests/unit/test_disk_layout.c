/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Layouts of small disks made here: MBR, GPT whole, damaged and cut off, bare volumes, and contents
 * that are not NTFS. libblkid is asked as in earnest.
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "disk_maker.h"

static void check_gpt(const struct disk_layout *layout)
{
    assert_string_equal(layout->table, "gpt");
    assert_string_equal(layout->disk_guid, "4967d63b-2e29-4ad8-8399-f6a339e3d001");
    assert_int_equal(layout->count, 3);
    const struct disk_partition *partition = layout->partitions;
    assert_int_equal(partition[0].number, 1);
    assert_int_equal(partition[0].content, DISK_RESERVED);
    assert_int_equal(partition[0].role, DISK_ROLE_SYSTEM);
    assert_int_equal(partition[1].number, 2);
    assert_int_equal(partition[1].offset_bytes, 100 * SECTOR);
    assert_int_equal(partition[1].size_bytes, 1900 * SECTOR);
    assert_int_equal(partition[1].content, DISK_NTFS);
    assert_int_equal(partition[1].role, DISK_ROLE_DATA);
    assert_string_equal(partition[1].serial, "0870803570802C0E");
    assert_string_equal(partition[1].name, "data");
    assert_string_equal(partition[1].type, "ebd0a0a2-b9e5-4433-87c0-68b6b72699c7");
    assert_int_equal(partition[2].number, 4);
    assert_int_equal(partition[2].role, DISK_ROLE_RECOVERY);
}

static void test_gpt(void **state)
{
    (void)state;
    CLEANUP_FREE uint8_t *disk = make_gpt_disk();
    struct disk_layout layout = look(disk, (size_t)SECTORS * SECTOR);

    check_gpt(&layout);
    assert_int_equal(layout.warning_count, 0);
    assert_false(layout.partitions[2].beyond_device);
    assert_int_equal(layout.partitions[2].content, DISK_EMPTY);
    disk_layout_clear(&layout);
}

static void test_gpt_damaged(void **state)
{
    (void)state;
    CLEANUP_FREE uint8_t *disk = make_gpt_disk();

    disk[SECTOR + 20] ^= 1;
    struct disk_layout layout = look(disk, (size_t)SECTORS * SECTOR);
    check_gpt(&layout);
    assert_true(warns(&layout, "backup"));
    disk_layout_clear(&layout);

    disk[(size_t)(SECTORS - 1) * SECTOR + 20] ^= 1;
    layout = look(disk, (size_t)SECTORS * SECTOR);
    assert_string_equal(layout.table, "none");
    assert_true(warns(&layout, "no whole backup was found"));
    disk_layout_clear(&layout);
}

static void test_gpt_cut_off(void **state)
{
    (void)state;
    CLEANUP_FREE uint8_t *disk = make_gpt_disk();
    struct disk_layout layout = look(disk, (size_t)1800 * SECTOR);

    check_gpt(&layout);
    assert_true(warns(&layout, "cut off"));
    assert_false(layout.partitions[0].beyond_device);
    assert_true(layout.partitions[1].beyond_device);
    assert_true(layout.partitions[2].beyond_device);
    assert_int_equal(layout.partitions[2].content, DISK_UNREADABLE);
    disk_layout_clear(&layout);
}

static void test_mbr(void **state)
{
    (void)state;
    CLEANUP_FREE uint8_t *disk = calloc(SECTORS, SECTOR);

    assert_non_null(disk);
    make_mbr_entry(disk, 0, 0x07, 64, 1000);
    make_mbr_entry(disk, 1, 0x27, 1064, 500);
    make_mbr_entry(disk, 2, 0x05, 2000, 1000);
    make_mbr_entry(disk + (size_t)2000 * SECTOR, 0, 0x07, 100, 400);
    make_mbr_entry(disk, 3, 0x07, 3500, 1000);
    make_ntfs(disk + (size_t)64 * SECTOR);
    make_ntfs(disk + (size_t)2100 * SECTOR);
    struct disk_layout layout = look(disk, (size_t)SECTORS * SECTOR);
    assert_string_equal(layout.table, "mbr");
    assert_int_equal(layout.count, 4);
    for (size_t i = 0; i < layout.count; i++) {
        const struct disk_partition *partition = &layout.partitions[i];
        bool is_ntfs = partition->number == 1 || partition->number == 5;
        assert_int_equal(partition->content, is_ntfs ? DISK_NTFS : DISK_EMPTY);
        assert_int_equal(partition->role,
                         partition->number == 2 ? DISK_ROLE_RECOVERY : DISK_ROLE_DATA);
        assert_int_equal(partition->beyond_device, partition->number == 4);
        if (partition->number == 5) {
            assert_int_equal(partition->offset_bytes, 2100 * SECTOR);
        }
    }
    disk_layout_clear(&layout);
}

static void test_dynamic(void **state)
{
    (void)state;
    CLEANUP_FREE uint8_t *disk = calloc(SECTORS, SECTOR);

    assert_non_null(disk);
    make_mbr_entry(disk, 0, 0x42, 63, 4000);
    memcpy(disk + (size_t)6 * SECTOR, "PRIVHEAD", 8);
    make_ntfs(disk + (size_t)63 * SECTOR);
    struct disk_layout layout = look(disk, (size_t)SECTORS * SECTOR);
    assert_int_equal(layout.count, 1);
    assert_int_equal(layout.partitions[0].content, DISK_DYNAMIC);
    assert_non_null(strstr(layout.partitions[0].advice, "ldmtool"));
    disk_layout_clear(&layout);
}

struct bare_case {
    const char *name;
    size_t at, len;
    const char *bytes;
    enum disk_content content;
    const char *advice;
};

static const struct bare_case bare_cases[] = {
    {"zeros", 0, 0, "", DISK_EMPTY, "formatted"},
    {"noise", 0, 5, "noise", DISK_UNKNOWN, "boot sector"},
    {"NTFS", 3, 8, "NTFS    ", DISK_NTFS, ""},
    {"BitLocker", 3, 8, "-FVE-FS-", DISK_BITLOCKER, "bitlkOpen"},
    {"BitLocker by GUID", 160, 16, (const char *)guid_bitlocker, DISK_BITLOCKER, "bitlkOpen"},
    {"BitLocker To Go", 424, 16, (const char *)guid_bitlocker, DISK_BITLOCKER, "bitlkOpen"},
    {"ReFS", 3, 8, "ReFS\0\0\0\0", DISK_REFS, "NTFS only"},
    {"VHDX", 0, 8, "vhdxfile", DISK_CONTAINER, "-f vhdx"},
    {"VHD", 0, 8, "conectix", DISK_CONTAINER, "-f vpc"},
    {"qcow2", 0, 4, "QFI\xfb", DISK_CONTAINER, "-f qcow2"},
    {"VMDK", 0, 4, "KDMV", DISK_CONTAINER, "-f vmdk"},
    {"gzip", 0, 3, "\x1f\x8b\x08", DISK_CONTAINER, "unpack"},
    {"LUKS", 0, 8, "LUKS\xba\xbe\0\1", DISK_MEMBER, "luksOpen"},
};

static void test_bare(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(bare_cases); i++) {
        CLEANUP_FREE uint8_t *disk = calloc(SECTORS, SECTOR);
        assert_non_null(disk);
        memcpy(disk + bare_cases[i].at, bare_cases[i].bytes, bare_cases[i].len);
        struct disk_layout layout = look(disk, (size_t)SECTORS * SECTOR);
        assert_string_equal(layout.table, "none");
        assert_int_equal(layout.count, 1);
        const struct disk_partition *partition = &layout.partitions[0];
        assert_int_equal(partition->number, 0);
        assert_int_equal(partition->size_bytes, SECTORS * SECTOR);
        if (partition->content != bare_cases[i].content ||
            strstr(partition->advice, bare_cases[i].advice) == NULL ||
            partition->content_name[0] == '\0') {
            fail_msg("%s: content %d, %s: %s", bare_cases[i].name, partition->content,
                     partition->content_name, partition->advice);
        }
        disk_layout_clear(&layout);
    }
}

/* A disk that was one NTFS volume before it was partitioned. */
static void test_gpt_over_boot_sector(void **state)
{
    (void)state;
    CLEANUP_FREE uint8_t *disk = make_gpt_disk();

    make_ntfs(disk);
    struct disk_layout layout = look(disk, (size_t)SECTORS * SECTOR);
    check_gpt(&layout);
    disk_layout_clear(&layout);
}

static int fail_sectors(void *self, uint64_t offset, size_t len)
{
    const uint64_t *bad = self;

    return (offset <= bad[0] && offset + len > bad[0]) ||
                   (offset <= bad[1] && offset + len > bad[1])
               ? EIO
               : 0;
}

/* A bad sector near the start of the disk, and one near that of a volume, hide neither. */
static void test_bad_sectors(void **state)
{
    (void)state;
    CLEANUP_FREE uint8_t *bytes = make_gpt_disk();
    uint64_t bad[] = {40 * SECTOR, (uint64_t)101 * SECTOR};
    struct disk_layout layout;
    struct error err = {0};

    struct disk *disk = open_bytes(bytes, (size_t)SECTORS * SECTOR);
    disk_set_fault(disk, fail_sectors, bad);
    assert_int_equal(disk_read_layout(disk, &layout, &err), 0);
    check_gpt(&layout);
    disk_layout_clear(&layout);
    bad[1] = (uint64_t)100 * SECTOR;
    assert_int_equal(disk_read_layout(disk, &layout, &err), 0);
    assert_int_equal(layout.partitions[1].content, DISK_UNREADABLE);
    disk_layout_clear(&layout);
    disk_free(disk);
}

static void test_never_looked_at(void **state)
{
    (void)state;
    struct disk_partition partition = {0};

    assert_int_equal(partition.content, DISK_UNKNOWN);
    assert_int_not_equal(partition.content, DISK_NTFS);
}

static void test_fixed_vhd(void **state)
{
    (void)state;
    CLEANUP_FREE uint8_t *disk = calloc(SECTORS, SECTOR);

    assert_non_null(disk);
    make_ntfs(disk);
    memcpy(disk + (size_t)(SECTORS - 1) * SECTOR, "conectix", 8);
    disk[(size_t)(SECTORS - 1) * SECTOR + 63] = 2;
    struct disk_layout layout = look(disk, (size_t)SECTORS * SECTOR);
    assert_int_equal(layout.partitions[0].content, DISK_NTFS);
    assert_int_equal(layout.partitions[0].size_bytes, (SECTORS - 1) * SECTOR);
    assert_true(warns(&layout, "VHD"));
    disk_layout_clear(&layout);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_gpt),         cmocka_unit_test(test_gpt_damaged),
        cmocka_unit_test(test_gpt_cut_off), cmocka_unit_test(test_mbr),
        cmocka_unit_test(test_dynamic),     cmocka_unit_test(test_bare),
        cmocka_unit_test(test_fixed_vhd),   cmocka_unit_test(test_gpt_over_boot_sector),
        cmocka_unit_test(test_bad_sectors), cmocka_unit_test(test_never_looked_at),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
