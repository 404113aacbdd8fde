/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The state folder: where it lies, who may use it, and the two locks. */
#include "run_fixture.h"

#include "run/state.h"

static const char *const variables[] = {"WINCH_STATE_DIR", "STATE_DIRECTORY", "XDG_STATE_HOME",
                                        "HOME"};

static struct identity identity_of(const char *run)
{
    struct identity identity = {.destination = "gs://b/p",
                                .fingerprint = "f0",
                                .options = "0a",
                                .serials = "5e",
                                .begun_utc_ns = 1};
    (void)snprintf(identity.run, sizeof(identity.run), "%s", run);
    return identity;
}

#define RUN_1 "20261129T220312Z-00000001"
#define RUN_2 "20261129T220312Z-00000002"
#define RUN_3 "20270101T000000Z-00000000"

static struct state *open_state(const char *folder)
{
    struct error err = {0};
    struct state *state = state_open(folder, &err);
    if (state == NULL) {
        fail_msg("%s", err.message);
    }
    return state;
}

/* ---- where it lies ---------------------------------------------------------------------- */

struct surroundings {
    const char *top; /* what values[] and `wanted` are below; NULL: as they stand */
    const char *values[ARRAY_LEN(variables)];
    const char *wanted;
    bool as_root;
};

/* 0: the folder is the wanted one, mode 0700, with a folder for runs. */
static int check_default(void *self)
{
    const struct surroundings *around = self;
    char path[600];
    if (!around->as_root && geteuid() == 0 && setresuid(NOBODY, NOBODY, NOBODY) != 0) {
        return 9;
    }
    for (size_t i = 0; i < ARRAY_LEN(variables); i++) {
        (void)unsetenv(variables[i]);
        if (around->values[i] != NULL) {
            bool below = around->top != NULL && around->values[i][0] == '/';
            (void)snprintf(path, sizeof(path), "%s%s", below ? around->top : "", around->values[i]);
            (void)setenv(variables[i], path, 1);
        }
    }
    struct error err = {0};
    struct state *state = state_open(NULL, &err);
    if (state == NULL) {
        return 1;
    }
    (void)snprintf(path, sizeof(path), "%s%s", around->top != NULL ? around->top : "",
                   around->wanted);
    bool same = strcmp(state_folder(state), path) == 0;
    struct stat info;
    bool made = stat(path, &info) == 0 && S_ISDIR(info.st_mode) && (info.st_mode & 0777) == 0700;
    char runs[620];
    (void)snprintf(runs, sizeof(runs), "%s/runs", path);
    made = made && stat(runs, &info) == 0 && S_ISDIR(info.st_mode);
    state_close(state);
    return !same ? 2 : (made ? 0 : 3);
}

static void test_default_folders(void **state)
{
    (void)state;
    static const struct surroundings cases[] = {
        {"", {"/one", "/two", "/three", "/four"}, "/one", false},
        {"", {NULL, "/two", "/three", "/four"}, "/two", false},
        {"", {"", "/two", "/three", "/four"}, "/two", false},
        {"", {NULL, "", "/three", "/four"}, "/three/winch", false},
        {"", {NULL, NULL, "/three", "/four"}, "/three/winch", false},
        {"", {NULL, NULL, "", "/four"}, "/four/.local/state/winch", false},
        {"", {NULL, NULL, NULL, "/four"}, "/four/.local/state/winch", false},
        {"", {"/one/deep/er", NULL, NULL, NULL}, "/one/deep/er", true},
        {"", {NULL, "/two", "/three", "/four"}, "/two", true},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct folder folder = folder_make();
        assert_int_equal(chmod(folder.path, 0777), 0);
        struct surroundings around = cases[i];
        around.top = folder.path;
        int result = in_process(check_default, &around);
        if (result != 0) {
            fail_msg("case %zu: %d", i, result);
        }
        folder_remove(&folder);
    }
}

static int check_root_default(void *self)
{
    if (!mounts_apart() || mount("winch-test", "/var/lib", "tmpfs", 0, "size=1m") != 0) {
        return 77;
    }
    return check_default(self);
}

