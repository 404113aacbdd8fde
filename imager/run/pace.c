/* SPDX-License-Identifier: GPL-3.0-or-later */
/* pace: a hill climb by doubling. */
#include "run/pace.h"

#define WORKERS_PER_CORE                                                                           \
    4 /* where it begins: enough for a near server, quick to outgrow for a far one */
#define PERIOD_MS 200
#define WORTH 1.15 /* a step must bring at least this, or it was not worth it */
#define TRIAL_WAIT_MS                                                                              \
    5000 /* until the next step is tried; doubled after each that brought nothing */
#define TRIAL_WAIT_MAX_MS 80000

static void begin_period(struct pace *pace, uint64_t now_ms, uint64_t units)
{
    pace->period_ms = now_ms;
    pace->period_units = units;
}

void pace_begin(struct pace *pace, unsigned cores, unsigned most, uint64_t now_ms, uint64_t units)
{
    unsigned first = cores * WORKERS_PER_CORE;
    *pace = (struct pace){
        .active = first < most ? first : most,
        .most = most,
        .next_trial_ms = now_ms,
        .trial_wait_ms = TRIAL_WAIT_MS,
    };
    begin_period(pace, now_ms, units);
}

static bool step_up(struct pace *pace, double rate)
{
    if (pace->active >= pace->most) {
        return false;
    }
    pace->before = pace->active;
    pace->rate_before = rate;
    pace->active = pace->active * 2 < pace->most ? pace->active * 2 : pace->most;
    return true;
}

static bool step_back(struct pace *pace, uint64_t now_ms)
{
    pace->active = pace->before;
    pace->before = 0;
    pace->next_trial_ms = now_ms + pace->trial_wait_ms;
    pace->trial_wait_ms =
        pace->trial_wait_ms * 2 < TRIAL_WAIT_MAX_MS ? pace->trial_wait_ms * 2 : TRIAL_WAIT_MAX_MS;
    return true;
}

bool pace_look(struct pace *pace, uint64_t now_ms, uint64_t units)
{
    uint64_t elapsed = now_ms - pace->period_ms;
    /* Each worker must have had the time to finish something, or the rate says nothing. */
    if (elapsed < PERIOD_MS ||
        (units - pace->period_units < 2ULL * pace->active && elapsed < 100ULL * PERIOD_MS)) {
        return false;
    }
    double rate = (double)(units - pace->period_units) / (double)elapsed;
    bool changed = false;
    if (pace->before != 0) {
        if (rate >= pace->rate_before * WORTH) {
            pace->before = 0;
            pace->trial_wait_ms = TRIAL_WAIT_MS;
            changed = step_up(pace, rate);
        } else {
            changed = step_back(pace, now_ms);
        }
    } else if (now_ms >= pace->next_trial_ms) {
        changed = step_up(pace, rate);
    }
    begin_period(pace, now_ms, units);
    return changed;
}
