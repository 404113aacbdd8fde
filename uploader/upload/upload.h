/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * upload: bytes in, proven objects out; never asks where the bytes come from. Three ways: small (in
 * memory, checksum sent along), whole (one streamed request, checksum compared with the reply) and
 * composite (parts from many workers, composed as a tree). Whatever way: an object is reported as
 * done only when the crc32c of the bytes read equals the crc32c that the server states for the
 * final object. Lost replies are resolved by looking. docs/uploads.md explains the rules.
 */
#ifndef WINCH_UPLOAD_H
#define WINCH_UPLOAD_H

#include "base/base.h"
#include "gcs/gcs.h"

/* A part never exceeds this; smaller streams than the whole limit are not split. */
#define UPLOAD_SMALL_MAX (1U << 20)
#define UPLOAD_WHOLE_MAX (64ULL << 20)
#define UPLOAD_PART_MIN (32ULL << 20)
#define UPLOAD_PART_MAX (1ULL << 30)

enum upload_if_exists {
    UPLOAD_IF_EXISTS_FAIL,    /* other content: the entry fails as "conflict" */
    UPLOAD_IF_EXISTS_SKIP,    /* other content: left alone; the entry fails as "conflict" too, but
                                 its content is not read to compare */
    UPLOAD_IF_EXISTS_REPLACE, /* replaced, guarded by the generation seen */
};

/* ---- bandwidth: the bodies of all workers together ------------------------------------------ */

#define UPLOAD_RATE_ROWS_MAX 64
struct upload_rate_row {
    int weekday;               /* 0 = Sunday … 6; -1: every day */
    int minute;                /* of the day, local time, from which on the row holds */
    uint64_t bytes_per_second; /* 0: no limit */
};
struct upload_timetable {
    struct upload_rate_row rows[UPLOAD_RATE_ROWS_MAX];
    size_t count;
};
/* The limit that holds then: of the row that began last, round the week. 0: none. */
uint64_t upload_timetable_at(const struct upload_timetable *table, int weekday, int minute);

struct upload_settings {
    struct gcs_settings gcs;   /* http.on_try is set by the engine */
    unsigned connections;      /* workers that may be inside a request at once */
    const char *storage_class; /* of all that is written; or NULL */
    const char *kms_key;       /* the same; or NULL */
    const struct upload_timetable *bandwidth; /* borrowed; NULL: no limit */
    bool has_ramp; /* writes a second begin at 1,000: for a bucket of Cloud Storage itself */
    enum upload_if_exists if_exists;
    unsigned rights; /* gcs_right bits; from gcs_test_rights, or all when unknown */
    /* Runs whose objects may be replaced (unfinished runs of the same source in an older state),
     * as the metadata key winch-run names them. Borrowed. */
    const char *const *superseded_runs;
    size_t superseded_run_count;
    /* A composite node (a part or a composed group) is safely in the bucket and proven; called on
     * a worker's thread before its sources are deleted. For the journal. May be NULL. */
    void (*on_node)(void *self, uint64_t cookie, unsigned level, uint32_t index,
                    uint64_t generation, uint32_t crc32c);
    void *on_node_self;
};

/* Counters since the start, all monotonic. Times are summed over workers. */
struct upload_counters {
    uint64_t requests; /* tries, whatever became of them */
    uint64_t retries;
    uint64_t bytes_acknowledged; /* media bytes that the server confirmed */
    uint64_t bytes_sent;
    uint64_t read_ns;        /* inside source reads */
    uint64_t request_ns;     /* inside requests, reads taken off */
    uint64_t window_wait_ns; /* waiting for a place in the window */
    uint64_t ramp_wait_ns;   /* waiting for the ramp of requests */
    unsigned window;         /* places now */
    uint64_t parts_left;     /* composed parts that the server refused to delete for good */
    unsigned throttled;      /* how often a 429 or 503 shrank the window */
    /* What workers are at now. */
    unsigned in_requests, in_window, in_ramp, in_bandwidth;
    /* The last try that brought no answer, or one that is tried again. */
    bool has_failed;
    int failed_status; /* 0: no reply */
    uint64_t failed_ago_ms;
};

/* Shared by all workers; every function on it is thread-safe. */
struct upload_engine;
struct upload_engine *upload_engine_new(const struct upload_settings *settings, struct error *err);
void upload_engine_free(struct upload_engine *engine);
void upload_engine_counters(struct upload_engine *engine, struct upload_counters *ret_counters);

/* One worker's own: a connection. Thread: the one that made it. */
struct uploader;
struct uploader *uploader_new(struct upload_engine *engine, struct error *err);
void uploader_free(struct uploader *uploader);
struct gcs_client *uploader_client(struct uploader *uploader); /* for plain calls; borrowed */

/* What the bucket holds under `prefix` ("" = all), read once and kept by name, so that equal
 * objects are not sent again. Skips names under `skip_prefix` (may be NULL). Returns the number of
 * objects; GCS_DENIED (no list right) leaves the engine without a listing, which is no error.
 * Memory: 48 bytes an object. */
enum gcs_answer upload_list_existing(struct uploader *uploader, const char *prefix,
                                     const char *skip_prefix, uint64_t *ret_count,
                                     struct error *err) WARN_UNUSED;

struct upload_object {
    const char *name;
    const char *content_type;  /* NULL: application/octet-stream */
    const char *metadata_json; /* or NULL; includes winch-run */
    const char *cache_control; /* or NULL */
    const char *custom_time;   /* RFC 3339, or NULL */
};