static void test_default_of_root(void **state)
{
    (void)state;
    struct surroundings around = {NULL, {NULL, "", "/nowhere", "/nowhere"}, "/var/lib/winch", true};
    int result = in_process(check_root_default, &around);
    if (result == 77) {
        print_message("a folder over /var/lib needs root: skipped\n");
        skip();
    }
    assert_int_equal(result, 0);
}

/* ---- who may use it --------------------------------------------------------------------- */

static void expect_refused(const char *folder, enum exit_status status, const char *part)
{
    struct error err = {0};
    assert_null(state_open(folder, &err));
    assert_stopped(&err, status);
    assert_contains(err.message, part);
}

static void test_unusable_paths(void **state)
{
    (void)state;
    struct folder folder = folder_make();
    struct error err = {0};
    CLEANUP_TEXT struct text path = TEXT_INIT(512);
    text_at(&path, folder.path, "file");
    assert_int_equal(file_write(path.data, "x", 1, 0600, &err), 0);
    expect_refused(path.data, EXIT_STATUS_TEMPORARY, path.data);
    text_at(&path, folder.path, "file/below");
    expect_refused(path.data, EXIT_STATUS_TEMPORARY, path.data);
    expect_refused("", EXIT_STATUS_USAGE, "--state-dir");
    CLEANUP_FREE char *longest = malloc(5001);
    assert_non_null(longest);
    (void)memset(longest, 'x', 5000);
    longest[5000] = '\0';
    expect_refused(longest, EXIT_STATUS_USAGE, "--state-dir");
    folder_remove(&folder);
}

static void test_foreign_owner(void **state)
{
    (void)state;
    if (geteuid() != 0) {
        print_message("a folder of somebody else needs root: skipped\n");
        skip();
    }
    struct folder folder = folder_make();
    CLEANUP_TEXT struct text path = TEXT_INIT(512);
    assert_int_equal(chmod(folder.path, 0755), 0);
    assert_int_equal(chown(folder.path, NOBODY, NOBODY), 0);
    expect_refused(folder.path, EXIT_STATUS_TEMPORARY, folder.path);
    /* Nothing was made or changed in what is not ours. */
    struct stat info;
    assert_int_equal(stat(folder.path, &info), 0);
    assert_int_equal(info.st_mode & 0777, 0755);
    text_at(&path, folder.path, "runs");
    assert_int_equal(access(path.data, F_OK), -1);
    folder_remove(&folder);
}

struct modes {
    const char *folder;
    mode_t mine, runs; /* `runs` 0: there is none yet */
};

/* The exit status with which a user's own folder of that mode is refused, or 0. */
static int open_unwritable(void *self)
{
    const struct modes *modes = self;
    char path[400];
    if (geteuid() == 0 && setresuid(NOBODY, NOBODY, NOBODY) != 0) {
        return 99;
    }
    (void)snprintf(path, sizeof(path), "%s/mine", modes->folder);
    char runs[420];
    (void)snprintf(runs, sizeof(runs), "%s/runs", path);
    if (mkdir(path, 0700) != 0 || (modes->runs != 0 && mkdir(runs, modes->runs) != 0) ||
        chmod(path, modes->mine) != 0) {
        return 98;
    }
    struct error err = {0};
    struct state *state = state_open(path, &err);
    if (state != NULL) {
        struct stat info;
        bool closed = stat(runs, &info) == 0 && (info.st_mode & 0777) == 0700;
        bool same = stat(path, &info) == 0 && (info.st_mode & 0777) == modes->mine;
        return closed && same ? 0 : 96;
    }
    return strstr(err.message, path) != NULL ? (int)err.exit_status : 97;
}

