/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Private to http: the client, one call (http_send) and one try of it, and where a URL points.
 * Files: http.c is the public surface, http_send.c the retry policy, http_try.c one try with its
 * deadlines, http_callbacks.c what libcurl calls, http_early.c an answer in a closing socket.
 */
#ifndef WINCH_HTTP_INTERNAL_H
#define WINCH_HTTP_INTERNAL_H

#include <curl/curl.h>

#include "base/base.h"
#include "http/http.h"

enum {
    HTTP_HEADERS_MAX = 64,
    HTTP_HEADER_TEXT_MAX = 128 * 1024, /* all request headers together */
    HTTP_AUTHORIZATION_MAX = 16 * 1024,
    HTTP_SOCKETS_MAX = 8, /* connections kept, and those just being tried */
    HTTP_CONNECTIONS_KEPT = 4,
    HTTP_TICK_MS = 100, /* how often a waiting client looks at cancel and deadlines */

    /* libcurl sends a body below 64 KiB together with the headers, when it has it in memory. */
    HTTP_FLAT_BODY_MAX = 64 * 1024 - 1,
    /* Above a megabyte the large buffer saves system calls; 64 of them are 32 MiB. */
    HTTP_UPLOAD_BUFFER_SMALL = 64 * 1024,
    HTTP_UPLOAD_BUFFER_LARGE = 512 * 1024,
    HTTP_UPLOAD_LARGE_FROM = 256 * 1024,
    HTTP_RECEIVE_BUFFER_SMALL = 16 * 1024,
    HTTP_RECEIVE_BUFFER_SINK = 256 * 1024,
    HTTP_EARLY_ANSWER_MAX = 64 * 1024,
};

/* The numbers of docs/uploads.md, "Retries and deadlines". Tests shorten them. */
struct http_timing {
    uint64_t backoff_first_ms;
    uint64_t backoff_max_ms;
    uint64_t retry_after_max_ms;
    uint64_t connect_ms;
    uint64_t stall_ms;
    uint64_t stall_bytes; /* fewer than these within stall_ms are a stall */
    uint64_t reply_ms;
    uint64_t give_up_ms;
};

/* Where a URL points; the strings lie within the URL. */
struct http_origin {
    bool https;
    bool loopback;
    const char *host; /* without port and brackets */
    size_t host_len;
    const char *shown; /* host, port and path, without query */
    size_t shown_len;
};

/* -1: not a plain http or https URL. Stricter than libcurl's own parser on purpose, so that both
 * see the same host: no user part, nothing outside of A-Z a-z 0-9 . - _ : [ ]. */
int http_url_split(const char *url, struct http_origin *ret_origin) WARN_UNUSED;

enum http_outcome {
    HTTP_ANSWERED,   /* a whole reply, or an error status that ended the sending early */
    HTTP_UNANSWERED, /* try again; attempt.cause says why */
    HTTP_FAILED,     /* attempt.error is the error of the whole call */
};

/* One try. Reset before each. */
struct http_attempt {
    struct error error;
    bool failed;
    char cause[CURL_ERROR_SIZE + 64]; /* why there is no reply; no tokens, no query */
    unsigned sends;                   /* more than one: libcurl sent again on a new connection */
    int status;                       /* of the last status line, 0 before it */
    bool headers_done;
    bool cut_by_limit; /* an error reply longer than reply_limit, kept in part */
    bool oversize;     /* the same of a 2xx reply */
    bool reading_done; /* the body source has given all its bytes */
    uint64_t body_given_bytes;
    uint64_t body_read_ns; /* spent inside body->read */
    uint64_t sent_bytes;
    uint64_t retry_after_ms;
    uint64_t started_ms;
    uint64_t activity_ms;        /* last byte received, or the request sent whole */
    uint64_t checked_ms;         /* last look at the sockets */
    uint64_t moved_bytes;        /* body bytes the other side's kernel has */
    uint64_t window_started_ms;  /* of the current stall window, reading time subtracted */
    uint64_t window_moved_bytes; /* moved_bytes at its start */
    bool body_left;              /* the other side has it all: waiting for the reply */
    struct text early;           /* what lay in a socket that libcurl closed */
};

/* One http_send(). */
struct http_call {
    const struct http_request *request;
    struct http_origin origin;
    const void *flat; /* the body, when it is small enough to lie in memory */
    size_t body_bytes;
    bool streamed; /* the body comes through body->read during the try */
    char token[37];
    uint64_t started_ms;
    uint64_t trouble_ms;     /* give_up_ms counts from here: note_progress() */
    uint64_t furthest_bytes; /* of the body, by the try that trouble_ms stands for */
    unsigned tries;
    bool unanswered;
    bool token_missing; /* the credentials cannot be had now, but were before */
    bool refresh;       /* ask for new credentials before the next try */
    unsigned refusals;  /* of the credentials */
    bool authorized;
};

struct http_client {
    struct http_settings settings;
    struct http_timing timing;
    CURL *easy;
    CURLM *multi;
    int sockets[HTTP_SOCKETS_MAX]; /* open ones of this client, -1: free */
    char curl_error[CURL_ERROR_SIZE];

    /* What the easy handle was told last, so that only differences are set. */
    char method[16];
    bool posting;
    bool proxy_off;
    long upload_buffer;
    long receive_buffer;
    long connect_ms;

    struct text header_text; /* request headers, each NUL-terminated; nodes point into it */
    struct curl_slist header_nodes[HTTP_HEADERS_MAX];
    char authorization[HTTP_AUTHORIZATION_MAX];
    bool was_answered; /* by any server, in any way */
    bool was_served;   /* a request with these credentials was answered otherwise than by 401 */
    bool had_token;  /* the credentials worked once: without them now, the network is at fault */
    void *flat_body; /* HTTP_FLAT_BODY_MAX bytes, allocated on first use */

    struct text reply_text;
    char location[2048];
    char range[64];
    char kept[HTTP_KEEP_MAX][HTTP_KEEP_BYTES];

    const struct http_call *call;
    struct http_attempt attempt;
};

/* http_memory_body()'s read function; its bytes can be sent without copying. */
ssize_t http_memory_read(void *self, void *buf, size_t len, struct error *err);

/* Send once. `client->attempt` then says what happened; 0 in attempt.status: no reply. */
enum http_outcome http_try_once(struct http_client *client, const struct http_call *call);

/* Fill client->header_nodes. Errors: STOP_RUN for a header that cannot be sent. */
int http_headers_build(struct http_client *client, const struct http_call *call,
                       struct error *err) WARN_UNUSED;

/* `cause`, of a socket or file that could not be opened, is a limit of the process or the machine?
 * Then the call fails at once: it would be met again by every try. */
bool http_note_descriptors(struct http_client *client, int cause);

/* Tries it out. */
bool http_none_can_be_opened(struct http_client *client);

/* Register the callbacks that never change. */
CURLcode http_callbacks_set(struct http_client *client);
/* One line of the reply's head, or a piece of its body: as libcurl delivers them. */
size_t http_on_header(char *line, size_t size, size_t count, void *self);
size_t http_on_reply(char *bytes, size_t size, size_t count, void *self);

/* libcurl gave up sending: did the server answer before it closed? Fills the attempt as if the
 * reply had come the usual way; false: no. */
bool http_early_answer(struct http_client *client);
/* A socket is about to be closed: keep what can still be read from it. */
void http_early_collect(struct http_client *client, int fd);

#endif
