/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Appending bytes percent-encoded, as base64 and as hexadecimal digits. */
#include "base/base.h"
#include "base/base64.h"

enum { BASE64_CHUNK_BYTES = 3 * 256, HEX_CHUNK_BYTES = 512 };

static bool is_unreserved(char c);

void text_add_url(struct text *text, const char *bytes, size_t len)
{
    static const char digits[] = "0123456789ABCDEF";
    size_t start = 0;
    for (size_t i = 0; i < len; i++) {
        if (is_unreserved(bytes[i])) {
            continue;
        }
        unsigned char c = (unsigned char)bytes[i];
        const char escape[3] = {'%', digits[c >> 4], digits[c & 15]};
        text_add_bytes(text, bytes + start, i - start);
        text_add_bytes(text, escape, sizeof(escape));
        start = i + 1;
    }
    if (len > start) {
        text_add_bytes(text, bytes + start, len - start);
    }
}

void text_add_base64(struct text *text, const void *bytes, size_t len)
{
    const uint8_t *next = bytes;
    char chunk[BASE64_CHUNK_BYTES / 3 * 4];
    while (len > 0 && !text->failed) {
        size_t take = len < BASE64_CHUNK_BYTES ? len : BASE64_CHUNK_BYTES;
        base64_encode(next, take, chunk);
        text_add_bytes(text, chunk, (take + 2) / 3 * 4);
        next += take;
        len -= take;
    }
}

void text_add_hex(struct text *text, const void *bytes, size_t len)
{
    static const char digits[] = "0123456789abcdef";
    const uint8_t *next = bytes;
    char chunk[HEX_CHUNK_BYTES * 2];
    while (len > 0 && !text->failed) {
        size_t take = len < HEX_CHUNK_BYTES ? len : HEX_CHUNK_BYTES;
        for (size_t i = 0; i < take; i++) {
            chunk[2 * i] = digits[next[i] >> 4];
            chunk[2 * i + 1] = digits[next[i] & 15];
        }
        text_add_bytes(text, chunk, take * 2);
        next += take;
        len -= take;
    }
}

static bool is_unreserved(char c)
{
    return (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-' ||
           c == '.' || c == '_' || c == '~';
}
