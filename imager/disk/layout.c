/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The layout of a disk: which table, which partitions, what is on each. Decides between libblkid
 * (probe.c) and our own looks (content.c, gpt.c).
 */
#include <stdarg.h>
#include <string.h>

#include "disk/disk_internal.h"

#define VHD_FOOTER_BYTES 512
#define HEAD_PIECE_BYTES 512

static int read_table(struct disk *disk, const uint8_t *head, size_t len,
                      struct disk_layout *layout, struct error *err);
static bool use_own_gpt(struct disk *disk, uint64_t at, struct disk_layout *layout);
static void warn_about_gpt(struct disk *disk, struct disk_layout *layout);
static void add_bare_volume(struct disk_layout *layout, uint64_t size_bytes);
static void prefer_bare_volume(struct disk *disk, struct disk_layout *layout);
static void look_at_all(struct disk *disk, struct disk_layout *layout);
static void look_at_content(struct disk *disk, struct disk_partition *partition);
static bool has_backup_boot_sector(struct disk *disk, const struct disk_partition *partition);
static bool has_private_header(struct disk *disk);
static int read_head(struct disk *disk, uint64_t offset, uint8_t *head, size_t len,
                     bool *ret_first_good, bool *ret_all_good, struct error *err);

int disk_read_layout(struct disk *disk, struct disk_layout *ret_layout, struct error *err)
{
    size_t len =
        disk->size_bytes < CONTENT_HEAD_BYTES ? (size_t)disk->size_bytes : CONTENT_HEAD_BYTES;
    CLEANUP_FREE uint8_t *head = calloc(1, CONTENT_HEAD_BYTES);
    CLEANUP(disk_layout_clear) struct disk_layout layout = {0};
    uint8_t tail[VHD_FOOTER_BYTES];
    bool has_tail = disk->size_bytes > sizeof(tail) &&
                    disk_read(disk, disk->size_bytes - sizeof(tail), tail, sizeof(tail), NULL) == 0;

    layout.partitions = calloc(DISK_PARTITION_MAX, sizeof(*layout.partitions));
    if (head == NULL || layout.partitions == NULL) {
        return error_memory(err, disk->path);
    }
    bool first_good = false;
    bool all_good = false;
    if (read_head(disk, 0, head, len, &first_good, &all_good, err) != 0) {
        (void)error_add(err, "partition table");
        if (err != NULL) {
            err->kind = ERROR_STOP_RUN;
            err->exit_status = EXIT_STATUS_SOURCE;
        }
        return -1;
    }
    const char *container = content_container(head, len, has_tail ? tail : NULL);
    if (container != NULL) {
        add_bare_volume(&layout, disk->size_bytes);
        content_set_container(&layout.partitions[0], container, disk->path);
    } else {
        if (read_table(disk, head, len, &layout, err) != 0) {
            return -1;
        }
        bool is_fixed_vhd = has_tail && content_is_fixed_vhd(tail);
        if (is_fixed_vhd) {
            layout_warn(&layout, "a fixed VHD: the raw disk before its footer is read");
        }
        if (layout.table[0] == '\0') {
            add_bare_volume(&layout, disk->size_bytes - (is_fixed_vhd ? sizeof(tail) : 0));
        }
        look_at_all(disk, &layout);
        if (layout.count == 0) {
            prefer_bare_volume(disk, &layout);
        }
        table_check(disk, head, len, &layout);
    }
    *ret_layout = layout;
    layout = (struct disk_layout){0};
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
        if (!layout->is_full) {
            layout_warn(layout, "more than %d partitions: the others are left out",
                        DISK_PARTITION_MAX);
        }
        layout->is_full = true;
        return NULL;
    }
    struct disk_partition *partition = &layout->partitions[layout->count++];
    *partition = (struct disk_partition){0};
    return partition;
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

/* Leaves layout->table empty when there is none. */
static int read_table(struct disk *disk, const uint8_t *head, size_t len,
                      struct disk_layout *layout, struct error *err)
{
    struct disk_partition bare = {0};

    /* A boot sector ends with the same two bytes as a partition table, so it is looked at first. It
     * may be left over from before the disk was partitioned: behind one that counts there is more
     * boot code and no GPT. */
    if (content_recognise(head, len, &bare)) {
        (void)use_own_gpt(disk, 1, layout); /* without one it is a bare volume */
        return 0;
    }
    if (probe_table(disk, layout, err) != 0) {
        return error_add(err, "%s", disk->path);
    }
    if (strcmp(layout->table, "gpt") == 0) {
        warn_about_gpt(disk, layout);
        return 0;
    }
    if (layout->table[0] != '\0') {
        return 0;
    }
    /* libblkid says nothing about a GPT that is larger than the device or lacks its MBR. */
    if (use_own_gpt(disk, 1, layout)) {
        return 0;
    }
    uint64_t sectors = disk->size_bytes / disk->sector_bytes;
    if (sectors > 2 && use_own_gpt(disk, sectors - 1, layout)) {
        layout_warn(layout, "the first GPT is damaged, its backup was used");
        return 0;
    }
    if (table_is_protective(head, len)) {
        layout_warn(layout, "both GPTs are damaged: their partitions cannot be found; 'gdisk' or "
                            "'testdisk' on a copy of the disk may restore them");
    }
    return 0;
}

