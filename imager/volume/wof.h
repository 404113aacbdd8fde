/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * WOF, the Windows Overlay Filter (CompactOS, `compact /exe`): the content of a file stands
 * compressed in its stream WofCompressedData, in chunks behind a table of their ends, while the
 * unnamed stream is one hole. Sources: [MS-FSCC] 2.1.2 for the tag, wofapi.h and
 * FILE_PROVIDER_EXTERNAL_INFO_V1 for the reparse data; the table was measured on real files.
 */
#ifndef WINCH_VOLUME_WOF_H
#define WINCH_VOLUME_WOF_H

#include "volume/volume.h"

#define WOF_REPARSE_TAG UINT32_C(0x80000017)
#define WOF_CHUNK_BYTES_MAX 32768

enum wof_algorithm { WOF_XPRESS4K, WOF_LZX, WOF_XPRESS8K, WOF_XPRESS16K };
#define WOF_ALGORITHM_COUNT 4

/* From the whole reparse value, header included. NULL, or why winch cannot know how the content is
 * kept (a sentence part that lives forever). */
const char *wof_parse_reparse(const uint8_t *value, size_t len, enum wof_algorithm *ret_algorithm);
uint32_t wof_chunk_bytes(enum wof_algorithm algorithm);

/* How many chunks a file of `size_bytes` has, and the bytes of one entry of the table; the table
 * has an entry for each chunk but the last. */
uint64_t wof_chunk_count(enum wof_algorithm algorithm, uint64_t size_bytes);
uint32_t wof_entry_bytes(uint64_t size_bytes);

/* Decoders for all algorithms, made at their first use. Zeroed at first; one thread's own. */
struct wof_codec {
    struct wimlib_decompressor *decompressors[WOF_ALGORITHM_COUNT];
};
void wof_codec_clear(struct wof_codec *codec);
/* Decode one chunk of `from_len` stored bytes into exactly `to_len` bytes. A chunk that did not
 * shrink is stored as it is. NULL, or why not; *ret_no_memory is set when the decoder could not be
 * made. */
const char *wof_decode(struct wof_codec *codec, enum wof_algorithm algorithm, const uint8_t *from,
                       size_t from_len, uint8_t *to, size_t to_len, bool *ret_no_memory);

#endif
