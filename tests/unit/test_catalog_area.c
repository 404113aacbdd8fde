/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The catalog's files: growing, sealing, a folder that is full or not there. */
#include "catalog_fixture.h"

#include <signal.h>
#include <sys/resource.h>

static void test_grows_and_seals(void **state)
{
    (void)state;
    struct area area;
    struct error err = {0};
    assert_int_equal(area_open(&area, "the test", "/tmp", &err), 0);
    enum { STEPS = 3000, BYTES = 1000 };
    for (size_t i = 0; i < STEPS; i++) {
        uint8_t *bytes = area_reserve(&area, BYTES, &err);
        assert_non_null(bytes);
        memset(bytes, (int)(i % 251), BYTES);
        area.len += BYTES;
    }
    area_seal(&area);
    assert_true(area.cap >= area.len && area.cap < area.len + 4096);
    for (size_t i = 0; i < STEPS; i++) {
        assert_int_equal(area.bytes[i * BYTES + BYTES - 1], i % 251);
    }
    assert_null(area_reserve(&area, SIZE_MAX - 5, &err));
    area_close(&area);
    area_close(&area);
}

static void test_full_folder_is_temporary(void **state)
{
    (void)state;
    struct rlimit before;
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &before), 0);
    struct catalog *catalog = made_catalog();
    struct rlimit tight = {.rlim_cur = 1 << 20, .rlim_max = before.rlim_max};
    void (*old)(int) = signal(SIGXFSZ, SIG_IGN);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &tight), 0);
    struct made made;
    made_start(&made, 100, 1);
    static uint8_t ea[60000];
    made.entry.ea = ea;
    made.entry.ea_len = sizeof(ea);
    struct error err = {0};
    int result = 0;
    for (unsigned i = 0; i < 100 && result == 0; i++) {
        result = catalog_add(catalog, &made.entry, &err);
    }
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &before), 0);
    (void)signal(SIGXFSZ, old); /* it was there before */
    assert_int_equal(result, -1);
    assert_int_equal(err.kind, ERROR_STOP_RUN);
    assert_int_equal(err.exit_status, EXIT_STATUS_TEMPORARY);
    assert_non_null(strstr(err.message, catalog->folder));
    catalog_free(catalog);
}

static void test_missing_folder_is_named(void **state)
{
    (void)state;
    struct error err = {0};
    assert_null(catalog_new("/nonexistent/folder", &err));
    assert_int_equal(err.kind, ERROR_STOP_RUN);
    assert_non_null(strstr(err.message, "/nonexistent/folder"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_grows_and_seals),
        cmocka_unit_test(test_full_folder_is_temporary),
        cmocka_unit_test(test_missing_folder_is_named),
    };
    return cmocka_run_group_tests_name("catalog area", tests, NULL, NULL);
}
