/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What a reparse point is, by its tag, and whether a tagged file's content stands in its stream.
 * The stream of a placeholder has the right size and reads as zeros, so nothing is taken on trust.
 */
#include "plan/plan_internal.h"

#define TAG_NAME_SURROGATE 0x20000000U
#define TAG_WOF 0x80000017U
#define TAG_DEDUP 0x80000013U
#define TAG_ONEDRIVE 0x80000021U
#define TAG_CLOUD 0x9000001AU
#define TAG_CLOUD_MASK 0xFFFF0FFFU

#define ATTRIBUTE_OFFLINE 0x1000U
#define ATTRIBUTE_RECALL_ON_DATA_ACCESS 0x400000U

/* Clusters that NTFS compresses together; a hole inside them is no absence. */
enum { COMPRESSION_CLUSTERS = 16 };

static const uint32_t special_files[] = {
    0x80000023U, /* AF_UNIX */
    0x80000024U, /* LX_FIFO */
    0x80000025U, /* LX_CHR */
    0x80000026U, /* LX_BLK */
};

static bool has_hole(const struct volume_stream *stream, uint64_t clusters, uint64_t unit);

enum plan_reparse plan_classify_reparse(uint32_t tag)
{
    if (tag == 0) {
        return PLAN_REPARSE_NONE;
    }
    if ((tag & TAG_NAME_SURROGATE) != 0) {
        return PLAN_REPARSE_LINK;
    }
    for (size_t i = 0; i < ARRAY_LEN(special_files); i++) {
        if (tag == special_files[i]) {
            return PLAN_REPARSE_LINK;
        }
    }
    if (tag == TAG_WOF) {
        return PLAN_REPARSE_WOF;
    }
    if (tag == TAG_DEDUP) {
        return PLAN_REPARSE_DEDUP;
    }
    bool cloud = (tag & TAG_CLOUD_MASK) == TAG_CLOUD || tag == TAG_ONEDRIVE;
    return cloud ? PLAN_REPARSE_CLOUD : PLAN_REPARSE_OTHER;
}

bool plan_data_present(const struct volume_entry *entry, const struct volume_stream *stream,
                       uint64_t cluster_bytes)
{
    uint32_t away = ATTRIBUTE_OFFLINE | ATTRIBUTE_RECALL_ON_DATA_ACCESS;
    if ((entry->file_attributes & away) != 0 || stream->problem != NULL || cluster_bytes == 0 ||
        !plan_data_any(stream)) {
        return false;
    }
    if (stream->form == VOLUME_RESIDENT) {
        return true;
    }
    uint64_t clusters =
        stream->valid_bytes / cluster_bytes + (stream->valid_bytes % cluster_bytes != 0 ? 1 : 0);
    return !has_hole(stream, clusters, stream->form == VOLUME_LZNT1 ? COMPRESSION_CLUSTERS : 1);
}

bool plan_data_any(const struct volume_stream *stream)
{
    if (stream->form == VOLUME_RESIDENT) {
        return stream->size_bytes > 0;
    }
    for (size_t i = 0; i < stream->extent_count && stream->valid_bytes > 0; i++) {
        if (stream->extents[i].cluster != VOLUME_HOLE && stream->extents[i].clusters > 0) {
            return true;
        }
    }
    return false;
}

/* Is a whole aligned unit among the first `clusters` a hole, or are there fewer than that? */
static bool has_hole(const struct volume_stream *stream, uint64_t clusters, uint64_t unit)
{
    uint64_t at = 0;
    uint64_t hole_start = 0;
    bool in_hole = false;
    for (size_t i = 0; i < stream->extent_count && at < clusters; i++) {
        uint64_t next;
        if (add_overflows(at, stream->extents[i].clusters, &next)) {
            return true;
        }
        bool hole = stream->extents[i].cluster == VOLUME_HOLE;
        hole_start = hole && !in_hole ? at : hole_start;
        in_hole = hole;
        uint64_t first = (hole_start / unit + (hole_start % unit != 0 ? 1 : 0)) * unit;
        if (hole && first < clusters && next > first && next - first >= unit) {
            return true;
        }
        at = next;
    }
    return at < clusters;
}
