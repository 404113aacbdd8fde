/* SPDX-License-Identifier: GPL-3.0-or-later */
/* disks_render: one disk and its partitions, in lines for people and as JSON. Pure text. */
#ifndef WINCH_DISKS_RENDER_H
#define WINCH_DISKS_RENDER_H

#include "disk/disk.h"

/* Borrowed strings; "" where nothing is known. */
struct disks_entry {
    const char *path;
    const char *model;
    const char *by_id;
    bool is_system;
    uint64_t size_bytes;
    uint32_t sector_bytes;
    const struct disk_layout *layout; /* NULL: could not be read, and `error` says why */
    const char *error;
};

void disks_render(struct text *text, const struct disks_entry *disk);
void disks_render_json(struct text *text, const struct disks_entry *disk);

#endif
