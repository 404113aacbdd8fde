/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Packing and unpacking: round trips, the limit, hostile bytes, equal bytes from equal bytes. */
#include "run_fixture.h"

#include "run/gzip.h"

#define MIB (1U << 20)

static void fill_lines(uint8_t *bytes, size_t len, uint32_t seed)
{
    static const char alphabet[] = "{}\":,/abcdefghijklmnopqrstuvwxyz0123456789\n";
    for (size_t i = 0; i < len; i++) {
        seed = seed * 1103515245U + 12345U;
        bytes[i] = (uint8_t)alphabet[(seed >> 16) % (sizeof(alphabet) - 1)];
    }
}

static void fill_noise(uint8_t *bytes, size_t len, uint32_t seed)
{
    for (size_t i = 0; i < len; i++) {
        seed = seed * 1103515245U + 12345U;
        bytes[i] = (uint8_t)(seed >> 16);
    }
}

static void pack(struct gzip *gzip, const uint8_t *bytes, size_t len, size_t step)
{
    for (size_t at = 0; at < len; at += step) {
        assert_int_equal(gzip_add(gzip, bytes + at, len - at < step ? len - at : step), 0);
    }
    assert_int_equal(gzip_finish(gzip), 0);
}

static void test_round_trips(void **state)
{
    (void)state;
    static const struct {
        size_t len, step;
        bool noise;
    } cases[] = {
        {0, 1, false},         {1, 1, false},      {26, 26, false},    {65535, 65535, true},
        {65536, 65536, true},  {65537, 100, true}, {200000, 1, false}, {3 * MIB, 3 * MIB, true},
        {5 * MIB, 333, false},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        CLEANUP_TEXT struct text packed = TEXT_INIT(16 * MIB);
        CLEANUP_TEXT struct text back = TEXT_INIT(cases[i].len); /* exactly as much as allowed */
        CLEANUP_FREE uint8_t *bytes = malloc(cases[i].len + 1);
        struct error err = {0};
        assert_non_null(bytes);
        if (cases[i].noise) {
            fill_noise(bytes, cases[i].len, 1);
        } else {
            fill_lines(bytes, cases[i].len, 1);
        }
        struct gzip *gzip = gzip_new(&packed);
        assert_non_null(gzip);
        pack(gzip, bytes, cases[i].len, cases[i].step);
        gzip_free(gzip);
        assert_true(packed.len >= 18);
        assert_memory_equal(packed.data, "\x1f\x8b\x08", 3);
        assert_int_equal(gzip_unpack(packed.data, packed.len, &back, &err), 0);
        assert_int_equal(back.len, cases[i].len);
        assert_memory_equal(text_str(&back), bytes, cases[i].len);
    }
}

static void test_unpack_appends(void **state)
{
    (void)state;
    CLEANUP_TEXT struct text packed = TEXT_INIT(MIB);
    CLEANUP_TEXT struct text back = TEXT_INIT(MIB);
    struct error err = {0};
    struct gzip *gzip = gzip_new(&packed);
    assert_non_null(gzip);
    pack(gzip, (const uint8_t *)"world", 5, 5);
    gzip_free(gzip);
    text_add(&back, "hello ");
    assert_int_equal(gzip_unpack(packed.data, packed.len, &back, &err), 0);
    assert_string_equal(text_str(&back), "hello world");
}

