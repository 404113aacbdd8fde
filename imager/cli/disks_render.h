/* SPDX-License-Identifier: GPL-3.0-or-later */
/* disks_render: one disk and its partitions, in lines for people and as JSON. Pure text, but for
 * disks_look(). */
#ifndef WINCH_DISKS_RENDER_H
#define WINCH_DISKS_RENDER_H

#include "disk/disk.h"

#define DISKS_REMARK_MAX 5

/* What a look into an NTFS volume gave, beyond its first bytes. */
struct disks_state {
    /* "clean", "dirty", "hibernated", "cached", "log" (changes wait in it), "damaged" (winch cannot
     * open it); NULL: no NTFS */
    const char *word;
    const char *remarks[DISKS_REMARK_MAX]; /* static sentences */
    size_t remark_count;
    char problem[1100]; /* of a damaged one */
    char label[256];
};

/* Open the volume and look. That it cannot be opened is a state; -1 only where that says nothing
 * about it: no memory, cancelled. */
int disks_look(struct disk *disk, const struct disk_partition *partition,
               struct disks_state *ret_state, struct error *err) WARN_UNUSED;

/* Borrowed strings; "" where nothing is known. */
struct disks_entry {
    const char *path;
    const char *model;
    const char *by_id;
    bool is_system;
    uint64_t size_bytes;
    uint32_t sector_bytes;
    const struct disk_layout *layout; /* NULL: could not be read, and `error` says why */
    const struct disks_state *states; /* one for each partition, or NULL */
    const char *error;
};

void disks_render(struct text *text, const struct disks_entry *disk);
void disks_render_json(struct text *text, const struct disks_entry *disk);

#endif
