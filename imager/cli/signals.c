/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The handler does only what POSIX allows in one: atomics, write(2), _exit(2). */
#include "cli/signals.h"
#include "base/base.h"

#include <errno.h>
#include <signal.h>
#include <stdatomic.h>
#include <string.h>

static _Atomic bool stop;
static _Atomic bool may_speak;
static _Atomic bool line_is_drawn;
static _Atomic int first_signal;

static void handle(int number);
static void put(const char *string);

_Atomic bool *signals_catch(bool speaks)
{
    atomic_store(&may_speak, speaks);
    struct sigaction action = {.sa_handler = handle, .sa_flags = SA_RESTART};
    (void)sigemptyset(&action.sa_mask);
    (void)sigaddset(&action.sa_mask, SIGINT);
    (void)sigaddset(&action.sa_mask, SIGTERM);
    (void)sigaddset(&action.sa_mask, SIGHUP);
    /* None of these calls can fail: the numbers are right and may be caught. */
    (void)sigaction(SIGINT, &action, NULL);
    (void)sigaction(SIGTERM, &action, NULL);
    struct sigaction hangup;
    if (sigaction(SIGHUP, NULL, &hangup) == 0 && hangup.sa_handler != SIG_IGN) {
        (void)sigaction(SIGHUP, &action, NULL); /* nohup(1) lets it be ignored */
    }
    return &stop;
}

void signals_set_line(bool is_drawn)
{
    atomic_store(&line_is_drawn, is_drawn);
}

int signals_caught(void)
{
    return atomic_load(&first_signal);
}

static void handle(int number)
{
    int saved_errno = errno;
    int none = 0;
    if (atomic_compare_exchange_strong(&first_signal, &none, number)) {
        atomic_store(&stop, true);
        if (atomic_load(&may_speak)) {
            put(number == SIGINT ? "Finishing what is in flight (at most 10 s); press Ctrl-C again "
                                   "to stop at once.\n"
                                 : "Finishing what is in flight (at most 10 s); a second signal "
                                   "stops at once.\n");
        }
    } else if (number != SIGHUP) {
        /* A closing terminal sends SIGHUP twice, which means no haste. */
        put("");
        _exit(number == SIGINT ? EXIT_STATUS_INTERRUPTED : EXIT_STATUS_TERMINATED);
    }
    errno = saved_errno;
}

/* On a line of its own, whatever a terminal shows now ("^C", a bar). */
static void put(const char *string)
{
    static const char clear[] = "\r\033[K";
    if (atomic_load(&line_is_drawn)) {
        (void)!write(STDERR_FILENO, clear, sizeof(clear) - 1); /* nobody could be told */
    }
    (void)!write(STDERR_FILENO, string, strlen(string));
}
