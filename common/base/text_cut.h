/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Private to base: text that has to fit a fixed buffer and shows an ellipsis where it was cut.
 */
#ifndef WINCH_BASE_TEXT_CUT_H
#define WINCH_BASE_TEXT_CUT_H

#include <stdarg.h>
#include <stddef.h>

#define TEXT_ELLIPSIS "\xE2\x80\xA6"
#define TEXT_ELLIPSIS_LEN ((size_t)3)

/* Format into `out`, which has `size` > TEXT_ELLIPSIS_LEN bytes. What does not fit is cut before
 * a whole UTF-8 sequence and ends in an ellipsis. */
void text_cut_format(char *out, size_t size, const char *fmt, va_list args)
    __attribute__((format(printf, 3, 0)));

/* Shorten `text`, a string of `len` bytes, to at most `max` >= TEXT_ELLIPSIS_LEN bytes with the
 * ellipsis counted. Returns the new length. */
size_t text_cut_shorten(char *text, size_t len, size_t max);

#endif