static bool use_own_gpt(struct disk *disk, uint64_t at, struct disk_layout *layout)
{
    struct gpt_header header;
    CLEANUP_FREE uint8_t *entries = NULL;

    if (!gpt_read(disk, at, &header, &entries)) {
        return false;
    }
    probe_copy_text(layout->table, sizeof(layout->table), "gpt");
    probe_copy_text(layout->disk_guid, sizeof(layout->disk_guid), header.guid);
    for (uint32_t i = 0; i < header.entry_count; i++) {
        struct disk_partition found = {.number = i + 1};
        if (gpt_parse_entry(entries + (size_t)i * header.entry_bytes, &header, disk->sector_bytes,
                            &found)) {
            struct disk_partition *partition = layout_append(layout);
            if (partition == NULL) {
                break;
            }
            *partition = found;
        }
    }
    uint64_t end = header.other_sector > at ? header.other_sector : at;
    if (end >= disk->size_bytes / disk->sector_bytes && end < UINT64_MAX / disk->sector_bytes) {
        layout->is_cut = true;
        layout_warn(layout,
                    "the GPT was made for a disk of %llu bytes, but only %llu are here: the image "
                    "or the device is cut off",
                    (unsigned long long)((end + 1) * disk->sector_bytes),
                    (unsigned long long)disk->size_bytes);
    }
    return true;
}

/* libblkid falls back to the backup without saying so. */
static void warn_about_gpt(struct disk *disk, struct disk_layout *layout)
{
    struct gpt_header header;
    CLEANUP_FREE uint8_t *entries = NULL;

    if (!gpt_read(disk, 1, &header, &entries)) {
        layout_warn(layout, "the first GPT is damaged, its backup was used");
    }
}

static void add_bare_volume(struct disk_layout *layout, uint64_t size_bytes)
{
    struct disk_partition *partition = layout_append(layout);
    probe_copy_text(layout->table, sizeof(layout->table), "none");
    partition->size_bytes = size_bytes;
}

/* A boot sector ends like an MBR, and libblkid takes some for a table without partitions. */
static void prefer_bare_volume(struct disk *disk, struct disk_layout *layout)
{
    struct disk_partition bare = {.size_bytes = disk->size_bytes};

    look_at_content(disk, &bare);
    if (bare.content != DISK_UNKNOWN && bare.content != DISK_EMPTY) {
        add_bare_volume(layout, disk->size_bytes);
        layout->partitions[0] = bare;
    }
}

static void look_at_all(struct disk *disk, struct disk_layout *layout)
{
    bool dynamic = has_private_header(disk);

    for (size_t i = 0; i < layout->count; i++) {
        struct disk_partition *partition = &layout->partitions[i];
        uint64_t end = 0;
        bool overflows = add_overflows(partition->offset_bytes, partition->size_bytes, &end);
        partition->beyond_device = overflows || end > disk->size_bytes;
        if (partition->beyond_device) {
            partition->beyond_bytes = (overflows ? UINT64_MAX : end) - disk->size_bytes;
        }
        if (!content_by_type(partition, dynamic)) {
            look_at_content(disk, partition);
        }
    }
}

static void look_at_content(struct disk *disk, struct disk_partition *partition)
{
    uint64_t room =
        partition->offset_bytes < disk->size_bytes ? disk->size_bytes - partition->offset_bytes : 0;
    uint64_t size = partition->size_bytes < room ? partition->size_bytes : room;
    size_t len = size < CONTENT_HEAD_BYTES ? (size_t)size : CONTENT_HEAD_BYTES;
    CLEANUP_FREE uint8_t *head = calloc(1, CONTENT_HEAD_BYTES);
    bool first_good = false;
    bool all_good = false;

    if (len == 0) {
        content_set(partition, "beyond");
        return;
    }
    if (head == NULL ||
        read_head(disk, partition->offset_bytes, head, len, &first_good, &all_good, NULL) != 0) {
        content_set(partition, "unreadable");
        return;
    }
    if (first_good && content_recognise(head, len, partition)) {
        if (partition->content == DISK_NTFS) {
            (void)probe_content(disk, partition); /* for the label, which may be missing */
        }
        return;
    }
    if (first_good && probe_content(disk, partition)) {
        return;
    }
    if (has_backup_boot_sector(disk, partition)) {
        content_set(partition, "ntfs-damaged");
        return;
    }
    if (!first_good) {
        content_set(partition, "unreadable");
        return;
    }
    content_set(partition, all_good && content_is_zero(head, len) ? "empty" : "unknown");
}

/* NTFS keeps one in the last sector of its partition. A volume that was formatted anew with another
 * file system may have it still, so that libblkid is asked first. */
static bool has_backup_boot_sector(struct disk *disk, const struct disk_partition *partition)
{
    uint8_t sector[512];
    uint64_t sector_bytes = disk->sector_bytes;

    if (partition->beyond_device || partition->size_bytes < 2 * sector_bytes) {
        return false;
    }
    uint64_t last = partition->offset_bytes + partition->size_bytes - sector_bytes;
    return disk_read(disk, last, sector, sizeof(sector), NULL) == 0 &&
           content_is_ntfs_boot_sector(sector);
}

static bool has_private_header(struct disk *disk)
{
    uint8_t sector[512];

    return disk_read(disk, CONTENT_PRIVATE_HEADER_OFFSET, sector, sizeof(sector), NULL) == 0 &&
           content_is_private_header(sector);
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
