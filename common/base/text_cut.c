/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Cutting text to a fixed size without splitting a UTF-8 sequence. */
#include "base/text_cut.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

void text_cut_format(char *out, size_t size, const char *fmt, va_list args)
{
    assert(size > TEXT_ELLIPSIS_LEN);
    int len = vsnprintf(out, size, fmt, args);
    if (len < 0) {
        /* Only a conversion of wide characters can fail; the format still tells something. */
        size_t fmt_len = strnlen(fmt, size - 1);
        memcpy(out, fmt, fmt_len);
        out[fmt_len] = '\0';
    } else if ((size_t)len >= size) {
        (void)text_cut_shorten(out, size, size - 1);
    }
}

size_t text_cut_shorten(char *text, size_t len, size_t max)
{
    if (len <= max) {
        return len;
    }
    assert(max >= TEXT_ELLIPSIS_LEN);
    size_t keep = max - TEXT_ELLIPSIS_LEN;
    /* A sequence has at most three continuation bytes; more are not UTF-8 and may be split. */
    size_t back = 0;
    while (back < 3 && keep - back > 0 && ((unsigned char)text[keep - back] & 0xC0) == 0x80) {
        back++;
    }
    if (((unsigned char)text[keep - back] & 0xC0) != 0x80) {
        keep -= back;
    }
    memcpy(text + keep, TEXT_ELLIPSIS, TEXT_ELLIPSIS_LEN);
    text[keep + TEXT_ELLIPSIS_LEN] = '\0';
    return keep + TEXT_ELLIPSIS_LEN;
}
