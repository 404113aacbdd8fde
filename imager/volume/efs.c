/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The raw form of encrypted streams: sizes, and when there is one. */
#include "volume/volume_internal.h"

#define ATTRIBUTE_FLAG_COMPRESSED 0x00FFU /* any kind of it */

bool volume_efs_is_whole(const struct volume_entry *entry, const struct volume_stream *stream,
                         uint32_t cluster_bytes)
{
    uint64_t clusters = 0;

    if (stream->form != VOLUME_EFS || stream->problem != NULL || stream->lost ||
        stream->valid_bytes != stream->size_bytes || entry->efs_len == 0 ||
        (stream->attribute_flags & ATTRIBUTE_FLAG_COMPRESSED) != 0 ||
        stream->size_bytes > UINT64_MAX / 2) {
        return false;
    }
    for (size_t i = 0; i < stream->extent_count; i++) {
        if (stream->extents[i].cluster == VOLUME_HOLE) {
            return false;
        }
        clusters += stream->extents[i].clusters;
    }
    uint64_t cipher = volume_efs_cipher_bytes(stream);
    return clusters >= cipher / cluster_bytes + (cipher % cluster_bytes != 0 ? 1 : 0);
}

uint64_t volume_efs_cipher_bytes(const struct volume_stream *stream)
{
    uint64_t sectors = stream->size_bytes / VOLUME_EFS_SECTOR_BYTES;
    sectors += stream->size_bytes % VOLUME_EFS_SECTOR_BYTES != 0 ? 1 : 0;
    return sectors * VOLUME_EFS_SECTOR_BYTES;
}

uint64_t volume_efs_raw_bytes(const struct volume_stream *stream)
{
    return volume_efs_cipher_bytes(stream) + VOLUME_EFS_TRAILER_BYTES;
}

void volume_efs_trailer(const struct volume_stream *stream,
                        uint8_t ret_bytes[VOLUME_EFS_TRAILER_BYTES])
{
    uint64_t padding = volume_efs_cipher_bytes(stream) - stream->size_bytes;

    ret_bytes[0] = (uint8_t)(padding & 0xFF);
    ret_bytes[1] = (uint8_t)(padding >> 8);
}
