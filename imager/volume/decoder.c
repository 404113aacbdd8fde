/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Reads compressed streams: both kinds are chunks of known content whose stored bytes lie one after
 * the other. As many chunks as fit are gathered with few large reads, then decoded into the
 * caller's buffer.
 */
#include <string.h>

#include "volume/decoder.h"
#include "volume/record.h"

static int read_stored(struct decoder *decoder, struct error *err);
static ssize_t read_whole_chunks(struct decoder *decoder, uint64_t first, uint64_t count,
                                 uint8_t *to, struct error *err);
static int read_into_cache(struct decoder *decoder, uint64_t chunk, struct error *err);
static size_t plain_bytes(const struct decoder *decoder, uint64_t chunk);

struct decoder *decoder_new(struct volume *volume, struct error *err)
{
    struct decoder *decoder = calloc(1, sizeof(*decoder));

    if (decoder != NULL) {
        decoder->volume = volume;
        decoder->stored = malloc(DECODER_STORED_BYTES);
        decoder->cache = malloc(DECODER_CHUNK_BYTES_MAX);
    }
    if (decoder == NULL || decoder->stored == NULL || decoder->cache == NULL) {
        (void)error_memory(err, "a decoder of compressed files");
        decoder_free(decoder);
        return NULL;
    }
    return decoder;
}

void decoder_free(struct decoder *decoder)
{
    if (decoder == NULL) {
        return;
    }
    volume_extent_map_clear(&decoder->map);
    wof_codec_clear(&decoder->codec);
    free(decoder->stored);
    free(decoder->cache);
    free(decoder->resident);
    free(decoder);
}

int decoder_open(struct decoder *decoder, const struct volume_entry *entry, size_t stream,
                 struct error *err)
{
    const struct volume_stream *data = &entry->streams[stream];

    decoder->entry = entry;
    decoder->plain = data;
    decoder->size_bytes = data->size_bytes;
    decoder->cached_chunk = UINT64_MAX;
    decoder->is_resident = false;
    if (data->name_len == 0 && entry->reparse_tag == WOF_REPARSE_TAG) {
        return decoder_open_wof(decoder, err);
    }
    return decoder_open_lznt1(decoder, err);
}

ssize_t decoder_read(struct decoder *decoder, uint64_t offset, void *buf, size_t len,
                     struct error *err)
{
    if (offset >= decoder->size_bytes || len == 0) {
        return 0;
    }
    uint64_t rest = decoder->size_bytes - offset;
    len = len < rest ? len : (size_t)rest;
    uint64_t chunk = offset / decoder->chunk_bytes;
    size_t inside = (size_t)(offset % decoder->chunk_bytes);
    size_t plain = plain_bytes(decoder, chunk);
    if (inside == 0 && len >= plain) {
        /* The last chunk counts when the read goes to the end. */
        uint64_t count = len / decoder->chunk_bytes + (len == rest ? 1 : 0);
        return read_whole_chunks(decoder, chunk, count, buf, err);
    }
    if (decoder->cached_chunk != chunk && read_into_cache(decoder, chunk, err) != 0) {
        return -1;
    }
    size_t take = len < plain - inside ? len : plain - inside;
    memcpy(buf, decoder->cache + inside, take);
    return (ssize_t)take;
}

int decoder_fail(const struct decoder *decoder, const char *problem, struct error *err)
{
    return error_entry(err, decoder->is_wof ? "wof-bad-chunk" : "bad-record", "record %llu: %s",
                       (unsigned long long)decoder->entry->record, problem);
}

/* How many bytes of content the chunk holds; 0 behind the last one. */
static size_t plain_bytes(const struct decoder *decoder, uint64_t chunk)
{
    uint64_t start = chunk * decoder->chunk_bytes;

    if (start >= decoder->size_bytes) {
        return 0;
    }
    uint64_t rest = decoder->size_bytes - start;
    return rest < decoder->chunk_bytes ? (size_t)rest : decoder->chunk_bytes;
}

