/* SPDX-License-Identifier: GPL-3.0-or-later */
/* monitor: one thread that watches the run: tells the program how it stands, notices what limits
 * it, turns a signal into a drain of at most 10 s, ends the run at its time limit. */
#ifndef WINCH_RUN_MONITOR_H
#define WINCH_RUN_MONITOR_H

#include "run/context.h"

struct monitor;
struct monitor *monitor_start(struct run *run, struct error *err);
/* Ends the thread; the last look is left in the summary (limited_by). Accepts NULL. */
void monitor_stop(struct monitor *monitor);

#endif
