/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The journal over a reopen: results, nodes, small facts, details, many threads. */
#include "run_journal_fixture.h"

#include "run/journal_internal.h"

#include <pthread.h>

static const char content[] = "inline";

static void note_inline(struct journal *journal, uint64_t task, uint32_t crc32c, size_t len)
{
    struct ledger_row row = {.crc32c = crc32c, .state = LEDGER_INLINE};
    journal_result(journal, task, &row, NULL, content, len);
}

static void test_write_and_load(void **state)
{
    (void)state;
    struct folder folder = folder_make();
    CLEANUP_TEXT struct text path = TEXT_INIT(512);
    text_at(&path, folder.path, "journal.sqlite");
    struct failure failure = {0};
    uint64_t before_ms = clock_utc_ns() / 1000000;
    struct journal *journal = open_started(path.data, &failure);
    note(journal, 0, LEDGER_UPLOADED, 0);
    note(journal, 1, LEDGER_FAILED, 0);
    uint32_t crc32c = crc32c_update(0, content, sizeof(content));
    note_inline(journal, 2, crc32c, sizeof(content));
    note(journal, 3, LEDGER_UPLOADED, LEDGER_PRESENT);
    note(journal, 4, LEDGER_UPLOADED, LEDGER_REPLACED);
    note(journal, 5, LEDGER_FAILED, 0);
    note(journal, 5, LEDGER_UPLOADED, 0); /* of two results the later one counts */
    note(journal, 6, LEDGER_UPLOADED, 0);
    note(journal, 6, LEDGER_FAILED, 0);
    note_inline(journal, 7, crc32c ^ 1, sizeof(content)); /* damaged: read from the disk again */
    note_inline(journal, 8, 0, 0);                        /* an empty stream is a whole one */
    note(journal, 9, LEDGER_UPLOADED, 0);                 /* no such task below */
    stop_and_close(journal, &failure);

    struct ledger *ledger = NULL;
    struct loaded loaded;
    journal = open_loaded(path.data, &folder, 9, &ledger, &loaded);
    assert_int_equal(loaded.count, 6);
    assert_int_equal(loaded.highest, 8);
    assert_true(loaded.last_utc_ms >= before_ms && loaded.last_utc_ms <= clock_utc_ns() / 1000000);
    static const struct {
        enum ledger_state state;
        uint8_t flags;
    } rows[] = {
        {LEDGER_UPLOADED, 0},
        {LEDGER_OPEN, 0},
        {LEDGER_INLINE, 0},
        {LEDGER_UPLOADED, LEDGER_PRESENT},
        {LEDGER_UPLOADED, LEDGER_REPLACED},
        {LEDGER_UPLOADED, 0},
        {LEDGER_OPEN, 0},
        {LEDGER_OPEN, 0},
        {LEDGER_INLINE, 0},
    };
    for (uint64_t task = 0; task < ARRAY_LEN(rows); task++) {
        if (rows[task].state == LEDGER_INLINE) {
            assert_int_equal(ledger_row(ledger, task)->state, LEDGER_INLINE);
            assert_int_equal(ledger_row(ledger, task)->crc32c, task == 2 ? crc32c : 0);
        } else {
            assert_row(ledger, task, rows[task].state, rows[task].flags);
        }
    }
    journal_close(journal);
    ledger_free(ledger);
    folder_remove(&folder);
}

/* A value that cannot be read is not one that is not there. */
static void test_meta_that_cannot_be_read(void **state)
{
    (void)state;
    struct folder folder = folder_make();
    CLEANUP_TEXT struct text path = TEXT_INIT(512);
    text_at(&path, folder.path, "journal.sqlite");
    struct error err = {0};
    struct journal *journal = journal_open(path.data, &err);
    assert_non_null(journal);
    assert_int_equal(journal_set(journal, "plan", "1", &err), 0);
    assert_int_equal(journal_exec(journal, "DROP TABLE meta", &err), 0);
    char *value = NULL;
    assert_int_equal(journal_get(journal, "plan", &value, &err), -1);
    assert_int_equal(err.exit_status, EXIT_STATUS_TEMPORARY);
    assert_null(value);
    journal_close(journal);
    folder_remove(&folder);
}

