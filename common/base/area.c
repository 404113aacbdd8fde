/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * An unlinked file that is mapped and grows. Its blocks are allocated before they are touched, so
 * that a full disk is an error here and not a signal at some later write.
 */
#include "base/base.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>

/* Doubling up to a limit: few steps for a big volume, little waste for a small one. */
enum { STEP_FIRST_BYTES = 256 << 10, STEP_MAX_BYTES = 256 << 20, PAGE_BYTES = 4096 };

static int open_unlinked(const char *folder);
static int grow(struct area *area, size_t need, struct error *err);
static int allocate(int fd, size_t from, size_t to);
static int refuse(const struct area *area, int cause, struct error *err);
static size_t whole_pages(size_t len);

int area_open(struct area *area, const char *what, const char *folder, struct error *err)
{
    *area = (struct area){.what = what, .folder = folder, .fd = open_unlinked(folder)};
    if (area->fd < 0) {
        return refuse(area, errno, err);
    }
    return 0;
}

uint8_t *area_reserve(struct area *area, size_t extra, struct error *err)
{
    size_t need;
    if (__builtin_add_overflow(area->len, extra, &need) || need > SIZE_MAX / 4) {
        (void)error_memory(err, area->what); /* fills err; NULL says it */
        return NULL;
    }
    if (need > area->cap && grow(area, need, err) != 0) {
        return NULL;
    }
    return area->bytes + area->len;
}

void area_seal(struct area *area)
{
    size_t cap = whole_pages(area->len);
    if (cap < area->cap) {
        (void)munmap(area->bytes + cap, area->cap - cap); /* at worst it stays mapped */
        if (ftruncate(area->fd, (off_t)cap) != 0) {
            log_write(LOG_DEBUG, "base", "blocks behind %s stay allocated: %s", area->what,
                      strerror(errno));
        }
        area->cap = cap;
        if (cap == 0) {
            area->bytes = NULL;
        }
    }
    if (area->bytes != NULL) {
        (void)mprotect(area->bytes, area->cap, PROT_READ); /* only guards against our mistakes */
    }
    cleanup_close(&area->fd);
    area->fd = -1;
}

void area_close(struct area *area)
{
    if (area->bytes != NULL) {
        (void)munmap(area->bytes, area->cap); /* cannot fail for a mapping of ours */
    }
    cleanup_close(&area->fd);
    *area = (struct area){.fd = -1};
}

static int open_unlinked(const char *folder)
{
    int fd = open(folder, O_TMPFILE | O_RDWR | O_EXCL | O_CLOEXEC, 0600);
    if (fd >= 0 || (errno != EOPNOTSUPP && errno != EISDIR && errno != EINVAL)) {
        return fd;
    }
    CLEANUP_FREE char *path = NULL;
    if (asprintf(&path, "%s/.winch-area-XXXXXX", folder) < 0) {
        path = NULL;
        errno = ENOMEM;
        return -1;
    }
    fd = mkostemp(path, O_CLOEXEC);
    if (fd >= 0) {
        (void)unlink(path); /* at worst a file of ours stays behind in the state folder */
    }
    return fd;
}

static int grow(struct area *area, size_t need, struct error *err)
{
    size_t step = area->cap < STEP_FIRST_BYTES ? STEP_FIRST_BYTES : area->cap;
    if (step > STEP_MAX_BYTES) {
        step = STEP_MAX_BYTES;
    }
    size_t cap = whole_pages(need > area->cap + step ? need : area->cap + step);
    int cause = allocate(area->fd, area->cap, cap);
    if (cause == ENOSPC && cap > whole_pages(need)) {
        cap = whole_pages(need); /* no room for a whole step, but perhaps for what is asked */
        cause = allocate(area->fd, area->cap, cap);
    }
    if (cause != 0) {
        return refuse(area, cause, err);
    }
    void *bytes = area->bytes == NULL
                      ? mmap(NULL, cap, PROT_READ | PROT_WRITE, MAP_SHARED, area->fd, 0)
                      : mremap(area->bytes, area->cap, cap, MREMAP_MAYMOVE);
    if (bytes == MAP_FAILED) {
        return refuse(area, errno, err);
    }
    area->bytes = bytes;
    area->cap = cap;
    return 0;
}

static int allocate(int fd, size_t from, size_t to)
{
    int cause;
    do {
        cause = posix_fallocate(fd, (off_t)from, (off_t)(to - from));
    } while (cause == EINTR);
    return cause;
}

static int refuse(const struct area *area, int cause, struct error *err)
{
    if (cause == ENOSPC || cause == EDQUOT || cause == EFBIG) {
        return error_stop(err, EXIT_STATUS_TEMPORARY,
                          "cannot keep %s in %s: %s; make room there or choose another folder "
                          "with --state-dir; the same command resumes",
                          area->what, area->folder, strerror(cause));
    }
    if (cause == ENOMEM) {
        return error_memory(err, area->what);
    }
    char words[ERROR_CAUSE_SIZE];
    error_cause(cause, words);
    return error_stop(err, EXIT_STATUS_TEMPORARY, "cannot make a file for %s in %s: %s", area->what,
                      area->folder, words);
}

static size_t whole_pages(size_t len)
{
    return (len + PAGE_BYTES - 1) / PAGE_BYTES * PAGE_BYTES;
}
