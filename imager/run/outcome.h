/* SPDX-License-Identifier: GPL-3.0-or-later */
/* outcome: the one state in which an entry ends, joined from the plan and the ledger. */
#ifndef WINCH_RUN_OUTCOME_H
#define WINCH_RUN_OUTCOME_H

#include "run/context.h"

enum outcome_state {
    OUTCOME_UPLOADED,
    OUTCOME_DIRECTORY,
    OUTCOME_LINK,
    OUTCOME_EXCLUDED,
    OUTCOME_FAILED,
    OUTCOME_UNDECIDED, /* a task is still open: never at the end of a run that went to its end */
};
const char *outcome_name(enum outcome_state state); /* "uploaded", … as in the manifest */

struct outcome {
    enum outcome_state state;
    const char *reason;   /* code or NULL */
    const char *sentence; /* static or of the view; NULL: the journal has the error of `task` */
    uint64_t task;        /* the failed task, or UINT64_MAX */
};

/* The entry takes its worst stream; a failure that --accept does not name is worse than one that it
 * names. `view` is the decoded entry. */
struct outcome outcome_of_entry(struct run *run, const struct run_volume *volume,
                                const struct catalog_view *view);

/* Does --accept name that reason? */
bool outcome_is_accepted(const struct run_settings *settings, const char *reason);

/* The task of a stream in the run's numbering, or UINT64_MAX. */
uint64_t outcome_task(const struct run_volume *volume, uint32_t entry, unsigned stream);
/* The same for the object under a further name (--hard-links copy). */
uint64_t outcome_task_of_name(const struct run_volume *volume, uint32_t entry, unsigned stream,
                              unsigned name);

#endif
