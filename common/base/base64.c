/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Base64 with the standard alphabet and padding. Decoding is strict, also about the unused bits
 * of the last character, so that one value has one spelling.
 */
#include "base/base64.h"
#include "base/base.h"

static const char alphabet[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

static int digit_value(char c);
static int decode_group(const char *base64, size_t digits, uint32_t *ret_bits);

void base64_encode(const uint8_t *bytes, size_t len, char *out)
{
    for (; len >= 3; len -= 3, bytes += 3, out += 4) {
        uint32_t bits = (uint32_t)bytes[0] << 16 | (uint32_t)bytes[1] << 8 | bytes[2];
        out[0] = alphabet[bits >> 18];
        out[1] = alphabet[bits >> 12 & 63];
        out[2] = alphabet[bits >> 6 & 63];
        out[3] = alphabet[bits & 63];
    }
    if (len > 0) {
        uint32_t bits = (uint32_t)bytes[0] << 16 | (len > 1 ? (uint32_t)bytes[1] << 8 : 0);
        out[0] = alphabet[bits >> 18];
        out[1] = alphabet[bits >> 12 & 63];
        out[2] = len > 1 ? alphabet[bits >> 6 & 63] : '=';
        out[3] = '=';
    }
}

ssize_t base64_decode_into(const char *base64, size_t len, uint8_t *out)
{
    if (len % 4 != 0) {
        return -1;
    }
    size_t padding = 0;
    while (padding < 2 && padding < len && base64[len - 1 - padding] == '=') {
        padding++;
    }
    ssize_t count = 0;
    for (size_t i = 0; i < len; i += 4) {
        size_t digits = i + 4 == len ? 4 - padding : 4;
        uint32_t bits = 0;
        if (decode_group(base64 + i, digits, &bits) != 0) {
            return -1;
        }
        for (size_t k = 0; k + 1 < digits; k++) {
            out[count++] = (uint8_t)(bits >> (16 - 8 * k));
        }
    }
    return count;
}

int base64_decode(const char *base64, size_t len, uint8_t **ret_bytes, size_t *ret_len)
{
    CLEANUP_FREE uint8_t *bytes = malloc(len / 4 * 3 + 1);
    if (bytes == NULL) {
        return -1;
    }
    ssize_t count = base64_decode_into(base64, len, bytes);
    if (count < 0) {
        return -1;
    }
    bytes[count] = '\0'; /* decoded text can then be used as a string */
    *ret_bytes = TAKE(bytes);
    *ret_len = (size_t)count;
    return 0;
}

/* The 24 bits of a group with 2 to 4 digits; the bits that belong to no byte have to be 0. */
static int decode_group(const char *base64, size_t digits, uint32_t *ret_bits)
{
    uint32_t bits = 0;
    for (size_t i = 0; i < digits; i++) {
        int value = digit_value(base64[i]);
        if (value < 0) {
            return -1;
        }
        bits |= (uint32_t)value << (18 - 6 * i);
    }
    uint32_t unused = (UINT32_C(1) << (8 * (4 - digits))) - 1;
    if ((bits & unused) != 0) {
        return -1;
    }
    *ret_bits = bits;
    return 0;
}

static int digit_value(char c)
{
    if (c >= 'A' && c <= 'Z') {
        return c - 'A';
    }
    if (c >= 'a' && c <= 'z') {
        return c - 'a' + 26;
    }
    if (c >= '0' && c <= '9') {
        return c - '0' + 52;
    }
    if (c == '+') {
        return 62;
    }
    return c == '/' ? 63 : -1;
}