/* Positional reads of exactly the stream's bytes. `read` returns between 1 and `len` bytes for an
 * offset below size_bytes, or -1. `self` belongs to the calling worker. */
struct upload_source {
    uint64_t size_bytes;
    ssize_t (*read)(void *self, uint64_t offset, void *buf, size_t len, struct error *err);
    void *self;
};

struct upload_result {
    uint64_t generation;
    uint64_t size_bytes;
    uint32_t crc32c;      /* of the bytes read, equal to the server's */
    bool already_present; /* equal object found, nothing sent for it now */
    bool replaced;
};

/* Bytes in memory, at most UPLOAD_SMALL_MAX. With a listing: an equal object is not sent again.
 * Both: 0, or -1 with err FAIL_ENTRY "conflict", "present-unverified" (exists, and no right to
 * look), "upload-refused", RETRY, STOP_RUN, CANCELLED, or the source's own error. */
int upload_small(struct uploader *uploader, const struct upload_object *object, const void *bytes,
                 size_t len, struct upload_result *ret_result, struct error *err) WARN_UNUSED;

/* One streamed request of any size up to GCS_OBJECT_MAX; crc32c of what was read against the reply;
 * on a difference that generation is deleted and the stream read and sent again, three times in
 * all. */
int upload_whole(struct uploader *uploader, const struct upload_object *object,
                 const struct upload_source *source, struct upload_result *ret_result,
                 struct error *err) WARN_UNUSED;

/* Control objects of the run (segments, manifest, run.json): like upload_small without the size
 * limit, but another content is replaced by generation whatever if_exists says. */
int upload_control(struct uploader *uploader, const struct upload_object *object, const void *bytes,
                   size_t len, struct upload_result *ret_result, struct error *err) WARN_UNUSED;

/* ---- composite ---------------------------------------------------------------------------- */

/* A stream on its way as parts. Level 0 nodes are parts; a node of level n+1 is composed of up to
 * 32 nodes of level n; the one node of the top level is the object itself. Names are deterministic:
 * parts_prefix + OFFSET-LENGTH, with .cN appended for level N. Thread-safe. */
struct upload_composite;

/* Default part size: size/1024 within UPLOAD_PART_MIN … UPLOAD_PART_MAX, multiple of 1 MiB. */
uint64_t upload_part_size(uint64_t size_bytes);

/* Strings are copied. `cookie` comes back in on_node. */
struct upload_composite *upload_composite_new(struct upload_engine *engine,
                                              const struct upload_object *object,
                                              uint64_t size_bytes, uint64_t part_size,
                                              const char *parts_prefix, uint64_t cookie,
                                              struct error *err);
void upload_composite_free(struct upload_composite *composite);

/* Zeros need not travel again and again: `is_zero` says for a range of the stream that it holds
 * nothing else without a look at the bytes (a hole). Parts that others can stand for are then not
 * handed out; a server that takes no source twice in a compose gets them after all. Call before the
 * hints, a survey and the first claim. Returns the bytes of such parts. */
uint64_t upload_composite_zeros(struct upload_composite *composite,
                                bool (*is_zero)(void *self, uint64_t offset, uint64_t length),
                                void *self);

/* What a journal knows of an earlier session; call before the first claim. Only a hint: the node is
 * used when the server still has that generation. */
void upload_composite_hint(struct upload_composite *composite, unsigned level, uint32_t index,
                           uint64_t generation, uint32_t crc32c);

/* Look what an earlier session left (destination, nodes at every level) by listing, or by single
 * looks where listing is not allowed. Nodes whose checksum a hint knows are done; of others the
 * bytes are read again when their parts are claimed and compared instead of sent. Leftover sources
 * of nodes that exist are deleted. Call once, before the first claim, for a resumed stream. */
int upload_composite_survey(struct uploader *uploader, struct upload_composite *composite,
                            struct error *err) WARN_UNUSED;

/* The next part nobody has claimed; false when none is left (or the composite failed). */
bool upload_composite_claim(struct upload_composite *composite, uint32_t *ret_index);

enum upload_progress {
    UPLOAD_GOING_ON, /* other parts are outstanding */
    UPLOAD_COMPLETE, /* this call finished the object: ret_result is filled, parts are deleted */
    UPLOAD_FAILED, /* this call was the last outstanding one of a failed composite: err is the first
                      failure's; parts were removed as far as the rights allow, except after
                      RETRY, STOP_RUN and CANCELLED, where they stay for the resume */
};

/* Send (or prove) one claimed part, then compose what became complete, upwards. `source` is the
 * calling worker's. Errors are reported through UPLOAD_FAILED exactly once per composite; another
 * worker's call on a failed composite returns UPLOAD_GOING_ON. */
enum upload_progress upload_composite_part(struct uploader *uploader,
                                           struct upload_composite *composite, uint32_t index,
                                           const struct upload_source *source,
                                           struct upload_result *ret_result,
                                           struct error *err) WARN_UNUSED;

/* Delete every object under `prefix` (parts of a run, segments). Returns the number deleted, and in
 * ret_left the number that could not be. GCS_DENIED: no right to list. */
enum gcs_answer upload_remove_all(struct uploader *uploader, const char *prefix,
                                  uint64_t *ret_deleted, uint64_t *ret_left,
                                  struct error *err) WARN_UNUSED;

#endif
