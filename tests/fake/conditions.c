/* SPDX-License-Identifier: GPL-3.0-or-later */
/* conditions: decides whether a request's preconditions hold. */
#include "conditions.h"

static const char *const names[CONDITION_COUNT] = {
    [CONDITION_GENERATION] = "ifGenerationMatch",
    [CONDITION_NOT_GENERATION] = "ifGenerationNotMatch",
    [CONDITION_METAGENERATION] = "ifMetagenerationMatch",
    [CONDITION_NOT_METAGENERATION] = "ifMetagenerationNotMatch",
};

const char *condition_name(enum condition condition)
{
    return names[condition];
}

bool conditions_met(const struct conditions *conditions, uint64_t generation,
                    uint64_t metageneration, enum condition *ret_failed)
{
    for (int i = 0; i < CONDITION_COUNT; i++) {
        if (!conditions->given[i]) {
            continue;
        }
        bool about_metadata = i == CONDITION_METAGENERATION || i == CONDITION_NOT_METAGENERATION;
        bool wants_equal = i == CONDITION_GENERATION || i == CONDITION_METAGENERATION;
        uint64_t actual = about_metadata ? metageneration : generation;
        if ((conditions->values[i] == actual) != wants_equal) {
            *ret_failed = (enum condition)i;
            return false;
        }
    }
    return true;
}
