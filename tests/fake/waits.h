/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * waits: requests that are suspended, for a time or until they are released. One thread of its own
 * resumes them; no serving thread is blocked.
 */
#ifndef FAKE_WAITS_H
#define FAKE_WAITS_H

#include "base/base.h"

struct request;
struct waits;

struct waits *waits_new(void); /* starts the thread; NULL if it cannot */
/* Resume everything, now and from now on. */
void waits_stop(struct waits *waits);
void waits_free(struct waits *waits); /* NULL is fine; after the server has stopped */

/* Suspend the request's connection; its handler is called again when the wait is over. Only from
 * that handler, which returns afterwards. False when stopping: then nothing waits. */
bool waits_sleep(struct waits *waits, struct request *request, uint64_t ms);
/* The same until waits_release_held(), or until the client leaves: then request->gone is set. */
bool waits_hold(struct waits *waits, struct request *request);

void waits_release_held(struct waits *waits);
unsigned waits_count_held(struct waits *waits);

#endif
