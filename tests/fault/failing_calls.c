/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * LD_PRELOAD: reads, writes, syncs, opens, closes, growing files, mappings, renames, threads and
 * allocations fail as fault_plan.h says, for the whole process with its libraries. Sockets are not
 * among them: the local server breaks those.
 */
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/types.h>
#include <unistd.h>

#include "fault_plan.h"

/* The next definition of the function that is being replaced. */
#define NEXT(name) ((__typeof__(&name))dlsym(RTLD_NEXT, #name))

/* A short count is none of the errors, but less often seen than any of them. */
static size_t shortened(int fd, size_t len)
{
    return len > 1 && fault_now_fd(FAULT_SHORT, fd) ? len / 2 : len;
}

ssize_t read(int fd, void *buf, size_t len)
{
    return fault_now_fd(FAULT_READ, fd) ? -1 : NEXT(read)(fd, buf, shortened(fd, len));
}

ssize_t pread64(int fd, void *buf, size_t len, off64_t offset)
{
    return fault_now_fd(FAULT_READ, fd) ? -1 : NEXT(pread64)(fd, buf, shortened(fd, len), offset);
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

/* The descriptor is gone, as on Linux, whatever is said. */
int close(int fd)
{
    bool fails = fault_now_fd(FAULT_CLOSE, fd);
    int number = errno;
    int result = NEXT(close)(fd);
    if (fails) {
        errno = number;
        return -1;
    }
    return result;
}

void *mmap64(void *at, size_t len, int protection, int flags, int fd, off64_t offset)
{
    return fault_now(FAULT_MAP) ? MAP_FAILED : NEXT(mmap64)(at, len, protection, flags, fd, offset);
}

void *mremap(void *old, size_t old_len, size_t len, int flags, ...)
{
    va_list arguments;
    va_start(arguments, flags);
    void *at = (flags & MREMAP_FIXED) != 0 ? va_arg(arguments, void *) : NULL;
    va_end(arguments);
    return fault_now(FAULT_MAP) ? MAP_FAILED : NEXT(mremap)(old, old_len, len, flags, at);
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

/* glibc's own names: dlsym() allocates. */
void *__libc_malloc(size_t len);
void *__libc_calloc(size_t count, size_t len);
void *__libc_realloc(void *old, size_t len);

void *malloc(size_t len)
{
    return fault_now(FAULT_ALLOC) ? NULL : __libc_malloc(len);
}

void *calloc(size_t count, size_t len)
{
    return fault_now(FAULT_ALLOC) ? NULL : __libc_calloc(count, len);
}

void *realloc(void *old, size_t len)
{
    return fault_now(FAULT_ALLOC) ? NULL : __libc_realloc(old, len);
}
