/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Parses index nodes. The positions are those of the on-disk format; every length is checked
 * against the node before anything behind it is looked at.
 */
#include "volume/index.h"

#include "volume/record.h"

#define SIGNATURE_INDX UINT32_C(0x58444E49)
#define ROOT_HEADER_BYTES 16
#define BLOCK_HEADER_BYTES 24
#define NODE_HEADER_BYTES 16
#define ENTRY_HEADER_BYTES 16
#define ENTRY_ALIGNMENT 8
#define SUB_NODE_BYTES 8
#define ENTRY_HAS_SUB_NODE 0x0001
#define ENTRY_IS_LAST 0x0002
#define NAME_HEADER_BYTES 66
#define NAME_SPACE_MAX 3

static const char *parse_node(const uint8_t *node, size_t len, index_each_fn *each, void *self);
static const char *parse_entry(const uint8_t *entry, size_t len, struct index_name *ret_name);
static bool is_block_size(uint32_t bytes);

uint32_t index_block_bytes(const uint8_t *value, size_t len)
{
    if (len < ROOT_HEADER_BYTES || read_le32(value) != ATTRIBUTE_NAME) {
        return 0;
    }
    uint32_t bytes = read_le32(value + 8);
    return is_block_size(bytes) ? bytes : 0;
}

const char *index_parse_root(const uint8_t *value, size_t len, index_each_fn *each, void *self)
{
    if (len < ROOT_HEADER_BYTES + NODE_HEADER_BYTES) {
        return "the index root is too short";
    }
    if (read_le32(value) != ATTRIBUTE_NAME) {
        return "the index root is not one of names";
    }
    return parse_node(value + ROOT_HEADER_BYTES, len - ROOT_HEADER_BYTES, each, self);
}

const char *index_parse_block(uint8_t *block, size_t len, uint32_t block_bytes, uint64_t vcn,
                              index_each_fn *each, void *self)
{
    if (!is_block_size(block_bytes) || block_bytes > len) {
        return "the index block has an impossible size";
    }
    if (read_le32(block) != SIGNATURE_INDX) {
        return "the index block has no INDX signature";
    }
    if (record_undo_fix_ups(block, block_bytes, BLOCK_HEADER_BYTES + NODE_HEADER_BYTES) != NULL) {
        return "the index block is torn: it was not written to its end";
    }
    if (read_le64(block + 16) != vcn) {
        return "the index block belongs to another place";
    }
    return parse_node(block + BLOCK_HEADER_BYTES, block_bytes - BLOCK_HEADER_BYTES, each, self);
}

/* Offsets count from the node's header. */
static const char *parse_node(const uint8_t *node, size_t len, index_each_fn *each, void *self)
{
    size_t at = read_le32(node);
    size_t end = read_le32(node + 4);

    if (end > len || at < NODE_HEADER_BYTES || at > end) {
        return "the index node's lengths are wrong";
    }
    while (end - at >= ENTRY_HEADER_BYTES) {
        const uint8_t *entry = node + at;
        size_t entry_len = read_le16(entry + 8);
        uint16_t flags = read_le16(entry + 12);
        struct index_name name;
        if (entry_len < ENTRY_HEADER_BYTES || entry_len > end - at ||
            entry_len % ENTRY_ALIGNMENT != 0) {
            return "an index entry's length is wrong";
        }
        if ((flags & ENTRY_IS_LAST) != 0) {
            return NULL;
        }
        const char *problem = parse_entry(entry, entry_len, &name);
        if (problem != NULL) {
            return problem;
        }
        each(self, &name);
        at += entry_len;
    }
    return "the index node has no end";
}

static const char *parse_entry(const uint8_t *entry, size_t len, struct index_name *ret_name)
{
    const uint8_t *key = entry + ENTRY_HEADER_BYTES;
    size_t key_len = read_le16(entry + 10);
    size_t room = len - ENTRY_HEADER_BYTES;

    if ((read_le16(entry + 12) & ENTRY_HAS_SUB_NODE) != 0) {
        room = room < SUB_NODE_BYTES ? 0 : room - SUB_NODE_BYTES;
    }
    if (key_len < NAME_HEADER_BYTES || key_len > room) {
        return "an index entry's name lies outside it";
    }
    uint8_t units = key[64];
    if (units == 0 || units * (size_t)2 > key_len - NAME_HEADER_BYTES || key[65] > NAME_SPACE_MAX) {
        return "an index entry's name is damaged";
    }
    *ret_name = (struct index_name){
        .file_ref = read_le64(entry),
        .parent_ref = read_le64(key),
        .units_le = key + NAME_HEADER_BYTES,
        .len = units,
        .space = key[65],
    };
    return NULL;
}

static bool is_block_size(uint32_t bytes)
{
    return bytes >= INDEX_BLOCK_BYTES_MIN && bytes <= INDEX_BLOCK_BYTES_MAX &&
           (bytes & (bytes - 1)) == 0;
}
