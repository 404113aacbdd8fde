/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What the files mount*.c share: the library's headers and the mount itself.
 */
#ifndef WINCH_VOLUME_MOUNT_INTERNAL_H
#define WINCH_VOLUME_MOUNT_INTERNAL_H

/* Before any header of the library, which else defines struct timespec a second time. */
#include <stdarg.h>
#include <sys/stat.h>
#include <time.h>

#include <ntfs-3g/types.h>
#include <ntfs-3g/attrib.h>
#include <ntfs-3g/device.h>
#include <ntfs-3g/inode.h>
#include <ntfs-3g/logging.h>
#include <ntfs-3g/volume.h>

#include "volume/mount.h"

struct mount {
    struct volume *volume; /* borrowed */
    struct ntfs_device *device;
    ntfs_volume *ntfs;
    uint64_t position; /* for the library's read and seek */
    bool has_fault;    /* `fault` is the last failed read of the disk */
    struct error fault;
};

/* A device whose private data is the mount. NULL: out of memory. */
struct ntfs_device *mount_device_new(struct mount *mount);
/* Before a call of the library, and after one that failed: the disk's own error, else `reason` with
 * the words given. Returns -1. */
void mount_forget_fault(struct mount *mount);
int mount_fail(struct mount *mount, struct error *err, const char *what, int cause);

#endif
