/* SPDX-License-Identifier: GPL-3.0-or-later */
/* UTF-16 as NTFS stores names, UTF-8 as everything else wants them. */
#include "base/base.h"

#include <assert.h>

enum { CODE_POINT_MAX = 0x10FFFF };

static bool is_surrogate(uint32_t value)
{
    return value >= 0xD800 && value <= 0xDFFF;
}

uint32_t utf_next_utf16(const uint16_t *units, size_t count, size_t *index)
{
    assert(*index < count);
    uint32_t high = units[(*index)++];
    if (high < 0xD800 || high > 0xDBFF || *index == count) {
        return high;
    }
    uint32_t low = units[*index];
    if (low < 0xDC00 || low > 0xDFFF) {
        return high;
    }
    (*index)++;
    return 0x10000 + ((high - 0xD800) << 10) + (low - 0xDC00);
}

size_t utf_put_utf8(uint32_t code_point, char out[4])
{
    if (code_point < 0x80) {
        out[0] = (char)code_point;
        return 1;
    }
    if (code_point < 0x800) {
        out[0] = (char)(0xC0 | code_point >> 6);
        out[1] = (char)(0x80 | (code_point & 0x3F));
        return 2;
    }
    if (is_surrogate(code_point) || code_point > CODE_POINT_MAX) {
        return 0;
    }
    if (code_point < 0x10000) {
        out[0] = (char)(0xE0 | code_point >> 12);
        out[1] = (char)(0x80 | (code_point >> 6 & 0x3F));
        out[2] = (char)(0x80 | (code_point & 0x3F));
        return 3;
    }
    out[0] = (char)(0xF0 | code_point >> 18);
    out[1] = (char)(0x80 | (code_point >> 12 & 0x3F));
    out[2] = (char)(0x80 | (code_point >> 6 & 0x3F));
    out[3] = (char)(0x80 | (code_point & 0x3F));
    return 4;
}

uint32_t utf_next_utf8(const char *bytes, size_t len, size_t *index)
{
    /* The smallest code point that needs so many bytes. */
    static const uint32_t smallest[] = {0, 0, 0x80, 0x800, 0x10000};

    assert(*index < len);
    const unsigned char *next = (const unsigned char *)bytes + *index;
    size_t left = len - *index;
    (*index)++;
    if (next[0] < 0x80) {
        return next[0];
    }
    size_t size = next[0] >= 0xF8   ? 0
                  : next[0] >= 0xF0 ? 4
                  : next[0] >= 0xE0 ? 3
                  : next[0] >= 0xC0 ? 2
                                    : 0;
    if (size == 0 || size > left) {
        return UINT32_MAX;
    }
    uint32_t code_point = next[0] & (0x7FU >> size);
    for (size_t i = 1; i < size; i++) {
        if ((next[i] & 0xC0) != 0x80) {
            return UINT32_MAX;
        }
        code_point = code_point << 6 | (next[i] & 0x3F);
    }
    if (code_point < smallest[size] || code_point > CODE_POINT_MAX || is_surrogate(code_point)) {
        return UINT32_MAX;
    }
    *index += size - 1;
    return code_point;
}

bool utf_valid_utf8(const char *bytes, size_t len)
{
    size_t index = 0;
    while (index < len) {
        if (utf_next_utf8(bytes, len, &index) == UINT32_MAX) {
            return false;
        }
    }
    return true;
}

ssize_t utf_to_utf16(const char *bytes, size_t len, uint16_t *units, size_t max)
{
    size_t count = 0;
    size_t index = 0;
    while (index < len) {
        uint32_t code_point = utf_next_utf8(bytes, len, &index);
        size_t need = code_point < 0x10000 ? 1 : 2;
        if (code_point == UINT32_MAX || need > max - count) {
            return -1;
        }
        if (need == 1) {
            units[count++] = (uint16_t)code_point;
        } else {
            units[count++] = (uint16_t)(0xD800 + ((code_point - 0x10000) >> 10));
            units[count++] = (uint16_t)(0xDC00 + ((code_point - 0x10000) & 0x3FF));
        }
    }
    return (ssize_t)count;
}

uint32_t utf_upper(uint32_t code_point)
{
    /* Every `step`-th code point from `first` to `last` is lower case and moves by `delta`.
     * U+0131 and U+00DF stand apart as on NTFS: their capitals are other letters' as well. */
    static const struct {
        uint16_t first;
        uint16_t last;
        int16_t step;
        int16_t delta;
    } lower[] = {
        {0x00E0, 0x00F6, 1, -32}, {0x00F8, 0x00FE, 1, -32}, {0x00FF, 0x00FF, 1, 121},
        {0x0101, 0x012F, 2, -1},  {0x0133, 0x0137, 2, -1},  {0x013A, 0x0148, 2, -1},
        {0x014B, 0x0177, 2, -1},  {0x017A, 0x017E, 2, -1},  {0x03AC, 0x03AC, 1, -38},
        {0x03AD, 0x03AF, 1, -37}, {0x03B1, 0x03C1, 1, -32}, {0x03C2, 0x03C2, 1, -31},
        {0x03C3, 0x03CB, 1, -32}, {0x03CC, 0x03CC, 1, -64}, {0x03CD, 0x03CE, 1, -63},
        {0x0430, 0x044F, 1, -32}, {0x0450, 0x045F, 1, -80}, {0x0461, 0x0481, 2, -1},
        {0x048B, 0x04BF, 2, -1},  {0x04C2, 0x04CE, 2, -1},  {0x04CF, 0x04CF, 1, -15},
        {0x04D1, 0x052F, 2, -1},
    };
    if (code_point < 0x80) {
        return code_point >= 'a' && code_point <= 'z' ? code_point - 32 : code_point;
    }
    for (size_t i = 0; i < ARRAY_LEN(lower); i++) {
        if (code_point < lower[i].first) {
            break;
        }
        if (code_point <= lower[i].last) {
            bool hit = (code_point - lower[i].first) % (uint32_t)lower[i].step == 0;
            return hit ? (uint32_t)((int32_t)code_point + lower[i].delta) : code_point;
        }
    }
    return code_point;
}
