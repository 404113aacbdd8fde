/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * An open disk and the one read through which every byte of a source passes. What stands on the
 * disk is layout.c's business.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/fs.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>

#include "disk/disk_internal.h"

#define SECTOR_BYTES_DEFAULT 512
#define SECTOR_BYTES_LARGE 4096
/* One pread takes at most this much: Linux itself stops a read short of 2 GiB. */
#define READ_MAX_BYTES (UINT64_C(1) << 30)
/* No errno: the read met an end of file before the size that the disk had when it was opened. */
#define CAUSE_ENDED (-1)

static int open_path(struct disk *disk, struct error *err);
static int find_size(struct disk *disk, const struct stat *st, struct error *err);
static uint32_t guess_sector_bytes(int fd, uint64_t size_bytes);
static int read_some(struct disk *disk, uint64_t offset, void *buf, size_t len, ssize_t *ret_count);
static int fail_read(struct disk *disk, uint64_t offset, int cause, struct error *err);
static bool reads_nowhere(struct disk *disk);

struct disk *disk_open(const char *path, struct error *err)
{
    struct disk *disk = calloc(1, sizeof(*disk));
    if (disk == NULL) {
        (void)error_memory(err, path);
        return NULL;
    }
    disk->fd = -1;
    disk->path = strdup(path);
    if (disk->path == NULL) {
        (void)error_memory(err, path);
        disk_free(disk);
        return NULL;
    }
    if (open_path(disk, err) != 0) {
        disk_free(disk);
        return NULL;
    }
    return disk;
}

void disk_free(struct disk *disk)
{
    if (disk == NULL) {
        return;
    }
    if (disk->fd >= 0) {
        (void)close(disk->fd); /* read only: nothing can be lost */
    }
    free(disk->path);
    free(disk);
}

const char *disk_path(const struct disk *disk)
{
    return disk->path;
}

uint64_t disk_size_bytes(const struct disk *disk)
{
    return disk->size_bytes;
}

uint32_t disk_sector_bytes(const struct disk *disk)
{
    return disk->sector_bytes;
}

int disk_read(struct disk *disk, uint64_t offset, void *buf, size_t len, struct error *err)
{
    uint8_t *to = buf;
    uint64_t end = 0;

    if (add_overflows(offset, len, &end) || end > disk->size_bytes) {
        return error_entry(
            err, "bad-sector", "%s: byte %llu lies behind the end of the device (%llu bytes)",
            disk->path, (unsigned long long)offset, (unsigned long long)disk->size_bytes);
    }
    if (disk->cancel != NULL && *disk->cancel) {
        return error_cancelled(err);
    }
    while (len > 0) {
        ssize_t count = 0;
        int cause = read_some(disk, offset, to, len, &count);
        if (cause != 0) {
            return fail_read(disk, offset, cause, err);
        }
        to += count;
        offset += (uint64_t)count;
        len -= (size_t)count;
    }
    return 0;
}

void disk_set_cancel(struct disk *disk, const _Atomic bool *cancel)
{
    disk->cancel = cancel;
}

void disk_set_fault(struct disk *disk, int (*fault)(void *self, uint64_t offset, size_t len),
                    void *self)
{
    disk->fault = fault;
    disk->fault_self = self;
}

uint64_t disk_blocked_ms(struct disk *disk, uint64_t *ret_offset)
{
    return blocked_now_ms(&disk->blocked, ret_offset);
}

