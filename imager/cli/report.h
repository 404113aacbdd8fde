/* SPDX-License-Identifier: GPL-3.0-or-later */
/* report: what came of a migration, in words for a person and as one JSON object. Pure text. */
#ifndef WINCH_REPORT_H
#define WINCH_REPORT_H

#include "run/run.h"

/* More than all warnings, reasons and volumes of a summary can take. */
#define REPORT_BYTES_MAX (1U << 20)

/* How it went, in one or two lines; no newline at the end. */
void report_render_verdict(struct text *text, const struct run_summary *summary, bool dry_run);

/* The whole report in lines; the verdict comes first. */
void report_render(struct text *text, const struct run_summary *summary, bool dry_run);

/* The JSON object of the design, without newline. */
void report_json(struct text *text, const struct run_summary *summary, bool dry_run);

#endif
