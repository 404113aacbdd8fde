/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * LZNT1, the compression of NTFS ([MS-XCA] section 2.5): chunks of 4 KiB, each behind a two-byte
 * header. A pure function on buffers; our own, since libntfs-3g decodes only through a mounted
 * volume, one thread at a time, and again for each read.
 */
#ifndef WINCH_VOLUME_LZNT1_H
#define WINCH_VOLUME_LZNT1_H

#include "base/base.h"

#define LZNT1_CHUNK_BYTES 4096

/* Decode one compression unit of `from_len` stored bytes into exactly `to_len` bytes, a multiple of
 * LZNT1_CHUNK_BYTES. A header of zero, or the end of the stored bytes at the start of a chunk, ends
 * the data; what is left of `to`, and of a chunk that decodes to less than 4 KiB, is zeros.
 * Returns NULL, or why the data cannot be trusted (a sentence part that lives forever); `to` is
 * then undefined. Never reads or writes outside the two buffers. Thread: any. */
const char *lznt1_decode(const uint8_t *from, size_t from_len, uint8_t *to, size_t to_len);

#endif
