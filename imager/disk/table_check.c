/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What looks wrong about a partition table: two tables that may disagree, partitions that share
 * bytes or end behind the device. Nothing is refused for it; the user decides.
 */
#include <string.h>

#include "disk/disk_internal.h"

#define MBR_ENTRIES_OFFSET 446
#define MBR_ENTRIES_END 510
#define MBR_ENTRY_BYTES 16
#define MBR_TYPE_PROTECTIVE 0xEE

static bool has_other_entry(const uint8_t *head, size_t len);
static void warn_about_overlaps(struct disk_layout *layout);

void table_check(const struct disk *disk, const uint8_t *head, size_t len,
                 struct disk_layout *layout)
{
    bool is_gpt = strcmp(layout->table, "gpt") == 0;

    if (is_gpt && table_is_protective(head, len) && has_other_entry(head, len)) {
        layout_warn(layout, "a hybrid disk: it has an MBR with partitions of its own beside the "
                            "GPT; the GPT was used");
    } else if (is_gpt && !table_is_protective(head, len)) {
        layout_warn(layout, "the GPT has no protective MBR before it: another tool may have "
                            "partitioned the disk since; the GPT was used");
    }
    warn_about_overlaps(layout);
    uint64_t most = 0;
    for (size_t i = 0; i < layout->count; i++) {
        uint64_t beyond = layout->partitions[i].beyond_bytes;
        most = beyond > most ? beyond : most;
    }
    if (most > 0 && !layout->is_cut) {
        layout->is_cut = true;
        layout_warn(layout,
                    "%llu bytes are missing at the end of the device (it has %llu): the image or "
                    "the device is cut off",
                    (unsigned long long)most, (unsigned long long)disk->size_bytes);
    }
}

bool table_is_protective(const uint8_t *head, size_t len)
{
    if (len < 512 || head[510] != 0x55 || head[511] != 0xAA) {
        return false;
    }
    for (size_t at = MBR_ENTRIES_OFFSET; at < MBR_ENTRIES_END; at += MBR_ENTRY_BYTES) {
        if (head[at + 4] == MBR_TYPE_PROTECTIVE) {
            return true;
        }
    }
    return false;
}

/* A partition in the MBR that is not the one of a GPT disk. `len` was checked. */
static bool has_other_entry(const uint8_t *head, size_t len)
{
    for (size_t at = MBR_ENTRIES_OFFSET; len >= 512 && at < MBR_ENTRIES_END;
         at += MBR_ENTRY_BYTES) {
        if (head[at + 4] != 0 && head[at + 4] != MBR_TYPE_PROTECTIVE &&
            read_le32(head + at + 12) != 0) {
            return true;
        }
    }
    return false;
}

/* The first pair is enough to make people look. At most DISK_PARTITION_MAX squared steps. */
static void warn_about_overlaps(struct disk_layout *layout)
{
    for (size_t i = 0; i < layout->count; i++) {
        const struct disk_partition *a = &layout->partitions[i];
        for (size_t j = i + 1; j < layout->count; j++) {
            const struct disk_partition *b = &layout->partitions[j];
            bool apart = a->offset_bytes >= b->offset_bytes
                             ? a->offset_bytes - b->offset_bytes >= b->size_bytes
                             : b->offset_bytes - a->offset_bytes >= a->size_bytes;
            if (!apart) {
                layout_warn(layout,
                            "partitions %u and %u share bytes: the table is damaged, or one of "
                            "them is old",
                            a->number, b->number);
                return;
            }
        }
    }
}
