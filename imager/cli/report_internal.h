/* SPDX-License-Identifier: GPL-3.0-or-later */
/* report_internal: the blocks of which the report in words is made; shared by report*.c only. */
#ifndef WINCH_REPORT_INTERNAL_H
#define WINCH_REPORT_INTERNAL_H

#include "cli/report.h"

/* Any string from outside; no newline survives. */
void report_add_shown(struct text *text, const char *string);
/* "12,345 files", "1 file"; `plural` is `one` with an s when NULL. */
void report_add_number(struct text *text, uint64_t count, const char *one, const char *plural);
void report_add_bytes(struct text *text, uint64_t bytes);
/* "Stopped: …" may be of two lines; the second is indented. */
void report_add_lines(struct text *text, const char *lines);

void report_add_reasons(struct text *text, const struct run_summary *summary, const char *title);
void report_add_warnings(struct text *text, const struct run_summary *summary);
void report_add_volumes(struct text *text, const struct run_summary *summary);
void report_add_dry_run(struct text *text, const struct run_summary *summary);

#endif
