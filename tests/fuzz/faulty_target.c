/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A target that ends as the first byte of its input says: check_driver.sh looks whether the driver
 * keeps that input. */
#include "fuzz.h"

#include <limits.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
    volatile int number = INT_MAX;
    volatile size_t behind = len;
    int *volatile nowhere = NULL;
    switch (len > 0 ? data[0] : 0) {
    case 'o':
        number = data[behind];
        break;
    case 'u':
        number += data[0];
        break;
    case 's':
        *nowhere = 1;
        break;
    case 't':
        __builtin_trap();
    case 'a':
        abort();
    case 'h':
        while (number != 0) {
            behind++;
        }
        break;
    default:
        break;
    }
    return 0;
}
