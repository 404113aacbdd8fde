/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Time: how long, what date, and waiting that can be cancelled. */
#include "base/base.h"

#include <stdatomic.h>
#include <time.h>

#define NS_PER_S UINT64_C(1000000000)
#define NS_PER_MS UINT64_C(1000000)

/* How late a sleeper may notice that it was cancelled. */
enum { CANCEL_CHECK_MS = 50 };

static uint64_t read_clock_ns(clockid_t id);
static struct tm utc_parts(uint64_t utc_ns);

uint64_t clock_monotonic_ns(void)
{
    return read_clock_ns(CLOCK_MONOTONIC);
}

uint64_t clock_monotonic_ms(void)
{
    return clock_monotonic_ns() / NS_PER_MS;
}

uint64_t clock_utc_ns(void)
{
    return read_clock_ns(CLOCK_REALTIME);
}

void clock_format_utc(uint64_t utc_ns, char out[32])
{
    struct tm parts = utc_parts(utc_ns);
    (void)strftime(out, 32, "%Y-%m-%dT%H:%M:%SZ", &parts); /* the year has four digits: it fits */
}

void clock_format_compact(uint64_t utc_ns, char out[32])
{
    struct tm parts = utc_parts(utc_ns);
    (void)strftime(out, 32, "%Y%m%dT%H%M%SZ", &parts); /* the year has four digits: it fits */
}

int clock_sleep_ms(uint64_t ms, const _Atomic bool *cancel)
{
    uint64_t start_ms = clock_monotonic_ms();
    for (;;) {
        if (cancel != NULL && atomic_load(cancel)) {
            return -1;
        }
        uint64_t slept_ms = clock_monotonic_ms() - start_ms;
        if (slept_ms >= ms) {
            return 0;
        }
        uint64_t slice_ms = ms - slept_ms < CANCEL_CHECK_MS ? ms - slept_ms : CANCEL_CHECK_MS;
        struct timespec slice = {.tv_nsec = (long)(slice_ms * NS_PER_MS)};
        (void)nanosleep(&slice, NULL); /* a signal only wakes us early: the loop looks again */
    }
}

static uint64_t read_clock_ns(clockid_t id)
{
    struct timespec now = {0};
    (void)clock_gettime(id, &now); /* fails only for a clock that does not exist */
    return (uint64_t)now.tv_sec * NS_PER_S + (uint64_t)now.tv_nsec;
}

static struct tm utc_parts(uint64_t utc_ns)
{
    time_t seconds = (time_t)(utc_ns / NS_PER_S);
    struct tm parts = {0};
    (void)gmtime_r(&seconds, &parts); /* 64 bits of nanoseconds end in 2554: always in range */
    return parts;
}

int clock_wait(pthread_cond_t *condition, pthread_mutex_t *lock, uint64_t until_ms)
{
    struct timespec until = {
        .tv_sec = (time_t)(until_ms / 1000),
        .tv_nsec = (long)(until_ms % 1000) * 1000000L,
    };
    return pthread_cond_clockwait(condition, lock, CLOCK_MONOTONIC, &until);
}
