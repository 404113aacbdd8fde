/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Windows Data Deduplication. A file's reparse data name a chunk store and, in one of its stream
 * containers, a stream map; the map lists the file's chunks in order: container of data, offset,
 * end in the file, stored size and hash. A container is a file of the same volume,
 * System Volume Information/Dedup/ChunkStore/{GUID}.ddp/{Stream,Data}/ID.GENERATION.ccc.
 *
 * What is trusted: nothing before its check. The reparse data have a CRC-32. A map is taken when
 * its header repeats the size and the digest that the reparse data state, and its entries tile the
 * file exactly. A chunk is taken when its header repeats size and hash of the map's entry, and the
 * decoded content has that hash: the first 32 bytes of its SHA-512. So a place that was guessed
 * wrong (a moved chunk, another generation of a container) can cost a failure, never a wrong byte.
 *
 * Facts: offsets and meanings from the source of the ntfs-3g deduplication plug-in (reparse data
 * of versions 1.2 and 2.1, Ckhr, Smap, Rrtl) and of smx-smx/ntfs-3g-dedup-plugin (reparse data of
 * version 3.1); the hash from microsoft/BuildXL, DedupChunkHashAlgorithm. Not known, and so
 * refused: other versions, files with clusters of their own (written to since), other compression.
 */
#ifndef WINCH_VOLUME_DEDUP_H
#define WINCH_VOLUME_DEDUP_H

#include "volume/volume_internal.h"

#define DEDUP_CHUNK_BYTES_MAX (128U << 10) /* stored or decoded */
#define DEDUP_HASH_BYTES 32
#define DEDUP_MAP_DIGEST_BYTES 16
#define DEDUP_PARTS_MAX 255 /* of 64 bytes each, in 16 KiB of reparse data */
#define DEDUP_MAP_ENTRY_BYTES 64
#define DEDUP_MAP_ENTRIES_MAX (16U << 20) /* of one file: a map of 1 GiB */

/* ---- dedup_reparse.c ----------------------------------------------------------------------- */

/* A map that covers the file from `begin` to `end`. */
struct dedup_part {
    uint32_t number; /* of the map in its container */
    uint32_t container;
    uint32_t offset;
    uint32_t map_bytes; /* header "Smap" and entries */
    uint8_t digest[DEDUP_MAP_DIGEST_BYTES];
    uint64_t begin, end;
};

struct dedup_reference {
    uint8_t store[VOLUME_DEDUP_STORE_BYTES];
    unsigned part_count;
    struct dedup_part parts[DEDUP_PARTS_MAX];
};

/* From the whole reparse value, header included, of a file of `size_bytes`. The parts tile it from
 * 0 on. NULL, or why the content cannot be found (a sentence part that lives forever). */
const char *dedup_parse_reparse(const uint8_t *value, size_t len, uint64_t size_bytes,
                                struct dedup_reference *ret_reference);

/* ---- dedup_store.c ------------------------------------------------------------------------- */

struct dedup_container {
    uint8_t store[VOLUME_DEDUP_STORE_BYTES];
    enum volume_dedup_kind kind;
    uint32_t id, generation;
    uint64_t record;
    uint64_t valid_bytes;
    const char *problem;           /* NULL, or why it cannot be read: lives forever */
    struct volume_extent *extents; /* owned */
    uint64_t *starts;              /* owned: first byte of each */
    size_t extent_count;
};

/* The containers with that id, the newest generations first; NULL and 0: none. */
const struct dedup_container *dedup_find(const struct volume_dedup *dedup,
                                         const uint8_t store[VOLUME_DEDUP_STORE_BYTES],
                                         enum volume_dedup_kind kind, uint32_t id,
                                         size_t *ret_count);
bool dedup_has_store(const struct volume_dedup *dedup,
                     const uint8_t store[VOLUME_DEDUP_STORE_BYTES]);
/* Does it hold `len` bytes at `offset`? */
bool dedup_container_holds(const struct dedup_container *container, uint64_t offset, uint64_t len);
/* Exactly those, which it holds. Errors: of disk_read(). Thread: any. */
int dedup_container_read(const struct dedup_container *container, const struct volume *volume,
                         uint64_t offset, void *buf, size_t len, struct error *err) WARN_UNUSED;

/* ---- dedup_map.c --------------------------------------------------------------------------- */

/* One entry of a map. */
struct dedup_chunk {
    uint32_t number; /* of the chunk in its container */
    uint32_t container, generation;
    uint32_t offset;
    uint32_t stored_bytes;
    uint64_t begin, end; /* in the file */
    uint8_t hash[DEDUP_HASH_BYTES];
};

#define DEDUP_WINDOW_ENTRIES 1024

/* Where the maps of one file are, checked as a whole. Zeroed at first; one thread's own. */
struct dedup_map {
    const struct volume *volume;
    uint64_t record; /* of the file */
    struct dedup_reference reference;
    struct {
        const struct dedup_container *container;
        uint64_t offset; /* of the first entry */
        uint32_t count;
        size_t first_window; /* index into window_begins */
    } parts[DEDUP_PARTS_MAX];
    unsigned open_parts;
    uint64_t *window_begins; /* of each DEDUP_WINDOW_ENTRIES entries, all parts in a row */
    size_t window_count, window_cap;
    uint8_t *window; /* the entries of `window_loaded` */
    size_t window_loaded, window_entries;
};
void dedup_map_clear(struct dedup_map *map);

/* FAIL_ENTRY "dedup", naming `record`; returns -1. */
int dedup_fail(uint64_t record, struct error *err, const char *fmt, ...) PRINTF_LIKE(3, 4);

/* FAIL_ENTRY "dedup" when the reparse data, or any map that they name, is not right as a whole;
 * errors of the disk. */
int dedup_map_open(struct dedup_map *map, const struct volume *volume,
                   const struct volume_entry *entry, uint64_t size_bytes,
                   struct error *err) WARN_UNUSED;
/* The chunk that holds the byte at `offset` of the file, which lies before its end. */
int dedup_map_find(struct dedup_map *map, uint64_t offset, struct dedup_chunk *ret_chunk,
                   struct error *err) WARN_UNUSED;

/* Where the redirection table of a container says that `number` is now. 0; 1 when it says nothing;
 * -1 with an error of the disk. */
int dedup_redirected(const struct dedup_container *container, const struct volume *volume,
                     uint32_t number, uint64_t *ret_offset, struct error *err) WARN_UNUSED;

/* ---- decoder_dedup.c ----------------------------------------------------------------------- */

/* One thread's own way to such files. NULL: out of memory. */
struct dedup_decoder;
struct dedup_decoder *dedup_decoder_new(struct volume *volume, struct error *err);
void dedup_decoder_free(struct dedup_decoder *decoder); /* accepts NULL */
/* Is that stream one that only the chunk store can give? */
bool dedup_is(const struct volume_entry *entry, const struct volume_stream *stream);
/* As volume_reader_open() and _read(): FAIL_ENTRY "dedup". */
int dedup_decoder_open(struct dedup_decoder *decoder, const struct volume_entry *entry,
                       size_t stream, struct error *err) WARN_UNUSED;
ssize_t dedup_decoder_read(struct dedup_decoder *decoder, uint64_t offset, void *buf, size_t len,
                           struct error *err) WARN_UNUSED;

#endif
