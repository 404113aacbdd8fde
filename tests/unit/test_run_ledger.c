/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The ledger's sizes and failures, and the numbers of reason codes. */
#include "run_fixture.h"

#include "plan/plan.h"
#include "run/ledger.h"

static void test_sizes(void **state)
{
    (void)state;
    static const uint64_t sizes[] = {0, 1, 255, 256, 4095, 4096, 1000000};
    struct folder folder = folder_make();
    for (size_t i = 0; i < ARRAY_LEN(sizes); i++) {
        struct error err = {0};
        struct ledger *ledger = ledger_new(sizes[i], folder.path, &err);
        assert_non_null(ledger);
        for (uint64_t task = 0; task < sizes[i]; task++) {
            struct ledger_row *row = ledger_row(ledger, task);
            assert_int_equal(row->state, LEDGER_OPEN);
            assert_true(row->generation == 0 && row->crc32c == 0 && row->flags == 0);
            row->generation = task + 1;
            row->crc32c = (uint32_t)(task * 7);
            row->state = LEDGER_UPLOADED;
        }
        for (uint64_t task = 0; task < sizes[i]; task++) {
            const struct ledger_row *row = ledger_row(ledger, task);
            assert_true(row->generation == task + 1 && row->crc32c == (uint32_t)(task * 7));
            assert_int_equal(row->state, LEDGER_UPLOADED);
        }
        ledger_free(ledger);
    }
    ledger_free(NULL);
    assert_int_equal(rmdir(folder.path), 0); /* nothing with a name was left there */
}

static void test_impossible(void **state)
{
    (void)state;
    struct folder folder = folder_make();
    CLEANUP_TEXT struct text missing = TEXT_INIT(512);
    text_at(&missing, folder.path, "missing");
    const struct {
        const char *folder;
        uint64_t tasks;
    } cases[] = {
        {folder.path, UINT64_MAX},
        {folder.path, UINT64_MAX / 16},
        {folder.path, UINT64_MAX / 16 - 1},
        {missing.data, 10},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct error err = {0};
        assert_null(ledger_new(cases[i].tasks, cases[i].folder, &err));
        assert_stopped(&err, EXIT_STATUS_TEMPORARY);
    }
    struct error err = {0};
    assert_null(ledger_new(10, missing.data, &err));
    assert_contains(err.message, missing.data);
    folder_remove(&folder);
}

static void test_full_disk(void **state)
{
    (void)state;
    struct folder folder = folder_make();
    struct error err = {0};
    mount_small(folder.path, "size=64k");
    assert_null(ledger_new(100000, folder.path, &err));
    assert_stopped(&err, EXIT_STATUS_TEMPORARY);
    assert_contains(err.message, folder.path);
    /* What fits, fits: nothing of the failed one is left. */
    struct ledger *ledger = ledger_new(3000, folder.path, &err);
    assert_non_null(ledger);
    ledger_row(ledger, 2999)->generation = 1;
    ledger_free(ledger);
    unmount_small(folder.path);
    folder_remove(&folder);
}

static void test_reasons(void **state)
{
    (void)state;
    static const char *const all[] = {
        REASON_DEDUP,
        REASON_CLOUD,
        REASON_EFS,
        REASON_WOF,
        REASON_REPARSE,
        REASON_BAD_RECORD,
        REASON_CROSS_LINKED,
        REASON_BAD_SECTOR,
        REASON_STALE,
        REASON_CONFLICT,
        REASON_PRESENT_UNVERIFIED,
        REASON_TOO_LARGE,
        REASON_NAME,
        REASON_UPLOAD_REFUSED,
        REASON_EXCLUDED,
        REASON_SYSTEM,
    };
    assert_int_equal(reason_count(), ARRAY_LEN(all));
    bool seen[256] = {false};
    for (size_t i = 0; i < ARRAY_LEN(all); i++) {
        uint8_t number = reason_number(all[i]);
        assert_false(seen[number]);
        seen[number] = true;
        assert_true(number < reason_count());
        assert_string_equal(reason_name(number), all[i]);
    }
    static const char *const unknown[] = {NULL, "", "no-such-reason", "dedu", "dedup ", "DEDUP"};
    for (size_t i = 0; i < ARRAY_LEN(unknown); i++) {
        assert_string_equal(reason_name(reason_number(unknown[i])), REASON_UPLOAD_REFUSED);
    }
    for (unsigned number = (unsigned)reason_count(); number <= UINT8_MAX; number++) {
        assert_string_equal(reason_name((uint8_t)number), REASON_UPLOAD_REFUSED);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_sizes),
        cmocka_unit_test(test_impossible),
        cmocka_unit_test(test_full_disk),
        cmocka_unit_test(test_reasons),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
