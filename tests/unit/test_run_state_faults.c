/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The state folder when calls fail: an unfinished run must not be passed over, since its parts cost
 * money, and a run that could not begin leaves nothing. */
#include "run_fixture.h"

#include <sys/resource.h>

#include "run/state.h"

#define RUN_1 "20261129T220312Z-00000001"

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

static int see(void *self, const struct identity *identity, struct error *err)
{
    (void)identity;
    (void)err;
    (*(size_t *)self)++;
    return 0;
}

enum { SEEN = 100, NOT_SEEN = 101, NO_STATE = 102, SILENT = 103 };

/* What looking for runs comes to: SEEN, NOT_SEEN, or the exit status of the error. */
static int look(struct state *state, const char *folder)
{
    struct error err = {0};
    size_t count = 0;
    if (state_each_run(state, see, &count, &err) != 0) {
        return strstr(err.message, folder) != NULL ? (int)err.exit_status : SILENT;
    }
    return count > 0 ? SEEN : NOT_SEEN;
}

static int look_without_descriptors(void *self)
{
    struct error err = {0};
    struct state *state = state_open(self, &err);
    if (state == NULL) {
        return NO_STATE;
    }
    int next = dup(0);
    struct rlimit limit = {(rlim_t)next, (rlim_t)next};
    if (next < 0 || close(next) != 0 || setrlimit(RLIMIT_NOFILE, &limit) != 0) {
        return NO_STATE;
    }
    return look(state, self);
}

static void test_runs_that_cannot_be_listed(void **state)
{
    (void)state;
    struct folder folder = folder_make();
    struct error err = {0};
    struct identity identity = identity_of(RUN_1);
    struct state *handle = state_open(folder.path, &err);
    assert_non_null(handle);
    assert_int_equal(state_enter_run(handle, &identity, &err), 0);
    assert_int_equal(look(handle, folder.path), SEEN);
    state_close(handle);
    assert_int_equal(in_process(look_without_descriptors, folder.path), EXIT_STATUS_TEMPORARY);
    folder_remove(&folder);
}

/* An identity that is there and cannot be read for a reason outside of it. */
static void test_identity_that_cannot_be_read(void **state)
{
    (void)state;
    struct folder folder = folder_make();
    struct error err = {0};
    CLEANUP_TEXT struct text path = TEXT_INIT(512);
    struct state *handle = state_open(folder.path, &err);
    assert_non_null(handle);
    text_at(&path, folder.path, "runs/" RUN_1);
    assert_int_equal(mkdir(path.data, 0700), 0);
    text_at(&path, folder.path, "runs/" RUN_1 "/identity.json");
    assert_int_equal(symlink(path.data, path.data), 0); /* ELOOP: no answer, rather than "none" */
    assert_int_equal(look(handle, folder.path), EXIT_STATUS_TEMPORARY);
    state_close(handle);
    folder_remove(&folder);
}

static int enter_without_room(void *self)
{
    struct error err = {0};
    struct identity identity = identity_of(RUN_1);
    struct state *state = state_open(self, &err);
    if (state == NULL || signal(SIGXFSZ, SIG_IGN) == SIG_ERR ||
        setrlimit(RLIMIT_FSIZE, &(struct rlimit){16, 16}) != 0) {
        return NO_STATE;
    }
    int result = state_enter_run(state, &identity, &err);
    state_close(state);
    return result == 0 ? SEEN : (int)err.exit_status;
}

static void test_run_that_cannot_begin_leaves_nothing(void **state)
{
    (void)state;
    struct folder folder = folder_make();
    CLEANUP_TEXT struct text path = TEXT_INIT(512);
    assert_int_equal(in_process(enter_without_room, folder.path), EXIT_STATUS_TEMPORARY);
    text_at(&path, folder.path, "runs/" RUN_1);
    assert_int_equal(access(path.data, F_OK), -1);
    text_at(&path, folder.path, "runs");
    assert_int_equal(rmdir(path.data), 0);
    folder_remove(&folder);
}

/* A run that is continued keeps what it has. */
static void test_run_that_cannot_go_on_keeps_its_journal(void **state)
{
    (void)state;
    struct folder folder = folder_make();
    struct error err = {0};
    CLEANUP_TEXT struct text path = TEXT_INIT(512);
    struct identity identity = identity_of(RUN_1);
    struct state *handle = state_open(folder.path, &err);
    assert_non_null(handle);
    assert_int_equal(state_enter_run(handle, &identity, &err), 0);
    text_at(&path, folder.path, "runs/" RUN_1 "/journal.sqlite");
    assert_int_equal(file_write(path.data, "x", 1, 0600, &err), 0);
    state_close(handle);
    assert_int_equal(in_process(enter_without_room, folder.path), EXIT_STATUS_TEMPORARY);
    assert_int_equal(access(path.data, F_OK), 0);
    text_at(&path, folder.path, "runs/" RUN_1 "/identity.json");
    assert_int_equal(access(path.data, F_OK), 0);
    folder_remove(&folder);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_runs_that_cannot_be_listed),
        cmocka_unit_test(test_identity_that_cannot_be_read),
        cmocka_unit_test(test_run_that_cannot_begin_leaves_nothing),
        cmocka_unit_test(test_run_that_cannot_go_on_keeps_its_journal),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
