/* SPDX-License-Identifier: GPL-3.0-or-later */
/* recheck: is what earlier sessions uploaded still in the bucket? */
#ifndef WINCH_RUN_RECHECK_H
#define WINCH_RUN_RECHECK_H

#include "run/context.h"

/* For a resumed run, with the ledger filled and before workers start: one listing of the
 * destination; a task whose object is gone, or stands there in another generation than the ledger
 * says, is opened again. Without the right to list nothing is looked at, and a message says so. */
int recheck_uploaded(struct run *run, struct error *err) WARN_UNUSED;

#endif
