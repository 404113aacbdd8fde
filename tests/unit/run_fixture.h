/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What the tests of imager/run share: folders that go away, small disks that fill up, processes. */
#ifndef WINCH_TESTS_RUN_FIXTURE_H
#define WINCH_TESTS_RUN_FIXTURE_H

#include "base/base.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <ftw.h>
#include <sched.h>
#include <signal.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/wait.h>

enum { NOBODY = 65534 };

/* `array` is one, so that its size is known. */
#define SET_TEXT(array, text) ((void)snprintf((array), sizeof(array), "%s", (text)))

struct folder {
    char path[256];
};

static inline struct folder folder_make(void)
{
    struct folder folder;
    const char *top = getenv("TMPDIR");
    (void)snprintf(folder.path, sizeof(folder.path), "%s/winch-run-XXXXXX",
                   top != NULL && strlen(top) < 200 ? top : "/tmp");
    assert_non_null(mkdtemp(folder.path));
    return folder;
}

static inline int folder_remove_one(const char *path, const struct stat *info, int type,
                                    struct FTW *place)
{
    (void)info;
    (void)type;
    (void)place;
    (void)remove(path); /* what cannot go stays in /tmp, which is no failure of the test */
    return 0;
}

static inline void folder_remove(const struct folder *folder)
{
    (void)nftw(folder->path, folder_remove_one, 16, FTW_DEPTH | FTW_PHYS | FTW_MOUNT);
}

static inline void text_at(struct text *text, const char *folder, const char *name)
{
    text_reset(text);
    text_printf(text, "%s/%s", folder, name);
    assert_false(text->failed);
}

/* Take this process into a mount name space of its own, where what it mounts goes away with it. */
static inline bool mounts_apart(void)
{
    return geteuid() == 0 && unshare(CLONE_NEWNS) == 0 &&
           mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL) == 0;
}

/* A tmpfs of `options` ("size=64k") over the folder. Skips the test, visibly, where that is not
 * allowed. */
static inline void mount_small(const char *folder, const char *options)
{
    static bool apart;
    apart = apart || mounts_apart();
    if (!apart || mount("winch-test", folder, "tmpfs", 0, options) != 0) {
        (void)rmdir(folder); /* the test ends here */
        print_message("a small file system needs root: skipped\n");
        skip();
    }
}

static inline void unmount_small(const char *folder)
{
    assert_int_equal(umount(folder), 0);
}

/* What `function` returns in a process of its own: 0 … 255, or -1 when it died. */
static inline int in_process(int (*function)(void *self), void *self)
{
    (void)fflush(NULL);
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        _exit(function(self));
    }
    int status = 0;
    assert_int_equal(waitpid(child, &status, 0), child);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

/* Start a process that writes a byte to `fd` once it is where it should be; wait for that byte. */
static inline pid_t start_process(int (*function)(void *self, int fd), void *self)
{
    int ends[2];
    assert_int_equal(pipe(ends), 0);
    (void)fflush(NULL);
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        (void)close(ends[0]);
        _exit(function(self, ends[1]));
    }
    (void)close(ends[1]);
    char byte = 0;
    ssize_t got = read(ends[0], &byte, 1);
    (void)close(ends[0]);
    if (got != 1) {
        (void)waitpid(child, NULL, 0);
        fail_msg("the process did not come to its place");
    }
    return child;
}

static inline void kill_process(pid_t child)
{
    int status = 0;
    assert_int_equal(kill(child, SIGKILL), 0);
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
}

static inline void assert_contains(const char *text, const char *part)
{
    if (strstr(text, part) == NULL) {
        fail_msg("\"%s\" does not contain \"%s\"", text, part);
    }
}

static inline void assert_stopped(const struct error *err, enum exit_status status)
{
    assert_int_equal(err->kind, ERROR_STOP_RUN);
    assert_int_equal(err->exit_status, status);
    assert_true(err->message[0] != '\0');
}

#endif
