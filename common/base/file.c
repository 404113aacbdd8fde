/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Small files as a whole, and folders. */
#include "base/base.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>

enum { READ_CHUNK_BYTES = 16384, PATH_BYTES_MAX = 4096 };

static int write_temporary(const char *path, const void *bytes, size_t len, mode_t mode);
static int sync_folder_of(const char *path);
static int make_folder(const char *path, mode_t mode);
static int fail(const char *doing, const char *path, int number, struct error *err);

int file_read(const char *path, size_t limit, struct text *ret_text, struct error *err)
{
    CLEANUP_CLOSE int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0) {
        return fail("open", path, errno, err);
    }
    CLEANUP_TEXT struct text text = TEXT_INIT(limit);
    text_add(&text, ""); /* so that an empty file has its NUL */
    for (;;) {
        char chunk[READ_CHUNK_BYTES];
        ssize_t got = read(fd, chunk, sizeof(chunk));
        if (got < 0 && errno == EINTR) {
            continue;
        }
        if (got < 0) {
            return fail("read", path, errno, err);
        }
        if (got == 0) {
            break;
        }
        if ((size_t)got > limit - text.len) {
            return error_stop(err, EXIT_STATUS_FAILED,
                              "cannot read %s: it has more than the %zu bytes allowed", path,
                              limit);
        }
        text_add_bytes(&text, chunk, (size_t)got);
        if (text.failed) {
            return error_memory(err, path);
        }
    }
    if (text.failed) {
        return error_memory(err, path);
    }
    text_free(ret_text);
    *ret_text = text;
    text.data = NULL; /* handed over */
    return 0;
}

int file_write(const char *path, const void *bytes, size_t len, mode_t mode, struct error *err)
{
    /* The random part keeps two writers of one path apart. */
    uint64_t unique;
    random_bytes(&unique, sizeof(unique));
    CLEANUP_FREE char *temporary = NULL;
    if (asprintf(&temporary, "%s.%016llx.tmp", path, (unsigned long long)unique) < 0) {
        temporary = NULL;
        return error_memory(err, path);
    }
    bool done = write_temporary(temporary, bytes, len, mode) == 0 && rename(temporary, path) == 0;
    if (!done || sync_folder_of(path) != 0) {
        int cause = errno;
        if (!done) {
            (void)unlink(temporary); /* it may not even exist; the cause is what counts */
        }
        return fail("write", path, cause, err);
    }
    return 0;
}

int file_make_folders(const char *path, mode_t mode, struct error *err)
{
    char prefix[PATH_BYTES_MAX];
    size_t len = strlen(path);
    if (len == 0 || len >= sizeof(prefix)) {
        return error_stop(err, EXIT_STATUS_FAILED, "cannot make the folder \"%s\": %s", path,
                          strerror(len == 0 ? ENOENT : ENAMETOOLONG));
    }
    for (size_t i = 1; i <= len; i++) {
        if ((path[i] != '/' && path[i] != '\0') || path[i - 1] == '/') {
            continue; /* not the end of a component */
        }
        memcpy(prefix, path, i);
        prefix[i] = '\0';
        if (make_folder(prefix, mode) != 0) {
            return fail("make the folder", prefix, errno, err);
        }
    }
    return 0;
}

static int fail(const char *doing, const char *path, int number, struct error *err)
{
    char cause[ERROR_CAUSE_SIZE];
    error_cause(number, cause);
    return error_stop(err, error_exit_of(number), "cannot %s %s: %s", doing, path, cause);
}

/* Sets errno when it fails, as do the functions below. */
static int make_folder(const char *path, mode_t mode)
{
    if (mkdir(path, mode) == 0) {
        return 0;
    }
    int cause = errno;
    struct stat facts;
    if (stat(path, &facts) == 0) {
        if (S_ISDIR(facts.st_mode)) {
            return 0;
        }
        cause = ENOTDIR;
    }
    errno = cause;
    return -1;
}

static int write_temporary(const char *path, const void *bytes, size_t len, mode_t mode)
{
    int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, mode);
    if (fd < 0) {
        return -1;
    }
    const char *next = bytes;
    while (len > 0) {
        ssize_t put = write(fd, next, len);
        if (put < 0 && errno != EINTR) {
            break;
        }
        if (put > 0) {
            next += put;
            len -= (size_t)put;
        }
    }
    bool synced = len == 0 && fsync(fd) == 0;
    int cause = errno;
    bool closed = close(fd) == 0;
    if (!synced) {
        errno = cause;
    }
    return synced && closed ? 0 : -1;
}

static int sync_folder_of(const char *path)
{
    CLEANUP_FREE char *folder = strdup(path);
    if (folder == NULL) {
        return -1;
    }
    char *slash = strrchr(folder, '/');
    if (slash != NULL) {
        slash[slash == folder ? 1 : 0] = '\0'; /* the root keeps its slash */
    }
    CLEANUP_CLOSE int fd = open(slash == NULL ? "." : folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0) {
        return errno == EACCES ? 0 : -1; /* a folder may be writable and not readable */
    }
    if (fsync(fd) != 0 && errno != EINVAL && errno != ENOTSUP) {
        return -1; /* the two others: a file system whose folders need no sync */
    }
    return 0;
}
