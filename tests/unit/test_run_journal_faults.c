/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The journal when it cannot be opened, is damaged, has no room, or its process is killed. */
#include "run_journal_fixture.h"

static void test_cannot_open(void **state)
{
    (void)state;
    struct folder folder = folder_make();
    struct error err = {0};
    CLEANUP_TEXT struct text path = TEXT_INIT(512);
    static const char *const names[] = {"", "missing/journal.sqlite", "garbage.sqlite"};
    CLEANUP_TEXT struct text garbage = TEXT_INIT(10000);
    for (unsigned i = 0; i < 5000; i++) {
        text_add_char(&garbage, (char)('a' + i % 26));
    }
    text_at(&path, folder.path, "garbage.sqlite");
    assert_int_equal(file_write(path.data, garbage.data, garbage.len, 0600, &err), 0);
    for (size_t i = 0; i < ARRAY_LEN(names); i++) {
        err = (struct error){0};
        text_at(&path, folder.path, names[i]);
        assert_null(journal_open(path.data, &err));
        assert_stopped(&err, EXIT_STATUS_TEMPORARY);
        assert_contains(err.message, path.data);
    }
    /* Held by somebody else. */
    text_at(&path, folder.path, "journal.sqlite");
    struct journal *journal = journal_open(path.data, &err);
    assert_non_null(journal);
    err = (struct error){0};
    assert_null(journal_open(path.data, &err));
    assert_stopped(&err, EXIT_STATUS_TEMPORARY);
    journal_close(journal);
    folder_remove(&folder);
}

static void test_damaged(void **state)
{
    (void)state;
    struct folder folder = folder_make();
    CLEANUP_TEXT struct text path = TEXT_INIT(512);
    CLEANUP_TEXT struct text bytes = TEXT_INIT(64 << 20);
    text_at(&path, folder.path, "journal.sqlite");
    struct failure failure = {0};
    struct error err = {0};
    struct journal *journal = open_started(path.data, &failure);
    for (uint64_t task = 0; task < 5000; task++) {
        note(journal, task, LEDGER_UPLOADED, 0);
    }
    stop_and_close(journal, &failure);
    assert_int_equal(file_read(path.data, 64 << 20, &bytes, &err), 0);
    assert_true(bytes.len > 20 * 4096);
    (void)memset(bytes.data + 4 * 4096, 0xa5, bytes.len - 4 * 4096);
    assert_int_equal(file_write(path.data, bytes.data, bytes.len, 0600, &err), 0);
    journal = journal_open(path.data, &err);
    int result = -1;
    if (journal != NULL) {
        struct loaded loaded = {0};
        struct error ledger_err = {0};
        struct ledger *ledger = ledger_new(5000, folder.path, &ledger_err);
        assert_non_null(ledger);
        result = journal_load(journal, ledger, 5000, take_task, &loaded, &err);
        ledger_free(ledger);
    }
    assert_int_equal(result, -1);
    assert_stopped(&err, EXIT_STATUS_TEMPORARY);
    assert_contains(err.message, path.data);
    journal_close(journal);
    folder_remove(&folder);
}