static void test_meta_and_segments(void **state)
{
    (void)state;
    struct folder folder = folder_make();
    CLEANUP_TEXT struct text path = TEXT_INIT(512);
    text_at(&path, folder.path, "journal.sqlite");
    struct error err = {0};
    struct failure failure = {0};
    struct journal *journal = journal_open(path.data, &err);
    assert_non_null(journal);
    char *none = NULL;
    assert_int_equal(journal_get(journal, "plan", &none, &err), 0);
    assert_null(none);
    assert_int_equal(journal_set(journal, "plan", "1", &err), 0);
    assert_int_equal(journal_set(journal, "plan", "deadbeef.", &err), 0);
    assert_int_equal(journal_set(journal, "it's; DROP TABLE meta", "", &err), 0);
    assert_int_equal(journal_start(journal, take_failure, &failure, &err), 0);
    journal_segment(journal, 2, 1796000000000ULL);
    journal_segment(journal, 18446744073709551615ULL, 1796000000123ULL);
    stop_and_close(journal, &failure);
    journal = journal_open(path.data, &err);
    assert_non_null(journal);
    static const struct {
        const char *key, *value;
    } cases[] = {
        {"plan", "deadbeef."},
        {"it's; DROP TABLE meta", ""},
        {"segment", "18446744073709551615"},
        {"segmented", "1796000000123"},
        {"Segment", NULL},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        CLEANUP_FREE char *value = NULL;
        assert_int_equal(journal_get(journal, cases[i].key, &value, &err), 0);
        if (cases[i].value == NULL) {
            assert_null(value);
        } else {
            assert_non_null(value);
            assert_string_equal(value, cases[i].value);
        }
    }
    journal_close(journal);
    journal_close(NULL);
    folder_remove(&folder);
}

static void test_nodes_become_hints(void **state)
{
    (void)state;
    struct folder folder = folder_make();
    CLEANUP_TEXT struct text path = TEXT_INIT(512);
    text_at(&path, folder.path, "journal.sqlite");
    struct failure failure = {0};
    struct journal *journal = open_started(path.data, &failure);
    journal_node(journal, 5, 0, 31, 100, 0xffffffffU);
    journal_node(journal, 3, 1, 0, 200, 2);
    journal_node(journal, 5, 0, 30, 99, 1);
    journal_node(journal, 5, 0, 31, 101, 7); /* written again: the later one counts */
    journal_node(journal, 4, 0, 0, 300, 3);
    journal_node(journal, 6, 0, 0, 400, 4);
    journal_node(journal, 99, 0, 0, 500, 5); /* no such task below */
    note(journal, 4, LEDGER_UPLOADED, 0);    /* finished: its nodes are not needed */
    note(journal, 6, LEDGER_FAILED, 0);      /* tried again: its nodes are */
    stop_and_close(journal, &failure);

    struct ledger *ledger = NULL;
    struct loaded loaded;
    journal = open_loaded(path.data, &folder, 10, &ledger, &loaded);
    static const size_t counts[10] = {[3] = 1, [5] = 2, [6] = 1};
    for (uint64_t task = 0; task < ARRAY_LEN(counts); task++) {
        struct upload_composite composite = {0};
        assert_int_equal(journal_hint(journal, task, &composite), counts[task]);
        assert_int_equal(composite.count, counts[task]);
    }
    struct upload_composite composite = {0};
    assert_int_equal(journal_hint(journal, 99, &composite), 0);
    assert_int_equal(journal_hint(journal, UINT64_MAX, &composite), 0);
    assert_int_equal(journal_hint(journal, 5, &composite), 2);
    assert_int_equal(composite.hints[0].level, 0);
    assert_int_equal(composite.hints[0].index, 30);
    assert_int_equal(composite.hints[0].generation, 99);
    assert_int_equal(composite.hints[1].index, 31);
    assert_int_equal(composite.hints[1].generation, 101);
    assert_int_equal(composite.hints[1].crc32c, 7);
    journal_close(journal);
    ledger_free(ledger);
    folder_remove(&folder);
}

static void test_forget(void **state)
{
    (void)state;
    struct folder folder = folder_make();
    CLEANUP_TEXT struct text path = TEXT_INIT(512);
    text_at(&path, folder.path, "journal.sqlite");
    struct error err = {0};
    struct failure failure = {0};
    struct journal *journal = open_started(path.data, &failure);
    note(journal, 0, LEDGER_UPLOADED, 0);
    journal_node(journal, 1, 0, 0, 200, 2);
    journal_segment(journal, 4, 1796000000000ULL);
    assert_int_equal(journal_stop(journal, &err), 0);
    assert_int_equal(journal_forget(journal, &err), 0);
    journal_close(journal);
    struct ledger *ledger = NULL;
    struct loaded loaded;
    struct upload_composite composite = {0};
    journal = open_loaded(path.data, &folder, 2, &ledger, &loaded);
    assert_int_equal(loaded.count, 0);
    assert_int_equal(journal_hint(journal, 1, &composite), 0);
    CLEANUP_FREE char *segment = NULL; /* names stay used */
    assert_int_equal(journal_get(journal, "segment", &segment, &err), 0);
    assert_non_null(segment);
    assert_string_equal(segment, "4");
    journal_close(journal);
    ledger_free(ledger);
    folder_remove(&folder);
}