/* A bomb: small in the bucket, as large as one likes here. */
static void test_zeros_stay_within_the_limit(void **state)
{
    (void)state;
    enum { MIBS = 100 };
    CLEANUP_TEXT struct text packed = TEXT_INIT(MIB);
    CLEANUP_FREE uint8_t *zeros = calloc(1, MIB);
    assert_non_null(zeros);
    struct gzip *gzip = gzip_new(&packed);
    assert_non_null(gzip);
    for (unsigned i = 0; i < MIBS; i++) {
        assert_int_equal(gzip_add(gzip, zeros, MIB), 0);
    }
    assert_int_equal(gzip_finish(gzip), 0);
    gzip_free(gzip);
    assert_true(packed.len < MIB);
    static const size_t limits[] = {0, 1, 65535, 65536, 2 * MIB, MIBS * (size_t)MIB - 1};
    for (size_t i = 0; i < ARRAY_LEN(limits); i++) {
        CLEANUP_TEXT struct text back = TEXT_INIT(limits[i]);
        struct error err = {0};
        assert_int_equal(gzip_unpack(packed.data, packed.len, &back, &err), -1);
        assert_true(back.len <= limits[i] && back.cap <= 2 * limits[i] + MIB);
        assert_int_equal(err.kind, ERROR_FAIL_ENTRY);
    }
    CLEANUP_TEXT struct text back = TEXT_INIT(MIBS * (size_t)MIB);
    struct error err = {0};
    assert_int_equal(gzip_unpack(packed.data, packed.len, &back, &err), 0);
    assert_int_equal(back.len, MIBS * (size_t)MIB);
    for (unsigned i = 0; i < MIBS; i++) {
        assert_memory_equal(back.data + i * (size_t)MIB, zeros, MIB);
    }
}

static void test_full_output(void **state)
{
    (void)state;
    CLEANUP_FREE uint8_t *noise = malloc(MIB);
    assert_non_null(noise);
    fill_noise(noise, MIB, 7);
    CLEANUP_TEXT struct text packed = TEXT_INIT(100000);
    struct gzip *gzip = gzip_new(&packed);
    assert_non_null(gzip);
    int added = gzip_add(gzip, noise, MIB);
    int finished = gzip_finish(gzip);
    gzip_free(gzip);
    assert_true(added == -1 || finished == -1);
    assert_int_equal(finished, -1);
}

static int unpack_exactly(const void *bytes, size_t len, struct text *back)
{
    struct error err = {0};
    uint8_t *exact = malloc(len + 1); /* so that a read behind its end is seen */
    assert_non_null(exact);
    (void)memcpy(exact, bytes, len);
    text_reset(back);
    int result = gzip_unpack(exact, len, back, &err);
    free(exact);
    assert_int_equal(result == 0, err.kind == ERROR_NONE);
    return result;
}

static void test_hostile(void **state)
{
    (void)state;
    static const struct {
        const char *bytes;
        size_t len;
    } cases[] = {
        {"", 0},
        {"x", 1},
        {"\x1f", 1},
        {"\x1f\x8b", 2},
        {"{\"schema\":\"winch-manifest/1\"}", 29},
        {"\x1f\x8b\x08\x00\x00\x00\x00\x00\x00\x03", 10},
        {"\x1f\x8b\x07\x00\x00\x00\x00\x00\x00\x03\x03\x00\0\0\0\0\0\0\0\0", 20}, /* method */
        {"\x1f\x8b\x08\x00\x00\x00\x00\x00\x00\x03\x07\x00\0\0\0\0\0\0\0\0", 20}, /* block type */
        {"\x1f\x8b\x08\x00\x00\x00\x00\x00\x00\x03\x01\x05\0\0\0\0\0\0\0\0", 20}, /* length */
        {"\x1f\x8b\x08\x00\x00\x00\x00\x00\x00\x03\x03\x00\1\0\0\0\0\0\0\0", 20}, /* checksum */
        {"\x1f\x8b\x08\x00\x00\x00\x00\x00\x00\x03\x03\x00\0\0\0\0\1\0\0\0", 20}, /* size */
        {"\x1f\x8b\x08\x04\x00\x00\x00\x00\x00\x03\xff\xff", 12},                 /* long extra */
        {"\x1f\x8b\x08\x08\x00\x00\x00\x00\x00\x03name without end", 26},
    };
    CLEANUP_TEXT struct text back = TEXT_INIT(MIB);
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        if (unpack_exactly(cases[i].bytes, cases[i].len, &back) == 0) {
            fail_msg("case %zu was taken", i);
        }
    }
}

