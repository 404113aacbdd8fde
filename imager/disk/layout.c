/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The layout of a disk: the partitions that table.c finds, and what is on each, by our own looks at
 * the first bytes (content.c) and libblkid (probe.c).
 */
#include <stdarg.h>
#include <string.h>

#include "disk/disk_internal.h"

#define VHD_FOOTER_BYTES 512
#define HEAD_PIECE_BYTES 512

static int find_all(struct disk *disk, const uint8_t *head, size_t len, struct disk_layout *layout,
                    struct error *err);
static void add_left_out(struct disk_layout *layout);
static void add_bare_volume(struct disk_layout *layout, uint64_t size_bytes);
static int prefer_bare_volume(struct disk *disk, struct disk_layout *layout, struct error *err);
static int look_at_all(struct disk *disk, struct disk_layout *layout, struct error *err);
static int look_at_content(struct disk *disk, struct disk_partition *partition, struct error *err);
static int look_behind_head(struct disk *disk, struct disk_partition *partition, struct error *err);
static int has_backup_boot_sector(struct disk *disk, const struct disk_partition *partition,
                                  struct error *err);
static int has_private_header(struct disk *disk, struct error *err);
static int read_head(struct disk *disk, uint64_t offset, uint8_t *head, size_t len,
                     bool *ret_first_good, bool *ret_all_good, struct error *err);

int disk_read_layout(struct disk *disk, struct disk_layout *ret_layout, struct error *err)
{
    size_t len =
        disk->size_bytes < CONTENT_HEAD_BYTES ? (size_t)disk->size_bytes : CONTENT_HEAD_BYTES;
    CLEANUP_FREE uint8_t *head = calloc(1, CONTENT_HEAD_BYTES);
    CLEANUP(disk_layout_clear) struct disk_layout layout = {0};
    struct error cause = {0};
    bool first_good = false;
    bool all_good = false;

    /* One more, which stands for all that are left out. */
    layout.partitions = calloc(DISK_PARTITION_MAX + 1, sizeof(*layout.partitions));
    if (head == NULL || layout.partitions == NULL) {
        return error_memory(err, disk->path);
    }
    if (read_head(disk, 0, head, len, &first_good, &all_good, &cause) != 0) {
        (void)error_add(&cause, "partition table");
        if (cause.kind == ERROR_FAIL_ENTRY) {
            cause.kind = ERROR_STOP_RUN;
            cause.exit_status = EXIT_STATUS_SOURCE;
        }
        if (err != NULL) {
            *err = cause;
        }
        return -1;
    }
    if (find_all(disk, head, len, &layout, err) != 0) {
        return -1;
    }
    add_left_out(&layout);
    *ret_layout = layout;
    layout = (struct disk_layout){0};
    return 0;
}

/* Container, table or bare volume, and what stands in each. */
static int find_all(struct disk *disk, const uint8_t *head, size_t len, struct disk_layout *layout,
                    struct error *err)
{
    uint8_t tail[VHD_FOOTER_BYTES];
    uint64_t size_bytes = disk->size_bytes;
    int got = size_bytes <= sizeof(tail)
                  ? 0
                  : layout_try_read(disk, size_bytes - sizeof(tail), tail, sizeof(tail), err);
    if (got < 0) {
        return -1;
    }
    const char *container = content_container(head, len, got == 1 ? tail : NULL);
    if (container != NULL) {
        add_bare_volume(layout, size_bytes);
        content_set_container(&layout->partitions[0], container, disk->path);
        return 0;
    }
    if (got == 1 && content_is_fixed_vhd(tail)) {
        layout_warn(layout, "a fixed VHD: the raw disk before its footer is read");
        size_bytes -= sizeof(tail);
    }
    if (table_read(disk, head, len, size_bytes, layout, err) != 0) {
        return error_add(err, "%s", disk->path);
    }
    if (layout->table[0] == '\0') {
        add_bare_volume(layout, size_bytes);
    }
    if (look_at_all(disk, layout, err) != 0) {
        return -1;
    }
    if (layout->count == 0 && strcmp(layout->table, "mbr") == 0 &&
        prefer_bare_volume(disk, layout, err) != 0) {
        return -1;
    }
    table_check(disk, head, len, layout);
    return 0;
}

