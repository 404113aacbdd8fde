/* SPDX-License-Identifier: GPL-3.0-or-later */
/* LZNT1: nothing outside the buffers, and the same answer in a buffer that was not zeroed. */
#include "fuzz.h"

#include <string.h>

#include "volume/lznt1.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    enum { UNIT = 65536 };
    uint8_t *one = calloc(1, UNIT);
    uint8_t *two = malloc(UNIT);

    FUZZ_ASSERT(one != NULL && two != NULL);
    memset(two, 0xA5, UNIT);
    const char *problem = lznt1_decode(data, size, one, UNIT);
    FUZZ_ASSERT(lznt1_decode(data, size, two, UNIT) == problem);
    FUZZ_ASSERT(problem != NULL || memcmp(one, two, UNIT) == 0);
    free(one);
    free(two);
    return 0;
}
