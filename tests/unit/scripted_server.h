/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * scripted_server: a thread with a listening loopback socket that answers each request with the
 * next step of a script, byte for byte, and notes what it was sent. One connection at a time.
 */
#ifndef WINCH_SCRIPTED_SERVER_H
#define WINCH_SCRIPTED_SERVER_H

#include "base/base.h"

enum { SCRIPTED_REQUESTS_MAX = 64, SCRIPTED_HEAD_MAX = 16 * 1024, SCRIPTED_BODY_MAX = 16 * 1024 };

enum scripted_reading {
    SCRIPTED_READ_ALL,  /* head and body, then answer */
    SCRIPTED_READ_HEAD, /* answer after the head, take the body's bytes unread */
    SCRIPTED_READ_SOME, /* as before, and 64 KiB of the body */
};

enum scripted_end {
    SCRIPTED_KEEP,  /* wait for the next request on this connection */
    SCRIPTED_CLOSE, /* close: a reset if bytes of the body were not read */
    SCRIPTED_DRAIN, /* stop sending, read until the client closes, then close */
    SCRIPTED_HANG,  /* leave it open and unread until the server is freed; serve the next one */
};

struct scripted_step {
    enum scripted_reading reading;
    unsigned delay_ms; /* before the answer */
    const char *reply; /* raw bytes; NULL: none */
    const char *rest;  /* more of them after pause_ms; NULL: none */
    unsigned pause_ms;
    enum scripted_end end;
};

struct scripted_request {
    unsigned connection; /* 1 = the first one accepted */
    char head[SCRIPTED_HEAD_MAX];
    size_t body_bytes;            /* read */
    uint32_t body_crc32c;         /* of those */
    char body[SCRIPTED_BODY_MAX]; /* the first of them, NUL-terminated */
    uint64_t at_ms;               /* monotonic, when its head was there */
};

struct scripted_server;

/* `steps` must outlive the server. When they are used up, connections are closed unanswered. */
struct scripted_server *scripted_server_start(const struct scripted_step *steps, size_t count);
unsigned scripted_server_port(const struct scripted_server *server);
/* "http://127.0.0.1:PORT" + path; valid until the next call. */
const char *scripted_server_url(struct scripted_server *server, const char *path);
/* Ends the thread; what was noted can be looked at afterwards. */
void scripted_server_stop(struct scripted_server *server);
size_t scripted_server_count(const struct scripted_server *server);
const struct scripted_request *scripted_server_request(const struct scripted_server *server,
                                                       size_t index);
void scripted_server_free(struct scripted_server *server); /* stops it too */

#endif
