/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * JSON strings. What harms a terminal is escaped, too: people look at these files there. A manifest
 * has one line per file, so runs of plain characters are found eight
 * bytes at a time and copied as a whole.
 */
#include "base/base.h"
#include "base/text_shown.h"

#include <string.h>

#define EVERY_BYTE UINT64_C(0x0101010101010101)
#define EVERY_TOP_BIT UINT64_C(0x8080808080808080)
#define REPLACEMENT "\xEF\xBF\xBD" /* U+FFFD */

static size_t skip_plain(const char *bytes, size_t len, size_t index);
static void add_escape(struct text *text, unsigned char c);
static void add_unit_escapes(struct text *text, uint32_t code_point);

void text_add_json(struct text *text, const char *bytes, size_t len)
{
    text_add_char(text, '"');
    size_t start = 0;
    size_t index = 0;
    while ((index = skip_plain(bytes, len, index)) < len) {
        unsigned char c = (unsigned char)bytes[index];
        size_t next = index;
        uint32_t code_point = utf_next_utf8(bytes, len, &next);
        if (c >= 0x80 && text_is_harmless(code_point)) {
            index = next;
            continue;
        }
        text_add_bytes(text, bytes + start, index - start);
        if (code_point == UINT32_MAX) {
            text_add(text, REPLACEMENT);
            next = index + 1;
        } else if (c >= 0x80) {
            add_unit_escapes(text, code_point);
        } else {
            add_escape(text, c);
        }
        index = next;
        start = index;
    }
    if (len > start) {
        text_add_bytes(text, bytes + start, len - start);
    }
    text_add_char(text, '"');
}

static bool is_plain(unsigned char c)
{
    return c >= 0x20 && c < 0x7F && c != '"' && c != '\\';
}

/* Sets the top bit of some byte if any byte of `word` is zero, and none otherwise. */
static uint64_t any_zero(uint64_t word)
{
    return (word - EVERY_BYTE) & ~word & EVERY_TOP_BIT;
}

/* The first index from `index` on whose byte cannot be copied as it is, or `len`. */
static size_t skip_plain(const char *bytes, size_t len, size_t index)
{
    while (len - index >= sizeof(uint64_t)) {
        uint64_t word;
        memcpy(&word, bytes + index, sizeof(word));
        uint64_t special = (word & EVERY_TOP_BIT) | any_zero(word & (EVERY_BYTE * 0xE0)) |
                           any_zero(word ^ (EVERY_BYTE * 0x7F)) |
                           any_zero(word ^ (EVERY_BYTE * '"')) |
                           any_zero(word ^ (EVERY_BYTE * '\\'));
        if (special != 0) {
            break;
        }
        index += sizeof(word);
    }
    while (index < len && is_plain((unsigned char)bytes[index])) {
        index++;
    }
    return index;
}

static void add_escape(struct text *text, unsigned char c)
{
    switch (c) {
    case '"':
        text_add(text, "\\\"");
        break;
    case '\\':
        text_add(text, "\\\\");
        break;
    case '\b':
        text_add(text, "\\b");
        break;
    case '\f':
        text_add(text, "\\f");
        break;
    case '\n':
        text_add(text, "\\n");
        break;
    case '\r':
        text_add(text, "\\r");
        break;
    case '\t':
        text_add(text, "\\t");
        break;
    default:
        text_printf(text, "\\u%04x", (unsigned)c);
        break;
    }
}

/* As UTF-16, in one escape or two. */
static void add_unit_escapes(struct text *text, uint32_t code_point)
{
    if (code_point >= 0x10000) {
        text_printf(text, "\\u%04x", (unsigned)(0xD7C0 + (code_point >> 10)));
        code_point = 0xDC00 | (code_point & 0x3FF);
    }
    text_printf(text, "\\u%04x", (unsigned)code_point);
}
