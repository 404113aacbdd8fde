/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Scratch arrays that grow and are used again: no allocation per record once they have their size.
 */
#ifndef WINCH_VOLUME_GROW_H
#define WINCH_VOLUME_GROW_H

#include "base/base.h"

/* Room for `need` items of `item_bytes` in *items, whose capacity is *cap items. -1: out of memory;
 * the array stays as it was. */
static inline int grow_array(void **items, size_t *cap, size_t need, size_t item_bytes)
{
    size_t bytes = 0;

    if (need <= *cap) {
        return 0;
    }
    size_t wanted = need < 16 ? 16 : need + need / 2;
    if (wanted < need || __builtin_mul_overflow(wanted, item_bytes, &bytes)) {
        return -1;
    }
    void *grown = realloc(*items, bytes);
    if (grown == NULL) {
        return -1;
    }
    *items = grown;
    *cap = wanted;
    return 0;
}

#endif
