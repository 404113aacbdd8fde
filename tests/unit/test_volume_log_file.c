/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Restart pages of $LogFile, and the overlay that answers the mirror from $MFT.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "record_maker.h"
#include "volume/log_file.h"

#define PAGE_BYTES 4096
#define LOG_BYTES 16384

static void make_page(uint8_t *page, uint64_t lsn, unsigned version, bool has_client,
                      unsigned flags)
{
    memset(page, 0, PAGE_BYTES);
    memcpy(page, "RSTR", 4);
    put16(page + 4, 30);
    put16(page + 6, PAGE_BYTES / 512 + 1);
    put32(page + 16, PAGE_BYTES);
    put16(page + 24, 48);
    put16(page + 28, version);
    put64(page + 48, lsn);
    put16(page + 48 + 12, has_client ? 0 : 0xFFFF);
    put16(page + 48 + 14, flags);
    put16(page + 30, 5);
    for (uint32_t i = 1; i <= PAGE_BYTES / 512; i++) {
        put16(page + i * 512 - 2, 5);
    }
}

static void test_pages(void **state)
{
    (void)state;
    uint8_t log[LOG_BYTES] = {0};
    struct log_file_state found;

    make_page(log, 100, 1, true, 0);
    make_page(log + PAGE_BYTES, 200, 1, false, 0);
    log_file_parse(log, sizeof(log), &found);
    assert_true(found.found && found.clean && !found.cached);
    assert_int_equal(found.lsn, 200);

    make_page(log, 300, 2, true, 0);
    make_page(log + PAGE_BYTES, 200, 1, false, 0);
    log_file_parse(log, sizeof(log), &found);
    assert_true(found.found && !found.clean && found.cached);
    assert_int_equal(found.lsn, 300);

    make_page(log, 300, 1, true, 2); /* the flag says clean */
    log_file_parse(log, PAGE_BYTES, &found);
    assert_true(found.found && found.clean);

    make_page(log, 300, 1, true, 0);
    make_page(log + PAGE_BYTES, 200, 1, false, 0);
    log[1022] ^= 1; /* the first is torn */
    log_file_parse(log, sizeof(log), &found);
    assert_int_equal(found.lsn, 200);
}

static void test_hostile_pages(void **state)
{
    (void)state;
    static const struct {
        uint32_t at;
        uint32_t value;
    } bad[] = {{16, 0},     {16, 511},  {16, 0x80000000}, {16, 65536}, {24, 0},
               {24, 65535}, {24, 4090}, {4, 65535},       {6, 65535},  {0, 0}};

    for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
        uint8_t *log = malloc(PAGE_BYTES); /* exact, so that a sanitizer sees over-reads */
        struct log_file_state found;
        assert_non_null(log);
        make_page(log, 1, 1, true, 0);
        if (bad[i].at == 16 || bad[i].at == 0) {
            put32(log + bad[i].at, bad[i].value);
        } else {
            put16(log + bad[i].at, bad[i].value);
        }
        log_file_parse(log, PAGE_BYTES, &found);
        assert_false(found.found);
        free(log);
    }
}

static void test_emptied(void **state)
{
    (void)state;
    uint8_t log[LOG_BYTES];
    struct log_file_state found;

    memset(log, 0xFF, sizeof(log));
    log_file_parse(log, sizeof(log), &found);
    assert_true(!found.found && found.clean);
    memset(log, 0, sizeof(log));
    log_file_parse(log, sizeof(log), &found);
    assert_true(!found.found && !found.clean);
    log_file_parse(log, 0, &found);
    assert_true(!found.found && !found.clean);
}

static void test_overlay(void **state)
{
    (void)state;
    struct overlay overlay = {
        .mft_offset = 8192, .mirror_offset = 100000, .len = 8192, .core_len = 4096};
    uint64_t len = 0;

    assert_int_equal(overlay_map(&overlay, 0, 20000, &len), 0);
    assert_int_equal(len, 8192);
    assert_int_equal(overlay_map(&overlay, 99999, 20000, &len), 99999);
    assert_int_equal(len, 1);
    assert_int_equal(overlay_map(&overlay, 100010, 20000, &len), 8202);
    assert_int_equal(len, 4086);
    assert_int_equal(overlay_map(&overlay, 104096, 20000, &len), 12288);
    assert_int_equal(len, 4096);
    assert_int_equal(overlay_map(&overlay, 108192, 20000, &len), 108192);
    assert_int_equal(len, 20000);
    overlay.use_mirror = true;
    assert_int_equal(overlay_map(&overlay, 8193, 1, &len), 100001);
    assert_int_equal(overlay_map(&overlay, 100001, 1, &len), 100001);
    assert_int_equal(overlay_map(&overlay, 12288, 1, &len), 12288);
    assert_int_equal(overlay_map(&overlay, 104096, 1, &len), 12288);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_pages),
        cmocka_unit_test(test_hostile_pages),
        cmocka_unit_test(test_emptied),
        cmocka_unit_test(test_overlay),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
