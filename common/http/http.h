/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * http: one request, answered or failed, with deadlines and retries. Knows nothing of buckets.
 * Body bytes come from a body source, so that a request can be sent again without anybody having
 * kept them. Back end on Linux: libcurl, one easy handle per client, HTTP/1.1, keep-alive.
 */
#ifndef WINCH_HTTP_H
#define WINCH_HTTP_H

#include "base/base.h"

/* Call once, before any thread starts. */
int http_global_init(struct error *err) WARN_UNUSED;

/* Where the bytes of a request body come from. Called on the thread that called http_send() and
 * on no other. */
struct http_body {
    uint64_t size_bytes; /* exact; sent as Content-Length */

    /* Copy at most `len` of the next bytes to `buf`. Returns the count, 0 at the end, or -1 with
     * `err` set: a failed read of the source ends the request with that error, never with a
     * short body. */
    ssize_t (*read)(void *self, void *buf, size_t len, struct error *err);

    /* Back to the first byte, and whatever was computed over the bytes (a checksum) back to its
     * start. libcurl calls this by itself when a reused connection turns out to be dead. */
    int (*rewind)(void *self, struct error *err);

    void *self; /* borrowed for the duration of http_send() */
};

/* A body in memory: fill `bytes` and `len`, then http_memory_body(). Borrowed. */
struct http_memory {
    const void *bytes;
    size_t len;
    size_t position;
};
struct http_body http_memory_body(struct http_memory *memory);

/* Gives the value of the Authorization header ("Bearer …") into `buf`. `refresh`: the server
 * refused the last one (401), get a new one; `buf` then holds the refused value, so that many
 * clients refused at once need one new token only. An empty string means: send none. Must be safe
 * to call from every client's thread. An error ends the request; but a RETRY error, once this
 * client has had a token, is waited out like a missing reply. */
struct http_credentials {
    int (*authorization)(void *self, bool refresh, char *buf, size_t len, struct error *err);
    void *self;
};

/* What became of one try, for whoever steers concurrency and statistics. Called on the client's
 * thread after each try. status 0: no reply (connection, TLS, stall, timeout). */
struct http_try {
    int status;
    unsigned number;  /* 1 = first try of this request */
    unsigned resends; /* times that libcurl sent it again by itself within this try */
    uint64_t elapsed_ms;
    uint64_t sent_bytes; /* of the body */
};

struct http_settings {
    const char *user_agent;
    const char *ca_file;        /* NULL: the system's */
    bool no_proxy;              /* true for the metadata server */
    const _Atomic bool *cancel; /* raised: every wait ends within 200 ms; may be NULL */
    /* No further try starts later than this; 0 = 1 hour. Counted from the call's beginning, or
     * from the end of a try that brought clearly more of the body across than those before. */
    uint64_t give_up_ms;
    uint64_t backoff_first_ms;           /* 0 = 1,000; the longest backoff is 32 times as much */
    struct http_credentials credentials; /* authorization NULL: none */
    void (*on_try)(void *self, const struct http_try *try_made); /* may be NULL */
    void *on_try_self;
};

struct http_header {
    const char *name;
    const char *value;
};

enum http_verdict { HTTP_FINAL, HTTP_RETRY };

enum { HTTP_KEEP_MAX = 4, HTTP_KEEP_BYTES = 256 };

struct http_request {
    const char *method; /* "GET", "POST", "PUT", "DELETE" */
    const char *url;
    const struct http_header *headers;
    size_t header_count;
    struct http_body *body;    /* NULL: none (Content-Length: 0 for POST and PUT) */
    bool authorize;            /* ask settings.credentials */
    uint32_t reply_timeout_ms; /* wait for the reply after the last body byte; 0 = 60,000. A value
                                * below 20,000 also limits connecting. */
    unsigned max_tries;        /* 0: as many as give_up_ms allows */
    size_t reply_limit;        /* longest reply kept in memory; 0 = 1 MiB. A longer 2xx reply is a
                                * RETRY error at once; of other statuses the rest is dropped. */

    /* When set, bytes of a 2xx reply go here instead of into reply->body. -1 ends the request
     * with that error. `restart` is called before a further try, to forget what came so far. */
    int (*sink)(void *self, const void *bytes, size_t len, struct error *err);
    void (*sink_restart)(void *self);
    void *sink_self;

    /* May turn a 4xx that the table calls final into a retry (a 403 that states a rate limit).
     * NULL: none. */
    enum http_verdict (*judge)(int status, const struct text *body);

    /* Names of further reply headers whose values are wanted ("ETag"); NULL: none. */
    const char *keep[HTTP_KEEP_MAX];
};

struct http_reply {
    int status;
    struct text body;    /* at most reply_limit bytes; may be HTML, empty or cut: never trust */
    char location[2048]; /* Location header or "" */
    char range[64];      /* Range header or "" */
    unsigned tries;
    /* An earlier try of this request was sent whole or in part and got no reply, or a 408 or 5xx
     * that says no more than that: its effect may have taken place all the same. Also set when
     * libcurl sent the request again by itself because a kept connection was dead. Look before
     * calling a 412 or 404 a failure. */
    bool earlier_try_unanswered;
    /* Values of request->keep in that order, cut to fit; "" = not in the reply. */
    char kept[HTTP_KEEP_MAX][HTTP_KEEP_BYTES];
};
void http_reply_clear(struct http_reply *reply);

/* One client per thread; it owns one connection (a few while redirecting hosts). Settings are
 * copied shallowly: strings and pointers in them must outlive the client. NULL: out of memory. */
struct http_client *http_client_new(const struct http_settings *settings,
                                    struct error *err) WARN_UNUSED;
void http_client_free(struct http_client *client); /* accepts NULL */

/* May a secret be sent to this URL? Yes over https, and over http to this machine itself
 * (127.0.0.0/8, ::1, localhost). False also for what is no http or https URL. */
bool http_url_is_safe(const char *url);

/* Send `request` and wait for the reply. Redirects are not followed: a 3xx is final. To a loopback
 * address no proxy is used. One idempotency token
 * (x-goog-gcs-idempotency-token: UUID) is made per call and kept across its tries.
 *
 * Tries again, with full-jitter backoff (1 s, doubled, at most 32 s; Retry-After is honoured up to
 * 120 s), after: no reply, 408, 429, 500, 502, 503, 504, and what `judge` turns into a retry. A 401
 * refreshes the credentials once; where they had served this client before, three times, with
 * backoff from the second on. A try is cut when body bytes move slower than 1 KiB/s over 30 s, time
 * spent inside body->read not counted; when connecting takes over 20 s; or when the reply does not
 * start within reply_timeout_ms after the last body byte, or pauses that long. A try under way is
 * not cut by give_up_ms. A status of 300 or more that comes before the body was sent whole ends the
 * try and counts. A reply cut in the middle is no reply.
 *
 * Returns 0 and fills `ret_reply` (release with http_reply_clear()) for any status that is final,
 * also 4xx; -1 with err->kind
 *   ERROR_RETRY      no final answer within give_up_ms or max_tries; the message names host and
 *                    cause
 *   ERROR_STOP_RUN   exit 4: TLS trust (names the CA file option), bad URL, the last 401, an
 *                    Authorization header for a URL that is not safe (http_url_is_safe)
 *   ERROR_CANCELLED  settings.cancel was raised
 *   as body->read or sink set it.
 * Thread: the client's own. Source of the numbers: docs/uploads.md, "Retries and deadlines". */
int http_send(struct http_client *client, const struct http_request *request,
              struct http_reply *ret_reply, struct error *err) WARN_UNUSED;

#endif