void disk_layout_clear(struct disk_layout *layout)
{
    free(layout->partitions);
    *layout = (struct disk_layout){0};
}

struct disk_partition *layout_append(struct disk_layout *layout)
{
    if (layout->count >= DISK_PARTITION_MAX) {
        layout->left_out++;
        return NULL;
    }
    struct disk_partition *partition = &layout->partitions[layout->count++];
    *partition = (struct disk_partition){0};
    return partition;
}

static void add_left_out(struct disk_layout *layout)
{
    if (layout->left_out > 0) {
        layout_warn(layout, "more than %d partitions: the others are left out", DISK_PARTITION_MAX);
        struct disk_partition *rest = &layout->partitions[layout->count++];
        *rest = (struct disk_partition){0};
        content_set(rest, "left-out");
    }
}

void layout_warn(struct disk_layout *layout, const char *format, ...)
{
    va_list arguments;

    if (layout->warning_count < DISK_WARNING_MAX) {
        char *to = layout->warnings[layout->warning_count++];
        va_start(arguments, format);
        (void)vsnprintf(to, sizeof(layout->warnings[0]), format, arguments); /* may be cut */
        va_end(arguments);
    }
}

int layout_try_read(struct disk *disk, uint64_t offset, void *buf, size_t len, struct error *err)
{
    struct error cause = {0};

    if (disk_read(disk, offset, buf, len, &cause) == 0) {
        return 1;
    }
    if (cause.kind == ERROR_FAIL_ENTRY) {
        return 0;
    }
    if (err != NULL) {
        *err = cause;
    }
    return -1;
}

static void add_bare_volume(struct disk_layout *layout, uint64_t size_bytes)
{
    struct disk_partition *partition = layout_append(layout);
    probe_copy_text(layout->table, sizeof(layout->table), "none");
    partition->size_bytes = size_bytes;
}

/* An MBR without partitions may be the boot sector of a file system that only libblkid knows. */
static int prefer_bare_volume(struct disk *disk, struct disk_layout *layout, struct error *err)
{
    struct disk_partition bare = {.size_bytes = disk->size_bytes};

    if (look_at_content(disk, &bare, err) != 0) {
        return -1;
    }
    if (bare.content != DISK_UNKNOWN && bare.content != DISK_EMPTY) {
        add_bare_volume(layout, disk->size_bytes);
        layout->partitions[0] = bare;
    }
    return 0;
}

static int look_at_all(struct disk *disk, struct disk_layout *layout, struct error *err)
{
    int dynamic = has_private_header(disk, err);

    if (dynamic < 0) {
        return -1;
    }
    for (size_t i = 0; i < layout->count; i++) {
        struct disk_partition *partition = &layout->partitions[i];
        uint64_t end = 0;
        bool overflows = add_overflows(partition->offset_bytes, partition->size_bytes, &end);
        partition->beyond_device = overflows || end > disk->size_bytes;
        if (partition->beyond_device) {
            partition->beyond_bytes = (overflows ? UINT64_MAX : end) - disk->size_bytes;
        }
        bool known = content_by_type(partition, dynamic == 1);
        if (!known && partition->kind == NULL && look_at_content(disk, partition, err) != 0) {
            return -1;
        }
        content_by_type_at_last(partition);
    }
    return 0;
}

