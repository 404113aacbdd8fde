/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The log: one line per call, written with one write(2), so that lines of threads do not mix.
 *
 * The lock is held for reading while a line goes out, also around the terminal hook: when
 * log_set_terminal() or log_close() has returned, nobody uses the old hook or file any more.
 */
#include "base/base.h"
#include "base/text_cut.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <string.h>

enum { MESSAGE_BYTES_MAX = 4096, LINE_BYTES_MAX = 16 * MESSAGE_BYTES_MAX };

static pthread_rwlock_t lock = PTHREAD_RWLOCK_INITIALIZER; /* for `sink` */
static struct {
    enum log_format format;
    int fd; /* closed by us unless it is standard error */
    void (*print)(void *self, const char *line);
    void *self;
} sink = {.format = LOG_TEXT, .fd = STDERR_FILENO};
static _Atomic int level_max = LOG_WARN;

static void set_sink(enum log_format format, int fd);
static void compose(struct text *line, enum log_format format, enum log_level level,
                    const char *module, const char *message);
static void put_line(struct text *line);

int log_open(enum log_level level, enum log_format format, const char *path, struct error *err)
{
    int fd = STDERR_FILENO;
    if (path != NULL) {
        /* Names of a customer's files are nobody else's business. */
        fd = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
        if (fd < 0) {
            char cause[ERROR_CAUSE_SIZE];
            int number = errno;
            error_cause(number, cause);
            return error_stop(err, error_exit_of(number), "cannot open the log file %s: %s", path,
                              cause);
        }
    }
    set_sink(format, fd);
    atomic_store(&level_max, (int)level);
    return 0;
}

void log_close(void)
{
    set_sink(LOG_TEXT, STDERR_FILENO);
    atomic_store(&level_max, LOG_WARN);
}

bool log_enabled(enum log_level level)
{
    return (int)level <= atomic_load_explicit(&level_max, memory_order_relaxed);
}

void log_set_terminal(void (*print)(void *self, const char *line), void *self)
{
    (void)pthread_rwlock_wrlock(&lock); /* fails only for the thread that holds it */
    sink.print = print;
    sink.self = self;
    (void)pthread_rwlock_unlock(&lock);
}

void log_write(enum log_level level, const char *module, const char *fmt, ...)
{
    if (!log_enabled(level)) {
        return;
    }
    int saved_errno = errno;
    char message[MESSAGE_BYTES_MAX];
    va_list args;
    va_start(args, fmt);
    text_cut_format(message, sizeof(message), fmt, args);
    va_end(args);

    CLEANUP_TEXT struct text line = TEXT_INIT(LINE_BYTES_MAX);
    (void)pthread_rwlock_rdlock(&lock); /* see log_set_terminal() */
    compose(&line, sink.format, level, module, message);
    if (line.failed) {
        /* Without memory a fixed line has to do: unescaped text must not reach a terminal. */
        static const char lost[] = "winch: out of memory, a log line is lost\n";
        (void)!write(sink.fd, lost, sizeof(lost) - 1); /* nobody is left to tell */
    } else {
        put_line(&line);
    }
    (void)pthread_rwlock_unlock(&lock);
    errno = saved_errno;
}

static void set_sink(enum log_format format, int fd)
{
    (void)pthread_rwlock_wrlock(&lock); /* see log_set_terminal() */
    int old_fd = sink.fd;
    sink.format = format;
    sink.fd = fd;
    (void)pthread_rwlock_unlock(&lock);
    if (old_fd != STDERR_FILENO) {
        (void)close(old_fd); /* lines already went out by write(2) */
    }
}

/* The whole line without its newline. */
static void compose(struct text *line, enum log_format format, enum log_level level,
                    const char *module, const char *message)
{
    static const char *const names[] = {
        [LOG_ERROR] = "error",
        [LOG_WARN] = "warning",
        [LOG_INFO] = "info",
        [LOG_DEBUG] = "debug",
    };
    uint64_t now_ns = clock_utc_ns();
    char time[32];
    clock_format_utc(now_ns, time);
    time[strcspn(time, "Z")] = '\0';
    unsigned ms = (unsigned)(now_ns / 1000000 % 1000);

    if (format == LOG_TEXT) {
        text_printf(line, "%s.%03uZ %s %s: ", time, ms, names[level], module);
        text_add_shown(line, message, strlen(message), SIZE_MAX);
        return;
    }
    CLEANUP_TEXT struct text shown = TEXT_INIT(LINE_BYTES_MAX);
    text_add_shown(&shown, message, strlen(message), SIZE_MAX);
    text_printf(line, "{\"t\":\"%s.%03uZ\",\"level\":\"%s\",\"module\":", time, ms, names[level]);
    text_add_json(line, module, strlen(module));
    text_add(line, ",\"message\":");
    text_add_json(line, text_str(&shown), shown.len);
    text_add_char(line, '}');
    line->failed |= shown.failed;
}

/* Caller holds `lock` for reading. A log that cannot be written stops nothing. */
static void put_line(struct text *line)
{
    if (sink.print != NULL && sink.fd == STDERR_FILENO && sink.format == LOG_TEXT) {
        sink.print(sink.self, text_str(line));
        return;
    }
    text_add_char(line, '\n');
    const char *next = text_str(line);
    size_t len = line->len;
    while (len > 0) {
        ssize_t put = write(sink.fd, next, len);
        if (put < 0 && errno != EINTR) {
            return;
        }
        if (put > 0) {
            next += put;
            len -= (size_t)put;
        }
    }
}
