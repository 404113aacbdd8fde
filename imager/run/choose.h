/* SPDX-License-Identifier: GPL-3.0-or-later */
/* choose: continue the newest unfinished run of this source state, or begin a new one. */
#ifndef WINCH_RUN_CHOOSE_H
#define WINCH_RUN_CHOOSE_H

#include "run/context.h"

/* Decides run->identity.run, run->resumed, run->rebuilt, run->superseded. Looks into the state
 * folder, then into the bucket where the rights allow. Needs the computed identity. Exit 10 when
 * --run-id names a run that is not there or cannot be continued. */
int choose_run(struct run *run, struct error *err) WARN_UNUSED;

#endif
