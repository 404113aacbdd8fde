/* SPDX-License-Identifier: GPL-3.0-or-later */
/* wrap: by bytes, which is right for what the program itself says. */
#include "cli/wrap.h"

#include <string.h>

enum { LINE_COLUMNS = 79 };

/* Up to the next space that stands in no quotes. */
static size_t word_len(const char *words)
{
    size_t len = strcspn(words, " ");
    size_t start = words[0] == '(' ? 1 : 0;
    if (words[start] == '\'') {
        const char *end = strchr(words + start + 1, '\'');
        if (end != NULL) {
            len = (size_t)(end - words) + 1;
            len += strcspn(words + len, " ");
        }
    }
    return len;
}

void wrap_add(struct text *text, const char *words, size_t indent)
{
    size_t column = indent;
    while (*words != '\0') {
        size_t len = word_len(words);
        if (column > indent && column + 1 + len > LINE_COLUMNS) {
            text_printf(text, "\n%*s", (int)indent, "");
            column = indent;
        } else if (column > indent) {
            text_add_char(text, ' ');
            column++;
        }
        text_add_bytes(text, words, len);
        column += len;
        words += len;
        words += strspn(words, " ");
    }
    text_add_char(text, '\n');
}