/* `runs` is closed to others whatever it was; the folder itself is left as it is. */
static void test_modes(void **state)
{
    (void)state;
    static const struct {
        mode_t mine, runs;
        int result;
    } cases[] = {
        {0700, 0, 0},  {0700, 0700, 0},  {0755, 0755, 0},  {0777, 0777, 0},  {0700, 0500, 0},
        {0500, 0, 75}, {0500, 0700, 75}, {0400, 0700, 75}, {0600, 0700, 75},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct folder folder = folder_make();
        assert_int_equal(chmod(folder.path, 0777), 0);
        struct modes modes = {folder.path, cases[i].mine, cases[i].runs};
        int result = in_process(open_unwritable, &modes);
        if (result != cases[i].result) {
            fail_msg("case %zu: %d", i, result);
        }
        folder_remove(&folder);
    }
}

static void test_full_disk(void **state)
{
    (void)state;
    struct folder folder = folder_make();
    struct error err = {0};
    mount_small(folder.path, "size=16k");
    struct state *state_handle = open_state(folder.path);
    CLEANUP_TEXT struct text path = TEXT_INIT(512);
    text_at(&path, folder.path, "filler");
    static char filler[65536];
    FILE *file = fopen(path.data, "w");
    assert_non_null(file);
    (void)fwrite(filler, 1, sizeof(filler), file); /* as much as there is room for */
    (void)fclose(file);
    struct identity identity = identity_of(RUN_1);
    assert_int_equal(state_enter_run(state_handle, &identity, &err), -1);
    assert_stopped(&err, EXIT_STATUS_TEMPORARY);
    assert_contains(err.message, folder.path);
    state_close(state_handle);
    unmount_small(folder.path);
    folder_remove(&folder);
}

/* ---- locks ------------------------------------------------------------------------------ */

struct taking {
    const char *folder;
    const char *run;         /* or NULL */
    const char *destination; /* or NULL */
};

/* 0 or the exit status. */
static int take(void *self)
{
    const struct taking *taking = self;
    struct error err = {0};
    struct state *state = state_open(taking->folder, &err);
    if (state == NULL) {
        return 99;
    }
    if (taking->destination != NULL &&
        state_lock_destination(state, taking->destination, &err) != 0) {
        return strstr(err.message, taking->destination) != NULL ? (int)err.exit_status : 98;
    }
    struct identity identity = identity_of(taking->run != NULL ? taking->run : "");
    if (taking->run != NULL && state_enter_run(state, &identity, &err) != 0) {
        return strstr(err.message, taking->run) != NULL ? (int)err.exit_status : 97;
    }
    return 0;
}

static int take_and_stay(void *self, int fd)
{
    int result = take(self); /* the state stays open: the end of the process closes it */
    if (result != 0 || write(fd, "x", 1) != 1) {
        return 1;
    }
    for (;;) {
        (void)pause();
    }
}

static void test_second_process_is_locked_out(void **state)
{
    (void)state;
    struct folder folder = folder_make();
    struct folder other = folder_make();
    char destination[300]; /* of this test alone, whatever else runs on the machine */
    char elsewhere[300];
    (void)snprintf(destination, sizeof(destination), "gs://test%s", folder.path);
    (void)snprintf(elsewhere, sizeof(elsewhere), "gs://test%s", other.path);
    struct taking holder = {folder.path, RUN_1, destination};
    const struct {
        struct taking taking;
        int result;
    } cases[] = {
        {{folder.path, RUN_1, NULL}, 11},      {{folder.path, RUN_2, NULL}, 0},
        {{other.path, RUN_1, NULL}, 0},        {{folder.path, NULL, destination}, 11},
        {{other.path, NULL, destination}, 11}, {{folder.path, NULL, elsewhere}, 0},
    };
    pid_t child = start_process(take_and_stay, &holder);
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct taking taking = cases[i].taking;
        int result = in_process(take, &taking);
        if (result != cases[i].result) {
            fail_msg("case %zu: %d", i, result);
        }
    }
    /* A held run cannot be removed. */
    struct state *mine = open_state(folder.path);
    CLEANUP_TEXT struct text path = TEXT_INIT(512);
    text_at(&path, folder.path, "runs/" RUN_1 "/identity.json");
    state_remove_run(mine, RUN_1);
    assert_int_equal(access(path.data, F_OK), 0);
    /* A killed holder holds nothing. */
    kill_process(child);
    assert_int_equal(in_process(take, &holder), 0);
    state_remove_run(mine, RUN_1);
    assert_int_equal(access(path.data, F_OK), -1);
    state_close(mine);
    folder_remove(&folder);
    folder_remove(&other);
}