static void test_cut_flipped_and_followed(void **state)
{
    (void)state;
    enum { LEN = 3000, HEADER = 10, TRAILER = 8 };
    uint8_t bytes[LEN];
    CLEANUP_TEXT struct text packed = TEXT_INIT(MIB);
    CLEANUP_TEXT struct text back = TEXT_INIT(MIB);
    fill_lines(bytes, LEN, 3);
    struct gzip *gzip = gzip_new(&packed);
    assert_non_null(gzip);
    pack(gzip, bytes, LEN, LEN);
    gzip_free(gzip);
    for (size_t len = 0; len < packed.len; len++) {
        assert_int_equal(unpack_exactly(packed.data, len, &back), -1);
    }
    for (size_t bit = 0; bit < packed.len * 8; bit++) {
        packed.data[bit / 8] = (char)(packed.data[bit / 8] ^ (1 << (bit % 8)));
        int result = unpack_exactly(packed.data, packed.len, &back);
        packed.data[bit / 8] = (char)(packed.data[bit / 8] ^ (1 << (bit % 8)));
        /* Time, system and unused bits may change, the content never unseen. */
        if (result == 0) {
            assert_int_equal(back.len, LEN);
            assert_memory_equal(back.data, bytes, LEN);
            assert_true(bit / 8 < HEADER || bit / 8 == packed.len - TRAILER - 1);
        }
    }
    /* What stands behind the end: a byte, a second member. Neither may be lost in silence. */
    size_t len = packed.len;
    CLEANUP_FREE char *member = malloc(len);
    assert_non_null(member);
    (void)memcpy(member, packed.data, len);
    for (size_t extra = 1; extra <= len; extra = extra == 1 ? len : extra + 1) {
        text_add_bytes(&packed, member, extra);
        assert_int_equal(unpack_exactly(packed.data, len + extra, &back), -1);
        packed.len = len;
    }
}

static void test_equal_bytes(void **state)
{
    (void)state;
    enum { LEN = 2 * MIB + 17 };
    CLEANUP_FREE uint8_t *bytes = malloc(LEN);
    assert_non_null(bytes);
    fill_lines(bytes, LEN, 11);
    CLEANUP_TEXT struct text first = TEXT_INIT(4 * MIB);
    CLEANUP_TEXT struct text second = TEXT_INIT(4 * MIB);
    struct gzip *gzip = gzip_new(&first);
    assert_non_null(gzip);
    pack(gzip, bytes, LEN, 211);
    CLEANUP_FREE char *kept = malloc(first.len);
    assert_non_null(kept);
    size_t kept_len = first.len;
    (void)memcpy(kept, first.data, kept_len);
    /* A restart after other bytes, also in the middle of them, gives the same again. */
    text_reset(&first);
    gzip_restart(gzip);
    assert_int_equal(gzip_add(gzip, bytes + 999, 70000), 0);
    text_reset(&first);
    gzip_restart(gzip);
    pack(gzip, bytes, LEN, 211);
    gzip_free(gzip);
    assert_int_equal(first.len, kept_len);
    assert_memory_equal(first.data, kept, kept_len);
    gzip = gzip_new(&second);
    assert_non_null(gzip);
    pack(gzip, bytes, LEN, 211);
    gzip_free(gzip);
    assert_int_equal(second.len, kept_len);
    assert_memory_equal(second.data, kept, kept_len);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_round_trips),
        cmocka_unit_test(test_unpack_appends),
        cmocka_unit_test(test_zeros_stay_within_the_limit),
        cmocka_unit_test(test_full_output),
        cmocka_unit_test(test_hostile),
        cmocka_unit_test(test_cut_flipped_and_followed),
        cmocka_unit_test(test_equal_bytes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
