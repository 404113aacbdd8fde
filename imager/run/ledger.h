/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * ledger: what became of every task, in memory that the kernel can evict (an unlinked mapped file).
 * One writer per task; readers see a task's fields once its state is set.
 */
#ifndef WINCH_RUN_LEDGER_H
#define WINCH_RUN_LEDGER_H

#include "base/base.h"

/* SKIPPED: not needed in this execution; never in the journal. */
enum ledger_state {
    LEDGER_OPEN,
    LEDGER_UPLOADED,
    LEDGER_INLINE,
    LEDGER_FAILED,
    LEDGER_SKIPPED,
};

#define LEDGER_PRESENT 1  /* was already in the bucket, nothing sent */
#define LEDGER_REPLACED 2 /* an older object was replaced */

struct ledger_row {
    uint64_t generation;
    uint32_t crc32c;
    _Atomic uint8_t state;
    uint8_t reason; /* index for reason_name() */
    uint8_t flags;
    uint8_t unused;
};

struct ledger;
struct ledger *ledger_new(uint64_t tasks, const char *folder, struct error *err);
void ledger_free(struct ledger *ledger);
struct ledger_row *ledger_row(struct ledger *ledger, uint64_t task);

/* Reason codes by number, so that a row can hold one. Unknown codes become "upload-refused". */
uint8_t reason_number(const char *reason);
const char *reason_name(uint8_t number);
size_t reason_count(void);

#endif