static void test_details(void **state)
{
    (void)state;
    struct folder folder = folder_make();
    CLEANUP_TEXT struct text path = TEXT_INIT(512);
    text_at(&path, folder.path, "journal.sqlite");
    static char large[4096];
    static const struct {
        const char *error;
        const char *bytes;
        size_t len;
    } cases[] = {
        {NULL, NULL, 0},
        {"/dev/sdb: read error at 4096", NULL, 0},
        {NULL, "a\0b\0", 4},
        {"both", "\xff\xfe", 2},
        {"", "", 0},
        {NULL, large, sizeof(large)},
        {"it's \"quoted\" \xc3\xa4", NULL, 0},
    };
    (void)memset(large, 0x80, sizeof(large));
    struct failure failure = {0};
    struct error err = {0};
    struct journal *journal = open_started(path.data, &failure);
    for (uint64_t task = 0; task < ARRAY_LEN(cases); task++) {
        struct ledger_row row = {.state = LEDGER_INLINE};
        journal_result(journal, task, &row, cases[task].error, cases[task].bytes, cases[task].len);
    }
    assert_int_equal(journal_stop(journal, &err), 0);
    for (unsigned round = 0; round < 2; round++) {
        for (uint64_t task = 0; task <= ARRAY_LEN(cases); task++) {
            const char *error = NULL;
            const void *found = &err;
            size_t len = 77;
            assert_int_equal(journal_detail(journal, task, &error, &found, &len, &err), 0);
            bool known = task < ARRAY_LEN(cases);
            const char *wanted = known && cases[task].error != NULL ? cases[task].error : "";
            size_t wanted_len = known ? cases[task].len : 0;
            assert_string_equal(error, wanted);
            assert_int_equal(len, wanted_len);
            if (wanted_len == 0) {
                assert_null(found);
            } else {
                assert_memory_equal(found, cases[task].bytes, wanted_len);
            }
        }
        journal_close(journal);
        journal = journal_open(path.data, &err); /* and once more from the disk */
        assert_non_null(journal);
    }
    journal_close(journal);
    folder_remove(&folder);
}

enum { THREADS = 4, EACH = 8000 };

struct writing {
    struct journal *journal;
    unsigned number;
};

static void *write_many(void *argument)
{
    const struct writing *writing = argument;
    for (uint64_t i = 0; i < EACH; i++) {
        note(writing->journal, i * THREADS + writing->number, LEDGER_UPLOADED, 0);
    }
    return NULL;
}

/* More than one batch, from several threads; all of it is there after journal_stop(). */
static void test_many_threads(void **state)
{
    (void)state;
    struct folder folder = folder_make();
    CLEANUP_TEXT struct text path = TEXT_INIT(512);
    text_at(&path, folder.path, "journal.sqlite");
    struct failure failure = {0};
    struct journal *journal = open_started(path.data, &failure);
    pthread_t threads[THREADS];
    struct writing writing[THREADS];
    for (unsigned i = 0; i < THREADS; i++) {
        writing[i] = (struct writing){journal, i};
        assert_int_equal(pthread_create(&threads[i], NULL, write_many, &writing[i]), 0);
    }
    for (unsigned i = 0; i < THREADS; i++) {
        assert_int_equal(pthread_join(threads[i], NULL), 0);
    }
    stop_and_close(journal, &failure);
    struct ledger *ledger = NULL;
    struct loaded loaded;
    journal = open_loaded(path.data, &folder, THREADS * EACH, &ledger, &loaded);
    assert_int_equal(loaded.count, THREADS * EACH);
    for (uint64_t task = 0; task < THREADS * EACH; task++) {
        assert_row(ledger, task, LEDGER_UPLOADED, 0);
    }
    /* A second session on the same handle; then closed with the writer still running. */
    struct error err = {0};
    assert_int_equal(journal_start(journal, take_failure, &failure, &err), 0);
    note(journal, 0, LEDGER_UPLOADED, LEDGER_PRESENT);
    journal_close(journal);
    ledger_free(ledger);
    folder_remove(&folder);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_write_and_load),
        cmocka_unit_test(test_meta_that_cannot_be_read),
        cmocka_unit_test(test_meta_and_segments),
        cmocka_unit_test(test_nodes_become_hints),
        cmocka_unit_test(test_forget),
        cmocka_unit_test(test_details),
        cmocka_unit_test(test_many_threads),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
