/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Hostile text made harmless for terminals and logs. */
#include "base/base.h"
#include "base/text_cut.h"
#include "base/text_shown.h"

void text_add_shown(struct text *text, const char *bytes, size_t len, size_t max)
{
    size_t index = 0;
    size_t start = 0; /* of the run of harmless characters that ends at `index` */
    while (index < len) {
        size_t next = index;
        uint32_t code_point = utf_next_utf8(bytes, len, &next);
        if (next > max) {
            break;
        }
        if (text_is_harmless(code_point)) {
            index = next;
            continue;
        }
        text_add_bytes(text, bytes + start, index - start);
        if (code_point == UINT32_MAX || code_point < 0x80) {
            text_printf(text, "\\x%02x", (unsigned)(unsigned char)bytes[index]);
        } else {
            text_printf(text, "\\u%04x", (unsigned)code_point);
        }
        index = next;
        start = next;
    }
    if (index > start) {
        text_add_bytes(text, bytes + start, index - start);
    }
    if (index < len) {
        text_add(text, TEXT_ELLIPSIS);
    }
}

bool text_is_harmless(uint32_t code_point)
{
    static const struct {
        uint32_t first;
        uint32_t last;
    } harmful[] = {
        {0x0000, 0x001F},       /* C0 controls, escape among them */
        {0x007F, 0x009F},       /* DEL and the C1 controls */
        {0x00AD, 0x00AD},       /* soft hyphen: invisible */
        {0x061C, 0x061C},       /* Arabic letter mark */
        {0x115F, 0x1160},       /* Hangul fillers: invisible */
        {0x180E, 0x180E},       /* Mongolian vowel separator: invisible */
        {0x200B, 0x200B},       /* zero width space: two names that look alike */
        {0x200E, 0x200F},       /* left-to-right and right-to-left marks */
        {0x2028, 0x2029},       /* line and paragraph separators */
        {0x202A, 0x202E},       /* bidi embeddings and overrides */
        {0x2060, 0x206F},       /* bidi isolates, word joiner, invisible operators */
        {0x3164, 0x3164},       /* Hangul filler */
        {0xFEFF, 0xFEFF},       /* byte order mark: invisible */
        {0xFFA0, 0xFFA0},       /* half-width Hangul filler */
        {0xFFF9, 0xFFFB},       /* interlinear annotations */
        {0xE0000, 0xE007F},     /* tags: invisible */
        {0x110000, UINT32_MAX}, /* not a code point: an invalid byte */
    };
    if (code_point >= 0x20 && code_point < 0x7F) {
        return true;
    }
    for (size_t i = 0; i < ARRAY_LEN(harmful); i++) {
        if (code_point >= harmful[i].first && code_point <= harmful[i].last) {
            return false;
        }
    }
    return true;
}
