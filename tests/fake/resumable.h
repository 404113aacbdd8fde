/* SPDX-License-Identifier: GPL-3.0-or-later */
/* resumable: the table of upload sessions. */
#ifndef FAKE_RESUMABLE_H
#define FAKE_RESUMABLE_H

#include "base/base.h"

struct sessions;

struct sessions *sessions_new(void);
void sessions_free(struct sessions *sessions); /* NULL is fine; nothing is served any more */
/* Sessions that have neither come to an object nor been cancelled. */
uint64_t sessions_count_open(struct sessions *sessions);

#endif
