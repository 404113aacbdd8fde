/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What the files of gcs share: the client, one exchange with the server, the classification of
 * answers and the reading of object resources.
 */
#ifndef WINCH_GCS_INTERNAL_H
#define WINCH_GCS_INTERNAL_H

#include "gcs/gcs.h"
#include <cjson/cJSON.h>

/* A URL holds the endpoint, the bucket, two encoded names and a page token. */
#define GCS_URL_LIMIT (32U << 10)
/* 32 source names of 1,024 bytes, each byte up to six when escaped, and 8 KiB of metadata. */
#define GCS_BODY_LIMIT (512U << 10)
/* 1,000 items with the largest names and metadata, escaped. */
#define GCS_LIST_REPLY_LIMIT (64U << 20)
#define GCS_LIST_PAGE 1000

#define GCS_INSERT_TIMEOUT_MS 60000U
#define GCS_COMPOSE_TIMEOUT_MS 300000U

/* Members asked for of an object. The custom metadata comes whole, because its keys contain
 * characters that a partial-response selector may not. */
#define GCS_FIELDS_WRITTEN "generation,size,crc32c"
#define GCS_FIELDS_OBJECT "generation,size,crc32c,componentCount,metadata"

enum gcs_call {
    GCS_CALL_INSERT = 1,
    GCS_CALL_COMPOSE = 2,
    GCS_CALL_DELETE = 4,
    GCS_CALL_GET = 8,
    GCS_CALL_READ = 16,
    GCS_CALL_LIST = 32,
    GCS_CALL_BUCKET = 64,
    GCS_CALL_RIGHTS = 128,
};

struct gcs_client {
    struct gcs_settings settings;
    struct http_client *http;
    struct text url;  /* of the call under way */
    struct text body; /* of the call under way: JSON, or the head of a multipart body */
    char related_type[96];
    char related_tail[64];
    const char *boundary; /* inside related_type */
    bool earlier_try_unanswered;
};

/* One call: what is sent and what it is about. The URL is client->url. */
struct gcs_exchange {
    enum gcs_call call;
    const char *method;
    const char *name; /* object, or NULL when the bucket is meant */
    const struct http_header *headers;
    size_t header_count;
    struct http_body *body;
    uint32_t reply_timeout_ms;
    size_t reply_limit;
    int (*sink)(void *self, const void *bytes, size_t len, struct error *err);
    void (*sink_restart)(void *self);
    void *sink_self;
};

/* Send; GCS_DONE for a 2xx, everything else classified with `err` filled. The reply is the caller's
 * to clear in either case. */
enum gcs_answer gcs_exchange_run(struct gcs_client *client, const struct gcs_exchange *exchange,
                                 struct http_reply *ret_reply, struct error *err) WARN_UNUSED;

/* Begin client->url with "ENDPOINT/ROOT/b/BUCKET" and then `path`, and add `name` encoded when it
 * is not NULL. Queries follow by gcs_url_query, the first with '?', and the billing project by
 * gcs_url_end, which also reports a URL that could not be built. */
void gcs_url_begin(struct gcs_client *client, const char *root, const char *path, const char *name);
void gcs_url_query(struct gcs_client *client, const char *key, const char *value);
void gcs_url_query_u64(struct gcs_client *client, const char *key, uint64_t value);
int gcs_url_end(struct gcs_client *client, struct error *err) WARN_UNUSED;

/* ---- answer.c ---- */

/* What a status that is not 2xx means for `call` on gs://BUCKET/NAME. */
enum gcs_answer gcs_answer_classify(enum gcs_call call, const char *bucket, const char *name,
                                    int status, const struct text *body, struct error *err);
/* For http_request.judge: a 403 that states a rate limit is tried again. */
enum http_verdict gcs_answer_judge(int status, const struct text *body);
/* "insert gs://BUCKET/NAME", shown-escaped. */
void gcs_answer_describe(enum gcs_call call, const char *bucket, const char *name, char *out,
                         size_t len);

/* ---- object.c ---- */

/* Read an object resource; -1 unless it is one whole JSON object with a generation and a size. */
int gcs_object_scan(const char *json, size_t len, struct gcs_object *ret_object) WARN_UNUSED;
/* The same of an item of a listing, where numbers stand as strings, or as JSON numbers below 2^53.
 * NULL, or the name of the member that is missing or not a number. */
const char *gcs_object_from_json(const cJSON *item, struct gcs_object *ret_object) WARN_UNUSED;

/* ---- list.c ---- */

/* cJSON_ParseWithLength(), which does not tell broken text from lack of memory; this does: then
 * `err` is filled, else its kind stays ERROR_NONE. */
cJSON *gcs_json_parse(const char *json, size_t len, struct error *err) WARN_UNUSED;

/* Hand the items of one page to the listing. Returns 0 with the next page's token ("" at the
 * end), or -1: RETRY when it is no listing, STOP_RUN when it is one that cannot be used. `json` is
 * changed: an escaped NUL in it becomes U+FFFF, which no name of ours has. */
int gcs_list_page(char *json, size_t len, const struct gcs_listing *listing, struct text *ret_token,
                  struct error *err) WARN_UNUSED;

/* ---- bucket.c ---- */

/* -1: RETRY when the reply is something else, STOP_RUN without memory. */
int gcs_bucket_scan(const char *json, size_t len, struct gcs_bucket *ret_bucket,
                    struct error *err) WARN_UNUSED;
int gcs_rights_scan(const char *json, size_t len, unsigned *ret_rights,
                    struct error *err) WARN_UNUSED;

/* ---- compose.c, insert.c ---- */

/* After a 2xx whose body could not be read: is anything there? What stands under the name may be
 * somebody else's (a proxy answered, and nothing was written), so that it is never taken for this
 * write's result: GCS_EXISTS, as after a lost reply, or GCS_ERROR. */
enum gcs_answer gcs_look_after_write(struct gcs_client *client, enum gcs_call call,
                                     const struct gcs_write *write, struct error *err) WARN_UNUSED;
/* Add to a URL that has a query already what every write says there: precondition and key. */
void gcs_url_write(struct gcs_client *client, const struct gcs_write *write);
/* Append the members of the object resource that `write` states. */
void gcs_write_members(struct text *text, const struct gcs_write *write);

#endif
