/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Private to base: base64 between buffers the caller has. */
#ifndef WINCH_BASE_BASE64_H
#define WINCH_BASE_BASE64_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* Write ceil(len / 3) * 4 characters to `out`, without a NUL. */
void base64_encode(const uint8_t *bytes, size_t len, char *out);

/* Decode `len` characters of padded base64 into `out`, which has room for len / 4 * 3 bytes.
 * Returns the count, or -1 for anything that base64_encode() does not write. */
ssize_t base64_decode_into(const char *base64, size_t len, uint8_t *out);

#endif
