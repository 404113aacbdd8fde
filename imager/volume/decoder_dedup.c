/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The content of deduplicated files, chunk by chunk: found, decoded, and given out when its hash is
 * that of the stream map. */
#include <openssl/evp.h>
#include <string.h>

#include "volume/dedup.h"
#include "volume/xpress.h"

/* "Ckhr" of a chunk: size of what follows at 12, compression at 32, hash at 40. */
#define HEADER_BYTES 88
#define HEADER_SIZE_AT 12
#define HEADER_COMPRESSION_AT 32
#define HEADER_HASH_AT 40
#define COMPRESSION_XPRESS 2

struct dedup_decoder {
    struct volume *volume;
    uint64_t record, size_bytes;
    struct dedup_map map;
    uint8_t *stored; /* header and payload */
    uint8_t *cache;  /* the chunk that begins at cached_begin */
    uint64_t cached_begin, cached_end;
};

static int read_chunk(struct dedup_decoder *decoder, const struct dedup_chunk *chunk, uint8_t *to,
                      struct error *err);
static int look_at(struct dedup_decoder *decoder, const struct dedup_chunk *chunk,
                   const struct dedup_container *container, uint64_t offset, struct error *err);
static int decode(struct dedup_decoder *decoder, const struct dedup_chunk *chunk, uint8_t *to,
                  struct error *err);

struct dedup_decoder *dedup_decoder_new(struct volume *volume, struct error *err)
{
    struct dedup_decoder *decoder = calloc(1, sizeof(*decoder));

    if (decoder != NULL) {
        decoder->volume = volume;
        decoder->stored = malloc(HEADER_BYTES + DEDUP_CHUNK_BYTES_MAX);
        decoder->cache = malloc(DEDUP_CHUNK_BYTES_MAX);
    }
    if (decoder == NULL || decoder->stored == NULL || decoder->cache == NULL) {
        (void)error_memory(err, "a decoder of deduplicated files");
        dedup_decoder_free(decoder);
        return NULL;
    }
    return decoder;
}

void dedup_decoder_free(struct dedup_decoder *decoder)
{
    if (decoder == NULL) {
        return;
    }
    dedup_map_clear(&decoder->map);
    free(decoder->stored);
    free(decoder->cache);
    free(decoder);
}

bool dedup_is(const struct volume_entry *entry, const struct volume_stream *stream)
{
    return stream->name_len == 0 && entry->reparse_tag == VOLUME_DEDUP_TAG;
}

int dedup_decoder_open(struct dedup_decoder *decoder, const struct volume_entry *entry,
                       size_t stream, struct error *err)
{
    const struct volume_stream *data = &entry->streams[stream];

    decoder->record = entry->record;
    decoder->size_bytes = data->size_bytes;
    decoder->cached_begin = 0;
    decoder->cached_end = 0;
    if (data->problem != NULL) {
        return dedup_fail(decoder->record, err, "what the $MFT says about its data is damaged: %s",
                          data->problem);
    }
    if (data->form != VOLUME_SPARSE && data->form != VOLUME_PLAIN) {
        return dedup_fail(decoder->record, err,
                          "it has data in its own record, or compressed or encrypted ones");
    }
    /* What is written to such a file stands in it, over the content in the store. */
    for (size_t i = 0; i < data->extent_count; i++) {
        if (data->extents[i].cluster != VOLUME_HOLE) {
            return dedup_fail(decoder->record, err,
                              "parts of it have been written to since it was deduplicated; how "
                              "those are marked is not known");
        }
    }
    return dedup_map_open(&decoder->map, decoder->volume, entry, decoder->size_bytes, err);
}

ssize_t dedup_decoder_read(struct dedup_decoder *decoder, uint64_t offset, void *buf, size_t len,
                           struct error *err)
{
    size_t done = 0;

    while (done < len && offset + done < decoder->size_bytes) {
        uint64_t at = offset + done;
        uint8_t *to = (uint8_t *)buf + done;
        if (at < decoder->cached_begin || at >= decoder->cached_end) {
            struct dedup_chunk chunk;
            if (dedup_map_find(&decoder->map, at, &chunk, err) != 0) {
                return -1;
            }
            size_t plain = (size_t)(chunk.end - chunk.begin);
            if (at == chunk.begin && plain <= len - done) {
                if (read_chunk(decoder, &chunk, to, err) != 0) {
                    return -1;
                }
                done += plain;
                continue;
            }
            decoder->cached_end = decoder->cached_begin;
            if (read_chunk(decoder, &chunk, decoder->cache, err) != 0) {
                return -1;
            }
            decoder->cached_begin = chunk.begin;
            decoder->cached_end = chunk.end;
        }
        uint64_t left = decoder->cached_end - at;
        size_t take = len - done < left ? len - done : (size_t)left;
        memcpy(to, decoder->cache + (at - decoder->cached_begin), take);
        done += take;
    }
    return (ssize_t)done;
}

