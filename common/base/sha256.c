/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * SHA-256 of a buffer, by OpenSSL's plain functions: those behind EVP take memory, and where there
 * is none OpenSSL 3.0 falls over a lock that it could not make. These cannot fail.
 */
#include "base/base.h"

#define OPENSSL_SUPPRESS_DEPRECATED
#include <openssl/sha.h>

void sha256_bytes(const void *bytes, size_t len, uint8_t out[32])
{
    SHA256_CTX context;
    (void)SHA256_Init(&context); /* these return 1 */
    (void)SHA256_Update(&context, bytes, len);
    (void)SHA256_Final(out, &context);
}
