/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The window of concurrency: additive growth, multiplicative decrease. A server that asks for less
 * (429, 503) halves the places at most once a second, since one overload answers many requests; as
 * many successes as there are places give one back.
 */
#include "upload_internal.h"

#include <time.h>

#define HALVE_INTERVAL_MS 1000
#define CANCEL_POLL_MS 50

int upload_window_open(struct upload_window *window, unsigned maximum, struct error *err)
{
    *window = (struct upload_window){.maximum = maximum, .places = maximum};
    if (pthread_mutex_init(&window->lock, NULL) != 0) {
        return error_memory(err, "the window's lock");
    }
    pthread_condattr_t attributes;
    if (pthread_condattr_init(&attributes) != 0) {
        (void)pthread_mutex_destroy(&window->lock);
        return error_memory(err, "the window's condition");
    }
    (void)pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC); /* a valid clock cannot fail */
    int status = pthread_cond_init(&window->freed, &attributes);
    (void)pthread_condattr_destroy(&attributes);
    if (status != 0) {
        (void)pthread_mutex_destroy(&window->lock);
        return error_memory(err, "the window's condition");
    }
    return 0;
}

void upload_window_close(struct upload_window *window)
{
    (void)pthread_cond_destroy(&window->freed);
    (void)pthread_mutex_destroy(&window->lock);
}

static void wait_a_little(struct upload_window *window)
{
    /* Woken or not: the caller looks for itself. */
    (void)clock_wait(&window->freed, &window->lock, clock_monotonic_ms() + CANCEL_POLL_MS);
}

int upload_window_enter(struct upload_window *window, const _Atomic bool *cancel,
                        uint64_t *ret_waited_ns, struct error *err)
{
    uint64_t started_ns = 0;
    *ret_waited_ns = 0;
    (void)pthread_mutex_lock(&window->lock);
    while (window->used >= window->places) {
        if (cancel != NULL && atomic_load(cancel)) {
            break;
        }
        if (started_ns == 0) {
            started_ns = clock_monotonic_ns();
        }
        wait_a_little(window);
    }
    bool is_cancelled = cancel != NULL && atomic_load(cancel);
    if (!is_cancelled) {
        window->used++;
    }
    (void)pthread_mutex_unlock(&window->lock);
    if (started_ns != 0) {
        *ret_waited_ns = clock_monotonic_ns() - started_ns;
    }
    return is_cancelled ? error_cancelled(err) : 0;
}

void upload_window_leave(struct upload_window *window)
{
    (void)pthread_mutex_lock(&window->lock);
    window->used--;
    (void)pthread_cond_signal(&window->freed);
    (void)pthread_mutex_unlock(&window->lock);
}

void upload_window_note_success(struct upload_window *window)
{
    (void)pthread_mutex_lock(&window->lock);
    if (window->places < window->maximum) {
        window->successes++;
        if (window->successes >= window->places) {
            window->successes = 0;
            window->places++;
            (void)pthread_cond_signal(&window->freed);
        }
    }
    (void)pthread_mutex_unlock(&window->lock);
}

void upload_window_note_throttle(struct upload_window *window, uint64_t now_ms)
{
    (void)pthread_mutex_lock(&window->lock);
    if (!window->was_halved || now_ms - window->halved_ms >= HALVE_INTERVAL_MS) {
        window->was_halved = true;
        window->halved_ms = now_ms;
        window->places = window->places > 1 ? window->places / 2 : 1;
        window->successes = 0;
        window->throttled++;
    }
    (void)pthread_mutex_unlock(&window->lock);
}
