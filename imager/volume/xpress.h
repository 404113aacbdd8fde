/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * XPRESS without Huffman codes, "plain LZ77" ([MS-XCA] section 2.4): what Windows Data
 * Deduplication compresses chunks with. A pure function on buffers; our own, since libwim's XPRESS
 * is the form with Huffman codes.
 */
#ifndef WINCH_VOLUME_XPRESS_H
#define WINCH_VOLUME_XPRESS_H

#include "base/base.h"

/* Decode `from_len` bytes into exactly `to_len`; what follows the last byte is ignored. Returns
 * NULL, or why not (a sentence part that lives forever); `to` is then undefined. Never reads or
 * writes outside the two buffers. Thread: any. */
const char *xpress_decode(const uint8_t *from, size_t from_len, uint8_t *to, size_t to_len);

#endif
