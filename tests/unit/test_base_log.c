/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The log: what passes, what a line looks like, where it goes. */
#include "base/base.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <pthread.h>
#include <string.h>

struct fixture {
    char folder[64];
    char path[128];
};

static int set_up(void **state)
{
    struct fixture *fixture = calloc(1, sizeof(*fixture));
    if (fixture == NULL) {
        return -1;
    }
    (void)snprintf(fixture->folder, sizeof(fixture->folder), "/tmp/winch-test-XXXXXX");
    if (mkdtemp(fixture->folder) == NULL) {
        free(fixture);
        return -1;
    }
    (void)snprintf(fixture->path, sizeof(fixture->path), "%s/file", fixture->folder);
    *state = fixture;
    return 0;
}

static int tear_down(void **state)
{
    struct fixture *fixture = *state;
    log_close();
    (void)unlink(fixture->path); /* some tests make none */
    int result = rmdir(fixture->folder);
    free(fixture);
    return result;
}

/* All lines of the log file; the caller frees. */
static struct text read_log(const struct fixture *fixture)
{
    struct error err = {0};
    struct text text = TEXT_INIT(0);
    assert_int_equal(file_read(fixture->path, 1 << 20, &text, &err), 0);
    return text;
}

static void open_log(const struct fixture *fixture, enum log_level level, enum log_format format)
{
    struct error err = {0};
    assert_int_equal(log_open(level, format, fixture->path, &err), 0);
}

static void test_default(void **state)
{
    (void)state;
    assert_true(log_enabled(LOG_ERROR));
    assert_true(log_enabled(LOG_WARN));
    assert_false(log_enabled(LOG_INFO));
    assert_false(log_enabled(LOG_DEBUG));
}

static void test_levels(void **state)
{
    const struct fixture *fixture = *state;
    static const char marks[] = "EWID";
    for (int max = LOG_ERROR; max <= LOG_DEBUG; max++) {
        (void)unlink(fixture->path); /* the first round has none */
        open_log(fixture, (enum log_level)max, LOG_TEXT);
        for (int level = LOG_ERROR; level <= LOG_DEBUG; level++) {
            log_write((enum log_level)level, "base", "mark-%c", marks[level]);
        }
        CLEANUP_TEXT struct text text = read_log(fixture);
        for (int level = LOG_ERROR; level <= LOG_DEBUG; level++) {
            char want[] = {'m', 'a', 'r', 'k', '-', marks[level], '\n', '\0'};
            assert_int_equal(strstr(text_str(&text), want) != NULL, level <= max);
        }
    }
}

static void test_text_line(void **state)
{
    const struct fixture *fixture = *state;
    open_log(fixture, LOG_INFO, LOG_TEXT);
    errno = ENOSPC;
    log_write(LOG_WARN, "upload", "name %s", "a\x1b[31m\nforged \xE2\x80\xAEline");
    assert_int_equal(errno, ENOSPC);
    log_close();
    log_write(LOG_INFO, "upload", "no longer there");
    CLEANUP_TEXT struct text text = read_log(fixture);
    /* 2026-11-29T21:58:52.123Z warning upload: … */
    assert_int_equal(text_str(&text)[10], 'T');
    assert_int_equal(text_str(&text)[19], '.');
    assert_int_equal(text_str(&text)[23], 'Z');
    assert_string_equal(text_str(&text) + 24,
                        " warning upload: name a\\x1b[31m\\x0aforged \\u202eline\n");
}

static void test_json_line(void **state)
{
    const struct fixture *fixture = *state;
    open_log(fixture, LOG_INFO, LOG_JSON);
    log_write(LOG_ERROR, "http", "\"quoted\"\tC:\\x");
    CLEANUP_TEXT struct text text = read_log(fixture);
    assert_memory_equal(text_str(&text), "{\"t\":\"2", 7);
    const char *rest = strstr(text_str(&text), "Z\",");
    assert_non_null(rest);
    assert_string_equal(rest, "Z\",\"level\":\"error\",\"module\":\"http\","
                              "\"message\":\"\\\"quoted\\\"\\\\x09C:\\\\x\"}\n");
}

static void test_long_message(void **state)
{
    const struct fixture *fixture = *state;
    open_log(fixture, LOG_INFO, LOG_JSON);
    CLEANUP_FREE char *message = malloc(50001);
    assert_non_null(message);
    memset(message, '\x01', 50000);
    message[50000] = '\0';
    log_write(LOG_ERROR, "http", "%s", message);
    CLEANUP_TEXT struct text text = read_log(fixture);
    assert_in_range(text.len, 4000 * 4, 5000 * 5);
    assert_non_null(strstr(text_str(&text), "\xE2\x80\xA6\"}\n"));
}

static void *write_lines(void *unused)
{
    (void)unused;
    for (int i = 0; i < 200; i++) {
        log_write(LOG_INFO, "run", "line of fixed length %03d", i);
    }
    return NULL;
}

static void test_threads(void **state)
{
    const struct fixture *fixture = *state;
    open_log(fixture, LOG_INFO, LOG_TEXT);
    pthread_t threads[4];
    for (size_t i = 0; i < ARRAY_LEN(threads); i++) {
        assert_int_equal(pthread_create(&threads[i], NULL, write_lines, NULL), 0);
    }
    for (size_t i = 0; i < ARRAY_LEN(threads); i++) {
        assert_int_equal(pthread_join(threads[i], NULL), 0);
    }
    CLEANUP_TEXT struct text text = read_log(fixture);
    const size_t line_len = strcspn(text_str(&text), "\n") + 1;
    assert_int_equal(text.len, line_len * 800);
    for (size_t i = 1; i <= 800; i++) {
        assert_int_equal(text_str(&text)[i * line_len - 1], '\n');
    }
}

static void keep_line(void *self, const char *line)
{
    text_add(self, line);
    text_add_char(self, '|');
}

static void test_terminal_hook(void **state)
{
    const struct fixture *fixture = *state;
    struct error err = {0};
    CLEANUP_TEXT struct text kept = TEXT_INIT(1000);
    assert_int_equal(log_open(LOG_INFO, LOG_TEXT, NULL, &err), 0);
    log_set_terminal(keep_line, &kept);
    log_write(LOG_INFO, "run", "to the hook");
    assert_non_null(strstr(text_str(&kept), " info run: to the hook|"));
    size_t len = kept.len;
    open_log(fixture, LOG_INFO, LOG_TEXT);
    log_write(LOG_INFO, "run", "to the file");
    log_set_terminal(NULL, NULL);
    assert_int_equal(kept.len, len);
    CLEANUP_TEXT struct text text = read_log(fixture);
    assert_non_null(strstr(text_str(&text), "to the file\n"));
}

static void test_open_fails(void **state)
{
    const struct fixture *fixture = *state;
    struct error err = {0};
    assert_int_equal(log_open(LOG_INFO, LOG_TEXT, fixture->folder, &err), -1);
    assert_int_equal(err.kind, ERROR_STOP_RUN);
    assert_non_null(strstr(err.message, fixture->folder));
    assert_false(log_enabled(LOG_INFO)); /* what was before still holds */
}

#define TEST(fn) cmocka_unit_test_setup_teardown(fn, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_default),       TEST(test_levels),       TEST(test_text_line),
        TEST(test_json_line),     TEST(test_long_message), TEST(test_threads),
        TEST(test_terminal_hook), TEST(test_open_fails),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
