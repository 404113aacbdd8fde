/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The raw form of encrypted streams. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "volume/volume.h"

#define ENCRYPTED 0x4000
#define COMPRESSED 0x0001

static void test_sizes(void **state)
{
    (void)state;
    static const struct {
        uint64_t size, cipher;
        uint8_t trailer[2];
    } cases[] = {
        {0, 0, {0, 0}},
        {1, 512, {0xFF, 0x01}},
        {511, 512, {1, 0}},
        {512, 512, {0, 0}},
        {513, 1024, {0xFF, 0x01}},
        {5000, 5120, {120, 0}},
        {UINT64_C(5) << 40, UINT64_C(5) << 40, {0, 0}},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct volume_stream stream = {.size_bytes = cases[i].size};
        uint8_t trailer[VOLUME_EFS_TRAILER_BYTES];
        volume_efs_trailer(&stream, trailer);
        assert_int_equal(volume_efs_cipher_bytes(&stream), cases[i].cipher);
        assert_int_equal(volume_efs_raw_bytes(&stream), cases[i].cipher + 2);
        assert_memory_equal(trailer, cases[i].trailer, 2);
    }
}

static void test_whole(void **state)
{
    (void)state;
    static const struct volume_extent good[] = {{100, 1}, {300, 1}};
    static const struct volume_extent hole[] = {{100, 1}, {VOLUME_HOLE, 1}};
    static const struct volume_stream whole = {
        .form = VOLUME_EFS,
        .attribute_flags = ENCRYPTED,
        .size_bytes = 8000,
        .valid_bytes = 8000,
        .extents = good,
        .extent_count = 2,
    };
    struct volume_entry entry = {.efs = (const uint8_t *)"key", .efs_len = 3};
    struct volume_stream stream = whole;
    assert_true(volume_efs_is_whole(&entry, &stream, 4096));
    stream.size_bytes = stream.valid_bytes = 8192;
    assert_true(volume_efs_is_whole(&entry, &stream, 4096));
    stream.size_bytes = stream.valid_bytes = 8193;
    assert_false(volume_efs_is_whole(&entry, &stream, 4096));
    stream.size_bytes = stream.valid_bytes = UINT64_MAX;
    assert_false(volume_efs_is_whole(&entry, &stream, 4096));
    stream = whole;
    stream.valid_bytes = 7999;
    assert_false(volume_efs_is_whole(&entry, &stream, 4096));
    stream = whole;
    stream.extents = hole;
    assert_false(volume_efs_is_whole(&entry, &stream, 4096));
    stream = whole;
    stream.problem = "damaged";
    assert_false(volume_efs_is_whole(&entry, &stream, 4096));
    stream = whole;
    stream.attribute_flags |= COMPRESSED;
    assert_false(volume_efs_is_whole(&entry, &stream, 4096));
    stream = whole;
    stream.form = VOLUME_PLAIN;
    assert_false(volume_efs_is_whole(&entry, &stream, 4096));
    stream = whole;
    stream.extents = NULL; /* resident */
    stream.extent_count = 0;
    assert_false(volume_efs_is_whole(&entry, &stream, 4096));
    entry.efs_len = 0;
    assert_false(volume_efs_is_whole(&entry, &whole, 4096));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_sizes),
        cmocka_unit_test(test_whole),
    };
    return cmocka_run_group_tests_name("volume efs", tests, NULL, NULL);
}
