/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Matching by going back to the last star only: a later star can do all that an earlier one could,
 * so the work stays bounded whatever the pattern. A single star gives up at a slash and hands over
 * to the last double star.
 */
#include "plan/glob.h"

#include "base/base.h"

#include <string.h>

/* Where to go on when the text differs: the pattern behind a star, and the text that it has not
 * taken yet. */
struct star {
    size_t pattern;
    size_t text;
    bool set;
    bool whole; /* "**" as a component of its own: what it takes ends with a slash */
};

struct match {
    const char *pattern;
    size_t pattern_len;
    const char *text;
    size_t text_len;
    size_t at_pattern;
    size_t at_text;
    struct star single, both;
};

static bool match_all(struct match *match);
static bool take_star(struct match *match);
static bool take_one(struct match *match);
static bool go_back(struct match *match);
static uint32_t next_upper(const char *bytes, size_t len, size_t *index);
static size_t set_end(const char *pattern, size_t len, size_t start);
static bool set_has(const char *pattern, size_t start, size_t end, uint32_t c);

int plan_glob_compile(struct plan_glob *glob, const char *pattern)
{
    size_t len = strlen(pattern);
    bool anchored = len > 0 && pattern[0] == '/';
    bool directory_only = len > 0 && pattern[len - 1] == '/';
    while (len > 0 && pattern[0] == '/') {
        pattern++;
        len--;
    }
    while (len > 0 && pattern[len - 1] == '/') {
        len--;
    }
    if (len == 0 || !utf_valid_utf8(pattern, len)) {
        return -2;
    }
    char *copy = strndup(pattern, len);
    if (copy == NULL) {
        return -1;
    }
    *glob = (struct plan_glob){
        .pattern = copy,
        .len = len,
        .any_component = !anchored && memchr(pattern, '/', len) == NULL,
        .directory_only = directory_only,
    };
    return 0;
}

void plan_glob_clear(struct plan_glob *glob)
{
    free(glob->pattern);
    *glob = (struct plan_glob){0};
}

bool plan_glob_match(const struct plan_glob *glob, const char *path, size_t len, size_t component,
                     bool directory)
{
    if (glob->directory_only && !directory) {
        return false;
    }
    size_t from = glob->any_component ? component : 0;
    struct match match = {
        .pattern = glob->pattern,
        .pattern_len = glob->len,
        .text = path + from,
        .text_len = len - from,
    };
    return match_all(&match);
}

static bool match_all(struct match *match)
{
    for (;;) {
        if (match->at_pattern == match->pattern_len && match->at_text == match->text_len) {
            return true;
        }
        if (take_star(match)) {
            continue;
        }
        if (!take_one(match) && !go_back(match)) {
            return false;
        }
    }
}

static bool take_star(struct match *match)
{
    const char *pattern = match->pattern;
    size_t at = match->at_pattern;
    size_t end = at;
    while (end < match->pattern_len && pattern[end] == '*') {
        end++;
    }
    if (end == at) {
        return false;
    }
    if (end - at == 1) {
        match->single = (struct star){.pattern = end, .text = match->at_text, .set = true};
        match->at_pattern = end;
        return true;
    }
    bool own_component =
        (at == 0 || pattern[at - 1] == '/') && end < match->pattern_len && pattern[end] == '/';
    end += own_component ? 1 : 0;
    match->both = (struct star){
        .pattern = end,
        .text = match->at_text,
        .set = true,
        .whole = own_component,
    };
    match->single.set = false;
    match->at_pattern = end;
    return true;
}

static bool take_one(struct match *match)
{
    if (match->at_pattern == match->pattern_len || match->at_text == match->text_len) {
        return false;
    }
    size_t at_text = match->at_text;
    size_t at_pattern = match->at_pattern;
    uint32_t c = next_upper(match->text, match->text_len, &at_text);
    char p = match->pattern[at_pattern];
    size_t end = p == '[' ? set_end(match->pattern, match->pattern_len, at_pattern) : 0;
    bool equal;
    if (p == '?') {
        equal = c != '/';
        at_pattern++;
    } else if (end != 0) {
        equal = c != '/' && set_has(match->pattern, at_pattern + 1, end, c);
        at_pattern = end + 1;
    } else {
        equal = c == next_upper(match->pattern, match->pattern_len, &at_pattern);
    }
    if (equal) {
        match->at_text = at_text;
        match->at_pattern = at_pattern;
    }
    return equal;
}

/* Let the last star take one character more. */
static bool go_back(struct match *match)
{
    struct star *star = &match->single;
    if (star->set && star->text < match->text_len && match->text[star->text] != '/') {
        (void)next_upper(match->text, match->text_len, &star->text); /* only to step over it */
        match->at_text = star->text;
        match->at_pattern = star->pattern;
        return true;
    }
    star->set = false;
    star = &match->both;
    if (!star->set || star->text >= match->text_len) {
        return false;
    }
    if (star->whole) {
        const char *slash = memchr(match->text + star->text, '/', match->text_len - star->text);
        if (slash == NULL) {
            return false;
        }
        star->text = (size_t)(slash - match->text) + 1;
    } else {
        (void)next_upper(match->text, match->text_len, &star->text); /* only to step over it */
    }
    match->at_text = star->text;
    match->at_pattern = star->pattern;
    return true;
}

static uint32_t next_upper(const char *bytes, size_t len, size_t *index)
{
    uint8_t byte = (uint8_t)bytes[*index];
    if (byte < 0x80) {
        (*index)++;
        return byte >= 'a' && byte <= 'z' ? byte - 0x20U : byte;
    }
    return utf_upper(utf_next_utf8(bytes, len, index));
}

/* The closing bracket of the set that opens at `start`; 0 when there is none, and the bracket
 * stands for itself. A bracket right at the beginning belongs to the set. */
static size_t set_end(const char *pattern, size_t len, size_t start)
{
    size_t at = start + 1;
    if (at < len && (pattern[at] == '!' || pattern[at] == '^')) {
        at++;
    }
    for (at++; at < len; at++) {
        if (pattern[at] == ']') {
            return at;
        }
    }
    return 0;
}

static bool set_has(const char *pattern, size_t start, size_t end, uint32_t c)
{
    bool negated = pattern[start] == '!' || pattern[start] == '^';
    size_t at = start + (negated ? 1 : 0);
    bool has = false;
    while (at < end) {
        uint32_t low = next_upper(pattern, end, &at);
        uint32_t high = low;
        if (at + 1 < end && pattern[at] == '-') {
            at++;
            high = next_upper(pattern, end, &at);
        }
        has = has || (low <= c && c <= high);
    }
    return has != negated;
}
