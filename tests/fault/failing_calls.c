/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * LD_PRELOAD: reads, writes, syncs, opens, growing files, renames and threads fail as fault_plan.h
 * says, for the whole process with its libraries. Sockets are not among them: the local server
 * breaks those.
 */
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <sys/types.h>
#include <unistd.h>

#include "fault_plan.h"

/* The next definition of the function that is being replaced. */
#define NEXT(name) ((__typeof__(&name))dlsym(RTLD_NEXT, #name))

ssize_t read(int fd, void *buf, size_t len)
{
    return fault_now_fd(FAULT_READ, fd) ? -1 : NEXT(read)(fd, buf, len);
}

ssize_t pread64(int fd, void *buf, size_t len, off64_t offset)
{
    return fault_now_fd(FAULT_READ, fd) ? -1 : NEXT(pread64)(fd, buf, len, offset);
}

ssize_t write(int fd, const void *buf, size_t len)
{
    return fault_now_fd(FAULT_WRITE, fd) ? -1 : NEXT(write)(fd, buf, len);
}

ssize_t pwrite64(int fd, const void *buf, size_t len, off64_t offset)
{
    return fault_now_fd(FAULT_WRITE, fd) ? -1 : NEXT(pwrite64)(fd, buf, len, offset);
}

int fsync(int fd)
{
    return fault_now_fd(FAULT_SYNC, fd) ? -1 : NEXT(fsync)(fd);
}

int fdatasync(int fd)
{
    return fault_now_fd(FAULT_SYNC, fd) ? -1 : NEXT(fdatasync)(fd);
}

int open64(const char *path, int flags, ...)
{
    va_list arguments;
    va_start(arguments, flags);
    mode_t mode = (flags & (O_CREAT | __O_TMPFILE)) != 0 ? va_arg(arguments, mode_t) : 0;
    va_end(arguments);
    return fault_now_path(FAULT_OPEN, path) ? -1 : NEXT(open64)(path, flags, mode);
}

int openat64(int folder, const char *path, int flags, ...)
{
    va_list arguments;
    va_start(arguments, flags);
    mode_t mode = (flags & (O_CREAT | __O_TMPFILE)) != 0 ? va_arg(arguments, mode_t) : 0;
    va_end(arguments);
    return fault_now_path(FAULT_OPEN, path) ? -1 : NEXT(openat64)(folder, path, flags, mode);
}

int ftruncate64(int fd, off64_t len)
{
    return fault_now_fd(FAULT_GROW, fd) ? -1 : NEXT(ftruncate64)(fd, len);
}

int fallocate64(int fd, int mode, off64_t offset, off64_t len)
{
    return fault_now_fd(FAULT_GROW, fd) ? -1 : NEXT(fallocate64)(fd, mode, offset, len);
}

int posix_fallocate64(int fd, off64_t offset, off64_t len)
{
    return fault_now_fd(FAULT_GROW, fd) ? errno : NEXT(posix_fallocate64)(fd, offset, len);
}

int rename(const char *from, const char *to)
{
    return fault_now_path(FAULT_RENAME, to) ? -1 : NEXT(rename)(from, to);
}

int pthread_create(pthread_t *restrict thread, const pthread_attr_t *restrict attributes,
                   void *(*start)(void *), void *restrict argument)
{
    return fault_now(FAULT_THREAD) ? errno
                                   : NEXT(pthread_create)(thread, attributes, start, argument);
}
