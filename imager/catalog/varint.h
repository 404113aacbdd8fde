/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Private to catalog: numbers as LEB128, little ones in one byte. Writing trusts the room it was
 * given; reading never passes the end: `bad` is set, and zeros come back.
 */
#ifndef WINCH_CATALOG_VARINT_H
#define WINCH_CATALOG_VARINT_H

#include "base/base.h"

#define VARINT_BYTES_MAX 10

struct varint_cursor {
    const uint8_t *at;
    const uint8_t *end;
    bool bad;
};

static inline uint8_t *varint_put(uint8_t *out, uint64_t value)
{
    while (value >= 0x80) {
        *out++ = (uint8_t)(value | 0x80);
        value >>= 7;
    }
    *out++ = (uint8_t)value;
    return out;
}

/* The difference of two numbers, modulo 2^64: small either way when they are near. */
static inline uint8_t *varint_put_delta(uint8_t *out, uint64_t value, uint64_t from)
{
    uint64_t delta = value - from;
    return varint_put(out, delta << 1 ^ (0 - (delta >> 63)));
}

static inline uint8_t *varint_put_le64(uint8_t *out, uint64_t value)
{
    for (unsigned i = 0; i < 8; i++) {
        *out++ = (uint8_t)(value >> (8 * i));
    }
    return out;
}

static inline uint64_t varint_take(struct varint_cursor *cursor)
{
    uint64_t value = 0;
    for (unsigned shift = 0; shift < 64 && cursor->at < cursor->end; shift += 7) {
        uint8_t byte = *cursor->at++;
        value |= (uint64_t)(byte & 0x7F) << shift;
        if (byte < 0x80) {
            return value;
        }
    }
    cursor->bad = true;
    return 0;
}

static inline uint64_t varint_take_delta(struct varint_cursor *cursor, uint64_t from)
{
    uint64_t zigzag = varint_take(cursor);
    return from + (zigzag >> 1 ^ (0 - (zigzag & 1)));
}

/* `len` raw bytes, or NULL. */
static inline const uint8_t *varint_take_bytes(struct varint_cursor *cursor, uint64_t len)
{
    if (len > (uint64_t)(cursor->end - cursor->at)) {
        cursor->bad = true;
        return NULL;
    }
    const uint8_t *bytes = cursor->at;
    cursor->at += len;
    return bytes;
}

static inline uint8_t varint_take_byte(struct varint_cursor *cursor)
{
    const uint8_t *byte = varint_take_bytes(cursor, 1);
    return byte == NULL ? 0 : *byte;
}

#endif
