/* SPDX-License-Identifier: GPL-3.0-or-later */
/* CRC-32C and SHA-256 against published values and against each other. */
#include "base/base.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <string.h>

static void test_known_values(void **state)
{
    (void)state;
    uint8_t rising[32];
    uint8_t zeros[32] = {0};
    uint8_t ones[32];
    memset(ones, 0xFF, sizeof(ones));
    for (size_t i = 0; i < sizeof(rising); i++) {
        rising[i] = (uint8_t)i;
    }
    const struct {
        const void *bytes;
        size_t len;
        uint32_t want;
    } cases[] = {
        {"", 0, 0},
        {NULL, 0, 0},
        {"a", 1, 0xC1D04330},
        {"123456789", 9, 0xE3069283},
        {zeros, 32, 0x8A9136AA}, /* this and the next two: RFC 3720, B.4 */
        {ones, 32, 0x62A8AB43},
        {rising, 32, 0x46DD794E},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        assert_int_equal(crc32c_update(0, cases[i].bytes, cases[i].len), cases[i].want);
    }
}

static void test_chain_and_combine(void **state)
{
    (void)state;
    uint8_t bytes[3000];
    random_bytes(bytes, sizeof(bytes));
    uint32_t whole = crc32c_update(0, bytes, sizeof(bytes));
    static const size_t cuts[] = {0, 1, 2, 3, 7, 8, 9, 255, 256, 1024, 2047, 2999, 3000};
    for (size_t i = 0; i < ARRAY_LEN(cuts); i++) {
        size_t cut = cuts[i];
        uint32_t head = crc32c_update(0, bytes, cut);
        uint32_t tail = crc32c_update(0, bytes + cut, sizeof(bytes) - cut);
        assert_int_equal(crc32c_update(head, bytes + cut, sizeof(bytes) - cut), whole);
        assert_int_equal(crc32c_combine(head, tail, sizeof(bytes) - cut), whole);
    }
}

static void test_zeros(void **state)
{
    (void)state;
    static const uint8_t zeros[5000];
    static const uint32_t starts[] = {0, 1, 0xE3069283, UINT32_MAX};
    static const size_t lens[] = {0, 1, 2, 3, 31, 32, 511, 4096, 4999, 5000};
    for (size_t i = 0; i < ARRAY_LEN(starts); i++) {
        for (size_t k = 0; k < ARRAY_LEN(lens); k++) {
            assert_int_equal(crc32c_zeros(starts[i], lens[k]),
                             crc32c_update(starts[i], zeros, lens[k]));
        }
    }
}

/* Holes longer than any buffer: split in different ways they have to give the same. */
static void test_long_lengths(void **state)
{
    (void)state;
    static const uint64_t lens[] = {UINT64_C(1) << 31, UINT64_C(1) << 32, (UINT64_C(1) << 36) + 5,
                                    UINT64_C(987654321987654321), UINT64_MAX};
    const uint32_t start = crc32c_update(0, "123456789", 9);
    for (size_t i = 0; i < ARRAY_LEN(lens); i++) {
        uint64_t third = lens[i] / 3;
        uint32_t whole = crc32c_zeros(start, lens[i]);
        uint32_t pieces = crc32c_zeros(crc32c_zeros(start, third), lens[i] - third);
        assert_int_equal(pieces, whole);
        assert_int_equal(crc32c_combine(start, crc32c_zeros(0, lens[i]), lens[i]), whole);
    }
}

static void test_combine_is_fast(void **state)
{
    (void)state;
    enum { CALLS = 2000 };
    uint32_t crc = crc32c_zeros(1, 1); /* makes the table */
    uint64_t start_ns = clock_monotonic_ns();
    for (int i = 0; i < CALLS; i++) {
        crc = crc32c_combine(crc, (uint32_t)i, UINT64_MAX); /* the worst length */
    }
    uint64_t each_ns = (clock_monotonic_ns() - start_ns) / CALLS;
    print_message("combine, worst case: %u ns (%08x)\n", (unsigned)each_ns, (unsigned)crc);
    assert_in_range(each_ns, 0, 200000); /* far from the truth, but right under sanitizers too */
}

static void test_base64(void **state)
{
    (void)state;
    static const struct {
        uint32_t crc;
        const char *base64;
    } cases[] = {
        {0, "AAAAAA=="},
        {0xE3069283, "4waSgw=="},
        {UINT32_MAX, "/////w=="},
        {1, "AAAAAQ=="},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        char out[9];
        uint32_t crc = 77;
        crc32c_to_base64(cases[i].crc, out);
        assert_string_equal(out, cases[i].base64);
        assert_int_equal(crc32c_from_base64(out, &crc), 0);
        assert_int_equal(crc, cases[i].crc);
    }
    static const char *const bad[] = {"",         "AAAAAA=",   "AAAAAA", "AAAAAAA=", "AAAAAAAA",
                                      "AAAAAB==", "AAAAAA==A", "AAAA",   "A-AAAA=="};
    for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
        uint32_t crc = 77;
        assert_int_equal(crc32c_from_base64(bad[i], &crc), -1);
        assert_int_equal(crc, 77);
    }
}

static void test_sha256(void **state)
{
    (void)state;
    static const struct {
        const char *bytes;
        const char *hex;
    } cases[] = {
        {"", "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"},
        {"abc", "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        uint8_t digest[32];
        sha256_bytes(cases[i].bytes, strlen(cases[i].bytes), digest);
        CLEANUP_TEXT struct text hex = TEXT_INIT(64);
        text_add_hex(&hex, digest, sizeof(digest));
        assert_string_equal(text_str(&hex), cases[i].hex);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_known_values),    cmocka_unit_test(test_chain_and_combine),
        cmocka_unit_test(test_zeros),           cmocka_unit_test(test_long_lengths),
        cmocka_unit_test(test_combine_is_fast), cmocka_unit_test(test_base64),
        cmocka_unit_test(test_sha256),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