/* A process that was refused must not take the holder's folder away on its way out. */
static void test_refused_leaves_alone(void **state)
{
    (void)state;
    struct folder folder = folder_make();
    struct error err = {0};
    struct identity identity = identity_of(RUN_1);
    struct state *holder = open_state(folder.path);
    struct state *second = open_state(folder.path);
    assert_int_equal(state_enter_run(holder, &identity, &err), 0);
    assert_int_equal(state_enter_run(second, &identity, &err), -1);
    assert_stopped(&err, EXIT_STATUS_LOCKED);
    state_close(second);
    CLEANUP_TEXT struct text path = TEXT_INIT(512);
    state_run_path(holder, "identity.json", &path);
    assert_int_equal(access(text_str(&path), F_OK), 0);
    state_close(holder);
    /* Closed: free again. */
    second = open_state(folder.path);
    assert_int_equal(state_enter_run(second, &identity, &err), 0);
    state_close(second);
    folder_remove(&folder);
}

/* ---- runs ------------------------------------------------------------------------------- */

struct seen {
    char runs[8][RUN_ID_MAX];
    size_t count;
    size_t stop_after;
};

static int see(void *self, const struct identity *identity, struct error *err)
{
    struct seen *seen = self;
    SET_TEXT(seen->runs[seen->count++], identity->run);
    return seen->count == seen->stop_after ? error_stop(err, EXIT_STATUS_FAILED, "enough") : 0;
}

static void enter_and_close(const char *folder, const char *run)
{
    struct error err = {0};
    struct identity identity = identity_of(run);
    struct state *state = open_state(folder);
    assert_int_equal(state_enter_run(state, &identity, &err), 0);
    state_close(state);
}

static void write_at(const char *folder, const char *name, const char *content)
{
    struct error err = {0};
    CLEANUP_TEXT struct text path = TEXT_INIT(512);
    text_at(&path, folder, name);
    assert_int_equal(file_write(path.data, content, strlen(content), 0600, &err), 0);
}

static void test_each_run(void **state)
{
    (void)state;
    struct folder folder = folder_make();
    struct error err = {0};
    struct state *handle = open_state(folder.path);
    struct seen none = {0};
    assert_int_equal(state_each_run(handle, see, &none, &err), 0);
    assert_int_equal(none.count, 0);
    static const char *const runs[] = {RUN_2, RUN_3, RUN_1};
    for (size_t i = 0; i < ARRAY_LEN(runs); i++) {
        enter_and_close(folder.path, runs[i]);
    }
    /* What is no run, or cannot be read as one, is passed over. */
    CLEANUP_TEXT struct text path = TEXT_INIT(512);
    text_at(&path, folder.path, "runs/20261129T220312Z-0000000a");
    assert_int_equal(mkdir(path.data, 0700), 0);
    text_at(&path, folder.path, "runs/20261129T220312Z-0000000b");
    assert_int_equal(mkdir(path.data, 0700), 0);
    write_at(folder.path, "runs/20261129T220312Z-0000000b/identity.json", "{\"run\":");
    CLEANUP_TEXT struct text json = TEXT_INIT(65536); /* another run's, copied here */
    struct identity other = identity_of(RUN_1);
    identity_write(&other, &json);
    text_at(&path, folder.path, "runs/20261129T220312Z-0000000d");
    assert_int_equal(mkdir(path.data, 0700), 0);
    write_at(folder.path, "runs/20261129T220312Z-0000000d/identity.json", text_str(&json));
    text_at(&path, folder.path, "runs/lost+found");
    assert_int_equal(mkdir(path.data, 0700), 0);
    write_at(folder.path, "runs/20261129T220312Z-0000000c", "a file");
    static const char *const newest_first[] = {RUN_3, RUN_2, RUN_1};
    struct seen seen = {0};
    assert_int_equal(state_each_run(handle, see, &seen, &err), 0);
    assert_int_equal(seen.count, ARRAY_LEN(newest_first));
    for (size_t i = 0; i < seen.count; i++) {
        assert_string_equal(seen.runs[i], newest_first[i]);
    }
    struct seen stopped = {.stop_after = 2};
    assert_int_equal(state_each_run(handle, see, &stopped, &err), -1);
    assert_int_equal(stopped.count, 2);
    assert_string_equal(err.message, "enough");
    state_close(handle);
    folder_remove(&folder);
}

