/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Random bytes from the kernel. */
#include "base/base.h"

#include <assert.h>
#include <errno.h>
#include <sys/random.h>

void random_bytes(void *buf, size_t len)
{
    uint8_t *next = buf;
    while (len > 0) {
        ssize_t got = getrandom(next, len, 0);
        if (got < 0) {
            if (errno == EINTR) {
                continue;
            }
            abort(); /* names of runs and parts must not collide: nothing safe is left to do */
        }
        next += got;
        len -= (size_t)got;
    }
}

void random_uuid(char out[37])
{
    static const char digits[] = "0123456789abcdef";
    uint8_t bytes[16];
    random_bytes(bytes, sizeof(bytes));
    bytes[6] = (uint8_t)((bytes[6] & 0x0F) | 0x40); /* version 4 */
    bytes[8] = (uint8_t)((bytes[8] & 0x3F) | 0x80); /* variant of RFC 9562 */
    for (size_t i = 0; i < sizeof(bytes); i++) {
        if (i == 4 || i == 6 || i == 8 || i == 10) {
            *out++ = '-';
        }
        *out++ = digits[bytes[i] >> 4];
        *out++ = digits[bytes[i] & 15];
    }
    *out = '\0';
}

uint64_t random_below(uint64_t limit)
{
    assert(limit > 0);
    /* Values under 2^64 mod limit would make the low results likelier. */
    uint64_t biased = (0 - limit) % limit;
    uint64_t value;
    do {
        random_bytes(&value, sizeof(value));
    } while (value < biased);
    return value % limit;
}
