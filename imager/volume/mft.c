/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Where $MFT lies, and reads of it that go past libntfs-3g: any number of records, from any thread.
 */
#include <string.h>

#include "volume/volume_internal.h"

static const struct mft_run *find_run(const struct volume *volume, uint64_t offset);
static int read_clusters(struct volume *volume, uint64_t cluster, uint64_t skip, void *buf,
                         size_t len, struct error *err);

int mft_set_extents(struct volume *volume, const struct extent_list *list, uint64_t size_bytes,
                    uint64_t valid_bytes, struct error *err)
{
    const struct boot *boot = &volume->boot;
    uint64_t covered = 0;

    if (size_bytes < boot->record_bytes || size_bytes > boot->size_bytes ||
        valid_bytes > size_bytes) {
        return error_stop(err, EXIT_STATUS_SOURCE, "the size of $MFT cannot be: %llu bytes",
                          (unsigned long long)size_bytes);
    }
    volume->mft_runs = calloc(list->count + 1, sizeof(*volume->mft_runs));
    if (volume->mft_runs == NULL) {
        return error_memory(err, "extents of $MFT");
    }
    for (size_t i = 0; i < list->count && covered < size_bytes; i++) {
        const struct volume_extent *extent = &list->items[i];
        if (extent->cluster >= boot->cluster_count ||
            extent->clusters > boot->cluster_count - extent->cluster) {
            return error_stop(err, EXIT_STATUS_SOURCE,
                              "$MFT has an extent outside the volume: the volume is damaged");
        }
        volume->mft_runs[volume->mft_run_count++] = (struct mft_run){
            .start = covered, .cluster = extent->cluster, .clusters = extent->clusters};
        covered += extent->clusters * boot->cluster_bytes;
    }
    if (covered < valid_bytes) {
        return error_stop(err, EXIT_STATUS_SOURCE,
                          "the extents of $MFT end before its data: the volume is damaged");
    }
    volume->mft_valid_bytes = valid_bytes;
    volume->info.mft_records = size_bytes / boot->record_bytes;
    return 0;
}

int mft_read(struct volume *volume, uint64_t offset, void *buf, size_t len, struct error *err)
{
    uint8_t *to = buf;

    while (len > 0) {
        if (offset >= volume->mft_valid_bytes) {
            memset(to, 0, len);
            return 0;
        }
        const struct mft_run *run = find_run(volume, offset);
        uint64_t skip = offset - run->start;
        uint64_t rest = run->clusters * volume->boot.cluster_bytes - skip;
        uint64_t valid = volume->mft_valid_bytes - offset;
        size_t count = len;
        count = count < rest ? count : (size_t)rest;
        count = count < valid ? count : (size_t)valid;
        if (read_clusters(volume, run->cluster, skip, to, count, err) != 0) {
            return -1;
        }
        to += count;
        offset += count;
        len -= count;
    }
    return 0;
}

int mft_read_extents(struct volume *volume, const struct volume_extent *extents, size_t count,
                     uint64_t valid_bytes, void *buf, size_t len, struct error *err)
{
    uint8_t *to = buf;
    uint64_t at = 0;
    uint64_t end = valid_bytes < len ? valid_bytes : len;

    memset(buf, 0, len);
    for (size_t i = 0; i < count && at < end; i++) {
        uint64_t bytes = extents[i].clusters * volume->boot.cluster_bytes;
        bytes = bytes < end - at ? bytes : end - at;
        if (extents[i].cluster != VOLUME_HOLE &&
            read_clusters(volume, extents[i].cluster, 0, to + at, (size_t)bytes, err) != 0) {
            return -1;
        }
        at += bytes;
    }
    return 0;
}

uint64_t volume_cluster_position(const struct volume *volume, uint64_t cluster)
{
    return volume->offset_bytes + cluster * volume->boot.cluster_bytes;
}

uint64_t volume_record_position(const struct volume *volume, uint64_t record)
{
    uint64_t offset = record * volume->boot.record_bytes;

    if (record >= volume->info.mft_records || offset >= volume->mft_valid_bytes) {
        return volume->offset_bytes;
    }
    const struct mft_run *run = find_run(volume, offset);
    return volume_cluster_position(volume, run->cluster) + (offset - run->start);
}

int volume_read_records(struct volume *volume, uint64_t first, size_t count, void *buf,
                        struct error *err)
{
    if (first >= volume->info.mft_records || count > volume->info.mft_records - first) {
        return error_entry(err, "bad-record", "record %llu lies behind the end of $MFT",
                           (unsigned long long)first);
    }
    return mft_read(volume, first * volume->boot.record_bytes, buf,
                    count * volume->boot.record_bytes, err);
}

/* The run that holds the byte, which must lie before the valid end. */
static const struct mft_run *find_run(const struct volume *volume, uint64_t offset)
{
    size_t low = 0;
    size_t high = volume->mft_run_count;

    while (high - low > 1) {
        size_t middle = low + (high - low) / 2;
        if (volume->mft_runs[middle].start <= offset) {
            low = middle;
        } else {
            high = middle;
        }
    }
    return &volume->mft_runs[low];
}

static int read_clusters(struct volume *volume, uint64_t cluster, uint64_t skip, void *buf,
                         size_t len, struct error *err)
{
    return disk_read(volume->disk, volume_cluster_position(volume, cluster) + skip, buf, len, err);
}
