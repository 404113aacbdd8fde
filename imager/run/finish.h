/* SPDX-License-Identifier: GPL-3.0-or-later */
/* finish: from "every task is decided" to the commit mark. */
#ifndef WINCH_RUN_FINISH_H
#define WINCH_RUN_FINISH_H

#include "run/context.h"

/* Manifest, index, removal of segments and parts, README.txt, and run.json last. The journal's
 * writer must have stopped; the counts must have been made. Any failure leaves a run that the same
 * command finishes. */
int finish_run(struct run *run, struct error *err) WARN_UNUSED;

#endif
