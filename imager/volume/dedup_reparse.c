/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Reparse data of deduplicated files, in three versions. Their header is version (two bytes) and
 * length, their end a CRC-32 of all before. 1.2 and 2.1 have fixed places; 3.1 has blocks "FeRp"
 * and "DdRp" with typed items, whose offsets count from the start of their block.
 */
#include <string.h>

#include "volume/dedup.h"

#define HEADER_BYTES 8
#define CRC_BYTES 4
#define VERSION(major, minor) ((major) | (minor) << 8)
#define PART_BYTES 64

/* Places in the value, header included. */
#define SHORT_END_AT 16
#define SHORT_STORE_AT 32
#define SHORT_PART_AT 64
#define LONG_PARTS_BYTES_AT 84
#define LONG_PARTS_OFFSET_AT 86
#define LONG_STORE_AT 124

#define BLOCK_HEADER_BYTES 16
#define ITEM_BYTES 8
enum { ITEM_QWORD = 6, ITEM_REVISION = 10, ITEM_GUID = 12, ITEM_BLOB = 13 };
enum { FILE_REVISION = 0, FILE_STORE = 2, FILE_SIZE = 4, DATA_PARTS = 2 };

struct block {
    const uint8_t *bytes;
    size_t len;
    unsigned items;
};

static const char cut[] = "its reparse data are cut";
static const char malformed[] = "its reparse data are malformed";

static uint32_t crc32_of(const uint8_t *bytes, size_t len);
static const char *parse_short(const uint8_t *value, size_t len, struct dedup_reference *reference);
static const char *parse_long(const uint8_t *value, size_t len, struct dedup_reference *reference);
static const char *parse_blocks(const uint8_t *value, size_t len, uint64_t size_bytes,
                                struct dedup_reference *reference);
static const char *parse_parts(const uint8_t *bytes, size_t len, struct dedup_reference *reference);
static const char *check_parts(const struct dedup_reference *reference, uint64_t size_bytes);

const char *dedup_parse_reparse(const uint8_t *value, size_t len, uint64_t size_bytes,
                                struct dedup_reference *ret_reference)
{
    ret_reference->part_count = 0;
    if (len < HEADER_BYTES || read_le32(value) != VOLUME_DEDUP_TAG) {
        return "its reparse data are not those of a deduplicated file";
    }
    size_t data_len = read_le16(value + 4);
    if (data_len < 4 + CRC_BYTES || data_len > len - HEADER_BYTES) {
        return cut;
    }
    unsigned version = read_le16(value + HEADER_BYTES);
    if (version != VERSION(1, 2) && version != VERSION(2, 1) && version != VERSION(3, 1)) {
        return "its reparse data have a version that is not known";
    }
    const uint8_t *data = value + HEADER_BYTES;
    if (read_le16(data + 2) != data_len) {
        return malformed;
    }
    if (crc32_of(data, data_len - CRC_BYTES) != read_le32(data + data_len - CRC_BYTES)) {
        return "its reparse data are damaged: their checksum differs";
    }
    len = HEADER_BYTES + data_len - CRC_BYTES;
    const char *problem = version == VERSION(1, 2) ? parse_short(value, len, ret_reference)
                          : version == VERSION(2, 1)
                              ? parse_long(value, len, ret_reference)
                              : parse_blocks(value, len, size_bytes, ret_reference);
    return problem != NULL ? problem : check_parts(ret_reference, size_bytes);
}

/* The CRC-32 of Ethernet and zip; at most 64 KiB. */
static uint32_t crc32_of(const uint8_t *bytes, size_t len)
{
    uint32_t crc = UINT32_MAX;

    for (size_t i = 0; i < len; i++) {
        crc ^= bytes[i];
        for (unsigned bit = 0; bit < 8; bit++) {
            crc = (crc & 1) != 0 ? crc >> 1 ^ UINT32_C(0xEDB88320) : crc >> 1;
        }
    }
    return ~crc;
}

static void read_part(const uint8_t *from, struct dedup_part *part)
{
    part->number = read_le32(from);
    part->container = read_le32(from + 4);
    part->offset = read_le32(from + 8);
    part->map_bytes = read_le32(from + 24);
    memcpy(part->digest, from + 32, sizeof(part->digest));
    part->end = read_le64(from + 48);
    part->begin = read_le64(from + 56);
}

/* One part, with the end of the file elsewhere and a longer digest in its place. */
static const char *parse_short(const uint8_t *value, size_t len, struct dedup_reference *reference)
{
    if (len < SHORT_PART_AT + PART_BYTES) {
        return cut;
    }
    memcpy(reference->store, value + SHORT_STORE_AT, sizeof(reference->store));
    read_part(value + SHORT_PART_AT, &reference->parts[0]);
    reference->parts[0].begin = 0;
    reference->parts[0].end = read_le64(value + SHORT_END_AT);
    reference->part_count = 1;
    return NULL;
}

