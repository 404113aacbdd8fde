/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * LZNT1: a unit of 16 clusters whose clusters are all there is stored as it is; with none it is
 * zeros; otherwise the clusters at its start hold its compressed data.
 */
#include <string.h>

#include "volume/decoder.h"
#include "volume/lznt1.h"

#define UNIT_CLUSTERS 16

static int locate(struct decoder *decoder, uint64_t unit, struct decoder_piece *ret_piece,
                  struct error *err);
static int decode(struct decoder *decoder, uint64_t unit, const uint8_t *from, size_t from_len,
                  uint8_t *to, size_t to_len, struct error *err);

int decoder_open_lznt1(struct decoder *decoder, struct error *err)
{
    const struct volume_stream *data = decoder->plain;

    decoder->is_wof = false;
    decoder->locate = locate;
    decoder->decode = decode;
    decoder->chunk_bytes = UNIT_CLUSTERS * decoder->volume->boot.cluster_bytes;
    if (data->form != VOLUME_LZNT1 || data->problem != NULL ||
        decoder->chunk_bytes > DECODER_CHUNK_BYTES_MAX) {
        return decoder_fail(decoder, "its compressed data cannot be read by their extents", err);
    }
    return volume_extent_map_set(&decoder->map, decoder->volume->boot.cluster_bytes, data->extents,
                                 data->extent_count, data->valid_bytes, decoder->entry->record,
                                 err);
}

/* The clusters of a unit must come before its hole. Behind the extents all is a hole. */
static int locate(struct decoder *decoder, uint64_t unit, struct decoder_piece *ret_piece,
                  struct error *err)
{
    struct volume_extent_map *map = &decoder->map;
    uint64_t at = unit * decoder->chunk_bytes;
    uint64_t end = at + decoder->chunk_bytes;
    bool in_hole = false;

    *ret_piece = (struct decoder_piece){.offset = at};
    if (at >= decoder->plain->valid_bytes) {
        return 0; /* never written */
    }
    for (size_t i = volume_extent_map_find(map, at); i < map->count && at < end; i++) {
        uint64_t extent_end = map->starts[i] + map->extents[i].clusters * map->cluster_bytes;
        uint64_t take = (extent_end < end ? extent_end : end) - at;
        bool hole = map->extents[i].cluster == VOLUME_HOLE;
        if (!hole && in_hole) {
            return decoder_fail(decoder, "a unit of its compressed data begins with a hole", err);
        }
        in_hole = hole;
        ret_piece->bytes += hole ? 0 : (size_t)take;
        at += take;
    }
    return 0;
}

static int decode(struct decoder *decoder, uint64_t unit, const uint8_t *from, size_t from_len,
                  uint8_t *to, size_t to_len, struct error *err)
{
    uint64_t start = unit * decoder->chunk_bytes;
    uint64_t valid = decoder->plain->valid_bytes;
    uint8_t *whole = to_len < decoder->chunk_bytes ? decoder->cache : to;

    if (from_len == 0) {
        memset(to, 0, to_len);
        return 0;
    }
    if (from_len == decoder->chunk_bytes) {
        memcpy(to, from, to_len);
    } else {
        /* A file's end lies inside its last unit, whose decoder wants room for all of it. */
        if (whole == decoder->cache) {
            decoder->cached_chunk = UINT64_MAX;
        }
        const char *problem = lznt1_decode(from, from_len, whole, decoder->chunk_bytes);
        if (problem != NULL) {
            return decoder_fail(decoder, problem, err);
        }
        if (whole != to) {
            memcpy(to, whole, to_len);
        }
    }
    if (valid - start < to_len) {
        memset(to + (valid - start), 0, to_len - (size_t)(valid - start));
    }
    return 0;
}
