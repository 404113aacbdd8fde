/* SPDX-License-Identifier: GPL-3.0-or-later */
/* conditions: ifGenerationMatch and its three siblings. */
#ifndef FAKE_CONDITIONS_H
#define FAKE_CONDITIONS_H

#include "base/base.h"

enum condition {
    CONDITION_GENERATION,
    CONDITION_NOT_GENERATION,
    CONDITION_METAGENERATION,
    CONDITION_NOT_METAGENERATION,
    CONDITION_COUNT,
};

struct conditions {
    bool given[CONDITION_COUNT];
    uint64_t values[CONDITION_COUNT];
};

/* Do all hold for a live object with these numbers? Both are 0 when there is none. `ret_failed`
 * names the first condition that fails. */
bool conditions_met(const struct conditions *conditions, uint64_t generation,
                    uint64_t metageneration, enum condition *ret_failed);

/* "ifGenerationMatch" and so on. */
const char *condition_name(enum condition condition);

#endif
