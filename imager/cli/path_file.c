/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Lists of paths come from people, from other tools, and from Windows. */
#include "cli/path_file.h"

#include <string.h>

#define FILE_BYTES_MAX (512ULL << 20)

static int decode_utf16(const struct text *content, struct text *ret_utf8);
static int add_lines(struct plan_paths *paths, const char *name, const char *at, size_t len,
                     struct option_mistakes *mistakes);

struct plan_paths *path_file_read(const char *path, struct option_mistakes *mistakes)
{
    CLEANUP_TEXT struct text content = TEXT_INIT(FILE_BYTES_MAX);
    CLEANUP_TEXT struct text decoded = TEXT_INIT(2 * FILE_BYTES_MAX);
    struct error err = {0};
    if (file_read(path, FILE_BYTES_MAX, &content, &err) < 0) {
        mistakes->no_memory = mistakes->no_memory || err.exit_status == EXIT_STATUS_TEMPORARY;
        option_mistake(mistakes, "--files-from: %s", err.message);
        return NULL;
    }
    const struct text *lines = &content;
    size_t from = 0;
    const char *bytes = text_str(&content);
    bool wide = content.len >= 2 &&
                (memcmp(bytes, "\xFF\xFE", 2) == 0 || memcmp(bytes, "\xFE\xFF", 2) == 0);
    if (wide && decode_utf16(&content, &decoded) != 0) {
        option_mistake(mistakes,
                       "--files-from %s: is not UTF-16 text, as its beginning says; "
                       "save it as UTF-8",
                       path);
        return NULL;
    }
    if (wide) {
        lines = &decoded;
    } else if (strncmp(bytes, "\xEF\xBB\xBF", 3) == 0) {
        from = 3;
    }
    struct plan_paths *paths = plan_paths_new();
    if (paths == NULL || decoded.failed) {
        mistakes->no_memory = true;
        option_mistake(mistakes, "--files-from %s: out of memory", path);
    } else if (add_lines(paths, path, text_str(lines) + from, lines->len - from, mistakes) == 0) {
        return paths;
    }
    plan_paths_free(paths);
    return NULL;
}

static int decode_utf16(const struct text *content, struct text *ret_utf8)
{
    const uint8_t *bytes = (const uint8_t *)text_str(content);
    bool big = bytes[0] == 0xFE;
    if (content->len % 2 != 0) {
        return -1;
    }
    for (size_t at = 2; at < content->len;) {
        uint16_t units[2];
        size_t count = 0;
        for (; count < 2 && at + 2 * count + 2 <= content->len; count++) {
            const uint8_t *unit = bytes + at + 2 * count;
            units[count] = (uint16_t)(big ? unit[0] << 8 | unit[1] : unit[1] << 8 | unit[0]);
        }
        size_t used = 0;
        char utf8[4];
        size_t len = utf_put_utf8(utf_next_utf16(units, count, &used), utf8);
        if (len == 0) {
            return -1; /* half of a pair */
        }
        text_add_bytes(ret_utf8, utf8, len);
        at += 2 * used;
    }
    return 0;
}

static int add_lines(struct plan_paths *paths, const char *name, const char *at, size_t len,
                     struct option_mistakes *mistakes)
{
    const char *end = at + len;
    for (unsigned long number = 1; at < end; number++) {
        const char *newline = memchr(at, '\n', (size_t)(end - at));
        size_t line = newline != NULL ? (size_t)(newline - at) : (size_t)(end - at);
        size_t kept = line > 0 && at[line - 1] == '\r' ? line - 1 : line;
        int added = kept > 0 ? plan_paths_add(paths, at, kept) : 0;
        if (added == -1) {
            mistakes->no_memory = true;
            option_mistake(mistakes, "--files-from %s: out of memory", name);
            return -1;
        }
        if (added != 0) {
            option_mistake(mistakes,
                           "--files-from %s: line %lu is no path below the root of a volume in "
                           "UTF-8",
                           name, number);
            return -1;
        }
        at += line + 1;
    }
    if (plan_paths_count(paths) == 0) {
        option_mistake(mistakes, "--files-from %s: is empty; nothing would be taken", name);
        return -1;
    }
    return 0;
}
