/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Which table counts when a disk shows several things: old boot sectors, old and damaged GPTs, an
 * MBR without entries; and what happens without memory.
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "disk_maker.h"

#define DISK_BYTES ((size_t)SECTORS * SECTOR)

static void make_fat(uint8_t *sector)
{
    memcpy(sector, "\xEB\x3C\x90MSDOS5.0", 11);
    put(sector + 11, SECTOR, 2);
    sector[13] = 4;
    put(sector + 14, 1, 2);
    sector[16] = 2;
    put(sector + 17, 512, 2);
    put(sector + 19, SECTORS, 2);
    sector[21] = 0xF8;
    put(sector + 22, 4, 2);
    memcpy(sector + 54, "FAT16   ", 8);
    memcpy(sector + SECTOR, "\xF8\xFF\xFF\xFF", 4);
    put(sector + 510, 0xAA55, 2);
}

/* As Windows writes it: messages reach into the place of the entries. */
static void put_boot_text(uint8_t *sector)
{
    static const char text[] = "\0\r\nPress Ctrl+Alt+Del to restart\r\n\0\r\nBOOTMGR is compressed";

    memcpy(sector + 446, text, sizeof(text));
    put(sector + 504, 0xD6BEA98C, 4);
    put(sector + 510, 0xAA55, 2);
}

static uint8_t *make_zeros(void)
{
    uint8_t *disk = calloc(SECTORS, SECTOR);

    assert_non_null(disk);
    return disk;
}

static void check_single(const uint8_t *disk, const char *table, unsigned number,
                         const char *warning)
{
    struct disk_layout layout = look(disk, DISK_BYTES);

    assert_string_equal(layout.table, table);
    assert_int_equal(layout.count, 1);
    assert_int_equal(layout.partitions[0].number, number);
    assert_int_equal(layout.partitions[0].content, DISK_NTFS);
    if (warning == NULL) {
        assert_int_equal(layout.warning_count, 0);
    } else {
        assert_true(warns(&layout, warning));
    }
    disk_layout_clear(&layout);
}

static void old_boot_sector_before_mbr(void **state)
{
    (void)state;
    void (*const makers[])(uint8_t *) = {make_ntfs, make_fat};

    for (size_t i = 0; i < ARRAY_LEN(makers); i++) {
        CLEANUP_FREE uint8_t *disk = make_zeros();
        makers[i](disk);
        make_mbr_entry(disk, 0, 0x07, 64, 4000);
        make_ntfs(disk + (size_t)64 * SECTOR);
        check_single(disk, "mbr", 1, i == 0 ? "an old NTFS boot sector" : "an old FAT boot sector");
    }
}

/* One broken entry more: the NTFS volume at the start of the other speaks for the table. */
static void old_boot_sector_before_damaged_mbr(void **state)
{
    (void)state;
    CLEANUP_FREE uint8_t *disk = make_zeros();

    make_ntfs(disk);
    make_mbr_entry(disk, 0, 0x07, 64, 4000);
    make_mbr_entry(disk, 1, 0x07, 100000, 0);
    make_ntfs(disk + (size_t)64 * SECTOR);
    struct disk_layout layout = look(disk, DISK_BYTES);
    assert_string_equal(layout.table, "mbr");
    assert_int_equal(layout.count, 2);
    assert_int_equal(layout.partitions[0].content, DISK_NTFS);
    assert_int_equal(layout.partitions[1].content, DISK_LOST);
    disk_layout_clear(&layout);
}

static void boot_text_is_no_table(void **state)
{
    (void)state;
    CLEANUP_FREE uint8_t *disk = make_zeros();

    make_ntfs(disk);
    put_boot_text(disk);
    check_single(disk, "none", 0, NULL);
    /* A byte of Cyrillic text where the type of a GPT disk would be. */
    disk[446 + 4] = 0xEE;
    disk[446] = 0xEF;
    check_single(disk, "none", 0, NULL);
}

/* A few bytes that could be one entry are not enough against a boot sector. */
static void boot_code_that_looks_like_an_entry(void **state)
{
    (void)state;
    CLEANUP_FREE uint8_t *disk = make_zeros();

    make_ntfs(disk);
    make_mbr_entry(disk, 0, 0x07, 64, 4000);
    memset(disk + 462, 'x', 48);
    check_single(disk, "none", 0, "look like a partition table");
    memset(disk + 446, 0, 64);
    make_mbr_entry(disk, 0, 0x07, 64, 2000);
    make_mbr_entry(disk, 1, 0x07, 1000, 2000); /* they share bytes */
    check_single(disk, "none", 0, "look like a partition table");
    memset(disk + 446, 0, 64);
    make_mbr_entry(disk, 0, 0x07, SECTORS + 5, 2000); /* not on the disk */
    check_single(disk, "none", 0, NULL);
}