static int look_at_content(struct disk *disk, struct disk_partition *partition, struct error *err)
{
    uint64_t room =
        partition->offset_bytes < disk->size_bytes ? disk->size_bytes - partition->offset_bytes : 0;
    uint64_t size = partition->size_bytes < room ? partition->size_bytes : room;
    size_t len = size < CONTENT_HEAD_BYTES ? (size_t)size : CONTENT_HEAD_BYTES;
    bool first_good = false;
    bool all_good = false;
    struct error cause = {0};

    if (len == 0) {
        content_set(partition, "beyond");
        return 0;
    }
    CLEANUP_FREE uint8_t *head = calloc(1, CONTENT_HEAD_BYTES);
    if (head == NULL) {
        return error_memory(err, disk->path);
    }
    if (read_head(disk, partition->offset_bytes, head, len, &first_good, &all_good, &cause) != 0) {
        if (cause.kind != ERROR_FAIL_ENTRY) {
            if (err != NULL) {
                *err = cause;
            }
            return -1;
        }
        content_set(partition, "unreadable");
        return 0;
    }
    if (first_good && content_recognise(head, len, partition)) {
        /* For the label, which may be missing. */
        return partition->content == DISK_NTFS && probe_content(disk, partition, err) < 0 ? -1 : 0;
    }
    int found = first_good ? probe_content(disk, partition, err) : 0;
    if (found == 0) {
        found = look_behind_head(disk, partition, err);
    }
    if (found == 0) {
        bool zero = first_good && all_good && content_is_zero(head, len);
        content_set(partition, !first_good ? "unreadable" : zero ? "empty" : "unknown");
    }
    return found < 0 ? -1 : 0;
}

/* 1: something was found. */
static int look_behind_head(struct disk *disk, struct disk_partition *partition, struct error *err)
{
    int found = has_backup_boot_sector(disk, partition, err);

    if (found == 1) {
        content_set(partition, "ntfs-damaged");
    }
    return found;
}

/* NTFS keeps one in the last sector of its partition. A volume that was formatted anew with another
 * file system may have it still, so that libblkid is asked first. */
static int has_backup_boot_sector(struct disk *disk, const struct disk_partition *partition,
                                  struct error *err)
{
    uint8_t sector[512];
    uint64_t sector_bytes = disk->sector_bytes;

    if (partition->beyond_device || partition->size_bytes < 2 * sector_bytes) {
        return 0;
    }
    uint64_t last = partition->offset_bytes + partition->size_bytes - sector_bytes;
    int got = layout_try_read(disk, last, sector, sizeof(sector), err);
    return got == 1 ? content_is_ntfs_boot_sector(sector) : got;
}

static int has_private_header(struct disk *disk, struct error *err)
{
    uint8_t sector[512];
    int got = layout_try_read(disk, CONTENT_PRIVATE_HEADER_OFFSET, sector, sizeof(sector), err);

    return got == 1 ? content_is_private_header(sector) : got;
}

/* The first bytes of the disk or of a partition. One bad sector there must not hide the rest: what
 * cannot be read is zero. Fails when nothing can be read. */
static int read_head(struct disk *disk, uint64_t offset, uint8_t *head, size_t len,
                     bool *ret_first_good, bool *ret_all_good, struct error *err)
{
    struct error cause = {0};
    size_t good = 0;

    if (disk_read(disk, offset, head, len, &cause) == 0) {
        *ret_first_good = true;
        *ret_all_good = true;
        return 0;
    }
    for (size_t at = 0; at < len && cause.kind == ERROR_FAIL_ENTRY; at += HEAD_PIECE_BYTES) {
        size_t piece = len - at < HEAD_PIECE_BYTES ? len - at : HEAD_PIECE_BYTES;
        struct error ignored = {0};
        if (disk_read(disk, offset + at, head + at, piece, &ignored) == 0) {
            *ret_first_good = *ret_first_good || at == 0;
            good++;
        } else if (ignored.kind != ERROR_FAIL_ENTRY) {
            cause = ignored;
        } else {
            memset(head + at, 0, piece);
        }
    }
    if (good > 0 && cause.kind == ERROR_FAIL_ENTRY) {
        return 0;
    }
    if (err != NULL) {
        *err = cause;
    }
    return -1;
}
