/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The ramp of requests: a bucket of Cloud Storage takes about 1,000 writes a second at first and
 * more as it spreads its index, which takes it up to 20 minutes for each doubling (documentation,
 * "Request rate and access distribution guidelines"). Inserts, composes and deletes count alike.
 * Until the server asks for less, the rate may double every second that uses it; from then on it
 * doubles at most every 20 minutes. A single 503 is no such wish: only a second in which one
 * request in 50 was refused. An outage looks alike: so it is counted once a minute, what was
 * reached before it counts and not what still went, and the rate never falls below half of what
 * any bucket takes.
 */
#include "upload_internal.h"

#include <math.h>

#define NS_PER_SECOND 1000000000ULL
#define FIRST_RATE 1000.0
#define LEAST_RATE 500.0
#define CUT_INTERVAL_NS (60 * NS_PER_SECOND)
#define CALM_SHARE 0.9 /* what was reached in calm is forgotten slowly */
#define DOUBLING_SECONDS 1200.0
#define CUT 0.7               /* of what was reached when it was too much */
#define REFUSED_SHARE 50      /* one in so many */
#define USED_SHARE 0.5        /* of the allowed rate: then it may double */
#define BURST_NS 100000000ULL /* what an idle moment may catch up */
#define TICK_MS 50

int upload_ramp_open(struct upload_ramp *ramp, bool is_on, struct error *err)
{
    *ramp = (struct upload_ramp){.is_on = is_on, .allowed = FIRST_RATE};
    return pthread_mutex_init(&ramp->lock, NULL) == 0 ? 0 : error_memory(err, "a lock");
}

void upload_ramp_close(struct upload_ramp *ramp)
{
    (void)pthread_mutex_destroy(&ramp->lock);
}

static void cut(struct upload_ramp *ramp, uint64_t now_ns, double reached)
{
    if (ramp->is_cut && now_ns - ramp->base_ns < CUT_INTERVAL_NS) {
        return;
    }
    double most = reached > ramp->calm ? reached : ramp->calm;
    most = most < ramp->allowed ? most : ramp->allowed;
    ramp->base = most * CUT > LEAST_RATE ? most * CUT : LEAST_RATE;
    ramp->base_ns = now_ns;
    ramp->is_cut = true;
}

/* A second is over: what did it show? */
static void end_period(struct upload_ramp *ramp, uint64_t now_ns)
{
    double seconds = (double)(now_ns - ramp->period_ns) / (double)NS_PER_SECOND;
    double reached = (double)ramp->granted / seconds;
    if (ramp->refused > 0 && ramp->refused * REFUSED_SHARE >= ramp->granted) {
        cut(ramp, now_ns, reached);
    } else {
        double before = ramp->calm * CALM_SHARE;
        ramp->calm = reached > before ? reached : before;
        if (!ramp->is_cut && reached >= USED_SHARE * ramp->allowed) {
            ramp->allowed *= 2;
        }
    }
    ramp->period_ns = now_ns;
    ramp->granted = 0;
    ramp->refused = 0;
}

uint64_t upload_ramp_grant(struct upload_ramp *ramp, uint64_t now_ns)
{
    if (ramp->period_ns == 0) {
        ramp->period_ns = now_ns;
    } else if (now_ns - ramp->period_ns >= NS_PER_SECOND) {
        end_period(ramp, now_ns);
    }
    if (ramp->is_cut) {
        double seconds = (double)(now_ns - ramp->base_ns) / (double)NS_PER_SECOND;
        ramp->allowed = ramp->base * exp2(seconds / DOUBLING_SECONDS);
    }
    if (ramp->next_ns > now_ns) {
        return ramp->next_ns - now_ns;
    }
    uint64_t earliest_ns = now_ns > BURST_NS ? now_ns - BURST_NS : 0;
    uint64_t from_ns = ramp->next_ns > earliest_ns ? ramp->next_ns : earliest_ns;
    ramp->next_ns = from_ns + (uint64_t)((double)NS_PER_SECOND / ramp->allowed);
    ramp->granted++;
    return 0;
}

void upload_ramp_note_refused(struct upload_ramp *ramp)
{
    if (ramp->is_on) {
        (void)pthread_mutex_lock(&ramp->lock);
        ramp->refused++;
        (void)pthread_mutex_unlock(&ramp->lock);
    }
}

int upload_ramp_wait(struct upload_ramp *ramp, const _Atomic bool *cancel, uint64_t *ret_waited_ns,
                     struct error *err)
{
    *ret_waited_ns = 0;
    if (!ramp->is_on) {
        return 0;
    }
    uint64_t started_ns = clock_monotonic_ns();
    for (;;) {
        (void)pthread_mutex_lock(&ramp->lock);
        uint64_t now_ns = clock_monotonic_ns();
        uint64_t wait_ns = upload_ramp_grant(ramp, now_ns);
        (void)pthread_mutex_unlock(&ramp->lock);
        if (wait_ns == 0) {
            *ret_waited_ns = now_ns - started_ns;
            return 0;
        }
        uint64_t wait_ms = wait_ns / 1000000 + 1;
        if (clock_sleep_ms(wait_ms < TICK_MS ? wait_ms : TICK_MS, cancel) != 0) {
            return error_cancelled(err);
        }
    }
}
