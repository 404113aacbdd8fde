/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * CompactOS files: WofCompressedData is a table with the end of each chunk but the last, counted
 * from the end of the table, and then the chunks.
 */
#include <string.h>

#include "volume/decoder.h"

static int open_stored(struct decoder *decoder, const struct volume_stream *stored,
                       struct error *err);
static int load_resident(struct decoder *decoder, const struct volume_stream *stored,
                         struct error *err);
static int locate(struct decoder *decoder, uint64_t chunk, struct decoder_piece *ret_piece,
                  struct error *err);
static int load_table(struct decoder *decoder, uint64_t entry, struct error *err);
static int decode(struct decoder *decoder, uint64_t chunk, const uint8_t *from, size_t from_len,
                  uint8_t *to, size_t to_len, struct error *err);

int decoder_open_wof(struct decoder *decoder, struct error *err)
{
    const struct volume_stream *stored = volume_wof_stream(decoder->entry);
    const char *problem = wof_parse_reparse(decoder->entry->reparse, decoder->entry->reparse_len,
                                            &decoder->algorithm);

    decoder->is_wof = true;
    decoder->locate = locate;
    decoder->decode = decode;
    if (problem != NULL) {
        return error_entry(err, "reparse-unsupported", "record %llu: %s",
                           (unsigned long long)decoder->entry->record, problem);
    }
    if (stored == NULL) {
        return decoder_fail(decoder, "its stream WofCompressedData is missing", err);
    }
    decoder->chunk_bytes = wof_chunk_bytes(decoder->algorithm);
    decoder->chunk_count = wof_chunk_count(decoder->algorithm, decoder->size_bytes);
    decoder->entry_bytes = wof_entry_bytes(decoder->size_bytes);
    decoder->stored_bytes = stored->size_bytes;
    decoder->table_count = 0;
    uint64_t table = (decoder->chunk_count - 1) * decoder->entry_bytes;
    if (decoder->chunk_count > 0 && table >= stored->size_bytes) {
        return decoder_fail(decoder, "its chunk table is longer than its compressed data", err);
    }
    return open_stored(decoder, stored, err);
}

static int open_stored(struct decoder *decoder, const struct volume_stream *stored,
                       struct error *err)
{
    bool readable = stored->problem == NULL && stored->valid_bytes == stored->size_bytes &&
                    (stored->form == VOLUME_RESIDENT || stored->form == VOLUME_PLAIN ||
                     stored->form == VOLUME_SPARSE);

    if (!readable) {
        return decoder_fail(decoder, "its stream WofCompressedData cannot be read by its extents",
                            err);
    }
    if (stored->form == VOLUME_RESIDENT) {
        return load_resident(decoder, stored, err);
    }
    return volume_extent_map_set(&decoder->map, decoder->volume->boot.cluster_bytes,
                                 stored->extents, stored->extent_count, stored->size_bytes,
                                 decoder->entry->record, err);
}

static int load_resident(struct decoder *decoder, const struct volume_stream *stored,
                         struct error *err)
{
    struct volume *volume = decoder->volume;
    const uint8_t *bytes = NULL;
    uint32_t len = 0;
    CLEANUP_FREE uint8_t *record = malloc(volume->boot.record_bytes);

    if (decoder->resident == NULL) {
        decoder->resident = malloc(volume->boot.record_bytes);
    }
    if (record == NULL || decoder->resident == NULL) {
        return error_memory(err, "a record");
    }
    if (volume_read_records(volume, stored->record, 1, record, err) != 0 ||
        volume_record_fix_up(volume, record, stored->record, err) != 0 ||
        volume_record_resident(volume, record, stored->name, stored->name_len, &bytes, &len, err) !=
            0) {
        return -1;
    }
    if (len != stored->size_bytes) {
        return decoder_fail(decoder, "its resident data changed size", err);
    }
    memcpy(decoder->resident, bytes, len);
    decoder->is_resident = true;
    return 0;
}

/* The end of chunk `chunk`, from the table or, for the last one, from the stream's size. */
static int chunk_end(struct decoder *decoder, uint64_t chunk, uint64_t *ret_end, struct error *err)
{
    uint64_t table = (decoder->chunk_count - 1) * decoder->entry_bytes;

    if (chunk + 1 == decoder->chunk_count) {
        *ret_end = decoder->stored_bytes;
        return 0;
    }
    bool loaded = decoder->table_count > 0 && chunk >= decoder->table_first &&
                  chunk - decoder->table_first < decoder->table_count;
    if (!loaded && load_table(decoder, chunk, err) != 0) {
        return -1;
    }
    if (add_overflows(decoder->table[chunk - decoder->table_first], table, ret_end)) {
        return decoder_fail(decoder, "its chunk table points outside its compressed data", err);
    }
    return 0;
}

static int locate(struct decoder *decoder, uint64_t chunk, struct decoder_piece *ret_piece,
                  struct error *err)
{
    uint64_t start = (decoder->chunk_count - 1) * decoder->entry_bytes;
    uint64_t end = 0;

    if (chunk > 0 && chunk_end(decoder, chunk - 1, &start, err) != 0) {
        return -1;
    }
    if (chunk_end(decoder, chunk, &end, err) != 0) {
        return -1;
    }
    if (end > decoder->stored_bytes || start >= end || end - start > decoder->chunk_bytes) {
        return decoder_fail(decoder, "its chunk table points outside its compressed data", err);
    }
    *ret_piece = (struct decoder_piece){.offset = start, .bytes = (size_t)(end - start)};
    return 0;
}

/* Entries from `entry` on. One before it is read, too, since each chunk needs two neighbours. */
static int load_table(struct decoder *decoder, uint64_t entry, struct error *err)
{
    uint64_t first = entry > 0 ? entry - 1 : 0;
    uint64_t rest = decoder->chunk_count - 1 - first;
    size_t count = rest < DECODER_TABLE_ENTRIES ? (size_t)rest : DECODER_TABLE_ENTRIES;
    /* Entries of 4 bytes lie in the upper half, and are spread from the front. */
    uint8_t *raw =
        (uint8_t *)decoder->table + sizeof(decoder->table) - count * decoder->entry_bytes;

    decoder->table_count = 0;
    decoder->pending_bytes = 0;
    if (decoder_gather(decoder, first * decoder->entry_bytes, raw, count * decoder->entry_bytes,
                       err) != 0 ||
        decoder_gather_end(decoder, err) != 0) {
        return -1;
    }
    for (size_t i = 0; i < count; i++) {
        const uint8_t *from = raw + i * decoder->entry_bytes;
        uint64_t end = decoder->entry_bytes == 8 ? read_le64(from) : read_le32(from);
        decoder->table[i] = end;
    }
    decoder->table_first = first;
    decoder->table_count = count;
    return 0;
}

static int decode(struct decoder *decoder, uint64_t chunk, const uint8_t *from, size_t from_len,
                  uint8_t *to, size_t to_len, struct error *err)
{
    bool no_memory = false;

    (void)chunk;
    if (from_len > to_len) {
        return decoder_fail(decoder, "a chunk is longer than its content", err);
    }
    const char *problem =
        wof_decode(&decoder->codec, decoder->algorithm, from, from_len, to, to_len, &no_memory);
    if (no_memory) {
        return error_memory(err, "a CompactOS decoder");
    }
    return problem == NULL ? 0 : decoder_fail(decoder, problem, err);
}