static const char *parse_long(const uint8_t *value, size_t len, struct dedup_reference *reference)
{
    if (len < LONG_STORE_AT + VOLUME_DEDUP_STORE_BYTES) {
        return cut;
    }
    size_t bytes = read_le16(value + LONG_PARTS_BYTES_AT);
    size_t at = HEADER_BYTES + (size_t)read_le16(value + LONG_PARTS_OFFSET_AT);
    if (at > len || bytes > len - at) {
        return cut;
    }
    memcpy(reference->store, value + LONG_STORE_AT, sizeof(reference->store));
    return parse_parts(value + at, bytes, reference);
}

static const char *open_block(const uint8_t *bytes, size_t len, const char *magic,
                              struct block *block)
{
    if (len < BLOCK_HEADER_BYTES) {
        return cut;
    }
    size_t own = read_le32(bytes + 8);
    unsigned items = read_le16(bytes + 14);
    if (memcmp(bytes, magic, 4) != 0 || own < BLOCK_HEADER_BYTES || own > len ||
        items > (own - BLOCK_HEADER_BYTES) / ITEM_BYTES) {
        return malformed;
    }
    *block = (struct block){.bytes = bytes, .len = own, .items = items};
    return NULL;
}

/* Item `index`, when it has that type and at least `need` bytes; else NULL. */
static const uint8_t *find_item(const struct block *block, unsigned index, unsigned type,
                                size_t need, size_t *ret_len)
{
    if (index >= block->items) {
        return NULL;
    }
    const uint8_t *item = block->bytes + BLOCK_HEADER_BYTES + (size_t)index * ITEM_BYTES;
    size_t len = read_le16(item + 2);
    size_t offset = read_le32(item + 4);
    if (read_le16(item) != type || len < need || offset > block->len || len > block->len - offset) {
        return NULL;
    }
    if (ret_len != NULL) {
        *ret_len = len;
    }
    return block->bytes + offset;
}

static const char *parse_blocks(const uint8_t *value, size_t len, uint64_t size_bytes,
                                struct dedup_reference *reference)
{
    struct block file;
    const char *problem =
        open_block(value + HEADER_BYTES + 4, len - HEADER_BYTES - 4, "FeRp", &file);
    if (problem != NULL) {
        return problem;
    }
    const uint8_t *revision = find_item(&file, FILE_REVISION, ITEM_REVISION, 4, NULL);
    const uint8_t *store = find_item(&file, FILE_STORE, ITEM_GUID, VOLUME_DEDUP_STORE_BYTES, NULL);
    const uint8_t *size = find_item(&file, FILE_SIZE, ITEM_QWORD, 8, NULL);
    if (revision == NULL || store == NULL || size == NULL) {
        return malformed;
    }
    if (read_le32(revision) != 1) {
        return "its reparse data have a revision that is not known";
    }
    if (read_le64(size) != size_bytes) {
        return "its reparse data state another size than the file has now";
    }
    memcpy(reference->store, store, sizeof(reference->store));
    for (unsigned i = 0; i < file.items; i++) {
        size_t blob_len = 0;
        const uint8_t *blob = find_item(&file, i, ITEM_BLOB, BLOCK_HEADER_BYTES, &blob_len);
        struct block data;
        if (blob == NULL || memcmp(blob, "DdRp", 4) != 0) {
            continue;
        }
        problem = open_block(blob, blob_len, "DdRp", &data);
        if (problem != NULL) {
            return problem;
        }
        size_t bytes = 0;
        const uint8_t *parts = find_item(&data, DATA_PARTS, ITEM_BLOB, PART_BYTES, &bytes);
        return parts == NULL ? malformed : parse_parts(parts, bytes, reference);
    }
    return malformed;
}

static const char *parse_parts(const uint8_t *bytes, size_t len, struct dedup_reference *reference)
{
    if (len == 0 || len % PART_BYTES != 0 || len / PART_BYTES > DEDUP_PARTS_MAX) {
        return malformed;
    }
    for (size_t i = 0; i < len / PART_BYTES; i++) {
        read_part(bytes + i * PART_BYTES, &reference->parts[i]);
        reference->part_count++;
    }
    return NULL;
}

static const char *check_parts(const struct dedup_reference *reference, uint64_t size_bytes)
{
    uint64_t at = 0;

    for (unsigned i = 0; i < reference->part_count; i++) {
        const struct dedup_part *part = &reference->parts[i];
        if (part->begin != at || part->end <= at) {
            return "the parts that its reparse data name leave a gap or overlap";
        }
        if (part->map_bytes < 8 + DEDUP_MAP_ENTRY_BYTES ||
            (part->map_bytes - 8) % DEDUP_MAP_ENTRY_BYTES != 0) {
            return "its reparse data state an impossible size of the stream map";
        }
        at = part->end;
    }
    return at == size_bytes ? NULL : "its reparse data describe another size than the file has now";
}
