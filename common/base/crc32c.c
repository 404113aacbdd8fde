/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * CRC-32C. ISA-L runs over the bytes; joining checksums is arithmetic on polynomials over GF(2)
 * modulo the Castagnoli polynomial. Appending n bytes to A multiplies A's remainder by x^(8n),
 * which is a product of at most 64 precomputed squares.
 *
 * Polynomials are bit-reversed, as in the checksum itself: bit 31 is x^0.
 */
#include "base/base.h"
#include "base/base64.h"

#include <isa-l/crc.h>
#include <pthread.h>
#include <string.h>

#define POLYNOMIAL UINT32_C(0x82F63B78)
#define ONE UINT32_C(0x80000000)        /* x^0 */
#define X_TO_THE_8 UINT32_C(0x00800000) /* one byte */

enum { BASE64_LEN = 8, LEN_BITS = 64 };

/* byte_powers[k] is x^(8 * 2^k). Written once under `powers_once`, then only read. */
static uint32_t byte_powers[LEN_BITS];
static pthread_once_t powers_once = PTHREAD_ONCE_INIT;

static uint32_t multiply(uint32_t a, uint32_t b);
static uint32_t shift_by_bytes(uint32_t remainder, uint64_t len);

uint32_t crc32c_update(uint32_t crc, const void *bytes, size_t len)
{
    /* ISA-L takes an int and leaves both inversions to the caller. */
    const size_t piece_max = (size_t)1 << 30;
    const unsigned char *next = bytes;
    uint32_t state = ~crc;
    while (len > 0) {
        size_t piece = len < piece_max ? len : piece_max;
        state = crc32_iscsi((unsigned char *)(uintptr_t)next, (int)piece, state);
        next += piece;
        len -= piece;
    }
    return ~state;
}

uint32_t crc32c_combine(uint32_t crc_a, uint32_t crc_b, uint64_t len_b)
{
    /* The inversions before and after cancel out: B's checksum carries its own. */
    return shift_by_bytes(crc_a, len_b) ^ crc_b;
}

uint32_t crc32c_zeros(uint32_t crc, uint64_t len)
{
    return ~shift_by_bytes(~crc, len);
}

void crc32c_to_base64(uint32_t crc, char out[9])
{
    const uint8_t bytes[4] = {(uint8_t)(crc >> 24), (uint8_t)(crc >> 16), (uint8_t)(crc >> 8),
                              (uint8_t)crc};
    base64_encode(bytes, sizeof(bytes), out);
    out[BASE64_LEN] = '\0';
}

int crc32c_from_base64(const char *base64, uint32_t *ret_crc)
{
    uint8_t bytes[BASE64_LEN / 4 * 3];
    if (strnlen(base64, BASE64_LEN + 1) != BASE64_LEN ||
        base64_decode_into(base64, BASE64_LEN, bytes) != 4) {
        return -1;
    }
    *ret_crc =
        (uint32_t)bytes[0] << 24 | (uint32_t)bytes[1] << 16 | (uint32_t)bytes[2] << 8 | bytes[3];
    return 0;
}

static void make_powers(void)
{
    byte_powers[0] = X_TO_THE_8;
    for (size_t k = 1; k < LEN_BITS; k++) {
        byte_powers[k] = multiply(byte_powers[k - 1], byte_powers[k - 1]);
    }
}

static uint32_t shift_by_bytes(uint32_t remainder, uint64_t len)
{
    (void)pthread_once(&powers_once, make_powers); /* fails for no valid control block */
    for (size_t k = 0; len > 0; k++, len >>= 1) {
        if ((len & 1) != 0) {
            remainder = multiply(byte_powers[k], remainder);
        }
    }
    return remainder;
}

static uint32_t multiply(uint32_t a, uint32_t b)
{
    uint32_t product = 0;
    for (uint32_t bit = ONE; bit != 0; bit >>= 1) {
        product ^= (a & bit) != 0 ? b : 0;
        b = (b >> 1) ^ ((b & 1) != 0 ? POLYNOMIAL : 0); /* times x */
    }
    return product;
}
