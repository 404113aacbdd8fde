/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * multipart: the head (both part headers and the metadata) is gathered until it is whole; media
 * bytes pass through, but for a tail that could be the beginning of the closing delimiter.
 */
#include "multipart.h"

#include <string.h>

/* Two part headers and metadata of a few KiB, with room. */
#define HEAD_MAX ((size_t)128 << 10)

struct span {
    const char *bytes;
    size_t len;
};

int multipart_boundary(const char *content_type, const char *kind,
                       char ret[MULTIPART_BOUNDARY_MAX + 3])
{
    static const char word[] = "boundary=";
    const char *found = content_type == NULL ? NULL : strcasestr(content_type, word);
    if (found == NULL || strncasecmp(content_type, kind, strlen(kind)) != 0) {
        return -1;
    }
    found += strlen(word);
    bool quoted = *found == '"' || *found == '\'';
    const char *stop = *found == '"' ? "\"" : "'";
    found += quoted ? 1 : 0;
    size_t len = strcspn(found, quoted ? stop : "; \t");
    if (len == 0 || len > MULTIPART_BOUNDARY_MAX) {
        return -1;
    }
    (void)snprintf(ret, MULTIPART_BOUNDARY_MAX + 3, "--%.*s", (int)len, found);
    return 0;
}

int multipart_init(struct multipart *multipart, const char *content_type,
                   const struct multipart_sink *sink)
{
    if (multipart_boundary(content_type, "multipart/related", multipart->boundary) != 0) {
        return -1;
    }
    multipart->sink = *sink;
    multipart->stage = MULTIPART_HEAD;
    multipart->head = TEXT_INIT(HEAD_MAX);
    return 0;
}

void multipart_clear(struct multipart *multipart)
{
    text_free(&multipart->head);
}

static bool skip(struct span *span, size_t len)
{
    span->bytes += len;
    span->len -= len;
    return true;
}

/* The line up to its LF, without line end. False when it is not whole. */
static bool next_line(struct span *rest, struct span *ret_line)
{
    const char *end = memchr(rest->bytes, '\n', rest->len);
    if (end == NULL) {
        return false;
    }
    size_t len = (size_t)(end - rest->bytes);
    *ret_line = (struct span){rest->bytes, len};
    if (len > 0 && ret_line->bytes[len - 1] == '\r') {
        ret_line->len--;
    }
    return skip(rest, len + 1);
}

/* Lines up to the empty one; the Content-Type among them. False when they are not whole. */
static bool skip_headers(struct span *rest, struct span *ret_type)
{
    static const char name[] = "content-type:";
    struct span line;
    *ret_type = (struct span){"", 0};
    while (next_line(rest, &line)) {
        if (line.len == 0) {
            return true;
        }
        if (line.len >= strlen(name) && strncasecmp(line.bytes, name, strlen(name)) == 0) {
            *ret_type = line;
            (void)skip(ret_type, strlen(name));
            while (ret_type->len > 0 && *ret_type->bytes == ' ') {
                (void)skip(ret_type, 1);
            }
        }
    }
    return false;
}

/* Past the line that is the first boundary; whatever stands before it is a preamble. */
static bool skip_first_boundary(struct multipart *multipart, struct span *rest)
{
    struct span line;
    size_t len = strlen(multipart->boundary);
    for (;;) {
        const char *start = rest->bytes;
        if (!next_line(rest, &line)) {
            return false;
        }
        if (line.len >= len && memcmp(line.bytes, multipart->boundary, len) == 0) {
            multipart->lines_are_lf = start + line.len + 1 == rest->bytes;
            return true;
        }
    }
}

static void make_delimiter(struct multipart *multipart)
{
    int len = snprintf(multipart->delimiter, sizeof(multipart->delimiter), "%s%s",
                       multipart->lines_are_lf ? "\n" : "\r\n", multipart->boundary);
    multipart->delimiter_len = (size_t)len;
}

enum head_result { HEAD_WHOLE, HEAD_PARTIAL, HEAD_BAD };

/* Parse all before the media; `rest` is then the first of the media. */
static enum head_result parse_head(struct multipart *multipart, struct span *rest)
{
    struct span ignored;
    struct span line;
    struct span type;
    if (!skip_first_boundary(multipart, rest)) {
        return HEAD_PARTIAL;
    }
    make_delimiter(multipart);
    if (!skip_headers(rest, &ignored)) {
        return HEAD_PARTIAL;
    }
    const char *json = rest->bytes;
    const char *end =
        memmem(rest->bytes, rest->len, multipart->delimiter, multipart->delimiter_len);
    if (end == NULL) {
        return HEAD_PARTIAL;
    }
    (void)skip(rest, (size_t)(end - json) + multipart->delimiter_len);
    if (!next_line(rest, &line)) {
        return HEAD_PARTIAL;
    }
    if (line.len >= 2 && memcmp(line.bytes, "--", 2) == 0) {
        return HEAD_BAD; /* closed without a media part */
    }
    if (!skip_headers(rest, &type)) {
        return HEAD_PARTIAL;
    }
    char media_type[256];
    (void)snprintf(media_type, sizeof(media_type), "%.*s", (int)type.len, type.bytes);
    multipart->stage = MULTIPART_MEDIA;
    return multipart->sink.metadata(multipart->sink.self, json, (size_t)(end - json), media_type) ==
                   0
               ? HEAD_WHOLE
               : HEAD_BAD;
}

