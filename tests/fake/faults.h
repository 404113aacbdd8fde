/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * faults: what shall go wrong, by script. A new action is a value of enum fault_action, a row of
 * the table in faults.c, and the place that acts on it (server.c or reply.c).
 */
#ifndef FAKE_FAULTS_H
#define FAKE_FAULTS_H

#include "match.h"

enum fault_action {
    FAULT_NONE,
    FAULT_STATUS,            /* this status instead of doing it */
    FAULT_RESET,             /* close without a reply, before the body is read */
    FAULT_RESET_AFTER_BYTES, /* close after that many bytes of body */
    FAULT_LOST_REPLY,        /* do it, then close */
    FAULT_WRONG_CRC,         /* do it, then state another crc32c */
    FAULT_STALL,             /* wait: after some bytes of body, or before the reply */
    FAULT_CUT_REPLY,         /* close half-way through the reply's body */
};

struct fault {
    struct match match;
    enum fault_action action;
    unsigned status;
    char *body;     /* of FAULT_STATUS; NULL: a JSON error */
    cJSON *headers; /* strings by name; NULL: none */
    bool has_after_bytes;
    uint64_t after_bytes;
    uint64_t stall_ms;
    struct fault *next;
};

/* What strikes one request. `fault` stays as long as the server. */
struct fault_hit {
    enum fault_action action;
    const struct fault *fault;
};

struct faults;

struct faults *faults_new(void);
void faults_free(struct faults *faults); /* NULL is fine */
/* Add one fault a line. Errors name the line. All or nothing is added. */
int faults_add_lines(struct faults *faults, const char *lines, struct error *err) WARN_UNUSED;
/* No fault strikes any more, until new ones are added. */
void faults_disarm(struct faults *faults);

/* The first fault whose turn it is. Faults with "name_contains" are asked once the name is known
 * (`named`), the others when the headers are there. Any thread. */
struct fault_hit faults_strike(struct faults *faults, const struct match_subject *subject,
                               bool named);

#endif
