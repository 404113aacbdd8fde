/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * pace: how many workers are worth having. More workers hide latency; beyond that they only push
 * each other out of the processor's caches (50,000 small objects to a server on the same two cores:
 * 8 workers took 4.5 s of processor time, 64 took 7.1 s). So it begins with a few, doubles while
 * that makes the run faster, goes back when it does not, and tries again later.
 */
#ifndef WINCH_RUN_PACE_H
#define WINCH_RUN_PACE_H

#include "base/base.h"

struct pace {
    unsigned active, most;
    unsigned before;                  /* what to go back to while a step is on trial; 0: none is */
    uint64_t period_ms, period_units; /* where the period began */
    double rate_before;               /* units a second, before the step */
    uint64_t next_trial_ms, trial_wait_ms;
};

/* `cores`: processors we may run on; `most`: the limit that the user gave. */
void pace_begin(struct pace *pace, unsigned cores, unsigned most, uint64_t now_ms, uint64_t units);

/* Look at the units of work (objects and bytes, weighed) done so far. Call it often; it acts at the
 * end of a period only. True when `active` has changed. Under the caller's lock. */
bool pace_look(struct pace *pace, uint64_t now_ms, uint64_t units);

#endif
