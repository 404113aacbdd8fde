/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * identity: which run this is. A run belongs to one state of one source, one destination, and the
 * options that change content; it is written down in the state folder and in the bucket (first line
 * of segment 0), and read back to decide what may be continued.
 */
#ifndef WINCH_RUN_IDENTITY_H
#define WINCH_RUN_IDENTITY_H

#include "run/context.h"

/* Fill destination, fingerprint, options, serials from the scanned volumes; not the run id. */
int identity_compute(struct run *run, struct error *err) WARN_UNUSED;

/* "20261129T220312Z-7f3a9c01", never derived from anything but the clock and chance. */
void identity_new_run(struct identity *identity);
bool identity_run_is_legal(const char *run);

/* One JSON object, without a final newline, with "schema":"winch-manifest/1". */
void identity_write(const struct identity *identity, struct text *text);
/* Bounds-checked. -1 when it is not such an object (FAIL_ENTRY), or without memory (STOP_RUN): a
 * run that is not recognized is not continued. */
int identity_read(const char *json, size_t len, struct identity *ret_identity,
                  struct error *err) WARN_UNUSED;

enum identity_relation {
    IDENTITY_SAME,       /* continue it */
    IDENTITY_SUPERSEDED, /* same destination and source, older or newer state: a new run replaces it
                          */
    IDENTITY_OTHER,      /* other destination, source or options */
};
enum identity_relation identity_compare(const struct identity *mine, const struct identity *other);

#endif
