/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * request: one HTTP request on its way through the fake: its target, split before it is unescaped;
 * its query; the operation that serves it; its reply. One thread at a time works on it.
 */
#ifndef FAKE_REQUEST_H
#define FAKE_REQUEST_H

#include "gunzip.h"
#include "rights.h"
#include "server.h"

#define REQUEST_MAX_SEGMENTS 12
#define REQUEST_MAX_PARAMS 64
/* Bodies that are JSON or XML, and metadata parts. */
#define REQUEST_MAX_SMALL_BODY ((size_t)4 << 20)

struct request;

/* What serves one kind of request. All run on the request's thread. */
struct operation {
    /* The headers are there. May answer already (request->response); then the body is discarded
     * and `finish` is not called. */
    void (*begin)(struct request *request);
    /* A piece of the body. NULL: the body is collected in request->body. */
    void (*take)(struct request *request, const char *bytes, size_t len);
    /* Do it and answer. */
    void (*finish)(struct request *request);
    /* Release request->state. NULL: nothing to release. */
    void (*clear)(struct request *request);
};

enum stage {
    STAGE_HEADERS,
    STAGE_BODY,
    STAGE_READY, /* all is there; nothing is done yet */
    STAGE_EXECUTE,
    STAGE_EXECUTED,
    STAGE_REPLY,
};

struct param {
    const char *name;
    const char *value;
};

struct request {
    struct server *server;
    struct MHD_Connection *connection;
    const char *method;
    char *target; /* as it came */
    char *split;  /* the same bytes, split and unescaped; holds what follows */
    const char *segments[REQUEST_MAX_SEGMENTS];
    size_t segment_count;
    struct param params[REQUEST_MAX_PARAMS];
    size_t param_count;
    bool malformed; /* %00, or more pieces than any request of ours has */
    bool storage;   /* to the storage API, as opposed to /_fake, token and metadata */
    bool xml;       /* /BUCKET/OBJECT: errors are XML */
    const char *bucket;
    const char *object; /* NULL while not known */

    const struct operation *operation;
    void *state;           /* the operation's */
    struct text body;      /* where the operation takes no pieces */
    struct gunzip *gunzip; /* of a body that comes compressed; NULL: it does not */
    uint64_t body_bytes;
    enum stage stage;

    struct fault_hit fault;
    bool named_faults_done;
    bool hold_after; /* a hold waits for the executed request */
    bool stalled;    /* the stall of the fault is over */
    bool gone;       /* the client left while the request was held */
    struct MHD_Response *response;
    struct text *copy; /* of the text of the response; NULL: none is wanted */
    unsigned status;
};

/* Takes over nothing; the target is copied. NULL: out of memory. */
struct request *request_new(struct server *server, struct MHD_Connection *connection,
                            const char *target);
void request_free(struct request *request);

/* The value of a query parameter; NULL when absent. */
const char *request_param(const struct request *request, const char *name);
bool request_param_is(const struct request *request, const char *name, const char *value);
const char *request_header(const struct request *request, const char *name);
/* A decimal parameter: 0 with `ret_given` false when absent; -1 after having answered 400. */
int request_number(struct request *request, const char *name, bool *ret_given, uint64_t *ret);

/* ifGenerationMatch and siblings from the query, with `infix` "" or "Source" after "if". -1 after
 * having answered. */
int request_conditions(struct request *request, const char *infix, struct conditions *ret);
/* The same from x-goog-if-… headers. */
int request_header_conditions(struct request *request, struct conditions *ret);

/* Answers 403 and returns -1 unless the caller has the right. */
int request_need_right(struct request *request, enum right right);
/* Answers 404 or 400 and returns -1 unless the bucket can exist. */
int request_need_bucket(struct request *request);
/* Answers 400 and returns -1 unless request->object is a name that Cloud Storage takes. */
int request_need_name(struct request *request);

/* "http://host:port", as the client sees the server. */
void request_add_origin(const struct request *request, struct text *out);

/* The JSON object of a body of `len` bytes; an empty body counts as {}. Answers 400 and returns
 * NULL when it is none. Delete with cJSON_Delete(). */
cJSON *request_parse_json(struct request *request, const char *bytes, size_t len);

#endif
