/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * disk: an attached device or an image file: its size, its partitions, what is on them, and the one
 * read through which every byte of a source passes.
 */
#ifndef WINCH_DISK_H
#define WINCH_DISK_H

#include "base/base.h"

struct disk;

/* Open a block device or a regular file, read-only. Errors are STOP_RUN, exit 6: no such file, a
 * directory, a character device, an empty file, no permission (says to run as root); each names the
 * path and what to give instead. The disk is never written. */
struct disk *disk_open(const char *path, struct error *err);
void disk_free(struct disk *disk); /* accepts NULL */

const char *disk_path(const struct disk *disk);
uint64_t disk_size_bytes(const struct disk *disk);
/* Logical sector size: of the device, or for a file 512 unless its GPT lies at byte 4096,
 * or its backup in the last 4096 bytes. */
uint32_t disk_sector_bytes(const struct disk *disk);

/* Exactly `len` bytes at `offset`; any alignment. Thread: any. Fails beyond the end, or on a read
 * error, as FAIL_ENTRY "bad-sector" naming device and offset; a vanished device (ENODEV, ENXIO, an
 * end where there was none, or errors at every place) as STOP_RUN exit 6. */
int disk_read(struct disk *disk, uint64_t offset, void *buf, size_t len,
              struct error *err) WARN_UNUSED;

/* While *cancel is true, every further read fails as CANCELLED: long scans end. Borrowed; set
 * before threads start. */
void disk_set_cancel(struct disk *disk, const _Atomic bool *cancel);

/* For tests: asked before each read; non-zero is the errno with which that read fails. Set before
 * threads start. */
void disk_set_fault(struct disk *disk, int (*fault)(void *self, uint64_t offset, size_t len),
                    void *self);

/* The read under way that has taken longest, in milliseconds, and its offset; 0 when there is none:
 * for the watchdog. Any thread. */
uint64_t disk_blocked_ms(struct disk *disk, uint64_t *ret_offset);

/* ---- what stands on it ------------------------------------------------------------------- */

enum disk_content {
    DISK_UNKNOWN, /* first, so that what was never looked at is not taken for a volume */
    DISK_NTFS,
    DISK_BITLOCKER,
    DISK_DYNAMIC, /* Windows dynamic disk (LDM), MBR type 0x42 or GPT LDM types */
    DISK_STORAGE_SPACES,
    DISK_REFS,
    DISK_RESERVED,  /* cannot hold files: Microsoft reserved, BIOS boot, swap */
    DISK_CONTAINER, /* VHD, VHDX, qcow2, VMDK, packed file instead of a raw image */
    DISK_OTHER,     /* another file system that libblkid names */
    DISK_MEMBER,    /* a part of a RAID, of a volume group, or LUKS */
    DISK_DAMAGED,   /* NTFS by its backup boot sector, but not by the first */
    DISK_EMPTY,     /* all zeros at the start */
    DISK_UNREADABLE,
    DISK_LOST, /* the table has it, but not where it is: `kind` and `advice` say what is wrong */
};

/* Why a partition is not taken unless named. */
enum disk_role { DISK_ROLE_DATA, DISK_ROLE_RECOVERY, DISK_ROLE_SYSTEM };

struct disk_partition {
    unsigned number; /* as in the table; 0: the bare device is one volume, or has none (lost) */
    uint64_t offset_bytes;
    uint64_t size_bytes;
    bool beyond_device;    /* ends behind the device's end */
    uint64_t beyond_bytes; /* by how much */
    enum disk_role role;
    enum disk_content content;
    const char *kind;      /* code of imager/disk/kinds.c: "ntfs", "bitlocker", "ext4", … */
    char content_name[64]; /* "NTFS", "BitLocker", "FAT32", "ext4", … */
    char type[64];         /* GPT type GUID or "0x07" */
    char guid[40];         /* GPT partition GUID or "" */
    char name[128];        /* GPT partition name, UTF-8, or "" */
    char label[256];       /* file system label, UTF-8, or "" */
    char serial[32];       /* NTFS volume serial, 16 hex digits upper case, or "" */
    char advice[320];      /* what the user can do when it is not NTFS, or "" */
};

/* More are left out: one entry of kind "left-out" behind them stands for them all. */
#define DISK_PARTITION_MAX 256
#define DISK_WARNING_MAX 12

struct disk_layout {
    char table[16]; /* "gpt", "mbr", "none" */
    char disk_guid[40];
    struct disk_partition *partitions;
    size_t count;
    char warnings[DISK_WARNING_MAX][256]; /* "the first GPT is damaged, its backup was used" */
    size_t warning_count;
    uint64_t left_out; /* partitions above DISK_PARTITION_MAX; of a chain it may be more */
    bool is_cut;       /* the device is shorter than its table says */
};

/* Our own reading of GPT, MBR and chains of extended partitions (at most 512 links), contents by
 * own looks at the first bytes and libblkid. Nothing that a table names is passed over: what is
 * broken is DISK_LOST. A valid table counts more than an old boot sector in sector 0, and what is
 * left aside is a warning. A bare volume gives one partition with number 0. Errors: STOP_RUN exit 6
 * only when nothing can be read at all or the device is gone, exit 75 without memory (never
 * DISK_UNREADABLE for that). Release with disk_layout_clear(). */
int disk_read_layout(struct disk *disk, struct disk_layout *ret_layout,
                     struct error *err) WARN_UNUSED;
void disk_layout_clear(struct disk_layout *layout);

/* Attached block devices that could be a source (no loop devices without a file, no RAM disks, no
 * zero-size ones): path such as /dev/sdb, size, model, by-id name. `each` returns -1 to stop. */
struct disk_device {
    char path[64];
    uint64_t size_bytes;
    char model[64];
    char by_id[128]; /* the google-… link if there is one, or "" */
    bool is_system;  /* holds the running system's root or is otherwise mounted */
};
int disk_list(int (*each)(void *self, const struct disk_device *device, struct error *err),
              void *self, struct error *err) WARN_UNUSED;

#endif
