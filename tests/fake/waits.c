/* SPDX-License-Identifier: GPL-3.0-or-later */
/* waits: suspended requests, sleepers in order of their end, held ones in a list. */
#include "waits.h"

#include <poll.h>
#include <pthread.h>
#include <time.h>

#include "request.h"

/* How soon a held request notices that its client has gone. */
#define HELD_POLL_NS 5000000u

struct wait {
    struct request *request;
    uint64_t end_ns; /* sleepers */
    struct wait *next;
};

struct waits {
    pthread_t thread;
    pthread_mutex_t lock; /* guards the rest; taken before any lock of libmicrohttpd */
    pthread_cond_t changed;
    struct wait *sleeping; /* by end_ns */
    struct wait *last_sleeping;
    struct wait *held;
    unsigned held_count;
    bool stopping;
};

static void *run(void *self);

struct waits *waits_new(void)
{
    struct waits *waits = calloc(1, sizeof(*waits));
    if (waits == NULL) {
        return NULL;
    }
    pthread_condattr_t attributes;
    (void)pthread_mutex_init(&waits->lock, NULL); /* none of these can fail on Linux */
    (void)pthread_condattr_init(&attributes);
    (void)pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
    (void)pthread_cond_init(&waits->changed, &attributes);
    (void)pthread_condattr_destroy(&attributes);
    if (pthread_create(&waits->thread, NULL, run, waits) != 0) {
        free(waits);
        return NULL;
    }
    return waits;
}

static void resume(struct wait *wait)
{
    struct MHD_Connection *connection = wait->request->connection;
    free(wait);
    MHD_resume_connection(connection);
}

static void resume_all_held(struct waits *waits)
{
    while (waits->held != NULL) {
        struct wait *wait = waits->held;
        waits->held = wait->next;
        resume(wait);
    }
    waits->held_count = 0;
}

void waits_stop(struct waits *waits)
{
    (void)pthread_mutex_lock(&waits->lock);
    bool first = !waits->stopping;
    waits->stopping = true;
    (void)pthread_cond_signal(&waits->changed);
    (void)pthread_mutex_unlock(&waits->lock);
    if (first) {
        (void)pthread_join(waits->thread, NULL);
    }
}

void waits_free(struct waits *waits)
{
    if (waits != NULL) {
        waits_stop(waits);
        (void)pthread_cond_destroy(&waits->changed);
        (void)pthread_mutex_destroy(&waits->lock);
        free(waits);
    }
}

static void add_sleeper(struct waits *waits, struct wait *wait)
{
    /* Most often everybody sleeps equally long, and the place is at the end. */
    struct wait **link = &waits->sleeping;
    if (waits->sleeping != NULL && waits->last_sleeping->end_ns <= wait->end_ns) {
        link = &waits->last_sleeping->next;
    }
    while (*link != NULL && (*link)->end_ns <= wait->end_ns) {
        link = &(*link)->next;
    }
    wait->next = *link;
    *link = wait;
    if (wait->next == NULL) {
        waits->last_sleeping = wait;
    }
}

static struct wait *suspend(struct waits *waits, struct request *request)
{
    struct wait *wait = waits->stopping ? NULL : calloc(1, sizeof(*wait));
    if (wait != NULL) {
        wait->request = request;
        MHD_suspend_connection(request->connection);
    }
    return wait;
}

bool waits_sleep(struct waits *waits, struct request *request, uint64_t ms)
{
    (void)pthread_mutex_lock(&waits->lock);
    struct wait *wait = suspend(waits, request);
    if (wait != NULL) {
        wait->end_ns = clock_monotonic_ns() + ms * 1000000;
        add_sleeper(waits, wait);
        (void)pthread_cond_signal(&waits->changed);
    }
    (void)pthread_mutex_unlock(&waits->lock);
    return wait != NULL;
}

bool waits_hold(struct waits *waits, struct request *request)
{
    (void)pthread_mutex_lock(&waits->lock);
    struct wait *wait = suspend(waits, request);
    if (wait != NULL) {
        wait->next = waits->held;
        waits->held = wait;
        waits->held_count++;
        (void)pthread_cond_signal(&waits->changed);
    }
    (void)pthread_mutex_unlock(&waits->lock);
    return wait != NULL;
}

void waits_release_held(struct waits *waits)
{
    (void)pthread_mutex_lock(&waits->lock);
    resume_all_held(waits);
    (void)pthread_mutex_unlock(&waits->lock);
}

unsigned waits_count_held(struct waits *waits)
{
    (void)pthread_mutex_lock(&waits->lock);
    unsigned count = waits->held_count;
    (void)pthread_mutex_unlock(&waits->lock);
    return count;
}

static bool client_left(const struct request *request)
{
    const union MHD_ConnectionInfo *info =
        MHD_get_connection_info(request->connection, MHD_CONNECTION_INFO_CONNECTION_FD);
    struct pollfd socket = {.fd = info == NULL ? -1 : info->connect_fd, .events = POLLRDHUP};
    return poll(&socket, 1, 0) > 0 && (socket.revents & (POLLRDHUP | POLLHUP | POLLERR)) != 0;
}

static void resume_those_left(struct waits *waits)
{
    for (struct wait **link = &waits->held; *link != NULL;) {
        struct wait *wait = *link;
        if (client_left(wait->request)) {
            *link = wait->next;
            waits->held_count--;
            wait->request->gone = true;
            resume(wait);
        } else {
            link = &wait->next;
        }
    }
}

static void resume_rested(struct waits *waits, uint64_t now_ns)
{
    while (waits->sleeping != NULL && waits->sleeping->end_ns <= now_ns) {
        struct wait *wait = waits->sleeping;
        waits->sleeping = wait->next;
        resume(wait);
    }
}

/* Until something changes, the first sleeper is rested, or held clients are to be looked at. */
static void wait_for_work(struct waits *waits, uint64_t now_ns)
{
    uint64_t end_ns = waits->sleeping != NULL ? waits->sleeping->end_ns : UINT64_MAX;
    if (waits->held != NULL && end_ns > now_ns + HELD_POLL_NS) {
        end_ns = now_ns + HELD_POLL_NS;
    }
    if (end_ns == UINT64_MAX) {
        (void)pthread_cond_wait(&waits->changed, &waits->lock);
        return;
    }
    struct timespec end = {.tv_sec = (time_t)(end_ns / 1000000000u),
                           .tv_nsec = (long)(end_ns % 1000000000u)};
    (void)pthread_cond_timedwait(&waits->changed, &waits->lock, &end);
}

static void *run(void *self)
{
    struct waits *waits = self;
    (void)pthread_mutex_lock(&waits->lock);
    while (!waits->stopping) {
        uint64_t now_ns = clock_monotonic_ns();
        resume_rested(waits, now_ns);
        resume_those_left(waits);
        wait_for_work(waits, now_ns);
    }
    resume_rested(waits, UINT64_MAX);
    resume_all_held(waits);
    (void)pthread_mutex_unlock(&waits->lock);
    return NULL;
}
