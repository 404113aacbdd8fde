/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * disk, private: the open disk, the watchdog's book of reads, and the looks at first bytes that
 * the files of this folder share.
 */
#ifndef WINCH_DISK_INTERNAL_H
#define WINCH_DISK_INTERNAL_H

#include <pthread.h>
#include <stdatomic.h>

#include "disk/disk.h"

/* ---- blocked.c: reads under way ------------------------------------------------------- */

/* More reads at one time than the largest number of workers; what finds no slot goes unwatched. */
#define BLOCKED_SLOTS 512

struct blocked_slot {
    _Atomic uint64_t started_ns; /* 0: free */
    _Atomic uint64_t offset;
    uint64_t padding[6]; /* one cache line each, so that threads do not share one */
};

struct blocked {
    struct blocked_slot slots[BLOCKED_SLOTS];
};

/* A read begins; the result goes to blocked_end() on the same thread. Never blocks. */
struct blocked_slot *blocked_begin(struct blocked *blocked, uint64_t offset);
void blocked_end(struct blocked_slot *slot);
uint64_t blocked_now_ms(struct blocked *blocked, uint64_t *ret_offset);

/* ---- disk.c ------------------------------------------------------------------------------ */

struct disk {
    char *path;
    int fd;
    uint64_t size_bytes;
    uint32_t sector_bytes;
    int (*fault)(void *self, uint64_t offset, size_t len);
    void *fault_self;
    const _Atomic bool *cancel; /* or NULL */
    struct blocked blocked;
};

/* ---- kinds.c: names and advice ------------------------------------------------------------- */

struct disk_kind {
    const char *code;
    enum disk_content content;
    const char *name;
    const char *advice; /* of a container: may hold one %s for the file */
};
/* NULL: there is none. */
const struct disk_kind *kind_find(const char *code);
/* The code of a file that holds a disk in another form than raw bytes, by its first bytes, or
 * NULL. */
const char *kind_of_container(const uint8_t *head, size_t len);

/* ---- content.c, encrypted.c: what the first bytes say ------------------------------------ */

/* Bytes at the start of a partition that the own looks need; a shorter partition gives fewer. */
#define CONTENT_HEAD_BYTES 65536

/* Fills in kind, content, name and advice. `code` must be one of kinds.c. */
void content_set(struct disk_partition *partition, const char *code);
/* The same for a container, whose advice quotes `path`. */
void content_set_container(struct disk_partition *partition, const char *code, const char *path);
/* From the first bytes, with the serial; or returns false and leaves the rest to libblkid. */
bool content_recognise(const uint8_t *head, size_t len, struct disk_partition *partition);
/* From the partition's type in the table: its role, and true when that says what it is whatever its
 * bytes are (reserved, dynamic, Storage Spaces). */
bool content_by_type(struct disk_partition *partition, bool has_private_header);
/* After the bytes were looked at: what is not recognised is what its type says (BIOS boot, swap).
 */
void content_by_type_at_last(struct disk_partition *partition);
/* The kind of container that the first bytes or the last 512 (`tail`, or NULL) show, or NULL. */
const char *content_container(const uint8_t *head, size_t len, const uint8_t *tail);
bool content_is_ntfs_boot_sector(const uint8_t *sector);
/* FAT or exFAT, by the fields that describe it. */
bool content_is_fat_boot_sector(const uint8_t *head, size_t len);
/* 1: a record stands where the NTFS boot sector of the whole disk says that $MFT begins; 0: none;
 * -1: as layout_try_read(). */
int content_has_mft(struct disk *disk, const uint8_t *head, struct error *err);
/* Is `tail` the footer of a fixed VHD, whose bytes before it are the raw disk? */
bool content_is_fixed_vhd(const uint8_t *tail);
/* The header that Windows writes for a dynamic disk at sector 6 of an MBR disk. */
#define CONTENT_PRIVATE_HEADER_OFFSET (UINT64_C(6) * 512)
bool content_is_private_header(const uint8_t *sector);
bool content_is_zero(const uint8_t *head, size_t len);
/* BitLocker in all its forms: the usual header, clear key, and To Go, which looks like FAT. */
bool content_is_bitlocker(const uint8_t *head, size_t len);

/* ---- gpt.c: our own look at a GPT -------------------------------------------------------- */

#define GPT_HEADER_BYTES 92
#define GPT_ENTRIES_MAX 1024

struct gpt_header {
    uint64_t my_sector;
    uint64_t other_sector; /* of the other copy */
    uint64_t first_usable;
    uint64_t last_usable;
    uint64_t entries_sector;
    uint32_t entry_count;
    uint32_t entry_bytes;
    uint32_t entries_crc32;
    char guid[40];
};

