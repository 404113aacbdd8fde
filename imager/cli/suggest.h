/* SPDX-License-Identifier: GPL-3.0-or-later */
/* suggest: which known word did a mistyped one mean? */
#ifndef WINCH_SUGGEST_H
#define WINCH_SUGGEST_H

#include "base/base.h"

/* Collects candidates one by one; start with `struct suggest s = {.word = WORD};`. */
struct suggest {
    const char *word;
    const char *best; /* NULL: nothing is near; borrowed from suggest_offer() */
    unsigned best_distance;
};

/* Keep `candidate` if it is near the word and nearer than what was offered before. */
void suggest_offer(struct suggest *suggest, const char *candidate);

#endif
