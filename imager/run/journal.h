/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * journal: what a run has done, for resume. SQLite in WAL mode; one writer thread commits every
 * 250 ms or 10,000 results; workers only hand over. What a crash forgets is found again by
 * precondition and comparison, so a lost tail costs requests, never data.
 */
#ifndef WINCH_RUN_JOURNAL_H
#define WINCH_RUN_JOURNAL_H

#include "base/base.h"
#include "run/ledger.h"
#include "upload/upload.h"

struct journal;

/* Open or make `path`. Errors: STOP_RUN exit 75 naming the file (full, not writable, damaged). */
struct journal *journal_open(const char *path, struct error *err);
/* Stops the writer without waiting for its queue if it still runs. Accepts NULL. */
void journal_close(struct journal *journal);

/* Small facts by key; before journal_start or after journal_stop. *ret_value NULL: not
 * there; the caller frees it. */
int journal_set(struct journal *journal, const char *key, const char *value,
                struct error *err) WARN_UNUSED;
int journal_get(struct journal *journal, const char *key, char **ret_value,
                struct error *err) WARN_UNUSED;

/* Forget all results and nodes: everything is compared with the bucket again. Before
 * journal_load. */
int journal_forget(struct journal *journal, struct error *err) WARN_UNUSED;

/* Fill the ledger with the results of earlier sessions (failed ones are left open: they are tried
 * again, and so are inline streams whose content is damaged) and keep their composite nodes for
 * journal_hint(). `each` is told every task taken over and when it was done (UTC ms). Before
 * journal_start. */
int journal_load(struct journal *journal, struct ledger *ledger, uint64_t tasks,
                 void (*each)(void *self, uint64_t task, uint64_t done_utc_ms), void *self,
                 struct error *err) WARN_UNUSED;
/* Tell a composite all nodes known of its task. Thread: any. Returns the number. */
size_t journal_hint(const struct journal *journal, uint64_t task,
                    struct upload_composite *composite);

/* Start the writer. `failed` is called on its thread when a commit fails; the journal then drops
 * what it is given. */
int journal_start(struct journal *journal, void (*failed)(void *self, const struct error *err),
                  void *self, struct error *err) WARN_UNUSED;
/* Wait until everything handed over is committed, then stop the writer. */
int journal_stop(struct journal *journal, struct error *err) WARN_UNUSED;

/* Hand over a result. `error` and `content` (an inline stream) are copied; may be NULL. Waits while
 * the writer is far behind. Out of memory breaks the journal like a failed commit. Thread: any. */
void journal_result(struct journal *journal, uint64_t task, const struct ledger_row *row,
                    const char *error, const void *content, size_t content_len);
void journal_node(struct journal *journal, uint64_t task, unsigned level, uint32_t index,
                  uint64_t generation, uint32_t crc32c);
/* The number of the next segment, remembered before it is used, and the time (UTC ms) up to which
 * results are in segments. Thread: any; takes effect with the next commit. */
void journal_segment(struct journal *journal, uint64_t next_number, uint64_t covered_utc_ms);

/* Error sentence and inline content of one task; after journal_stop, one thread. Valid until the
 * next call. Missing ones are "" and NULL. */
int journal_detail(struct journal *journal, uint64_t task, const char **ret_error,
                   const void **ret_content, size_t *ret_len, struct error *err) WARN_UNUSED;

#endif
