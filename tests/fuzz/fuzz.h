/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What fuzz targets share. A target is one function on bytes from outside: it calls what winch
 * parses them with and asserts what must hold whatever the bytes are. driver.c runs it with seeded
 * mutations of a corpus, libFuzzer guided by coverage.
 */
#ifndef WINCH_FUZZ_H
#define WINCH_FUZZ_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Holds in release builds, too. */
#define FUZZ_ASSERT(condition)                                                                     \
    do {                                                                                           \
        if (!(condition)) {                                                                        \
            (void)fprintf(stderr, "%s:%d: does not hold: %s\n", __FILE__, __LINE__, #condition);   \
            abort();                                                                               \
        }                                                                                          \
    } while (0)

#endif
