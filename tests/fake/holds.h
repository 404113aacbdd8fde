/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * holds: armed by POST /_fake/hold, each stops one request at an exact point, so that a test can
 * kill the client there. Waiting itself is done by waits.
 */
#ifndef FAKE_HOLDS_H
#define FAKE_HOLDS_H

#include "match.h"

enum hold_point { HOLD_NONE, HOLD_BEFORE, HOLD_AFTER };

struct holds;

struct holds *holds_new(void);
void holds_free(struct holds *holds); /* NULL is fine */
/* Arm one hold; "nth" is 1 unless given, "when" is "before" or "after". */
int holds_arm(struct holds *holds, const cJSON *json, struct error *err) WARN_UNUSED;
void holds_disarm(struct holds *holds);
/* Whether the request, about to be executed, shall be held, and when. A hold serves once. */
enum hold_point holds_check(struct holds *holds, const struct match_subject *subject);

#endif
