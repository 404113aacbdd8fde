/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The value of an $ATTRIBUTE_LIST: which attribute stands in which record. Pure function on a
 * buffer.
 */
#ifndef WINCH_VOLUME_ATTRIBUTE_LIST_H
#define WINCH_VOLUME_ATTRIBUTE_LIST_H

#include "base/base.h"

/* Windows allows no longer list. */
#define ATTRIBUTE_LIST_BYTES_MAX (UINT32_C(256) << 10)

struct attribute_list_entry {
    uint32_t type;
    uint8_t name_len;    /* units */
    const uint8_t *name; /* UTF-16LE, any alignment */
    uint64_t lowest_vcn;
    uint64_t ref; /* record and sequence that hold the attribute */
};

/* The entry at *at, which moves on. Returns 1; 0 at the end; -1 when the rest is malformed. */
int attribute_list_next(const uint8_t *list, size_t len, size_t *at,
                        struct attribute_list_entry *ret_entry);

#endif