static void give_media(struct multipart *multipart, const char *bytes, size_t len)
{
    if (len > 0) {
        multipart->sink.media(multipart->sink.self, bytes, len);
    }
}

/* A tail from before: look for a delimiter that begins in it. On return either the tail is empty or
 * `rest` is. */
static void take_tail(struct multipart *multipart, struct span *rest)
{
    size_t want = multipart->delimiter_len;
    size_t add = rest->len < want ? rest->len : want;
    memcpy(multipart->tail + multipart->tail_len, rest->bytes, add);
    size_t window = multipart->tail_len + add;
    const char *found = memmem(multipart->tail, window, multipart->delimiter, want);
    if (found != NULL) {
        size_t before = (size_t)(found - multipart->tail);
        give_media(multipart, multipart->tail, before);
        (void)skip(rest, before + want - multipart->tail_len);
        multipart->tail_len = 0;
        multipart->stage = MULTIPART_CLOSING;
    } else if (add == want) { /* no delimiter begins in the tail; look at `rest` by itself */
        give_media(multipart, multipart->tail, multipart->tail_len);
        multipart->tail_len = 0;
    } else {
        size_t safe = window < want ? 0 : window - (want - 1);
        give_media(multipart, multipart->tail, safe);
        memmove(multipart->tail, multipart->tail + safe, window - safe);
        multipart->tail_len = window - safe;
        (void)skip(rest, add);
    }
}

static void take_media(struct multipart *multipart, struct span *rest)
{
    if (multipart->tail_len > 0) {
        take_tail(multipart, rest);
        if (rest->len == 0 || multipart->stage != MULTIPART_MEDIA) {
            return;
        }
    }
    size_t want = multipart->delimiter_len;
    const char *found = memmem(rest->bytes, rest->len, multipart->delimiter, want);
    if (found != NULL) {
        size_t before = (size_t)(found - rest->bytes);
        give_media(multipart, rest->bytes, before);
        (void)skip(rest, before + want);
        multipart->stage = MULTIPART_CLOSING;
        return;
    }
    size_t keep = rest->len < want - 1 ? rest->len : want - 1;
    give_media(multipart, rest->bytes, rest->len - keep);
    memcpy(multipart->tail, rest->bytes + rest->len - keep, keep);
    multipart->tail_len = keep;
    rest->len = 0;
}

/* After the delimiter must come "--": there is no third part. */
static int take_closing(struct multipart *multipart, struct span *rest)
{
    while (rest->len > 0 && multipart->closing_len < sizeof(multipart->closing)) {
        multipart->closing[multipart->closing_len++] = *rest->bytes;
        (void)skip(rest, 1);
    }
    if (multipart->closing_len < sizeof(multipart->closing)) {
        return 0;
    }
    multipart->stage = MULTIPART_DONE;
    return memcmp(multipart->closing, "--", 2) == 0 ? 0 : -1;
}

static int take_head(struct multipart *multipart, struct span *rest)
{
    const struct span whole = *rest;
    if (multipart->head.len == 0) { /* most often all of it is in the first piece */
        enum head_result result = parse_head(multipart, rest);
        if (result != HEAD_PARTIAL) {
            return result == HEAD_WHOLE ? 0 : -1;
        }
    }
    size_t had = multipart->head.len;
    text_add_bytes(&multipart->head, whole.bytes, whole.len);
    struct span all = {multipart->head.data, multipart->head.len};
    if (multipart->head.failed) {
        return -1;
    }
    enum head_result result = had == 0 ? HEAD_PARTIAL : parse_head(multipart, &all);
    if (result == HEAD_PARTIAL) {
        rest->len = 0;
        return 0;
    }
    /* The media begins inside this piece, or the head would have been whole before. */
    *rest = (struct span){whole.bytes + whole.len - all.len, all.len};
    return result == HEAD_WHOLE ? 0 : -1;
}

int multipart_take(struct multipart *multipart, const char *bytes, size_t len)
{
    struct span rest = {bytes, len};
    if (multipart->stage == MULTIPART_HEAD && take_head(multipart, &rest) != 0) {
        return -1;
    }
    if (multipart->stage == MULTIPART_MEDIA && rest.len > 0) {
        take_media(multipart, &rest);
    }
    if (multipart->stage == MULTIPART_CLOSING) {
        return take_closing(multipart, &rest);
    }
    return 0;
}

bool multipart_is_whole(const struct multipart *multipart)
{
    return multipart->stage == MULTIPART_DONE;
}
