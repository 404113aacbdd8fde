/* SPDX-License-Identifier: GPL-3.0-or-later */
/* gunzip: request bodies that come with Content-Encoding: gzip, piece by piece. */
#ifndef FAKE_GUNZIP_H
#define FAKE_GUNZIP_H

#include "base/base.h"

struct gunzip;

typedef void (*gunzip_give_fn)(void *self, const char *bytes, size_t len);

/* NULL: out of memory. */
struct gunzip *gunzip_new(void);
void gunzip_free(struct gunzip *gunzip);
/* Gives what `bytes` decompress to, piece by piece. -1: no gzip, or more follows its end. */
int gunzip_take(struct gunzip *gunzip, const char *bytes, size_t len, gunzip_give_fn give,
                void *self) WARN_UNUSED;
/* Has the stream come to its end? */
bool gunzip_is_whole(const struct gunzip *gunzip);

#endif
