/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Which call is to fail, from the environment:
 *   FAULT_CALL    kind of call: alloc, read, write, sync, open, grow, rename, thread,
 *                 close, map, short (a read that gives half of what was asked for)
 *   FAULT_NTH     the n-th call of that kind fails, counted over all threads from 1
 *   FAULT_ERRNO   with this errno
 *   FAULT_REST=1  and so do all later ones
 *   FAULT_UNDER   only files below this folder count (not of alloc, thread, map)
 *   FAULT_COUNTS  at the end the number of calls of each kind is written to this file
 */
#ifndef WINCH_FAULT_PLAN_H
#define WINCH_FAULT_PLAN_H

#include <stdbool.h>

enum fault_kind {
    FAULT_ALLOC,
    FAULT_READ,
    FAULT_WRITE,
    FAULT_SYNC,
    FAULT_OPEN,
    FAULT_GROW,
    FAULT_RENAME,
    FAULT_THREAD,
    FAULT_CLOSE,
    FAULT_MAP,
    FAULT_SHORT,
    FAULT_KINDS
};

/* True when this call is the one; errno is set then. Never allocates. */
bool fault_now(enum fault_kind kind);
/* The same for a file: whatever lies elsewhere does not count. */
bool fault_now_fd(enum fault_kind kind, int fd);
bool fault_now_path(enum fault_kind kind, const char *path);

#endif
