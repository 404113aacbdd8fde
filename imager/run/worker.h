/* SPDX-License-Identifier: GPL-3.0-or-later */
/* worker: the threads that read, hash and send. Each owns a connection, a buffer, and where needed
 * a libntfs-3g handle; no queue of buffers lies between them. */
#ifndef WINCH_RUN_WORKER_H
#define WINCH_RUN_WORKER_H

#include "run/context.h"
#include "run/work.h"

/* Run all tasks that are open in the ledger, with up to settings->connections threads; returns when
 * nothing is left or the run winds up (run->error says why). -1 only when no worker could start. */
int workers_run(struct run *run, struct work *work, struct error *err) WARN_UNUSED;

#endif
