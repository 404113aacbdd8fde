/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What looks wrong about a partition table: two tables that may disagree, partitions that share
 * bytes or end behind the device. Nothing is refused for it; the user decides.
 */
#include <string.h>

#include "disk/disk_internal.h"

static void warn_about_overlaps(struct disk_layout *layout);

void table_check(const struct disk *disk, const uint8_t *head, size_t len,
                 struct disk_layout *layout)
{
    bool is_gpt = strcmp(layout->table, "gpt") == 0;

    if (is_gpt && mbr_is_protective(head, len) && mbr_has_others(head, len)) {
        layout_warn(layout, "a hybrid disk: it has an MBR with partitions of its own beside the "
                            "GPT; the GPT was used");
    } else if (is_gpt && !mbr_is_protective(head, len)) {
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
            if (!apart && a->content != DISK_LOST && b->content != DISK_LOST) {
                layout_warn(layout,
                            "partitions %u and %u share bytes: the table is damaged, or one of "
                            "them is old",
                            a->number, b->number);
                return;
            }
        }
    }
}
