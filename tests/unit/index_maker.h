/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Entries and blocks of directory indexes, for the tests of volume. */
#ifndef WINCH_TEST_INDEX_MAKER_H
#define WINCH_TEST_INDEX_MAKER_H

#include "record_maker.h"

enum { INDEX_BLOCK = 4096, INDEX_BLOCK_HEADER = 24, INDEX_FIRST = 64, INDEX_FIX_UPS = 40 };
#define INDEX_PARENT (UINT64_C(5) << 48 | 5)

/* Returns its length. */
static inline uint32_t index_put_entry(uint8_t *to, uint64_t ref, const char *name, bool sub_node)
{
    uint32_t len = (uint32_t)strlen(name);
    uint32_t key_len = 66 + 2 * len;
    uint32_t entry_len = (16 + key_len + 7) / 8 * 8 + (sub_node ? 8 : 0);

    put64(to, ref);
    put16(to + 8, entry_len);
    put16(to + 10, key_len);
    put16(to + 12, sub_node ? 1 : 0);
    put64(to + 16, INDEX_PARENT);
    to[16 + 64] = (uint8_t)len;
    to[16 + 65] = 1;
    for (uint32_t i = 0; i < len; i++) {
        put16(to + 16 + 66 + 2 * i, (uint8_t)name[i]);
    }
    return entry_len;
}

/* The mark behind the last entry; returns where the node ends. */
static inline uint32_t index_end_node(uint8_t *bytes, uint32_t node, uint32_t first, uint32_t at)
{
    put16(bytes + at + 8, 16);
    put16(bytes + at + 12, 2);
    at += 16;
    put32(bytes + node, first - node);
    put32(bytes + node + 4, at - node);
    put32(bytes + node + 8, at - node);
    return at;
}

static inline void index_open_block(uint8_t *block, uint64_t vcn)
{
    memset(block, 0, INDEX_BLOCK);
    memcpy(block, "INDX", 4);
    put16(block + 4, INDEX_FIX_UPS);
    put16(block + 6, INDEX_BLOCK / 512 + 1);
    put64(block + 16, vcn);
}

static inline void index_close_block(uint8_t *block)
{
    put16(block + INDEX_FIX_UPS, 0x4321);
    for (uint32_t i = 1; i <= INDEX_BLOCK / 512; i++) {
        uint8_t *end = block + i * 512 - 2;
        put16(block + INDEX_FIX_UPS + 2 * i, read_le16(end));
        put16(end, 0x4321);
    }
}

#endif
