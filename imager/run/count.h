/* SPDX-License-Identifier: GPL-3.0-or-later */
/* count: every record in use ends in exactly one state. Each number is counted where it stands;
 * whether they add up is looked at, never arranged. */
#ifndef WINCH_RUN_COUNT_H
#define WINCH_RUN_COUNT_H

#include "run/context.h"

/* Fill the summary's counts from scan, catalog, plan and ledger. counts_agree tells whether they
 * add up to the records in use. */
int count_entries(struct run *run, struct error *err) WARN_UNUSED;

#endif
