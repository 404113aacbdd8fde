/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The NTFS boot sector, parsed by ourselves before libntfs-3g sees it: a pure function on 512
 * bytes.
 */
#ifndef WINCH_VOLUME_BOOT_H
#define WINCH_VOLUME_BOOT_H

#include "base/base.h"

#define BOOT_BYTES 512

struct boot {
    uint32_t sector_bytes;
    uint32_t cluster_bytes;
    uint32_t record_bytes;
    uint64_t sector_count;
    uint64_t size_bytes; /* sector_count × sector_bytes; the backup boot sector stands behind it */
    uint64_t cluster_count;
    uint64_t mft_cluster;
    uint64_t mirror_cluster;
    uint64_t serial;
};

/* STOP_RUN exit 6, naming the field that is wrong. */
int boot_parse(const uint8_t sector[BOOT_BYTES], struct boot *ret_boot,
               struct error *err) WARN_UNUSED;

#endif
