/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Partition tables and what stands on partitions. The input is pieces of 512 bytes, each behind the
 * two bytes of its sector number, on a disk of 32 MiB in memory.
 */
#include "fuzz.h"

#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "disk/disk.h"

#define SECTORS 65536
#define SECTOR 512
#define PIECES_MAX 100

static int fd = -1;

static void write_pieces(const uint8_t *data, size_t size)
{
    /* Emptied by its size: what an earlier input wrote is gone. */
    FUZZ_ASSERT(ftruncate(fd, 0) == 0 && ftruncate(fd, (off_t)SECTORS * SECTOR) == 0);
    for (size_t i = 0; i < PIECES_MAX && size > 2; i++) {
        size_t len = size - 2 < SECTOR ? size - 2 : SECTOR;
        off_t at = (off_t)read_le16(data) * SECTOR;
        FUZZ_ASSERT(pwrite(fd, data + 2, len, at) == (ssize_t)len);
        data += 2 + len;
        size -= 2 + len;
    }
}

/* No entry of an MBR that was used is passed over. */
static void check_primaries(const struct disk_layout *layout)
{
    uint8_t sector[SECTOR];

    FUZZ_ASSERT(pread(fd, sector, sizeof(sector), 0) == (ssize_t)sizeof(sector));
    for (unsigned i = 0; strcmp(layout->table, "mbr") == 0 && i < 4; i++) {
        const uint8_t *entry = sector + 446 + (size_t)i * 16;
        uint8_t type = entry[4];
        bool is_chain = (type == 0x05 || type == 0x0F || type == 0x85) &&
                        read_le32(entry + 8) > 0 && read_le32(entry + 12) > 0;
        size_t found = 0;
        for (size_t j = 0; j < layout->count; j++) {
            found += layout->partitions[j].number == i + 1 ? 1 : 0;
        }
        FUZZ_ASSERT(type == 0 || found == (is_chain ? 0 : 1));
    }
}

static void check_partition(const struct disk_layout *layout,
                            const struct disk_partition *partition)
{
    bool is_bare = strcmp(layout->table, "none") == 0;

    FUZZ_ASSERT(partition->content_name[0] != '\0' || partition->content == DISK_OTHER);
    FUZZ_ASSERT(partition->kind != NULL);
    FUZZ_ASSERT((partition->content == DISK_NTFS) == (partition->advice[0] == '\0'));
    FUZZ_ASSERT(partition->beyond_device == (partition->beyond_bytes > 0));
    FUZZ_ASSERT(partition->content == DISK_LOST || partition->size_bytes > 0);
    FUZZ_ASSERT(partition->number > 0 || is_bare || partition->content == DISK_LOST);
    FUZZ_ASSERT(utf_valid_utf8(partition->label, strlen(partition->label)));
    FUZZ_ASSERT(utf_valid_utf8(partition->name, strlen(partition->name)));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char path[64];
    struct error err = {0};
    struct disk_layout layout = {0};

    if (fd < 0) {
        fd = memfd_create("fuzz", 0);
    }
    FUZZ_ASSERT(fd >= 0);
    write_pieces(data, size);
    (void)snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
    struct disk *disk = disk_open(path, &err);
    FUZZ_ASSERT(disk != NULL);
    if (disk_read_layout(disk, &layout, &err) == 0) {
        FUZZ_ASSERT(layout.count <= DISK_PARTITION_MAX + (layout.left_out > 0 ? 1 : 0));
        FUZZ_ASSERT(layout.warning_count <= DISK_WARNING_MAX);
        FUZZ_ASSERT(layout.table[0] != '\0');
        for (size_t i = 0; i < layout.count; i++) {
            check_partition(&layout, &layout.partitions[i]);
        }
        check_primaries(&layout);
        disk_layout_clear(&layout);
    }
    disk_free(disk);
    return 0;
}
