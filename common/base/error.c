/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Errors as values. Arguments may point into the error that is being filled, so that everything
 * is formatted into a buffer of its own first.
 */
#include "base/base.h"
#include "base/text_cut.h"

#include <errno.h>
#include <string.h>
#include <sys/resource.h>

enum { MESSAGE_SIZE = sizeof(((struct error *)NULL)->message) };

/* The share of the message that context keeps when both do not fit: the cause must survive a
 * path of 32,767 characters. */
enum { CONTEXT_SHARE = MESSAGE_SIZE / 2 };

static void fill(struct error *err, enum error_kind kind, enum exit_status status,
                 const char *reason, const char *fmt, va_list args)
    __attribute__((format(printf, 5, 0)));

int error_stop(struct error *err, enum exit_status status, const char *fmt, ...)
{
    va_list args;
    va_start(args, fmt);
    fill(err, ERROR_STOP_RUN, status, NULL, fmt, args);
    va_end(args);
    return -1;
}

int error_entry(struct error *err, const char *reason, const char *fmt, ...)
{
    va_list args;
    va_start(args, fmt);
    fill(err, ERROR_FAIL_ENTRY, EXIT_STATUS_NOT_CLEAN, reason, fmt, args);
    va_end(args);
    return -1;
}

int error_retry(struct error *err, const char *fmt, ...)
{
    va_list args;
    va_start(args, fmt);
    fill(err, ERROR_RETRY, EXIT_STATUS_TEMPORARY, NULL, fmt, args);
    va_end(args);
    return -1;
}

int error_cancelled(struct error *err)
{
    if (err != NULL) {
        *err = (struct error){
            .kind = ERROR_CANCELLED,
            .exit_status = EXIT_STATUS_INTERRUPTED,
            .message = "interrupted",
        };
    }
    return -1;
}

int error_memory(struct error *err, const char *what)
{
    return error_stop(err, EXIT_STATUS_TEMPORARY, "out of memory for %s", what);
}

void error_cause(int number, char out[ERROR_CAUSE_SIZE])
{
    struct rlimit limit = {0};
    if (number == EMFILE && getrlimit(RLIMIT_NOFILE, &limit) == 0) {
        (void)snprintf(out, ERROR_CAUSE_SIZE,
                       "%s: this process may have %llu (ulimit -n); raise that limit or lower "
                       "--connections",
                       strerror(number), (unsigned long long)limit.rlim_cur);
    } else if (number == ENFILE) {
        (void)snprintf(out, ERROR_CAUSE_SIZE,
                       "%s: the whole machine has no more (sysctl fs.file-max); stop what uses "
                       "them or raise that limit",
                       strerror(number));
    } else {
        (void)snprintf(out, ERROR_CAUSE_SIZE, "%s", strerror(number));
    }
}

enum exit_status error_exit_of(int number)
{
    switch (number) {
    case ENOSPC:
    case EDQUOT:
    case ENOMEM:
    case EMFILE:
    case ENFILE:
        return EXIT_STATUS_TEMPORARY;
    default:
        return EXIT_STATUS_FAILED;
    }
}

int error_add(struct error *err, const char *fmt, ...)
{
    if (err == NULL) {
        return -1;
    }
    char context[MESSAGE_SIZE];
    va_list args;
    va_start(args, fmt);
    text_cut_format(context, sizeof(context), fmt, args);
    va_end(args);

    size_t context_len = strlen(context);
    size_t message_len = strnlen(err->message, MESSAGE_SIZE - 1);
    const size_t room = MESSAGE_SIZE - 1 - strlen(": ");
    if (context_len + message_len > room) {
        size_t share = message_len < room - CONTEXT_SHARE ? room - message_len : CONTEXT_SHARE;
        context_len = text_cut_shorten(context, context_len, share);
        message_len = text_cut_shorten(err->message, message_len, room - context_len);
    }
    char *message = err->message + context_len + strlen(": ");
    memmove(message, err->message, message_len);
    message[message_len] = '\0';
    memcpy(err->message, context, context_len);
    memcpy(err->message + context_len, ": ", strlen(": "));
    return -1;
}

static void fill(struct error *err, enum error_kind kind, enum exit_status status,
                 const char *reason, const char *fmt, va_list args)
{
    if (err == NULL) {
        return;
    }
    char message[MESSAGE_SIZE];
    text_cut_format(message, sizeof(message), fmt, args);
    err->kind = kind;
    err->exit_status = status;
    err->reason = reason;
    memcpy(err->message, message, strlen(message) + 1);
}
