/* SPDX-License-Identifier: GPL-3.0-or-later */
/* reasons: what the reason codes of failed entries mean, and what a person can do about them. */
#ifndef WINCH_REASONS_H
#define WINCH_REASONS_H

#include <stddef.h>

struct reason {
    const char *code;
    const char *meaning;
    const char *remedy;
};

/* NULL: not a code that an entry can fail with. */
const struct reason *reason_find(const char *code);
/* NULL behind the last one. */
const struct reason *reason_at(size_t index);

#endif
