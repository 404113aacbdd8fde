/* SPDX-License-Identifier: GPL-3.0-or-later */
/* gzip: pack at memory speed (ISA-L), unpack with a limit. The same bytes in give the same bytes
 * out: a manifest that is written again after a crash equals the first. */
#ifndef WINCH_RUN_GZIP_H
#define WINCH_RUN_GZIP_H

#include "base/base.h"

struct gzip;
/* Packs into `out` (borrowed). NULL: out of memory. */
struct gzip *gzip_new(struct text *out);
void gzip_free(struct gzip *gzip);
/* -1: `out` is full or out of memory. */
int gzip_add(struct gzip *gzip, const void *bytes, size_t len) WARN_UNUSED;
int gzip_finish(struct gzip *gzip) WARN_UNUSED;
/* Begin a new member: forgets everything; `out` is emptied by the caller. */
void gzip_restart(struct gzip *gzip);

/* Appends what `bytes` unpack to; fails on anything malformed or beyond the text's limit. */
int gzip_unpack(const void *bytes, size_t len, struct text *ret_text,
                struct error *err) WARN_UNUSED;

#endif