/* The container of the generation that the map names, then the others. */
static int read_chunk(struct dedup_decoder *decoder, const struct dedup_chunk *chunk, uint8_t *to,
                      struct error *err)
{
    size_t count = 0;
    const struct dedup_container *found =
        dedup_find(decoder->volume->dedup, decoder->map.reference.store, VOLUME_DEDUP_DATA,
                   chunk->container, &count);
    const struct dedup_container *broken = NULL;
    bool beyond = true;

    if (count == 0) {
        return dedup_fail(decoder->record, err,
                          "container %08x of chunks is missing from the chunk store",
                          chunk->container);
    }
    for (size_t i = 0; i < 2 * count; i++) {
        const struct dedup_container *container = &found[i % count];
        uint64_t offset = chunk->offset;
        if ((container->generation == chunk->generation) != (i < count)) {
            continue;
        }
        if (container->problem != NULL) {
            broken = container;
            continue;
        }
        beyond = beyond && !dedup_container_holds(container, offset,
                                                  (uint64_t)HEADER_BYTES + chunk->stored_bytes);
        int result = look_at(decoder, chunk, container, offset, err);
        if (result > 0) {
            result = dedup_redirected(container, decoder->volume, chunk->number, &offset, err);
            result = result == 0 ? look_at(decoder, chunk, container, offset, err) : result;
        }
        if (result <= 0) {
            return result < 0 ? -1 : decode(decoder, chunk, to, err);
        }
    }
    if (broken != NULL) {
        return dedup_fail(decoder->record, err, "container %08x.%08x of chunks: %s", broken->id,
                          broken->generation, broken->problem);
    }
    return dedup_fail(decoder->record, err,
                      beyond ? "the chunk at byte %llu lies beyond the end of container %08x"
                             : "the chunk at byte %llu is not in container %08x, or is damaged "
                               "there",
                      (unsigned long long)chunk->begin, chunk->container);
}

/* 0: the chunk is there, in decoder->stored; 1: it is not. */
static int look_at(struct dedup_decoder *decoder, const struct dedup_chunk *chunk,
                   const struct dedup_container *container, uint64_t offset, struct error *err)
{
    const uint8_t *header = decoder->stored;
    size_t len = HEADER_BYTES + (size_t)chunk->stored_bytes;

    if (!dedup_container_holds(container, offset, len)) {
        return 1;
    }
    if (dedup_container_read(container, decoder->volume, offset, decoder->stored, len, err) != 0) {
        return -1;
    }
    bool same = memcmp(header, "Ckhr", 4) == 0 &&
                read_le32(header + HEADER_SIZE_AT) == chunk->stored_bytes &&
                memcmp(header + HEADER_HASH_AT, chunk->hash, sizeof(chunk->hash)) == 0;
    return same ? 0 : 1;
}

static int decode(struct dedup_decoder *decoder, const struct dedup_chunk *chunk, uint8_t *to,
                  struct error *err)
{
    const uint8_t *from = decoder->stored + HEADER_BYTES;
    size_t plain = (size_t)(chunk->end - chunk->begin);
    uint8_t hash[EVP_MAX_MD_SIZE];

    if (chunk->stored_bytes == plain) {
        memcpy(to, from, plain);
    } else {
        const char *problem = xpress_decode(from, chunk->stored_bytes, to, plain);
        uint32_t kind = read_le32(decoder->stored + HEADER_COMPRESSION_AT);
        if (problem != NULL && kind != COMPRESSION_XPRESS) {
            return dedup_fail(decoder->record, err,
                              "the chunk at byte %llu is compressed in a way that is not known "
                              "(%u)",
                              (unsigned long long)chunk->begin, kind);
        }
        if (problem != NULL) {
            return dedup_fail(decoder->record, err, "the chunk at byte %llu: %s",
                              (unsigned long long)chunk->begin, problem);
        }
    }
    if (EVP_Digest(to, plain, hash, NULL, EVP_sha512(), NULL) != 1) {
        return error_memory(err, "a hash");
    }
    if (memcmp(hash, chunk->hash, sizeof(chunk->hash)) != 0) {
        return dedup_fail(decoder->record, err,
                          "the chunk at byte %llu is damaged: its content has another hash",
                          (unsigned long long)chunk->begin);
    }
    return 0;
}