static int open_path(struct disk *disk, struct error *err)
{
    struct stat st;

    /* O_NONBLOCK, so that a FIFO does not hang; it changes nothing for files and block devices. */
    disk->fd = open(disk->path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
    if (disk->fd < 0) {
        int cause = errno;
        const char *next = "";
        if (cause == EMFILE || cause == ENFILE || cause == ENOMEM) {
            return error_stop(err, EXIT_STATUS_TEMPORARY,
                              "%s: cannot open it: %s; raise that limit, the same command tries "
                              "again",
                              disk->path, strerror(cause));
        }
        if (cause == EACCES || cause == EPERM) {
            next = "; run winch as root, or give yourself the right to read it";
        } else if (cause == ENOENT || cause == ENOTDIR) {
            next = "; 'winch disks' lists the attached disks";
        } else if (cause == ENXIO || cause == ENODEV || cause == ENOMEDIUM) {
            next = "; the device is gone: attach the disk and try again";
        }
        return error_stop(err, EXIT_STATUS_SOURCE, "%s: cannot open it: %s%s", disk->path,
                          strerror(cause), next);
    }
    if (fstat(disk->fd, &st) != 0) {
        return error_stop(err, EXIT_STATUS_SOURCE, "%s: cannot look at it: %s", disk->path,
                          strerror(errno));
    }
    return find_size(disk, &st, err);
}

static int find_size(struct disk *disk, const struct stat *st, struct error *err)
{
    if (S_ISDIR(st->st_mode)) {
        return error_stop(
            err, EXIT_STATUS_SOURCE,
            "%s: is a directory; give a block device such as /dev/sdb or an image file",
            disk->path);
    }
    if (S_ISBLK(st->st_mode)) {
        int sector_bytes = 0;
        if (ioctl(disk->fd, BLKGETSIZE64, &disk->size_bytes) != 0) {
            return error_stop(err, EXIT_STATUS_SOURCE, "%s: cannot ask for its size: %s",
                              disk->path, strerror(errno));
        }
        if (ioctl(disk->fd, BLKSSZGET, &sector_bytes) != 0 || sector_bytes < SECTOR_BYTES_DEFAULT) {
            sector_bytes = SECTOR_BYTES_DEFAULT;
        }
        disk->sector_bytes = (uint32_t)sector_bytes;
    } else if (S_ISREG(st->st_mode)) {
        disk->size_bytes = (uint64_t)st->st_size;
        disk->sector_bytes = guess_sector_bytes(disk->fd, disk->size_bytes);
    } else {
        return error_stop(err, EXIT_STATUS_SOURCE,
                          "%s: is neither a block device nor a file; give a block device such as "
                          "/dev/sdb or a raw image file",
                          disk->path);
    }
    if (disk->size_bytes == 0) {
        return error_stop(err, EXIT_STATUS_SOURCE,
                          "%s: is empty (0 bytes); give a disk with a Windows volume or an image "
                          "file of one",
                          disk->path);
    }
    return 0;
}

/* A GPT stands in the second sector and in the last, which tells the sector size of a disk kept in
 * a file. */
static uint32_t guess_sector_bytes(int fd, uint64_t size_bytes)
{
    static const char signature[8] = {'E', 'F', 'I', ' ', 'P', 'A', 'R', 'T'};
    const struct {
        uint64_t offset;
        uint32_t sector_bytes;
    } places[] = {
        {SECTOR_BYTES_DEFAULT, SECTOR_BYTES_DEFAULT},
        {SECTOR_BYTES_LARGE, SECTOR_BYTES_LARGE},
        {size_bytes - SECTOR_BYTES_DEFAULT, SECTOR_BYTES_DEFAULT},
        {size_bytes - SECTOR_BYTES_LARGE, SECTOR_BYTES_LARGE},
    };
    char found[8];

    for (size_t i = 0; i < ARRAY_LEN(places) && size_bytes > SECTOR_BYTES_LARGE; i++) {
        if (pread(fd, found, sizeof(found), (off_t)places[i].offset) == (ssize_t)sizeof(found) &&
            memcmp(found, signature, sizeof(found)) == 0) {
            return places[i].sector_bytes;
        }
    }
    return SECTOR_BYTES_DEFAULT;
}

/* One pread with the watchdog's book kept. Returns 0 and a positive count, or the errno. */
static int read_some(struct disk *disk, uint64_t offset, void *buf, size_t len, ssize_t *ret_count)
{
    struct blocked_slot *slot = blocked_begin(&disk->blocked, offset);
    int cause = 0;
    ssize_t count = 0;

    if (disk->fault != NULL) {
        cause = disk->fault(disk->fault_self, offset, len);
    }
    if (cause == 0) {
        do {
            count =
                pread(disk->fd, buf, len > READ_MAX_BYTES ? READ_MAX_BYTES : len, (off_t)offset);
        } while (count < 0 && errno == EINTR);
        if (count < 0) {
            cause = errno;
        } else if (count == 0) {
            cause = CAUSE_ENDED;
        }
    }
    blocked_end(slot);
    *ret_count = count;
    return cause;
}

static int fail_read(struct disk *disk, uint64_t offset, int cause, struct error *err)
{
    /* A device that was detached has size 0, and an image that was cut is no longer the source that
     * the run began with: neither is the fault of one entry. */
    if (cause == CAUSE_ENDED) {
        return error_stop(err, EXIT_STATUS_SOURCE,
                          "%s: ends at byte %llu or before, it was longer when it was opened: the "
                          "device is gone or the image was cut; attach it and run the same command "
                          "again",
                          disk->path, (unsigned long long)offset);
    }
    if (cause == ENOMEM) {
        return error_memory(err, disk->path);
    }
    bool gone = cause == ENODEV || cause == ENXIO || cause == ENOMEDIUM || reads_nowhere(disk);
    if (gone) {
        return error_stop(err, EXIT_STATUS_SOURCE,
                          "%s: the device is gone (%s at byte %llu); attach it and run the same "
                          "command again",
                          disk->path, strerror(cause), (unsigned long long)offset);
    }
    return error_entry(err, "bad-sector", "%s: cannot read at byte %llu: %s", disk->path,
                       (unsigned long long)offset, strerror(cause));
}

/* A device that fails at its start, its middle and its end is gone, whatever its errno says. What
 * the kernel still holds in memory of these places says nothing about the device. */
static bool reads_nowhere(struct disk *disk)
{
    uint64_t last = disk->size_bytes - 1;
    uint64_t places[] = {0, disk->size_bytes / 4, disk->size_bytes / 2, last - last / 4, last};

    for (size_t i = 0; i < ARRAY_LEN(places); i++) {
        uint8_t byte = 0;
        ssize_t count = 0;
        (void)posix_fadvise(disk->fd, (off_t)places[i], 1, POSIX_FADV_DONTNEED); /* a hint */
        if (read_some(disk, places[i], &byte, 1, &count) == 0) {
            return false;
        }
    }
    return true;
}
