/* SPDX-License-Identifier: GPL-3.0-or-later */
/* progress: draws on standard error what a run tells while it goes on. */
#ifndef WINCH_PROGRESS_H
#define WINCH_PROGRESS_H

#include "run/run.h"

enum progress_mode { PROGRESS_AUTO, PROGRESS_BAR, PROGRESS_JSON, PROGRESS_NONE };

/* One line without newline, in ASCII, of at most `width` columns; what matters less is left out.
 * `width` 0: everything but the bar, for lines that are not redrawn. */
void progress_render(struct text *text, const struct run_progress *progress, unsigned width);

/* One JSON object without newline. */
void progress_render_json(struct text *text, const struct run_progress *progress, uint64_t utc_ns);

/* The screen. Its functions may be called from any thread. NULL: out of memory. */
struct progress;
struct progress *progress_new(enum progress_mode mode);
/* Clears the bar; afterwards nothing of it is on the screen, and the log prints by itself again. */
void progress_free(struct progress *progress);

/* As run_settings.on_progress. */
void progress_show(struct progress *progress, const struct run_progress *now);
/* A sentence for people, above the bar. */
void progress_say(struct progress *progress, bool warning, const char *sentence);

#endif
