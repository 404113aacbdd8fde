/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * stillness: does the run move? Whoever watches it at night must not have to guess whether it
 * hangs, and what it waits for. Nothing is ended here: requests, reads and the run have their own
 * deadlines.
 */
#ifndef WINCH_RUN_STILLNESS_H
#define WINCH_RUN_STILLNESS_H

#include "upload/upload.h"

struct stillness {
    uint64_t mark;
    uint64_t since_ms; /* 0: not looked yet */
    unsigned told;
};

/* `mark` is whatever differs when anything has moved. True when it is time to say that nothing has
 * for `ret_still_ms`: after 1, 5, 15 and 60 minutes, then every hour. */
bool stillness_look(struct stillness *stillness, uint64_t mark, uint64_t now_ms,
                    uint64_t *ret_still_ms);

/* Append a sentence: for how long, and what is waited for. `blocked_ms`: the disk read that has
 * taken longest, at byte `offset`; 0: none. */
void stillness_describe(uint64_t still_ms, const struct upload_counters *counters,
                        uint64_t blocked_ms, uint64_t offset, struct text *text);

#endif
