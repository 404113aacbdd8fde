/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Opens an NTFS volume: boot sector, mirror, mount, extents of $MFT, state. Also the two functions
 * that find resident data in a record, which any thread may call.
 */
#include "volume/mount.h"
#include "volume/record.h"

static int open_window(struct volume *volume, uint64_t size_bytes, struct error *err);
static int check_size(const struct volume *volume, uint64_t size_bytes, struct error *err);
static int open_mft(struct volume *volume, struct error *err);

struct volume *volume_open(struct disk *disk, uint64_t offset_bytes, uint64_t size_bytes,
                           struct error *err)
{
    struct error cause = {0};
    struct volume *volume = calloc(1, sizeof(*volume));
    if (volume == NULL) {
        (void)error_memory(err, "volume");
        return NULL;
    }
    volume->disk = disk;
    volume->offset_bytes = offset_bytes;
    int result = open_window(volume, size_bytes, &cause);
    if (result == 0) {
        volume->mount = mount_open(volume, &cause);
        result = volume->mount == NULL ? -1 : open_mft(volume, &cause);
    }
    if (result == 0) {
        result = state_read(volume, &cause);
    }
    if (result != 0) {
        if (cause.kind == ERROR_FAIL_ENTRY) { /* one bad sector is enough to keep it shut */
            cause.kind = ERROR_STOP_RUN;
            cause.exit_status = EXIT_STATUS_SOURCE;
            cause.reason = NULL;
        }
        (void)error_add(&cause, "%s: volume at byte %llu", disk_path(disk),
                        (unsigned long long)offset_bytes);
        if (err != NULL) {
            *err = cause;
        }
        volume_free(volume);
        return NULL;
    }
    return volume;
}

void volume_free(struct volume *volume)
{
    if (volume == NULL) {
        return;
    }
    mount_free(volume->mount);
    volume_dedup_free(volume->dedup);
    free(volume->mft_runs);
    free(volume);
}

const struct volume_info *volume_get_info(const struct volume *volume)
{
    return &volume->info;
}

int volume_record_fix_up(const struct volume *volume, void *record, uint64_t number,
                         struct error *err)
{
    const char *problem = record_fix_up(record, volume->boot.record_bytes);

    if (problem != NULL) {
        return error_entry(err, "bad-record", "record %llu: %s", (unsigned long long)number,
                           problem);
    }
    return 0;
}

int volume_record_resident(const struct volume *volume, const void *record, const uint16_t *name,
                           uint8_t name_len, const uint8_t **ret_bytes, uint32_t *ret_len,
                           struct error *err)
{
    struct record_header header;
    struct record_attribute attribute;
    const char *problem = record_parse_header(record, volume->boot.record_bytes, &header);

    if (problem == NULL) {
        uint32_t at = header.first_attribute;
        problem = "its resident stream is not there";
        while (record_next_attribute(record, &header, &at, &attribute, &problem) > 0) {
            if (attribute.type == ATTRIBUTE_DATA && attribute.resident &&
                record_name_is(&attribute, name, name_len)) {
                *ret_bytes = attribute.value;
                *ret_len = attribute.value_len;
                return 0;
            }
        }
    }
    return error_entry(err, "bad-record", "the record cannot be used: %s", problem);
}

/* Boot sector, size and mirror; nothing of libntfs-3g yet. */
static int open_window(struct volume *volume, uint64_t size_bytes, struct error *err)
{
    uint8_t sector[BOOT_BYTES];
    uint64_t disk_bytes = disk_size_bytes(volume->disk);

    if (volume->offset_bytes >= disk_bytes) {
        return error_stop(err, EXIT_STATUS_SOURCE,
                          "lies behind the end of the device (%llu bytes): the image is cut off",
                          (unsigned long long)disk_bytes);
    }
    uint64_t room = disk_bytes - volume->offset_bytes;
    volume->size_bytes = size_bytes < room ? size_bytes : room;
    if (volume->size_bytes < BOOT_BYTES) {
        return error_stop(err, EXIT_STATUS_SOURCE, "too small for an NTFS volume");
    }
    if (disk_read(volume->disk, volume->offset_bytes, sector, sizeof(sector), err) != 0) {
        return error_add(err, "boot sector");
    }
    if (boot_parse(sector, &volume->boot, err) != 0 || check_size(volume, size_bytes, err) != 0) {
        return -1;
    }
    /* libntfs-3g looks at the backup boot sector behind the volume; the rest of the partition is
     * none of its business. */
    uint64_t end = volume->boot.size_bytes + volume->boot.sector_bytes;
    volume->size_bytes = volume->size_bytes < end ? volume->size_bytes : end;
    return overlay_open(volume, &volume->info.mirror_differs, err);
}

static int check_size(const struct volume *volume, uint64_t size_bytes, struct error *err)
{
    uint64_t wanted = volume->boot.size_bytes;

    if (wanted <= volume->size_bytes) {
        return 0;
    }
    if (wanted <= size_bytes) {
        return error_stop(
            err, EXIT_STATUS_SOURCE,
            "the device ends %llu bytes before the volume does: the image is cut off, "
            "copy it again",
            (unsigned long long)(wanted - volume->size_bytes));
    }
    return error_stop(
        err, EXIT_STATUS_SOURCE,
        "the volume is %llu bytes larger than its partition: the image is cut off, or "
        "the volume is part of a dynamic disk or a RAID",
        (unsigned long long)(wanted - volume->size_bytes));
}

static int open_mft(struct volume *volume, struct error *err)
{
    struct extent_list list = {0};
    uint64_t size_bytes = 0;
    uint64_t valid_bytes = 0;

    if (mount_map_mft(volume->mount, &list, &size_bytes, &valid_bytes, err) != 0) {
        return -1;
    }
    int result = mft_set_extents(volume, &list, size_bytes, valid_bytes, err);
    extent_list_free(&list);
    return result;
}