static void test_full_disk(void **state)
{
    (void)state;
    struct folder folder = folder_make();
    CLEANUP_TEXT struct text path = TEXT_INIT(512);
    text_at(&path, folder.path, "journal.sqlite");
    mount_small(folder.path, "size=512k");
    enum { BEFORE = 100, AFTER = 5000, MORE_THAN_THE_QUEUE = 250000 };
    struct failure failure = {0};
    struct error err = {0};
    struct journal *journal = open_started(path.data, &failure);
    for (uint64_t task = 0; task < BEFORE; task++) {
        note(journal, task, LEDGER_UPLOADED, 0);
    }
    assert_int_equal(journal_stop(journal, &err), 0);
    assert_int_equal(journal_start(journal, take_failure, &failure, &err), 0);
    char sentence[500];
    (void)memset(sentence, 'e', sizeof(sentence) - 1);
    sentence[sizeof(sentence) - 1] = '\0';
    for (uint64_t task = BEFORE; task < AFTER; task++) {
        struct ledger_row row = {.state = LEDGER_UPLOADED, .generation = 1};
        journal_result(journal, task, &row, sentence, NULL, 0);
    }
    for (uint64_t task = AFTER; task < MORE_THAN_THE_QUEUE; task++) {
        note(journal, task, LEDGER_UPLOADED, 0); /* nobody waits for a writer that gave up */
    }
    assert_int_equal(journal_stop(journal, &err), -1);
    assert_stopped(&err, EXIT_STATUS_TEMPORARY);
    assert_contains(err.message, path.data);
    assert_int_equal(failure.count, 1);
    assert_stopped(&failure.err, EXIT_STATUS_TEMPORARY);
    assert_string_equal(failure.err.message, err.message);
    note(journal, 0, LEDGER_UPLOADED, 0); /* dropped, not kept */
    journal_close(journal);
    /* With room again the same command resumes: what was committed is there, the rest is not. */
    assert_int_equal(mount("winch-test", folder.path, "tmpfs", MS_REMOUNT, "size=8m"), 0);
    struct ledger *ledger = NULL;
    struct loaded loaded;
    journal = open_loaded(path.data, &folder, AFTER, &ledger, &loaded);
    assert_int_equal(loaded.count, BEFORE);
    for (uint64_t task = 0; task < BEFORE; task++) {
        assert_row(ledger, task, LEDGER_UPLOADED, 0);
    }
    failure = (struct failure){0};
    assert_int_equal(journal_start(journal, take_failure, &failure, &err), 0);
    note(journal, BEFORE, LEDGER_UPLOADED, 0);
    stop_and_close(journal, &failure);
    ledger_free(ledger);
    /* No room for the journal at all. */
    text_at(&path, folder.path, "filler");
    CLEANUP_FREE char *filler = calloc(1, 8 << 20);
    assert_non_null(filler);
    FILE *file = fopen(path.data, "w");
    assert_non_null(file);
    (void)fwrite(filler, 1, 8 << 20, file); /* as much as there is room for */
    (void)fclose(file);
    text_at(&path, folder.path, "other.sqlite");
    err = (struct error){0};
    assert_null(journal_open(path.data, &err));
    assert_stopped(&err, EXIT_STATUS_TEMPORARY);
    assert_contains(err.message, path.data);
    unmount_small(folder.path);
    folder_remove(&folder);
}

enum { COMMITTED = 20000, MOST = 4000000 };

/* Commits some, says so, and goes on until it is killed. */
static int write_until_killed(void *self, int fd)
{
    const char *path = self;
    struct error err = {0};
    struct failure failure = {0};
    struct journal *journal = journal_open(path, &err);
    if (journal == NULL || journal_start(journal, take_failure, &failure, &err) != 0) {
        return 1;
    }
    for (uint64_t task = 0; task < COMMITTED; task++) {
        note(journal, task, LEDGER_UPLOADED, 0);
    }
    if (journal_stop(journal, &err) != 0 ||
        journal_start(journal, take_failure, &failure, &err) != 0 || write(fd, "x", 1) != 1) {
        return 1;
    }
    for (uint64_t task = COMMITTED; task < MOST; task++) {
        note(journal, task, LEDGER_UPLOADED, 0);
        if (task % 100 == 0) {
            (void)clock_sleep_ms(1, NULL); /* so that there is something to kill */
        }
    }
    return 1;
}

static void test_killed(void **state)
{
    (void)state;
    struct folder folder = folder_make();
    CLEANUP_TEXT struct text path = TEXT_INIT(512);
    text_at(&path, folder.path, "journal.sqlite");
    static const unsigned waits_ms[] = {0, 30, 300}; /* wherever it is by then */
    for (size_t round = 0; round < ARRAY_LEN(waits_ms); round++) {
        pid_t child = start_process(write_until_killed, path.data);
        (void)clock_sleep_ms(waits_ms[round], NULL);
        kill_process(child);
        struct ledger *ledger = NULL;
        struct loaded loaded;
        struct journal *journal = open_loaded(path.data, &folder, MOST, &ledger, &loaded);
        /* All that was committed, and of the rest a beginning without a gap. */
        assert_true(loaded.count >= COMMITTED);
        assert_int_equal(loaded.highest, loaded.count - 1);
        for (uint64_t task = 0; task < loaded.count; task++) {
            assert_row(ledger, task, LEDGER_UPLOADED, 0);
        }
        journal_close(journal);
        ledger_free(ledger);
    }
    folder_remove(&folder);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_cannot_open),
        cmocka_unit_test(test_damaged),
        cmocka_unit_test(test_full_disk),
        cmocka_unit_test(test_killed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
