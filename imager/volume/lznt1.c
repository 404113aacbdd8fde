/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * LZNT1. A chunk is groups of a flag byte and eight tokens: a literal, or a copy of 16 bits, whose
 * split between distance and length moves as the chunk fills.
 */
#include "volume/lznt1.h"

#include <string.h>

#define HEADER_BYTES 2
#define HEADER_SIZE_MASK 0x0FFFU
#define HEADER_SIGNATURE_MASK 0x7000U
#define HEADER_SIGNATURE 0x3000U
#define HEADER_COMPRESSED 0x8000U

#define TOKENS_PER_GROUP 8
#define LENGTH_BITS_MAX 12
#define LENGTH_BIAS 3
/* The distance has 4 bits up to this position, and one more each time the position doubles. */
#define FIRST_SPLIT 16

/* Bytes are copied in words where both buffers have room behind the copy. */
#define WORD_BYTES 8

struct window {
    const uint8_t *from, *from_end;
    uint8_t *to, *to_start, *to_end; /* of the chunk */
    uint8_t *room_end;               /* what may be overwritten: the end of the whole unit */
    unsigned length_bits;
    size_t next_split; /* position in the chunk at which length_bits falls */
};

static const char too_long[] = "its compressed data decode to more than they may";
static const char cut[] = "its compressed data end too early";

static const char *decode_chunk(struct window *window);
static const char *decode_group(struct window *window, unsigned flags);
static const char *copy_match(struct window *window, size_t position, unsigned token);

const char *lznt1_decode(const uint8_t *from, size_t from_len, uint8_t *to, size_t to_len)
{
    size_t in = 0;
    size_t out = 0;

    while (out < to_len && from_len - in >= HEADER_BYTES) {
        unsigned header = read_le16(from + in);
        if (header == 0) {
            break;
        }
        size_t stored = (header & HEADER_SIZE_MASK) + 1;
        in += HEADER_BYTES;
        if ((header & HEADER_SIGNATURE_MASK) != HEADER_SIGNATURE) {
            return "its compressed data have a malformed chunk header";
        }
        if (stored > from_len - in) {
            return cut;
        }
        if ((header & HEADER_COMPRESSED) == 0) {
            if (stored != LZNT1_CHUNK_BYTES) {
                return "its compressed data hold a plain chunk of another size";
            }
            memcpy(to + out, from + in, LZNT1_CHUNK_BYTES);
        } else {
            struct window window = {.from = from + in,
                                    .from_end = from + in + stored,
                                    .to = to + out,
                                    .to_start = to + out,
                                    .to_end = to + out + LZNT1_CHUNK_BYTES,
                                    .room_end = to + to_len,
                                    .length_bits = LENGTH_BITS_MAX,
                                    .next_split = FIRST_SPLIT + 1};
            const char *problem = decode_chunk(&window);
            if (problem != NULL) {
                return problem;
            }
            memset(window.to, 0, (size_t)(window.to_end - window.to));
        }
        in += stored;
        out += LZNT1_CHUNK_BYTES;
    }
    memset(to + out, 0, to_len - out);
    return NULL;
}

static const char *decode_chunk(struct window *window)
{
    while (window->from < window->from_end) {
        unsigned flags = *window->from++;
        bool roomy = window->from_end - window->from >= WORD_BYTES &&
                     window->to_end - window->to >= WORD_BYTES;
        if (flags == 0 && roomy) {
            memcpy(window->to, window->from, TOKENS_PER_GROUP);
            window->to += TOKENS_PER_GROUP;
            window->from += TOKENS_PER_GROUP;
            continue;
        }
        const char *problem = decode_group(window, flags);
        if (problem != NULL) {
            return problem;
        }
    }
    return NULL;
}

static const char *decode_group(struct window *window, unsigned flags)
{
    for (unsigned i = 0; i < TOKENS_PER_GROUP && window->from < window->from_end; i++) {
        if ((flags >> i & 1) == 0) {
            if (window->to == window->to_end) {
                return too_long;
            }
            *window->to++ = *window->from++;
            continue;
        }
        if (window->from_end - window->from < 2) {
            return cut;
        }
        size_t position = (size_t)(window->to - window->to_start);
        unsigned token = read_le16(window->from);
        window->from += 2;
        const char *problem = copy_match(window, position, token);
        if (problem != NULL) {
            return problem;
        }
    }
    return NULL;
}

static inline const char *copy_match(struct window *window, size_t position, unsigned token)
{
    while (position >= window->next_split) {
        window->length_bits--;
        window->next_split = (window->next_split - 1) * 2 + 1;
    }
    size_t length = (token & ((1U << window->length_bits) - 1)) + LENGTH_BIAS;
    size_t distance = (token >> window->length_bits) + 1;
    uint8_t *to = window->to;
    if (distance > position) {
        return "its compressed data refer to bytes before their chunk";
    }
    if (length > (size_t)(window->to_end - to)) {
        return too_long;
    }
    const uint8_t *source = to - distance;
    window->to += length;
    if (distance >= WORD_BYTES && (size_t)(window->room_end - to) >= length + WORD_BYTES) {
        for (uint8_t *end = to + length; to < end; to += WORD_BYTES, source += WORD_BYTES) {
            memcpy(to, source, WORD_BYTES);
        }
        return NULL;
    }
    if (distance == 1) {
        memset(to, *source, length);
        return NULL;
    }
    while (length-- > 0) {
        *to++ = *source++;
    }
    return NULL;
}
