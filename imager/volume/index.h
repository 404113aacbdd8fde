/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Directory indexes ($I30): the names in an $INDEX_ROOT and in an INDX block. Pure functions on
 * buffers. Sub-nodes are not followed: whoever wants a whole index hands over each block that
 * $BITMAP:$I30 marks, so that no damage can make a loop.
 */
#ifndef WINCH_VOLUME_INDEX_H
#define WINCH_VOLUME_INDEX_H

#include "base/base.h"

/* Windows makes 4 KiB; one cluster where those are larger was seen too. */
#define INDEX_BLOCK_BYTES_MIN 512
#define INDEX_BLOCK_BYTES_MAX (UINT32_C(64) << 10)

struct index_name {
    uint64_t file_ref;   /* record and sequence of the entry */
    uint64_t parent_ref; /* of the directory, as the name says */
    const uint8_t *units_le;
    uint8_t len; /* units, at least 1 */
    uint8_t space;
};

/* The name is valid during the call only. */
typedef void index_each_fn(void *self, const struct index_name *name);

/* Size of the blocks that an $INDEX_ROOT states, or 0 when it is no root of a directory or states
 * one that cannot be. */
uint32_t index_block_bytes(const uint8_t *value, size_t len);

/* The names in the value of an $INDEX_ROOT. NULL, or why the rest of it cannot be trusted (a
 * sentence part that lives forever); names before the fault were handed over. */
const char *index_parse_root(const uint8_t *value, size_t len, index_each_fn *each, void *self);

/* The same for a raw INDX block of `block_bytes` at the start of `block`, which has `len` bytes.
 * Its fix-ups are undone in place, once. `vcn` is the number that the block must carry. A torn
 * block hands over nothing. */
const char *index_parse_block(uint8_t *block, size_t len, uint32_t block_bytes, uint64_t vcn,
                              index_each_fn *each, void *self);

#endif