/* `sector` holds at least `len` bytes of the sector at number `at`. False: no valid header
 * there. */
bool gpt_parse_header(const uint8_t *sector, size_t len, uint64_t at,
                      struct gpt_header *ret_header);
/* CRC-32 (IEEE) as the GPT uses it. */
uint32_t gpt_crc32(const void *bytes, size_t len);
/* One entry; false when it is unused. One without a length or a place is "impossible". Positions
 * are not checked against any device. */
bool gpt_parse_entry(const uint8_t *entry, uint32_t sector_bytes,
                     struct disk_partition *ret_partition);

struct gpt {
    struct gpt_header header;
    uint8_t *entries; /* the caller's to free */
    bool is_backup;
    bool is_moved; /* a backup that is not at the end of the disk */
};

/* 1: header and entries from the sector `at`, both with the right checksum; 0: not valid or not
 * readable, and gpt->entries is as before; -1: as layout_try_read(). */
int gpt_read(struct disk *disk, uint64_t at, struct gpt *gpt, struct error *err);
/* Append all its partitions. */
void gpt_list(const struct gpt *gpt, const struct disk *disk, struct disk_layout *layout);
/* Text form of a GUID as it lies on the disk, lower case. */
void gpt_format_guid(const uint8_t guid[16], char out[40]);

/* ---- gpt_find.c: which GPT ------------------------------------------------------------------ */

/* The first GPT or its backup, on a disk of `size_bytes`: result as gpt_read(). `head` are the
 * first bytes of the disk. */
int gpt_find(struct disk *disk, const uint8_t *head, size_t len, uint64_t size_bytes,
             bool is_protective, struct gpt *ret_gpt, struct error *err);

/* ---- mbr.c: our own look at an MBR and its chain --------------------------------------------- */

/* In all, `head` are the first bytes of the disk. Is one entry that of a GPT disk? */
bool mbr_is_protective(const uint8_t *head, size_t len);
/* The sector behind what that entry spans; 0: not told. */
uint64_t mbr_protected_end(const uint8_t *head, size_t len);
/* Is there a partition that is not the one of a GPT disk? */
bool mbr_has_others(const uint8_t *head, size_t len);
/* May it be a partition table at all, by its signature and the flags of its entries? */
bool mbr_is_table(const uint8_t *head, size_t len);
/* 1: it has partitions that are on the disk; where a boot sector stands in the same sector
 * (`has_boot_sector`), with more doubts, since text or code may look like entries. 0: not. -1: as
 * layout_try_read(). */
int mbr_is_believed(struct disk *disk, const uint8_t *head, size_t len, bool has_boot_sector,
                    struct error *err);
/* Append its partitions and those of the chains, with what is broken. At most 512 links are read,
 * none twice. -1: as layout_try_read(). */
int mbr_read(struct disk *disk, const uint8_t *head, struct disk_layout *layout, struct error *err);

/* ---- table.c: which of them counts ----------------------------------------------------------- */

/* Table name and partitions, of a disk of `size_bytes`; layout->table stays empty when there is
 * none. */
int table_read(struct disk *disk, const uint8_t *head, size_t len, uint64_t size_bytes,
               struct disk_layout *layout, struct error *err) WARN_UNUSED;

/* ---- probe.c: libblkid ------------------------------------------------------------------- */

/* What libblkid says about the partition's window: the label in any case; for what content.c did
 * not recognise also content, content_name and advice. 1; 0: it knows nothing; -1: no memory. */
int probe_content(struct disk *disk, struct disk_partition *partition, struct error *err);
/* Copy text from outside, cut at a code point; empty when it is not UTF-8. */
void probe_copy_text(char *to, size_t size, const char *from);

/* ---- layout.c ---------------------------------------------------------------------------- */

/* Append a zeroed partition; NULL when DISK_PARTITION_MAX is reached, which is counted. The array
 * has that size and one more from the start. */
struct disk_partition *layout_append(struct disk_layout *layout);
/* 1: read; 0: these bytes cannot be read, which says something about them alone; -1: an error that
 * ends the look (no memory, device gone, cancelled). */
int layout_try_read(struct disk *disk, uint64_t offset, void *buf, size_t len, struct error *err);
/* What does not fit is cut; more than DISK_WARNING_MAX are dropped. */
void layout_warn(struct disk_layout *layout, const char *format, ...) PRINTF_LIKE(2, 3);

/* ---- table_check.c: what looks wrong about a table, told as warnings ------------------------- */

/* `head` are the first bytes of the disk. */
void table_check(const struct disk *disk, const uint8_t *head, size_t len,
                 struct disk_layout *layout);

#endif
