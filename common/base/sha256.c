/* SPDX-License-Identifier: GPL-3.0-or-later */
/* SHA-256 of a buffer. */
#include "base/base.h"

#include <openssl/sha.h>

void sha256_bytes(const void *bytes, size_t len, uint8_t out[32])
{
    if (SHA256(bytes, len, out) == NULL) {
        abort(); /* OpenSSL without its default provider: names of objects could collide */
    }
}