static void bare_volume_over_old_backup(void **state)
{
    (void)state;
    CLEANUP_FREE uint8_t *disk = make_gpt_disk();

    memset(disk, 0, (size_t)40 * SECTOR);
    make_ntfs(disk);
    put(disk + 48, 4, 8);
    memcpy(disk + (size_t)4 * 8 * SECTOR, "FILE", 4);
    check_single(disk, "none", 0, "an old GPT");

    /* Without a $MFT behind it, the boot sector is the older one. */
    memset(disk + (size_t)4 * 8 * SECTOR, 0, 4);
    struct disk_layout layout = look(disk, DISK_BYTES);
    assert_string_equal(layout.table, "gpt");
    assert_int_equal(layout.count, 3);
    assert_true(warns(&layout, "backup was used"));
    assert_true(warns(&layout, "an old NTFS boot sector"));
    disk_layout_clear(&layout);
}

static void check_gpt(const uint8_t *disk, size_t len, const char *warning)
{
    struct disk_layout layout = look(disk, len);

    assert_string_equal(layout.table, "gpt");
    assert_int_equal(layout.count, 3);
    assert_int_equal(layout.partitions[1].content, DISK_NTFS);
    if (!warns(&layout, warning)) {
        fail_msg("not said: %s; but: %s", warning, layout.warnings[0]);
    }
    disk_layout_clear(&layout);
}

/* The MBR announces a GPT: that this is lost does not bring the volume of before back. */
static void old_boot_sector_without_gpt(void **state)
{
    (void)state;
    CLEANUP_FREE uint8_t *disk = make_zeros();

    make_ntfs(disk);
    make_mbr_entry(disk, 0, 0xEE, 1, SECTORS - 1);
    struct disk_layout layout = look(disk, DISK_BYTES);
    assert_string_equal(layout.table, "mbr");
    assert_int_equal(layout.count, 1);
    assert_string_equal(layout.partitions[0].kind, "lost-gpt");
    assert_true(warns(&layout, "no whole backup was found"));
    assert_true(warns(&layout, "an old NTFS boot sector"));
    disk_layout_clear(&layout);
}

/* Boot code of which one piece looks like an entry is no rival of a GPT. */
static void gpt_behind_unknown_boot_code(void **state)
{
    (void)state;
    CLEANUP_FREE uint8_t *disk = make_gpt_disk();

    memset(disk + 446, 'x', 64);
    make_mbr_entry(disk, 1, 0x07, 64, 4000);
    disk[462] = 0;
    check_gpt(disk, DISK_BYTES, "no protective MBR");
}

static void gpt_without_protective_mbr(void **state)
{
    (void)state;
    CLEANUP_FREE uint8_t *disk = make_gpt_disk();

    memset(disk, 0, SECTOR);
    check_gpt(disk, DISK_BYTES, "no protective MBR");
    put(disk + 510, 0xAA55, 2);
    check_gpt(disk, DISK_BYTES, "no protective MBR");
    disk[SECTOR + 20] ^= 1;
    check_gpt(disk, DISK_BYTES, "its backup was used");
    disk[510] = 0;
    check_gpt(disk, DISK_BYTES, "its backup was used");
}

static void old_gpt_behind_mbr(void **state)
{
    (void)state;
    CLEANUP_FREE uint8_t *disk = make_gpt_disk();

    memset(disk + 446, 0, 64);
    make_mbr_entry(disk, 0, 0x07, 64, 4000);
    make_ntfs(disk + (size_t)64 * SECTOR);
    check_single(disk, "mbr", 1, "an old GPT");
}

/* The disk was enlarged: the backup is where it ended before. */
static void enlarged(void **state)
{
    (void)state;
    enum { LARGER = 3 * SECTORS };
    CLEANUP_FREE uint8_t *small = make_gpt_disk();
    CLEANUP_FREE uint8_t *disk = calloc(LARGER, SECTOR);

    assert_non_null(disk);
    memcpy(disk, small, DISK_BYTES);
    disk[SECTOR + 20] ^= 1;
    check_gpt(disk, (size_t)LARGER * SECTOR, "before it was enlarged");
    /* Only the protective MBR knows. */
    memset(disk + SECTOR, 0, SECTOR);
    check_gpt(disk, (size_t)LARGER * SECTOR, "before it was enlarged");
    /* Only the last usable sector does. */
    memcpy(disk, small, DISK_BYTES);
    disk[SECTOR + 20] ^= 1;
    memset(disk + SECTOR + 32, 0, 8);
    put(disk + SECTOR + 48, SECTORS - 34, 8);
    put(disk + 446 + 12, UINT32_MAX, 4);
    check_gpt(disk, (size_t)LARGER * SECTOR, "before it was enlarged");
    /* Nobody does. */
    memset(disk + SECTOR, 0, SECTOR);
    struct disk_layout layout = look(disk, (size_t)LARGER * SECTOR);
    assert_string_equal(layout.table, "none");
    assert_true(warns(
        &layout, "no whole backup was found, at the end of the disk or where that may have been"));
    disk_layout_clear(&layout);
}

