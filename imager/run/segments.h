/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * segments: short manifest lines of what is done, put into the bucket after 10 s and then
 * every 60 s while the run goes on,
 * so that a machine that lost its state folder can continue. Segment 0 holds the identity alone and
 * is written before the first byte of content. Removed when the manifest is there.
 */
#ifndef WINCH_RUN_SEGMENTS_H
#define WINCH_RUN_SEGMENTS_H

#include "run/context.h"

struct segments;

/* Writes segment 0 unless it is there, then starts the thread. Without the rights to get, list and
 * delete nothing is written (it could neither be read back nor removed), and NULL comes back with
 * err untouched. `first_number` is the next segment's number, at least 1. */
struct segments *segments_start(struct run *run, uint64_t first_number, struct error *err);
/* A task is uploaded. Thread: any; `segments` may be NULL. */
void segments_note(struct segments *segments, uint64_t task);
/* End the thread; what it holds back is in the journal. Accepts NULL. */
void segments_stop(struct segments *segments);

/* One segment, unpacked into `ret_lines` within its limit. Not there, too large or damaged is no
 * error (ret_readable false): nothing in a bucket is trusted. */
int segments_read(struct gcs_client *client, const char *name, size_t packed_limit,
                  struct text *ret_lines, bool *ret_readable, struct error *err) WARN_UNUSED;

/* Fill the ledger (and the journal, which must be started) from the segments of run->identity.run.
 * Returns the next free segment number. */
int segments_rebuild(struct run *run, uint64_t *ret_next_number, struct error *err) WARN_UNUSED;

/* A line of a segment: a stream that is said to be uploaded. Strings live until it is cleared. */
struct segment_line {
    struct cJSON *json;
    const char *volume, *name;
    const char *stream; /* NULL: the unnamed one */
    uint64_t record, generation, size_bytes;
    uint32_t crc32c;
};
/* -1: not such a line (FAIL_ENTRY), or no memory (STOP_RUN); ret_line is empty then. Believes
 * nothing; the caller compares. */
int segments_parse_line(const char *bytes, size_t len, struct segment_line *ret_line,
                        struct error *err) WARN_UNUSED;
void segments_clear_line(struct segment_line *line);

#endif
