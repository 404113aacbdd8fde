/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The device that libntfs-3g sees: a window of our disk, read-only, with the overlay that makes
 * $MFT and its mirror alike. Errors of the disk are kept, since errno says too little.
 */
#include <errno.h>

#include "volume/mount_internal.h"

static int device_open(struct ntfs_device *device, int flags);
static int device_close(struct ntfs_device *device);
static s64 device_seek(struct ntfs_device *device, s64 offset, int whence);
static s64 device_read(struct ntfs_device *device, void *buf, s64 count);
static s64 device_write(struct ntfs_device *device, const void *buf, s64 count);
static s64 device_pread(struct ntfs_device *device, void *buf, s64 count, s64 offset);
static s64 device_pwrite(struct ntfs_device *device, const void *buf, s64 count, s64 offset);
static int device_sync(struct ntfs_device *device);
static int device_stat(struct ntfs_device *device, struct stat *st);
static int device_ioctl(struct ntfs_device *device, unsigned long request, void *argument);

struct ntfs_device *mount_device_new(struct mount *mount)
{
    static struct ntfs_device_operations operations = {
        .open = device_open,
        .close = device_close,
        .seek = device_seek,
        .read = device_read,
        .write = device_write,
        .pread = device_pread,
        .pwrite = device_pwrite,
        .sync = device_sync,
        .stat = device_stat,
        .ioctl = device_ioctl,
    };
    return ntfs_device_alloc(disk_path(mount->volume->disk), 0, &operations, mount);
}

static int device_open(struct ntfs_device *device, int flags)
{
    (void)flags; /* there is only one way to open it */
    if (NDevOpen(device)) {
        errno = EBUSY;
        return -1;
    }
    NDevSetReadOnly(device);
    NDevSetOpen(device);
    return 0;
}

static int device_close(struct ntfs_device *device)
{
    if (!NDevOpen(device)) {
        errno = EBADF;
        return -1;
    }
    NDevClearOpen(device);
    return 0;
}

static s64 device_seek(struct ntfs_device *device, s64 offset, int whence)
{
    struct mount *mount = device->d_private;
    s64 size = (s64)mount->volume->size_bytes;
    s64 base = whence == SEEK_SET ? 0 : whence == SEEK_CUR ? (s64)mount->position : size;
    s64 target = 0;

    if (__builtin_add_overflow(base, offset, &target) || target < 0 || target > size) {
        errno = EINVAL;
        return -1;
    }
    mount->position = (uint64_t)target;
    return target;
}

static s64 device_read(struct ntfs_device *device, void *buf, s64 count)
{
    struct mount *mount = device->d_private;
    s64 done = device_pread(device, buf, count, (s64)mount->position);

    if (done > 0) {
        mount->position += (uint64_t)done;
    }
    return done;
}

static s64 device_write(struct ntfs_device *device, const void *buf, s64 count)
{
    (void)device;
    (void)buf;
    (void)count;
    errno = EROFS;
    return -1;
}

static s64 device_pread(struct ntfs_device *device, void *buf, s64 count, s64 offset)
{
    struct mount *mount = device->d_private;
    struct volume *volume = mount->volume;
    uint8_t *to = buf;

    if (count < 0 || offset < 0) {
        errno = EINVAL;
        return -1;
    }
    if ((uint64_t)offset >= volume->size_bytes) {
        return 0;
    }
    uint64_t rest = volume->size_bytes - (uint64_t)offset;
    uint64_t wanted = (uint64_t)count < rest ? (uint64_t)count : rest;
    for (uint64_t done = 0; done < wanted;) {
        uint64_t len = 0;
        uint64_t from = overlay_map(&volume->overlay, (uint64_t)offset + done, wanted - done, &len);
        if (disk_read(volume->disk, volume->offset_bytes + from, to + done, (size_t)len,
                      &mount->fault) != 0) {
            mount->has_fault = true;
            errno = EIO;
            return -1;
        }
        done += len;
    }
    return (s64)wanted;
}

static s64 device_pwrite(struct ntfs_device *device, const void *buf, s64 count, s64 offset)
{
    (void)offset;
    return device_write(device, buf, count);
}

static int device_sync(struct ntfs_device *device)
{
    (void)device; /* nothing was written */
    return 0;
}

static int device_stat(struct ntfs_device *device, struct stat *st)
{
    struct mount *mount = device->d_private;

    *st = (struct stat){.st_mode = S_IFREG | S_IRUSR, .st_size = (off_t)mount->volume->size_bytes};
    return 0;
}

static int device_ioctl(struct ntfs_device *device, unsigned long request, void *argument)
{
    (void)device;
    (void)request;
    (void)argument;
    errno = EOPNOTSUPP;
    return -1;
}
