/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * volume, private: the open volume and where its $MFT lies. Constant after volume_open(), so that
 * any thread may read it; only `mount` belongs to the thread that opened the volume.
 */
#ifndef WINCH_VOLUME_INTERNAL_H
#define WINCH_VOLUME_INTERNAL_H

#include "volume/boot.h"
#include "volume/runlist.h"
#include "volume/volume.h"

/* ---- overlay.c: $MFT and its mirror ------------------------------------------------------ */

/* Both must be alike for libntfs-3g to mount, so that one side is answered from the other. Offsets
 * are bytes on the volume. */
struct overlay {
    uint64_t mft_offset;
    uint64_t mirror_offset;
    uint64_t len;      /* bytes that libntfs-3g compares; 0: no overlay */
    uint64_t core_len; /* the records that Windows really mirrors */
    bool use_mirror;   /* the core of $MFT is torn and its mirror is not */
};

struct volume;
/* Looks at both; *ret_differs: their records are not alike. A mirror that cannot be read
 * differs. */
int overlay_open(struct volume *volume, bool *ret_differs, struct error *err) WARN_UNUSED;
/* Where the byte at `offset` is to be read, and for how many bytes (at most `len`) that holds. */
uint64_t overlay_map(const struct overlay *overlay, uint64_t offset, uint64_t len,
                     uint64_t *ret_len);

/* ---- volume.c ---------------------------------------------------------------------------- */

struct mft_run {
    uint64_t start; /* byte in $MFT */
    uint64_t cluster;
    uint64_t clusters;
};

struct mount;

struct volume {
    struct disk *disk;     /* borrowed */
    uint64_t offset_bytes; /* of the volume on the disk */
    uint64_t size_bytes;   /* of the window, cut at the end of the volume and of the disk */
    struct boot boot;
    struct overlay overlay;
    struct mft_run *mft_runs;
    size_t mft_run_count;
    uint64_t mft_valid_bytes; /* records behind it were never written */
    struct volume_info info;
    struct volume_dedup *dedup; /* NULL: no chunk store */
    struct mount *mount;        /* of the opening thread; NULL: $MFT is all there is (tests) */
};

/* ---- mft.c ------------------------------------------------------------------------------- */

/* Take over the extents of $MFT: they must cover `size_bytes` without a hole. STOP_RUN
 * otherwise. */
int mft_set_extents(struct volume *volume, const struct extent_list *list, uint64_t size_bytes,
                    uint64_t valid_bytes, struct error *err) WARN_UNUSED;
/* Exactly `len` bytes of $MFT; what was never written reads as zeros. */
int mft_read(struct volume *volume, uint64_t offset, void *buf, size_t len,
             struct error *err) WARN_UNUSED;
/* The first `len` bytes of a stream by its extents, holes and the bytes behind `valid_bytes` as
 * zeros. The caller has checked that the extents cover the valid bytes. */
int mft_read_extents(struct volume *volume, const struct volume_extent *extents, size_t count,
                     uint64_t valid_bytes, void *buf, size_t len, struct error *err) WARN_UNUSED;

/* ---- state.c: label, version, flags, log ------------------------------------------------- */

int state_read(struct volume *volume, struct error *err) WARN_UNUSED;

#endif
