/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * multipart: parses a multipart/related body of two parts, metadata and media, piece by piece.
 * Lines end in CRLF, or in LF throughout as Python's email package writes them.
 */
#ifndef FAKE_MULTIPART_H
#define FAKE_MULTIPART_H

#include "base/base.h"

#define MULTIPART_BOUNDARY_MAX 200

/* What the parts go to. -1 from a call ends the parsing. */
struct multipart_sink {
    /* The metadata part, and the Content-Type of the media part ("" when it states none). */
    int (*metadata)(void *self, const char *json, size_t len, const char *media_type);
    void (*media)(void *self, const char *bytes, size_t len);
    void *self;
};

enum multipart_stage { MULTIPART_HEAD, MULTIPART_MEDIA, MULTIPART_CLOSING, MULTIPART_DONE };

struct multipart {
    struct multipart_sink sink;
    enum multipart_stage stage;
    bool lines_are_lf;
    char boundary[MULTIPART_BOUNDARY_MAX + 3];  /* with its "--" */
    struct text head;                           /* all before the media, while it is not whole */
    char delimiter[MULTIPART_BOUNDARY_MAX + 5]; /* line end and boundary: ends the media */
    size_t delimiter_len;
    char tail[2 * (MULTIPART_BOUNDARY_MAX + 5)]; /* may be the start of a delimiter */
    size_t tail_len;
    char closing[2];
    size_t closing_len;
};

/* The boundary of a Content-Type header of that kind ("multipart/mixed"), with its "--" before it.
 * -1 if there is no good one. */
int multipart_boundary(const char *content_type, const char *kind,
                       char ret[MULTIPART_BOUNDARY_MAX + 3]) WARN_UNUSED;
/* Takes the boundary out of a Content-Type header; -1 if there is no good one. */
int multipart_init(struct multipart *multipart, const char *content_type,
                   const struct multipart_sink *sink) WARN_UNUSED;
/* The next bytes of the body. -1 when it is malformed or the sink said so. */
int multipart_take(struct multipart *multipart, const char *bytes, size_t len) WARN_UNUSED;
/* Has the body come to its proper end? */
bool multipart_is_whole(const struct multipart *multipart);
void multipart_clear(struct multipart *multipart);

#endif
