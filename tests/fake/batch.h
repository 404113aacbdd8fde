/* SPDX-License-Identifier: GPL-3.0-or-later */
/* batch: the text form of one call inside a batch request. */
#ifndef FAKE_BATCH_H
#define FAKE_BATCH_H

#include "request.h"

/* One part of multipart/mixed, all pointers into the text that was parsed. */
struct batch_call {
    const char *method;
    const char *target;
    const char *id; /* Content-ID without its angle brackets; NULL when the part has none */
    const char *body;
    size_t body_len;
};

/* Splits a part (headers, empty line, request line, headers, empty line, body), which ends in a
 * NUL and is written into. -1 when it is no such thing. */
int batch_parse_call(char *part, size_t len, struct batch_call *ret) WARN_UNUSED;

#endif
