/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Small files and folders, and what is left behind when they fail. */
#include "base/base.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <dirent.h>
#include <ftw.h>
#include <string.h>
#include <sys/stat.h>

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

static int remove_one(const char *path, const struct stat *facts, int kind, struct FTW *place)
{
    (void)facts;
    (void)kind;
    (void)place;
    return remove(path);
}

static int tear_down(void **state)
{
    struct fixture *fixture = *state;
    int result = nftw(fixture->folder, remove_one, 16, FTW_DEPTH | FTW_PHYS);
    free(fixture);
    return result;
}

static size_t count_entries(const char *folder)
{
    DIR *dir = opendir(folder);
    assert_non_null(dir);
    size_t count = 0;
    for (struct dirent *entry = readdir(dir); entry != NULL; entry = readdir(dir)) {
        count += strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0;
    }
    (void)closedir(dir);
    return count;
}

static void test_write_and_read(void **state)
{
    const struct fixture *fixture = *state;
    CLEANUP_FREE char *big = calloc(1, 100000);
    assert_non_null(big);
    memset(big, 'x', 99999);
    const struct {
        const char *bytes;
        size_t len;
    } cases[] = {{"hello\n", 6}, {"", 0}, {"a\0b", 3}, {big, 100000}, {"again", 5}};
    CLEANUP_TEXT struct text text = TEXT_INIT(0);
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct error err = {0};
        assert_int_equal(file_write(fixture->path, cases[i].bytes, cases[i].len, 0600, &err), 0);
        assert_int_equal(file_read(fixture->path, 100000, &text, &err), 0);
        assert_int_equal(text.len, cases[i].len);
        assert_non_null(text.data);
        assert_memory_equal(text.data, cases[i].bytes, cases[i].len);
        assert_int_equal(text.data[text.len], '\0');
        assert_int_equal(count_entries(fixture->folder), 1);
        struct stat facts;
        assert_int_equal(stat(fixture->path, &facts), 0);
        assert_int_equal(facts.st_mode & 0777, 0600);
    }
}

static void test_read_fails(void **state)
{
    const struct fixture *fixture = *state;
    struct error err = {0};
    CLEANUP_TEXT struct text text = TEXT_INIT(100);
    text_add(&text, "untouched");
    assert_int_equal(file_read(fixture->path, 10, &text, &err), -1);
    assert_int_equal(err.kind, ERROR_STOP_RUN);
    assert_int_equal(err.exit_status, EXIT_STATUS_FAILED);
    assert_non_null(strstr(err.message, fixture->path));
    assert_non_null(strstr(err.message, "No such file"));
    assert_int_equal(file_read(fixture->folder, 10, &text, &err), -1);

    assert_int_equal(file_write(fixture->path, "12345678901", 11, 0600, &err), 0);
    assert_int_equal(file_read(fixture->path, 10, &text, &err), -1);
    assert_non_null(strstr(err.message, "more than the 10 bytes"));
    assert_string_equal(text_str(&text), "untouched");
    assert_int_equal(file_read(fixture->path, 11, &text, &err), 0);
}

static void test_write_fails(void **state)
{
    const struct fixture *fixture = *state;
    struct error err = {0};
    char path[256];
    (void)snprintf(path, sizeof(path), "%s/missing/file", fixture->folder);
    assert_int_equal(file_write(path, "x", 1, 0600, &err), -1);
    assert_non_null(strstr(err.message, path));
    /* A folder stands where the file should go: the rename fails and nothing stays. */
    (void)snprintf(path, sizeof(path), "%s/taken", fixture->folder);
    assert_int_equal(mkdir(path, 0700), 0);
    assert_int_equal(file_write(path, "x", 1, 0600, &err), -1);
    assert_int_equal(err.exit_status, EXIT_STATUS_FAILED);
    assert_int_equal(count_entries(fixture->folder), 1);
}

static void test_relative_path(void **state)
{
    const struct fixture *fixture = *state;
    char before[4096];
    struct error err = {0};
    assert_non_null(getcwd(before, sizeof(before)));
    assert_int_equal(chdir(fixture->folder), 0);
    int result = file_write("file", "x", 1, 0600, &err);
    int folders = file_make_folders("a/b", 0700, &err);
    assert_int_equal(chdir(before), 0);
    assert_int_equal(result, 0);
    assert_int_equal(folders, 0);
    assert_int_equal(access(fixture->path, R_OK), 0);
}

static void test_make_folders(void **state)
{
    const struct fixture *fixture = *state;
    static const struct {
        const char *name;
        int result;
    } cases[] = {
        {"a", 0},          {"a", 0},       {"a/b/c", 0}, {"a//d///e//", 0},
        {"a/./f/../g", 0}, {"file/x", -1}, {"file", -1},
    };
    struct error err = {0};
    assert_int_equal(file_write(fixture->path, "x", 1, 0600, &err), 0);
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        char path[256];
        (void)snprintf(path, sizeof(path), "%s/%s", fixture->folder, cases[i].name);
        if (file_make_folders(path, 0700, &err) != cases[i].result) {
            fail_msg("%s: %s", cases[i].name, err.message);
        }
        struct stat facts;
        if (cases[i].result == 0) {
            assert_int_equal(stat(path, &facts), 0);
            assert_true(S_ISDIR(facts.st_mode));
            assert_int_equal(facts.st_mode & 0777, 0700);
        }
    }
    assert_non_null(strstr(err.message, "Not a directory"));
    assert_int_equal(file_make_folders("", 0700, &err), -1);
    assert_int_equal(file_make_folders("/", 0700, &err), 0);
}

#define TEST(fn) cmocka_unit_test_setup_teardown(fn, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_write_and_read), TEST(test_read_fails),   TEST(test_write_fails),
        TEST(test_relative_path),  TEST(test_make_folders),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
