/* SPDX-License-Identifier: GPL-3.0-or-later */
/* WOF: what its reparse data and its table say, and libwim's decoders. */
#include "volume/wof.h"

#include <string.h>
#include <wimlib.h>

#define REPARSE_HEADER_BYTES 8
#define REPARSE_BYTES (REPARSE_HEADER_BYTES + 16)
#define EXTERNAL_VERSION 1
#define PROVIDER_WIM 1
#define PROVIDER_FILE 2
#define PROVIDER_VERSION 1
#define XPRESS_CODE_BYTES 256

static const struct {
    uint32_t chunk_bytes;
    enum wimlib_compression_type type;
} algorithms[WOF_ALGORITHM_COUNT] = {
    [WOF_XPRESS4K] = {4096, WIMLIB_COMPRESSION_TYPE_XPRESS},
    [WOF_LZX] = {32768, WIMLIB_COMPRESSION_TYPE_LZX},
    [WOF_XPRESS8K] = {8192, WIMLIB_COMPRESSION_TYPE_XPRESS},
    [WOF_XPRESS16K] = {16384, WIMLIB_COMPRESSION_TYPE_XPRESS},
};

static const uint16_t stream_name[] = {'W', 'o', 'f', 'C', 'o', 'm', 'p', 'r', 'e',
                                       's', 's', 'e', 'd', 'D', 'a', 't', 'a'};

const struct volume_stream *volume_wof_stream(const struct volume_entry *entry)
{
    for (size_t i = 0; i < entry->stream_count; i++) {
        const struct volume_stream *stream = &entry->streams[i];
        if (stream->name_len == ARRAY_LEN(stream_name) &&
            memcmp(stream->name, stream_name, sizeof(stream_name)) == 0) {
            return stream;
        }
    }
    return NULL;
}

bool volume_wof_is_known(const struct volume_entry *entry)
{
    enum wof_algorithm algorithm;
    return wof_parse_reparse(entry->reparse, entry->reparse_len, &algorithm) == NULL;
}

const char *wof_parse_reparse(const uint8_t *value, size_t len, enum wof_algorithm *ret_algorithm)
{
    if (len < REPARSE_HEADER_BYTES || read_le32(value) != WOF_REPARSE_TAG) {
        return "its reparse data are not those of a CompactOS file";
    }
    if (len < REPARSE_BYTES || read_le16(value + 4) < REPARSE_BYTES - REPARSE_HEADER_BYTES) {
        return "its reparse data are cut";
    }
    if (read_le32(value + 8) != EXTERNAL_VERSION) {
        return "its reparse data have a version that is not known";
    }
    uint32_t provider = read_le32(value + 12);
    if (provider == PROVIDER_WIM) {
        return "its content stands in a WIM file (WIMBoot), not in the file itself";
    }
    if (provider != PROVIDER_FILE || read_le32(value + 16) != PROVIDER_VERSION) {
        return "its reparse data name a provider that is not known";
    }
    uint32_t algorithm = read_le32(value + 20);
    if (algorithm >= WOF_ALGORITHM_COUNT) {
        return "it is compressed by an algorithm that is not known";
    }
    *ret_algorithm = (enum wof_algorithm)algorithm;
    return NULL;
}

uint32_t wof_chunk_bytes(enum wof_algorithm algorithm)
{
    return algorithms[algorithm].chunk_bytes;
}

uint64_t wof_chunk_count(enum wof_algorithm algorithm, uint64_t size_bytes)
{
    uint32_t chunk = algorithms[algorithm].chunk_bytes;
    return size_bytes / chunk + (size_bytes % chunk != 0 ? 1 : 0);
}

uint32_t wof_entry_bytes(uint64_t size_bytes)
{
    return size_bytes > UINT32_MAX ? sizeof(uint64_t) : sizeof(uint32_t);
}

void wof_codec_clear(struct wof_codec *codec)
{
    for (size_t i = 0; i < WOF_ALGORITHM_COUNT; i++) {
        wimlib_free_decompressor(codec->decompressors[i]); /* accepts NULL */
        codec->decompressors[i] = NULL;
    }
}

/* An XPRESS chunk begins with the lengths of its code, 512 of 4 bits. libwim takes a code without
 * any symbol for one that gives zeros, so that a lost chunk would read as zeros with success. */
static bool has_no_code(const uint8_t *from, size_t from_len)
{
    size_t i = 0;

    while (i < XPRESS_CODE_BYTES && i < from_len && from[i] == 0) {
        i++;
    }
    return i == XPRESS_CODE_BYTES || i == from_len;
}

const char *wof_decode(struct wof_codec *codec, enum wof_algorithm algorithm, const uint8_t *from,
                       size_t from_len, uint8_t *to, size_t to_len, bool *ret_no_memory)
{
    if (from_len == to_len) {
        memcpy(to, from, to_len);
        return NULL;
    }
    if (from_len == 0 || from_len > to_len) {
        return "a chunk is empty or longer than its content";
    }
    if (algorithm != WOF_LZX && has_no_code(from, from_len)) {
        return "a chunk does not decode";
    }
    struct wimlib_decompressor **decompressor = &codec->decompressors[algorithm];
    if (*decompressor == NULL &&
        wimlib_create_decompressor(algorithms[algorithm].type, algorithms[algorithm].chunk_bytes,
                                   decompressor) != 0) {
        *decompressor = NULL;
        *ret_no_memory = true;
        return "no memory for the decoder";
    }
    if (wimlib_decompress(from, from_len, to, to_len, *decompressor) != 0) {
        return "a chunk does not decode";
    }
    return NULL;
}
