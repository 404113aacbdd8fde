/* SPDX-License-Identifier: GPL-3.0-or-later */
/* session: one resumable upload; what resumable.c (calls) and session.c (table, bytes) share. */
#ifndef FAKE_SESSION_H
#define FAKE_SESSION_H

#include <pthread.h>

#include "insert.h"
#include "resumable.h"

/* Bytes are kept in multiples of this, as Cloud Storage does; a connection that dies loses what
 * comes after the last multiple. */
#define SESSION_GRANULE ((size_t)262144)

struct session {
    struct session *next; /* guarded by the table's lock */
    char id[33];
    atomic_uint references;
    pthread_mutex_t lock; /* guards all that follows */
    struct insert insert; /* its digest counts the bytes kept */
    bool has_total;
    uint64_t total;
    uint64_t owner; /* the request that may add bytes: the latest one */
    char *tail;     /* SESSION_GRANULE bytes, tail_len of them received but not yet kept */
    size_t tail_len;
    struct object *done; /* the object it has come to; a reference */
    bool dead;           /* cancelled, or its object was refused */
};

/* A session with its insert open, held by the table and by the caller. NULL: too many, or no
 * memory. */
struct session *session_new(struct sessions *sessions);
/* A reference, or NULL. */
struct session *session_find(struct sessions *sessions, const char *id);
void session_release(struct session *session);
/* Out of the table: later calls find nothing. */
void session_remove(struct sessions *sessions, struct session *session);

/* From now on only the request with the number returned adds bytes; what others have added but not
 * got kept is gone. Lock held. */
uint64_t session_take_over(struct sessions *sessions, struct session *session);
/* Add bytes, keeping whole granules. Lock held. -1: out of memory. */
int session_add(struct session *session, const char *bytes, size_t len);
/* Keep the tail too: it is the end of the object. Lock held. */
void session_keep_tail(struct session *session);

#endif
