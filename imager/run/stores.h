/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * stores: the files of chunk stores, which are sent only when a deduplicated file of their volume
 * could not be put together, so that nothing is thrown away with the disk. Whether that is so is
 * known when all else has been worked on; until then their tasks are SKIPPED in the ledger.
 */
#ifndef WINCH_RUN_STORES_H
#define WINCH_RUN_STORES_H

#include "run/context.h"

/* Before the workers: spare tasks that are open are left. Main thread. */
void stores_leave(struct run *run);
/* After them: open those whose volume has a deduplicated stream that failed; true if there is one.
 * Says so to the user. Main thread. */
bool stores_need(struct run *run);

#endif
