/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The layout of a disk: which table, which partitions, what is on each. Decides between libblkid
 * (probe.c) and our own looks (content.c, gpt.c).
 */
#include <string.h>

#include "disk/disk_internal.h"

#define MBR_TYPE_PROTECTIVE 0xEE
#define VHD_FOOTER_BYTES 512
#define HEAD_PIECE_BYTES 512

static int read_table(struct disk *disk, const uint8_t *head, size_t len,
                      struct disk_layout *layout, struct error *err);
static bool use_own_gpt(struct disk *disk, uint64_t at, struct disk_layout *layout);
static void warn_about_gpt(struct disk *disk, struct disk_layout *layout);
static bool has_protective_entry(const uint8_t *head, size_t len);
static void add_bare_volume(struct disk_layout *layout, uint64_t size_bytes);
static void look_at_partition(struct disk *disk, bool has_private_header,
                              struct disk_partition *partition);
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
    struct disk_partition container = {0};
    if (content_container(head, len, has_tail ? tail : NULL, disk->path, &container)) {
        add_bare_volume(&layout, disk->size_bytes);
        content_set(&layout.partitions[0], container.content, container.content_name,
                    container.advice);
    } else {
        if (read_table(disk, head, len, &layout, err) != 0) {
            return -1;
        }
        bool is_fixed_vhd = has_tail && content_is_fixed_vhd(tail);
        if (is_fixed_vhd && layout.warning[0] == '\0') {
            probe_copy_text(layout.warning, sizeof(layout.warning),
                            "a fixed VHD: the raw disk before its footer is read");
        }
        if (layout.table[0] == '\0') {
            add_bare_volume(&layout, disk->size_bytes - (is_fixed_vhd ? sizeof(tail) : 0));
        }
        bool dynamic = has_private_header(disk);
        for (size_t i = 0; i < layout.count; i++) {
            look_at_partition(disk, dynamic, &layout.partitions[i]);
        }
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
        return NULL;
    }
    struct disk_partition *partition = &layout->partitions[layout->count++];
    *partition = (struct disk_partition){0};
    return partition;
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
        probe_copy_text(layout->warning, sizeof(layout->warning),
                        "the first GPT is damaged, its backup was used");
        return 0;
    }
    if (has_protective_entry(head, len)) {
        probe_copy_text(
            layout->warning, sizeof(layout->warning),
            "both GPTs are damaged: their partitions cannot be found; 'gdisk' on a copy "
            "of the disk may restore them");
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
        (void)snprintf(layout->warning, sizeof(layout->warning),
                       "the GPT was made for a disk of %llu bytes, but only %llu are here: the "
                       "image or the device is cut off",
                       (unsigned long long)((end + 1) * disk->sector_bytes),
                       (unsigned long long)disk->size_bytes); /* fits: two numbers and text */
    }
    return true;
}

/* libblkid falls back to the backup without saying so. */
static void warn_about_gpt(struct disk *disk, struct disk_layout *layout)
{
    struct gpt_header header;
    CLEANUP_FREE uint8_t *entries = NULL;

    if (!gpt_read(disk, 1, &header, &entries)) {
        probe_copy_text(layout->warning, sizeof(layout->warning),
                        "the first GPT is damaged, its backup was used");
    }
}

static bool has_protective_entry(const uint8_t *head, size_t len)
{
    if (len < 512 || head[510] != 0x55 || head[511] != 0xAA) {
        return false;
    }
    for (size_t at = 446; at < 510; at += 16) {
        if (head[at + 4] == MBR_TYPE_PROTECTIVE) {
            return true;
        }
    }
    return false;
}

static void add_bare_volume(struct disk_layout *layout, uint64_t size_bytes)
{
    struct disk_partition *partition = layout_append(layout);
    probe_copy_text(layout->table, sizeof(layout->table), "none");
    partition->size_bytes = size_bytes;
}

static void look_at_partition(struct disk *disk, bool dynamic, struct disk_partition *partition)
{
    static const char damaged[] = "nothing winch knows: if it should be NTFS, its boot sector is "
                                  "damaged; 'testdisk' on a copy can restore it from the backup";
    uint64_t end = 0;
    partition->beyond_device =
        add_overflows(partition->offset_bytes, partition->size_bytes, &end) ||
        end > disk->size_bytes;

    if (content_by_type(partition, dynamic)) {
        return;
    }
    uint64_t room =
        partition->offset_bytes < disk->size_bytes ? disk->size_bytes - partition->offset_bytes : 0;
    uint64_t size = partition->size_bytes < room ? partition->size_bytes : room;
    size_t len = size < CONTENT_HEAD_BYTES ? (size_t)size : CONTENT_HEAD_BYTES;
    CLEANUP_FREE uint8_t *head = calloc(1, CONTENT_HEAD_BYTES);
    bool first_good = false;
    bool all_good = false;
    if (head == NULL || len == 0 ||
        read_head(disk, partition->offset_bytes, head, len, &first_good, &all_good, NULL) != 0 ||
        !first_good) {
        content_set(partition, DISK_UNREADABLE, "unreadable",
                    len == 0 ? "lies behind the end of the device: the image is cut off"
                             : "its first bytes cannot be read: make a copy of the disk with "
                               "'ddrescue' and give winch the copy");
        return;
    }
    if (content_recognise(head, len, partition)) {
        if (partition->content == DISK_NTFS) {
            (void)probe_content(disk, partition); /* for the label, which may be missing */
        }
        return;
    }
    if (probe_content(disk, partition)) {
        return;
    }
    if (all_good && content_is_zero(head, len)) {
        content_set(partition, DISK_EMPTY, "empty", "only zeros: it was never formatted");
    } else {
        content_set(partition, DISK_UNKNOWN, "unknown", damaged);
    }
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
