/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Streams that Windows compressed, decoded by winch itself: LZNT1 (NTFS compression), and the
 * content of CompactOS files (WOF), which stands in their stream WofCompressedData. decoder.c
 * gathers and hands out; decoder_lznt1.c and decoder_wof.c know where the stored bytes of a chunk
 * lie and how they decode.
 */
#ifndef WINCH_VOLUME_DECODER_H
#define WINCH_VOLUME_DECODER_H

#include "volume/volume_internal.h"
#include "volume/wof.h"

/* The largest unit of LZNT1: 16 clusters of 4 KiB. */
#define DECODER_CHUNK_BYTES_MAX 65536
/* What one read of the disk brings at most; each worker has such a buffer. */
#define DECODER_STORED_BYTES (256U << 10)
/* A MiB of the smallest chunks. */
#define DECODER_PIECES_MAX 256
/* Entries of a chunk table kept at a time. */
#define DECODER_TABLE_ENTRIES 1024

/* The stored bytes of one chunk, by their place in the stream that holds them. */
struct decoder_piece {
    uint64_t offset;
    size_t bytes; /* 0: the chunk is zeros */
};

struct decoder {
    struct volume *volume;
    const struct volume_entry *entry;
    const struct volume_stream *plain; /* the stream whose content is read */
    uint64_t size_bytes;
    uint32_t chunk_bytes;
    bool is_wof;
    /* Where the stored bytes of a chunk lie; and their content, exactly `to_len` bytes. */
    int (*locate)(struct decoder *decoder, uint64_t chunk, struct decoder_piece *ret_piece,
                  struct error *err);
    int (*decode)(struct decoder *decoder, uint64_t chunk, const uint8_t *from, size_t from_len,
                  uint8_t *to, size_t to_len, struct error *err);

    struct volume_extent_map map; /* of the stream that holds the stored bytes */
    bool is_resident;             /* it stands in a record, of which `resident` is a copy */
    uint8_t *resident;

    uint8_t *stored; /* gathered, not decoded yet */
    struct decoder_piece pieces[DECODER_PIECES_MAX];
    size_t piece_count;
    /* A read that still grows. */
    uint64_t pending_position;
    uint8_t *pending_to;
    size_t pending_bytes;

    uint8_t *cache; /* one decoded chunk, for reads of less */
    uint64_t cached_chunk;

    /* decoder_wof.c */
    struct wof_codec codec;
    enum wof_algorithm algorithm;
    uint64_t stored_bytes; /* of WofCompressedData, table included */
    uint64_t chunk_count;
    uint32_t entry_bytes;
    uint64_t table_first; /* entry that table[0] holds */
    size_t table_count;
    uint64_t table[DECODER_TABLE_ENTRIES];
};

/* One thread's own. NULL: out of memory. */
struct decoder *decoder_new(struct volume *volume, struct error *err);
void decoder_free(struct decoder *decoder); /* accepts NULL */
/* Point it at a stream of `entry`, which must live as long as it is read: one of form VOLUME_LZNT1
 * without a problem, or the unnamed one of an entry with a WOF reparse point. FAIL_ENTRY:
 * "bad-record", "wof-bad-chunk" (its table or stream cannot be right), "reparse-unsupported" (a
 * provider or algorithm that is not known). */
int decoder_open(struct decoder *decoder, const struct volume_entry *entry, size_t stream,
                 struct error *err) WARN_UNUSED;
/* As volume_reader_read(). */
ssize_t decoder_read(struct decoder *decoder, uint64_t offset, void *buf, size_t len,
                     struct error *err) WARN_UNUSED;

/* ---- for the kinds ------------------------------------------------------------------------- */

int decoder_open_lznt1(struct decoder *decoder, struct error *err) WARN_UNUSED;
int decoder_open_wof(struct decoder *decoder, struct error *err) WARN_UNUSED;

/* FAIL_ENTRY with the reason of the kind; returns -1. */
int decoder_fail(const struct decoder *decoder, const char *problem, struct error *err);

/* Bytes of the stream that holds the stored ones; what lies together on the disk and in memory is
 * read at once, at the latest by decoder_gather_end(). */
int decoder_gather(struct decoder *decoder, uint64_t offset, uint8_t *to, size_t len,
                   struct error *err) WARN_UNUSED;
int decoder_gather_end(struct decoder *decoder, struct error *err) WARN_UNUSED;

#endif
