/* SPDX-License-Identifier: GPL-3.0-or-later */
/* control: the objects of the run itself (manifest, index, commit mark) on their way. */
#ifndef WINCH_RUN_CONTROL_H
#define WINCH_RUN_CONTROL_H

#include "run/context.h"

#define CONTROL_TAIL_MAX 128

/* Upload PREFIX/.winch/runs/RUN/tail, or PREFIX/tail when that begins with ".winch/". Where the
 * name is taken by an earlier session of this run and the rights do not allow to look at it or to
 * replace it, a free name beside it is taken ("manifest-00000.jsonl.gz" becomes
 * "manifest-00000.jsonl.gz-2") and put into `tail`: whoever names the object afterwards must use
 * that. `ret_name` (may be NULL) gets the object's name. */
int control_upload(struct run *run, char tail[CONTROL_TAIL_MAX], const char *content_type,
                   const void *bytes, size_t len, struct text *ret_name,
                   struct upload_result *ret_result, struct error *err) WARN_UNUSED;

/* The same for a name that must not change. `ret_taken`: it is there and cannot be looked at; with
 * a run id that nobody else has, an earlier session of this run wrote it. */
int control_upload_fixed(struct run *run, const char *tail, const char *content_type,
                         const void *bytes, size_t len, bool *ret_taken,
                         struct error *err) WARN_UNUSED;

#endif
