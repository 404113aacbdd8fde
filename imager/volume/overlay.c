/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * libntfs-3g refuses a volume whose $MFTMirr is not like the start of $MFT, and a volume whose
 * first records are torn. Here one of the two is answered from the other: nothing is written.
 */
#include <string.h>

#include "volume/record.h"
#include "volume/volume_internal.h"

#define MIRRORED_RECORDS 4

static bool are_whole(uint8_t *records, uint32_t record_bytes);
static bool are_alike(const uint8_t *mft, const uint8_t *mirror, uint32_t record_bytes);

int overlay_open(struct volume *volume, bool *ret_differs, struct error *err)
{
    const struct boot *boot = &volume->boot;
    struct overlay *overlay = &volume->overlay;
    uint64_t core_len = MIRRORED_RECORDS * (uint64_t)boot->record_bytes;

    overlay->mft_offset = boot->mft_cluster * boot->cluster_bytes;
    overlay->mirror_offset = boot->mirror_cluster * boot->cluster_bytes;
    overlay->core_len = core_len;
    /* libntfs-3g compares a whole cluster, also where Windows mirrors only its first records. */
    overlay->len = core_len > boot->cluster_bytes ? core_len : boot->cluster_bytes;
    if (overlay->len > boot->size_bytes - overlay->mft_offset ||
        overlay->len > boot->size_bytes - overlay->mirror_offset) {
        overlay->len = 0;
        *ret_differs = true;
        return 0;
    }
    CLEANUP_FREE uint8_t *both = malloc(2 * core_len);
    if (both == NULL) {
        return error_memory(err, "records of $MFTMirr");
    }
    uint64_t places[] = {overlay->mft_offset, overlay->mirror_offset};
    bool whole[ARRAY_LEN(places)];
    for (size_t i = 0; i < ARRAY_LEN(places); i++) {
        struct error cause = {0};
        uint8_t *records = both + i * core_len;
        whole[i] = disk_read(volume->disk, volume->offset_bytes + places[i], records, core_len,
                             &cause) == 0;
        if (!whole[i] && cause.kind != ERROR_FAIL_ENTRY) {
            *err = cause;
            return -1;
        }
        whole[i] = whole[i] && are_whole(records, boot->record_bytes);
    }
    overlay->use_mirror = !whole[0] && whole[1];
    *ret_differs = !whole[0] || !whole[1] || !are_alike(both, both + core_len, boot->record_bytes);
    return 0;
}

uint64_t overlay_map(const struct overlay *overlay, uint64_t offset, uint64_t len,
                     uint64_t *ret_len)
{
    uint64_t bases[] = {overlay->mft_offset, overlay->mirror_offset};

    *ret_len = len;
    for (size_t i = 0; i < ARRAY_LEN(bases) && overlay->len > 0; i++) {
        if (offset < bases[i]) {
            uint64_t before = bases[i] - offset;
            *ret_len = *ret_len < before ? *ret_len : before;
            continue;
        }
        uint64_t at = offset - bases[i];
        if (at < overlay->len) {
            bool is_core = at < overlay->core_len;
            uint64_t rest = (is_core ? overlay->core_len : overlay->len) - at;
            *ret_len = *ret_len < rest ? *ret_len : rest;
            return (overlay->use_mirror && is_core ? overlay->mirror_offset : overlay->mft_offset) +
                   at;
        }
    }
    return offset;
}

static bool are_whole(uint8_t *records, uint32_t record_bytes)
{
    for (uint32_t i = 0; i < MIRRORED_RECORDS; i++) {
        if (record_fix_up(records + (size_t)i * record_bytes, record_bytes) != NULL) {
            return false;
        }
    }
    return true;
}

static bool are_alike(const uint8_t *mft, const uint8_t *mirror, uint32_t record_bytes)
{
    for (uint32_t i = 0; i < MIRRORED_RECORDS; i++) {
        struct record_header header;
        const uint8_t *record = mft + (size_t)i * record_bytes;
        size_t len = record_bytes;
        if (record_parse_header(record, record_bytes, &header) == NULL) {
            len = header.used_bytes; /* what lies behind is left over from earlier */
        }
        if (memcmp(record, mirror + (size_t)i * record_bytes, len) != 0) {
            return false;
        }
    }
    return true;
}
