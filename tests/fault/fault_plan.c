/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The plan is read at the first call, without allocating: that may be the call that is to fail. */
#include "fault_plan.h"

#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

static const char *const kind_names[FAULT_KINDS] = {
    "alloc", "read", "write", "sync", "open", "grow", "rename", "thread", "close", "map", "short"};

static _Atomic unsigned long counts[FAULT_KINDS];

static bool is_planned(enum fault_kind kind, unsigned long count)
{
    const char *wanted = getenv("FAULT_CALL");
    const char *nth = getenv("FAULT_NTH");
    const char *number = getenv("FAULT_ERRNO");
    if (wanted == NULL || nth == NULL || strcmp(wanted, kind_names[kind]) != 0) {
        return false;
    }
    unsigned long at = strtoul(nth, NULL, 10);
    if (count == at || (count > at && getenv("FAULT_REST") != NULL)) {
        errno = number != NULL ? (int)strtol(number, NULL, 10) : EIO;
        return true;
    }
    return false;
}

bool fault_now(enum fault_kind kind)
{
    int saved = errno;
    if (is_planned(kind, atomic_fetch_add(&counts[kind], 1) + 1)) {
        return true;
    }
    errno = saved;
    return false;
}

bool fault_now_path(enum fault_kind kind, const char *path)
{
    const char *under = getenv("FAULT_UNDER");
    if (under != NULL && strncmp(path, under, strlen(under)) != 0) {
        return false;
    }
    return fault_now(kind);
}

bool fault_now_fd(enum fault_kind kind, int fd)
{
    char link[64];
    char path[4096];
    int saved = errno;
    if (getenv("FAULT_UNDER") == NULL) {
        return fault_now(kind);
    }
    (void)snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
    ssize_t len = readlink(link, path, sizeof(path) - 1);
    errno = saved;
    if (len < 0) {
        return false;
    }
    path[len] = '\0';
    return fault_now_path(kind, path);
}

__attribute__((destructor)) static void write_counts(void)
{
    const char *path = getenv("FAULT_COUNTS");
    char line[64];
    int fd = path == NULL ? -1 : (int)syscall(SYS_open, path, O_CREAT | O_WRONLY | O_TRUNC, 0600);
    for (int i = 0; fd >= 0 && i < FAULT_KINDS; i++) {
        int len = snprintf(line, sizeof(line), "%s %lu\n", kind_names[i], counts[i]);
        (void)syscall(SYS_write, fd, line, (size_t)len);
    }
}
