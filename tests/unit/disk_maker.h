/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Small disks made in memory, for the tests of layouts: MBR, GPT, boot sectors. To be included
 * after cmocka.h.
 */
#ifndef WINCH_TESTS_DISK_MAKER_H
#define WINCH_TESTS_DISK_MAKER_H

#include <string.h>
#include <unistd.h>

#include "disk/disk_internal.h"

#define SECTOR 512
#define SECTORS 4096
#define ENTRY_BYTES 128
#define ENTRIES 128

static const uint8_t type_basic[16] = {0xA2, 0xA0, 0xD0, 0xEB, 0xE5, 0xB9, 0x33, 0x44,
                                       0x87, 0xC0, 0x68, 0xB6, 0xB7, 0x26, 0x99, 0xC7};
static const uint8_t type_reserved[16] = {0x16, 0xE3, 0xC9, 0xE3, 0x5C, 0x0B, 0xB8, 0x4D,
                                          0x81, 0x7D, 0xF9, 0x2D, 0xF0, 0x02, 0x15, 0xAE};
static const uint8_t type_recovery[16] = {0xA4, 0xBB, 0x94, 0xDE, 0xD1, 0x06, 0x40, 0x4D,
                                          0xA1, 0x6A, 0xBF, 0xD5, 0x01, 0x79, 0xD6, 0xAC};
/* 4967d63b-2e29-4ad8-8399-f6a339e3d001 as it lies on the disk */
static const uint8_t guid_bitlocker[16] = {0x3B, 0xD6, 0x67, 0x49, 0x29, 0x2E, 0xD8, 0x4A,
                                           0x83, 0x99, 0xF6, 0xA3, 0x39, 0xE3, 0xD0, 0x01};

static inline void put(uint8_t *at, uint64_t value, unsigned len)
{
    for (unsigned i = 0; i < len; i++) {
        at[i] = (uint8_t)(value >> (8 * i));
    }
}

static inline struct disk *open_bytes(const uint8_t *bytes, size_t len)
{
    char path[] = "/tmp/winch-layout-XXXXXX";
    int fd = mkstemp(path);
    struct error err = {0};

    assert_true(fd >= 0);
    assert_int_equal(write(fd, bytes, len), len);
    (void)close(fd);
    struct disk *disk = disk_open(path, &err);
    (void)unlink(path);
    assert_non_null(disk);
    return disk;
}

static inline struct disk_layout look(const uint8_t *bytes, size_t len)
{
    struct disk *disk = open_bytes(bytes, len);
    struct disk_layout layout;
    struct error err = {0};

    assert_int_equal(disk_read_layout(disk, &layout, &err), 0);
    disk_free(disk);
    return layout;
}

static inline void make_ntfs(uint8_t *sector)
{
    memcpy(sector, "\xEB\x52\x90NTFS    ", 11);
    put(sector + 11, SECTOR, 2);
    sector[13] = 8;
    put(sector + 72, UINT64_C(0x0870803570802C0E), 8);
    put(sector + 510, 0xAA55, 2);
}

static inline void make_mbr_entry(uint8_t *disk, unsigned index, uint8_t type, uint32_t first,
                                  uint32_t count)
{
    uint8_t *entry = disk + 446 + 16 * index;

    entry[4] = type;
    put(entry + 8, first, 4);
    put(entry + 12, count, 4);
    put(disk + 510, 0xAA55, 2);
}

static inline void make_gpt_header(uint8_t *disk, uint32_t at, uint32_t other, uint32_t entries_at)
{
    uint8_t *header = disk + (size_t)at * SECTOR;

    memset(header, 0, SECTOR);
    memcpy(header, "EFI PART", 8);
    put(header + 8, 0x10000, 4);
    put(header + 12, GPT_HEADER_BYTES, 4);
    put(header + 24, at, 8);
    put(header + 32, other, 8);
    put(header + 40, 34, 8);
    put(header + 48, SECTORS - 34, 8);
    memcpy(header + 56, guid_bitlocker, 16);
    put(header + 72, entries_at, 8);
    put(header + 80, ENTRIES, 4);
    put(header + 84, ENTRY_BYTES, 4);
    put(header + 88, gpt_crc32(disk + (size_t)entries_at * SECTOR, ENTRIES * ENTRY_BYTES), 4);
    put(header + 16, gpt_crc32(header, GPT_HEADER_BYTES), 4);
}

static inline void make_gpt_entry(uint8_t *disk, unsigned index, const uint8_t type[16],
                                  uint32_t first, uint32_t last, const char *name)
{
    uint32_t tables[] = {2, SECTORS - 33};

    for (size_t i = 0; i < ARRAY_LEN(tables); i++) {
        uint8_t *entry = disk + (size_t)tables[i] * SECTOR + (size_t)index * ENTRY_BYTES;
        memcpy(entry, type, 16);
        memcpy(entry + 16, type, 16);
        put(entry + 32, first, 8);
        put(entry + 40, last, 8);
        for (size_t j = 0; name[j] != '\0'; j++) {
            put(entry + 56 + 2 * j, (uint8_t)name[j], 2);
        }
    }
}

/* Reserved, basic with an NTFS boot sector, recovery. */
static inline uint8_t *make_gpt_disk(void)
{
    uint8_t *disk = calloc(SECTORS, SECTOR);

    assert_non_null(disk);
    make_mbr_entry(disk, 0, 0xEE, 1, SECTORS - 1);
    make_gpt_entry(disk, 0, type_reserved, 34, 99, "MSR");
    make_gpt_entry(disk, 1, type_basic, 100, 1999, "data");
    make_gpt_entry(disk, 3, type_recovery, 2000, SECTORS - 35, "WinRE");
    make_gpt_header(disk, 1, SECTORS - 1, 2);
    make_gpt_header(disk, SECTORS - 1, 1, SECTORS - 33);
    make_ntfs(disk + (size_t)100 * SECTOR);
    return disk;
}

static inline bool warns(const struct disk_layout *layout, const char *part)
{
    for (size_t i = 0; i < layout->warning_count; i++) {
        if (strstr(layout->warnings[i], part) != NULL) {
            return true;
        }
    }
    return false;
}

#endif
