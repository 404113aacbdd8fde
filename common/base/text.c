/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Text that grows up to its limit. An append is done as a whole or not at all; the encodings
 * (JSON, base64 and so on) are in files of their own.
 */
#include "base/base.h"

#include <string.h>

enum { FIRST_CAP = 64, U64_DIGITS_MAX = 20 };

static bool reserve(struct text *text, size_t extra);

void text_free(struct text *text)
{
    free(text->data);
    *text = (struct text){.limit = text->limit};
}

void text_reset(struct text *text)
{
    text->len = 0;
    text->failed = false;
    text->no_memory = false;
    if (text->data != NULL) {
        text->data[0] = '\0';
    }
}

const char *text_str(const struct text *text)
{
    return text->data == NULL ? "" : text->data;
}

void text_add(struct text *text, const char *string)
{
    text_add_bytes(text, string, strlen(string));
}

void text_add_bytes(struct text *text, const void *bytes, size_t len)
{
    if (!reserve(text, len)) {
        return;
    }
    if (len > 0) {
        memcpy(text->data + text->len, bytes, len);
    }
    text->len += len;
    text->data[text->len] = '\0';
}

void text_add_char(struct text *text, char c)
{
    if (!reserve(text, 1)) {
        return;
    }
    text->data[text->len++] = c;
    text->data[text->len] = '\0';
}

void text_add_u64(struct text *text, uint64_t value)
{
    char digits[U64_DIGITS_MAX];
    size_t first = sizeof(digits);
    do {
        digits[--first] = (char)('0' + value % 10);
        value /= 10;
    } while (value > 0);
    text_add_bytes(text, digits + first, sizeof(digits) - first);
}

void text_printf(struct text *text, const char *fmt, ...)
{
    if (!reserve(text, 0)) {
        return;
    }
    va_list args;
    va_start(args, fmt);
    size_t room = text->cap - text->len;
    int len = vsnprintf(text->data + text->len, room, fmt, args);
    va_end(args);

    if (len >= 0 && (size_t)len >= room && reserve(text, (size_t)len)) {
        va_start(args, fmt);
        len = vsnprintf(text->data + text->len, (size_t)len + 1, fmt, args);
        va_end(args);
    }
    if (len < 0 || text->failed) {
        text->failed = true;
        text->data[text->len] = '\0'; /* whatever the first try left there */
        return;
    }
    text->len += (size_t)len;
}

/* Make room for `extra` more bytes and the NUL. After a success `data` is not NULL. */
static bool reserve(struct text *text, size_t extra)
{
    if (text->failed) {
        return false;
    }
    /* A limit of SIZE_MAX means none, but the NUL needs a place as well. */
    size_t limit = text->limit < SIZE_MAX ? text->limit : SIZE_MAX - 1;
    if (text->len > limit || extra > limit - text->len) {
        text->failed = true;
        return false;
    }
    size_t need = text->len + extra + 1;
    if (need <= text->cap) {
        return true;
    }
    size_t cap = text->cap == 0 ? FIRST_CAP : text->cap;
    while (cap < need) {
        cap = cap > SIZE_MAX / 2 ? need : cap * 2;
    }
    if (cap > limit + 1) {
        cap = limit + 1;
    }
    char *data = realloc(text->data, cap);
    if (data == NULL) {
        text->failed = true;
        text->no_memory = true;
        return false;
    }
    data[text->len] = '\0';
    text->data = data;
    text->cap = cap;
    return true;
}