static void impossible_gpt_entries(void **state)
{
    (void)state;
    CLEANUP_FREE uint8_t *disk = make_gpt_disk();

    make_gpt_entry(disk, 4, type_basic, 500, 400, "backwards");
    make_gpt_entry(disk, 5, type_basic, 0, 0, "nowhere");
    make_gpt_entry(disk, 6, type_basic, SECTORS - 20, SECTORS - 10, "outside");
    make_gpt_header(disk, 1, SECTORS - 1, 2);
    make_gpt_header(disk, SECTORS - 1, 1, SECTORS - 33);
    struct disk_layout layout = look(disk, DISK_BYTES);
    assert_int_equal(layout.count, 6);
    for (size_t i = 3; i < 5; i++) {
        assert_int_equal(layout.partitions[i].number, i + 2);
        assert_int_equal(layout.partitions[i].content, DISK_LOST);
        assert_int_equal(layout.partitions[i].role, DISK_ROLE_DATA);
        assert_string_equal(layout.partitions[i].kind, "impossible");
    }
    assert_int_equal(layout.partitions[5].offset_bytes, (SECTORS - 20) * SECTOR);
    assert_true(warns(&layout, "partition 7 reaches out"));
    disk_layout_clear(&layout);
}

struct no_memory {
    uint64_t from;
    int cause;
};

static int fail_from(void *self, uint64_t offset, size_t len)
{
    const struct no_memory *fault = self;

    (void)len;
    return offset == fault->from ? fault->cause : 0;
}

/* Never "unreadable", which a run would pass over. */
static void no_memory_is_an_error(void **state)
{
    (void)state;
    CLEANUP_FREE uint8_t *bytes = make_gpt_disk();
    uint64_t places[] = {0,
                         SECTOR,
                         UINT64_C(1024),
                         (uint64_t)100 * SECTOR,
                         CONTENT_PRIVATE_HEADER_OFFSET,
                         (uint64_t)(SECTORS - 1) * SECTOR};
    struct disk *disk = open_bytes(bytes, DISK_BYTES);

    for (size_t i = 0; i < ARRAY_LEN(places); i++) {
        struct disk_layout layout = {0};
        struct no_memory fault = {.from = places[i], .cause = ENOMEM};
        struct error err = {0};
        disk_set_fault(disk, fail_from, &fault);
        assert_int_equal(disk_read_layout(disk, &layout, &err), -1);
        assert_int_equal(err.kind, ERROR_STOP_RUN);
        assert_int_equal(err.exit_status, EXIT_STATUS_TEMPORARY);
        assert_int_equal(disk_read_layout(disk, &layout, NULL), -1);
    }
    disk_free(disk);
}

static void no_files_by_type(void **state)
{
    (void)state;
    static const uint8_t bios_boot[16] = {0x48, 0x61, 0x68, 0x21, 0x49, 0x64, 0x6F, 0x6E,
                                          0x74, 0x4E, 0x65, 0x65, 0x64, 0x45, 0x46, 0x49};
    CLEANUP_FREE uint8_t *disk = make_gpt_disk();

    make_gpt_entry(disk, 0, bios_boot, 34, 99, "");
    memcpy(disk + (size_t)34 * SECTOR, "\x52\x56\xbe\x1b", 4);
    make_gpt_header(disk, 1, SECTORS - 1, 2);
    make_gpt_header(disk, SECTORS - 1, 1, SECTORS - 33);
    struct disk_layout layout = look(disk, DISK_BYTES);
    assert_string_equal(layout.partitions[0].kind, "bios-boot");
    assert_int_equal(layout.partitions[0].content, DISK_RESERVED);
    disk_layout_clear(&layout);
    /* Its bytes count more. */
    make_ntfs(disk + (size_t)34 * SECTOR);
    layout = look(disk, DISK_BYTES);
    assert_int_equal(layout.partitions[0].content, DISK_NTFS);
    assert_int_equal(layout.partitions[0].role, DISK_ROLE_DATA);
    disk_layout_clear(&layout);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(old_boot_sector_before_mbr),
        cmocka_unit_test(old_boot_sector_before_damaged_mbr),
        cmocka_unit_test(boot_text_is_no_table),
        cmocka_unit_test(boot_code_that_looks_like_an_entry),
        cmocka_unit_test(bare_volume_over_old_backup),
        cmocka_unit_test(old_boot_sector_without_gpt),
        cmocka_unit_test(gpt_behind_unknown_boot_code),
        cmocka_unit_test(gpt_without_protective_mbr),
        cmocka_unit_test(old_gpt_behind_mbr),
        cmocka_unit_test(enlarged),
        cmocka_unit_test(impossible_gpt_entries),
        cmocka_unit_test(no_memory_is_an_error),
        cmocka_unit_test(no_files_by_type),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
