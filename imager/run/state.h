/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * state: the folder on the appliance where runs keep their journals, and the locks. Layout:
 * STATE/runs/RUN/{identity.json,journal.sqlite}; STATE/runs is mode 0700. One lock per run folder
 * (flock), one per destination (an abstract socket of the machine, released by the kernel when we
 * die).
 */
#ifndef WINCH_RUN_STATE_H
#define WINCH_RUN_STATE_H

#include "run/identity.h"

struct state;

/* `folder` NULL: WINCH_STATE_DIR, STATE_DIRECTORY, /var/lib/winch as root, $XDG_STATE_HOME/winch,
 * ~/.local/state/winch. Errors: STOP_RUN exit 75 naming the folder and what is wrong with it. */
struct state *state_open(const char *folder, struct error *err);
void state_close(struct state *state); /* releases the locks; accepts NULL */
const char *state_folder(const struct state *state);

/* STOP_RUN exit 11 when another process of this machine holds the destination. */
int state_lock_destination(struct state *state, const char *destination,
                           struct error *err) WARN_UNUSED;

/* Every run folder with an identity that reads as one, newest first. -1 from `each` stops; so does
 * what hides a run that may be there (memory, descriptors, a bad disk): exit 75. */
int state_each_run(struct state *state,
                   int (*each)(void *self, const struct identity *identity, struct error *err),
                   void *self, struct error *err) WARN_UNUSED;

/* Make (or enter) the run's folder, lock it, write its identity. Exit 11 when it is held. */
int state_enter_run(struct state *state, const struct identity *identity,
                    struct error *err) WARN_UNUSED;
/* Path of a file in the entered run folder, or of the folder itself (name NULL). */
void state_run_path(const struct state *state, const char *name, struct text *text);
/* Remove the entered run's folder: all it knew is in the bucket. */
void state_leave_run(struct state *state);
/* Remove another run's folder that is not held by anybody. */
void state_remove_run(struct state *state, const char *run);

#endif