/* The stored bytes of all chunks in decoder->pieces, packed into decoder->stored. */
static int read_stored(struct decoder *decoder, struct error *err)
{
    size_t at = 0;

    decoder->pending_bytes = 0;
    for (size_t i = 0; i < decoder->piece_count; i++) {
        const struct decoder_piece *piece = &decoder->pieces[i];
        if (decoder_gather(decoder, piece->offset, decoder->stored + at, piece->bytes, err) != 0) {
            return -1;
        }
        at += piece->bytes;
    }
    return decoder_gather_end(decoder, err);
}

/* As many as fit, at least one. */
static ssize_t read_whole_chunks(struct decoder *decoder, uint64_t first, uint64_t count,
                                 uint8_t *to, struct error *err)
{
    size_t stored = 0;
    size_t done = 0;

    decoder->piece_count = 0;
    while (decoder->piece_count < count && decoder->piece_count < DECODER_PIECES_MAX) {
        struct decoder_piece *piece = &decoder->pieces[decoder->piece_count];
        uint64_t chunk = first + decoder->piece_count;
        if (plain_bytes(decoder, chunk) == 0) {
            break;
        }
        if (decoder->locate(decoder, chunk, piece, err) != 0) {
            return -1;
        }
        if (piece->bytes > DECODER_STORED_BYTES - stored) {
            break;
        }
        stored += piece->bytes;
        decoder->piece_count++;
    }
    if (read_stored(decoder, err) != 0) {
        return -1;
    }
    const uint8_t *from = decoder->stored;
    for (size_t i = 0; i < decoder->piece_count; i++) {
        size_t plain = plain_bytes(decoder, first + i);
        if (decoder->decode(decoder, first + i, from, decoder->pieces[i].bytes, to + done, plain,
                            err) != 0) {
            return -1;
        }
        from += decoder->pieces[i].bytes;
        done += plain;
    }
    return (ssize_t)done;
}

static int read_into_cache(struct decoder *decoder, uint64_t chunk, struct error *err)
{
    decoder->cached_chunk = UINT64_MAX;
    if (read_whole_chunks(decoder, chunk, 1, decoder->cache, err) < 0) {
        return -1;
    }
    decoder->cached_chunk = chunk;
    return 0;
}

/* ---- gathering ----------------------------------------------------------------------------- */

static int read_pending(struct decoder *decoder, struct error *err)
{
    if (decoder->pending_bytes == 0) {
        return 0;
    }
    size_t bytes = decoder->pending_bytes;
    decoder->pending_bytes = 0;
    return disk_read(decoder->volume->disk, decoder->pending_position, decoder->pending_to, bytes,
                     err);
}

int decoder_gather(struct decoder *decoder, uint64_t offset, uint8_t *to, size_t len,
                   struct error *err)
{
    if (decoder->is_resident) {
        memcpy(to, decoder->resident + offset, len); /* locate() has checked the place */
        return 0;
    }
    while (len > 0) {
        size_t i = volume_extent_map_find(&decoder->map, offset);
        const struct volume_extent *extent = &decoder->map.extents[i];
        uint64_t inside = offset - decoder->map.starts[i];
        uint64_t left = extent->clusters * decoder->map.cluster_bytes - inside;
        size_t take = len < left ? len : (size_t)left;
        if (extent->cluster == VOLUME_HOLE) {
            memset(to, 0, take);
        } else {
            uint64_t position = volume_cluster_position(decoder->volume, extent->cluster) + inside;
            bool follows = decoder->pending_bytes > 0 &&
                           position == decoder->pending_position + decoder->pending_bytes &&
                           to == decoder->pending_to + decoder->pending_bytes;
            if (!follows) {
                if (read_pending(decoder, err) != 0) {
                    return -1;
                }
                decoder->pending_position = position;
                decoder->pending_to = to;
            }
            decoder->pending_bytes += take;
        }
        to += take;
        offset += take;
        len -= take;
    }
    return 0;
}

int decoder_gather_end(struct decoder *decoder, struct error *err)
{
    return read_pending(decoder, err);
}
