/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The journal over a reopen, a full disk and a kill. The composite that takes hints is the test's. */
#include "run_fixture.h"

#include <pthread.h>

#include "plan/plan.h"
#include "run/journal.h"

struct upload_composite {
    struct {
        unsigned level;
        uint32_t index;
        uint64_t generation;
        uint32_t crc32c;
    } hints[16];
    size_t count;
};

void upload_composite_hint(struct upload_composite *composite, unsigned level, uint32_t index,
                           uint64_t generation, uint32_t crc32c)
{
    size_t at = composite->count++;
    composite->hints[at].level = level;
    composite->hints[at].index = index;
    composite->hints[at].generation = generation;
    composite->hints[at].crc32c = crc32c;
}

struct failure {
    _Atomic unsigned count;
    struct error err; /* read once the writer has stopped */
};

static void take_failure(void *self, const struct error *err)
{
    struct failure *failure = self;
    if (failure->count++ == 0) {
        failure->err = *err;
    }
}

struct loaded {
    uint64_t count, last_utc_ms, highest;
};

static void take_task(void *self, uint64_t task, uint64_t done_utc_ms)
{
    struct loaded *loaded = self;
    loaded->count++;
    loaded->last_utc_ms = done_utc_ms;
    loaded->highest = task > loaded->highest ? task : loaded->highest;
}

static struct journal *open_started(const char *path, struct failure *failure)
{
    struct error err = {0};
    struct journal *journal = journal_open(path, &err);
    assert_non_null(journal);
    assert_int_equal(journal_start(journal, take_failure, failure, &err), 0);
    return journal;
}

static void stop_and_close(struct journal *journal, const struct failure *failure)
{
    struct error err = {0};
    assert_int_equal(journal_stop(journal, &err), 0);
    assert_int_equal(failure->count, 0);
    journal_close(journal);
}

static struct journal *open_loaded(const char *path, const struct folder *folder, uint64_t tasks,
                                   struct ledger **ret_ledger, struct loaded *loaded)
{
    struct error err = {0};
    struct journal *journal = journal_open(path, &err);
    assert_non_null(journal);
    *ret_ledger = ledger_new(tasks, folder->path, &err);
    assert_non_null(*ret_ledger);
    *loaded = (struct loaded){0};
    assert_int_equal(journal_load(journal, *ret_ledger, tasks, take_task, loaded, &err), 0);
    return journal;
}

static void note(struct journal *journal, uint64_t task, enum ledger_state state, uint8_t flags)
{
    struct ledger_row row = {
        .generation = (1ULL << 60) + task,
        .crc32c = 0xfffffff0U - (uint32_t)task,
        .state = (uint8_t)state,
        .reason = reason_number(REASON_BAD_SECTOR),
        .flags = flags,
    };
    journal_result(journal, task, &row, NULL, NULL, 0);
}

static void assert_row(struct ledger *ledger, uint64_t task, enum ledger_state state, uint8_t flags)
{
    const struct ledger_row *row = ledger_row(ledger, task);
    assert_int_equal(row->state, state);
    if (state != LEDGER_OPEN) {
        assert_true(row->generation == (1ULL << 60) + task);
        assert_int_equal(row->crc32c, 0xfffffff0U - (uint32_t)task);
        assert_int_equal(row->flags, flags);
    } else {
        assert_true(row->generation == 0 && row->crc32c == 0);
    }
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
    note(journal, 2, LEDGER_INLINE, 0);
    note(journal, 3, LEDGER_UPLOADED, LEDGER_PRESENT);
    note(journal, 4, LEDGER_UPLOADED, LEDGER_REPLACED);
    note(journal, 5, LEDGER_FAILED, 0);
    note(journal, 5, LEDGER_UPLOADED, 0); /* of two results the later one counts */
    note(journal, 6, LEDGER_UPLOADED, 0);
    note(journal, 6, LEDGER_FAILED, 0);
    note(journal, 8, LEDGER_UPLOADED, 0); /* no such task below */
    stop_and_close(journal, &failure);

    struct ledger *ledger = NULL;
    struct loaded loaded;
    journal = open_loaded(path.data, &folder, 8, &ledger, &loaded);
    assert_int_equal(loaded.count, 5);
    assert_int_equal(loaded.highest, 5);
    assert_true(loaded.last_utc_ms >= before_ms && loaded.last_utc_ms <= clock_utc_ns() / 1000000);
    static const struct {
        enum ledger_state state;
        uint8_t flags;
    } rows[] = {
        {LEDGER_UPLOADED, 0}, {LEDGER_OPEN, 0},     {LEDGER_INLINE, 0},
        {LEDGER_UPLOADED, LEDGER_PRESENT},          {LEDGER_UPLOADED, LEDGER_REPLACED},
        {LEDGER_UPLOADED, 0}, {LEDGER_OPEN, 0},     {LEDGER_OPEN, 0},
    };
    for (uint64_t task = 0; task < ARRAY_LEN(rows); task++) {
        assert_row(ledger, task, rows[task].state, rows[task].flags);
    }
    journal_close(journal);
    ledger_free(ledger);
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
    assert_null(journal_get(journal, "plan"));
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
        CLEANUP_FREE char *value = journal_get(journal, cases[i].key);
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

static void test_details(void **state)
{
    (void)state;
    struct folder folder = folder_make();
    CLEANUP_TEXT struct text path = TEXT_INIT(512);
    text_at(&path, folder.path, "journal.sqlite");
    static char large[4096];
    static const struct {
        const char *error;
        const char *content;
        size_t len;
    } cases[] = {
        {NULL, NULL, 0},          {"/dev/sdb: read error at 4096", NULL, 0},
        {NULL, "a\0b\0", 4},      {"both", "\xff\xfe", 2},
        {"", "", 0},              {NULL, large, sizeof(large)},
        {"it's \"quoted\" \xc3\xa4", NULL, 0},
    };
    (void)memset(large, 0x80, sizeof(large));
    struct failure failure = {0};
    struct error err = {0};
    struct journal *journal = open_started(path.data, &failure);
    for (uint64_t task = 0; task < ARRAY_LEN(cases); task++) {
        struct ledger_row row = {.state = LEDGER_INLINE};
        journal_result(journal, task, &row, cases[task].error, cases[task].content,
                       cases[task].len);
    }
    assert_int_equal(journal_stop(journal, &err), 0);
    for (unsigned round = 0; round < 2; round++) {
        for (uint64_t task = 0; task <= ARRAY_LEN(cases); task++) {
            const char *error = NULL;
            const void *content = &err;
            size_t len = 77;
            assert_int_equal(journal_detail(journal, task, &error, &content, &len, &err), 0);
            bool known = task < ARRAY_LEN(cases);
            const char *wanted = known && cases[task].error != NULL ? cases[task].error : "";
            size_t wanted_len = known ? cases[task].len : 0;
            assert_string_equal(error, wanted);
            assert_int_equal(len, wanted_len);
            if (wanted_len == 0) {
                assert_null(content);
            } else {
                assert_memory_equal(content, cases[task].content, wanted_len);
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
    enum { BEFORE = 100, AFTER = 5000 };
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
            (void)usleep(1000); /* so that there is something to kill */
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
        cmocka_unit_test(test_write_and_load), cmocka_unit_test(test_meta_and_segments),
        cmocka_unit_test(test_nodes_become_hints), cmocka_unit_test(test_details),
        cmocka_unit_test(test_many_threads),   cmocka_unit_test(test_cannot_open),
        cmocka_unit_test(test_damaged),        cmocka_unit_test(test_full_disk),
        cmocka_unit_test(test_killed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