static void test_enter_leave_remove(void **state)
{
    (void)state;
    struct folder folder = folder_make();
    struct error err = {0};
    CLEANUP_TEXT struct text path = TEXT_INIT(512);
    CLEANUP_TEXT struct text wanted = TEXT_INIT(512);
    CLEANUP_TEXT struct text json = TEXT_INIT(65536);
    struct identity identity = identity_of(RUN_1);
    struct identity back;
    struct state *handle = open_state(folder.path);
    assert_int_equal(state_enter_run(handle, &identity, &err), 0);
    state_run_path(handle, "journal.sqlite", &path);
    text_at(&wanted, folder.path, "runs/" RUN_1 "/journal.sqlite");
    assert_string_equal(text_str(&path), wanted.data);
    static const char *const names[] = {"journal.sqlite", "journal.sqlite-wal",
                                        "journal.sqlite-shm", "journal.sqlite-journal"};
    for (size_t i = 0; i < ARRAY_LEN(names); i++) {
        text_reset(&path);
        state_run_path(handle, names[i], &path);
        assert_int_equal(file_write(text_str(&path), "x", 1, 0600, &err), 0);
    }
    text_reset(&path);
    state_run_path(handle, "identity.json", &path);
    assert_int_equal(file_read(text_str(&path), 65536, &json, &err), 0);
    assert_int_equal(identity_read(text_str(&json), json.len, &back, NULL), 0);
    assert_int_equal(identity_compare(&identity, &back), IDENTITY_SAME);
    struct stat info;
    assert_int_equal(stat(text_str(&path), &info), 0);
    assert_int_equal(info.st_mode & 0777, 0600);
    text_reset(&path);
    state_run_path(handle, NULL, &path);
    assert_int_equal(stat(text_str(&path), &info), 0);
    assert_int_equal(info.st_mode & 0777, 0700);
    state_leave_run(handle);
    assert_int_equal(access(text_str(&path), F_OK), -1);
    /* Removing another run: all that is winch's own; a stranger's file keeps its folder. */
    enter_and_close(folder.path, RUN_2);
    enter_and_close(folder.path, RUN_3);
    write_at(folder.path, "runs/" RUN_3 "/notes.txt", "mine");
    state_remove_run(handle, RUN_2);
    state_remove_run(handle, RUN_3);
    state_remove_run(handle, RUN_1); /* is not there: nothing happens */
    text_at(&path, folder.path, "runs/" RUN_2);
    assert_int_equal(access(path.data, F_OK), -1);
    text_at(&path, folder.path, "runs/" RUN_3 "/notes.txt");
    assert_int_equal(access(path.data, F_OK), 0);
    state_close(handle);
    state_close(NULL);
    folder_remove(&folder);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_default_folders),
        cmocka_unit_test(test_default_of_root),
        cmocka_unit_test(test_unusable_paths),
        cmocka_unit_test(test_foreign_owner),
        cmocka_unit_test(test_modes),
        cmocka_unit_test(test_full_disk),
        cmocka_unit_test(test_second_process_is_locked_out),
        cmocka_unit_test(test_refused_leaves_alone),
        cmocka_unit_test(test_each_run),
        cmocka_unit_test(test_enter_leave_remove),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
