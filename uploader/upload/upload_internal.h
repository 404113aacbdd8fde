/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What the files of upload share: the engine, a worker's uploader, the calls that wait for a place
 * in the window, the range of a source as a body, and the one place that decides about objects
 * that exist.
 */
#ifndef WINCH_UPLOAD_INTERNAL_H
#define WINCH_UPLOAD_INTERNAL_H

#include "upload/upload.h"
#include <pthread.h>
#include <stdatomic.h>

/* How often one object is sent when checksums differ; then memory or source is at fault. */
#define UPLOAD_SENDS_MAX 3
/* How often a name may turn out to be taken or free again before the entry is put off. */
#define UPLOAD_ROUNDS_MAX 8
/* Bytes read at once where nothing is sent. */
#define UPLOAD_SCRATCH_BYTES (256U << 10)

/* ---- window.c: how many workers may be inside a request ---- */

struct upload_window {
    pthread_mutex_t lock;
    pthread_cond_t freed;
    /* All under lock. */
    unsigned maximum;
    unsigned places;
    unsigned used;
    unsigned successes; /* since the last place was added */
    unsigned throttled;
    bool was_halved;
    uint64_t halved_ms;
};

int upload_window_open(struct upload_window *window, unsigned maximum,
                       struct error *err) WARN_UNUSED;
void upload_window_close(struct upload_window *window);
/* Waits for a place; returns the nanoseconds waited. -1: cancelled. */
int upload_window_enter(struct upload_window *window, const _Atomic bool *cancel,
                        uint64_t *ret_waited_ns, struct error *err) WARN_UNUSED;
void upload_window_leave(struct upload_window *window);
void upload_window_note_success(struct upload_window *window);
void upload_window_note_throttle(struct upload_window *window, uint64_t now_ms);

/* ---- rate.c: the bandwidth limit ---- */

struct upload_rate {
    const struct upload_timetable *table; /* NULL: no limit, ever */
    pthread_mutex_t lock;
    /* All under lock; times are clock_monotonic_ns(). */
    uint64_t bytes_per_second; /* now; 0: no limit */
    uint64_t next_ns;          /* when the next slice may go */
    uint64_t looked_ns;        /* at the table */
    bool has_looked;
    _Atomic unsigned waiting; /* workers, now */
};
int upload_rate_open(struct upload_rate *rate, const struct upload_timetable *table,
                     struct error *err) WARN_UNUSED;
void upload_rate_close(struct upload_rate *rate);
/* The one decision, without lock and clock: nanoseconds to wait, or 0 and how many bytes may go. */
uint64_t upload_rate_grant(struct upload_rate *rate, uint64_t now_ns, size_t want,
                           size_t *ret_granted);
/* Wait until some of `want` bytes may go: at least one. -1: cancelled. */
int upload_rate_take(struct upload_rate *rate, size_t want, const _Atomic bool *cancel,
                     size_t *ret_granted, struct error *err) WARN_UNUSED;
/* `inner` at that rate; both must outlive the body. */
struct upload_limited_body {
    struct upload_rate *rate;
    const _Atomic bool *cancel;
    struct http_body *inner;
};
struct http_body upload_limited_body(struct upload_limited_body *limited);

/* ---- ramp.c: writes a second ---- */

struct upload_ramp {
    bool is_on;
    pthread_mutex_t lock;
    /* All under lock; times are clock_monotonic_ns(). */
    double allowed;   /* requests a second */
    uint64_t next_ns; /* when the next one may go */
    uint64_t period_ns;
    uint64_t granted, refused; /* since then */
    double calm;               /* requests a second, reached without refusals */
    bool is_cut;               /* the server has asked for less: `base` at `base_ns` */
    double base;
    uint64_t base_ns;
};
int upload_ramp_open(struct upload_ramp *ramp, bool is_on, struct error *err) WARN_UNUSED;
void upload_ramp_close(struct upload_ramp *ramp);
/* The one decision, without lock and clock: nanoseconds to wait, or 0: go. */
uint64_t upload_ramp_grant(struct upload_ramp *ramp, uint64_t now_ns);
void upload_ramp_note_refused(struct upload_ramp *ramp);
/* Wait for one write. -1: cancelled. */
int upload_ramp_wait(struct upload_ramp *ramp, const _Atomic bool *cancel, uint64_t *ret_waited_ns,
                     struct error *err) WARN_UNUSED;

/* ---- existing.c: what the bucket held when it was listed ---- */

/* What is known of an object that stands in the bucket. */
struct upload_seen {
    uint64_t generation;
    uint64_t size_bytes;
    uint32_t crc32c;
    uint32_t run_mark; /* upload_run_mark() of its winch-run */
    bool has_crc32c;
    bool is_superseded;
};

struct upload_existing;
struct upload_existing *upload_existing_new(void);
void upload_existing_free(struct upload_existing *existing);
int upload_existing_add(struct upload_existing *existing, const char *name,
                        const struct upload_seen *seen) WARN_UNUSED;
bool upload_existing_find(const struct upload_existing *existing, const char *name,
                          struct upload_seen *ret_seen);
/* 29 bits that stand for a run; 0 for "". */
uint32_t upload_run_mark(const char *run);

/* ---- engine.c ---- */

/* Does the server delete the sources of a compose when it is asked to? */
enum upload_source_deletion {
    UPLOAD_DELETION_UNPROVEN, /* asked for; the first compose shows it */
    UPLOAD_DELETION_DONE,
    UPLOAD_DELETION_IGNORED,
};

struct upload_engine {
    struct upload_settings settings;
    _Atomic int source_deletion; /* enum upload_source_deletion */
    struct upload_window window;
    struct upload_rate rate;
    struct upload_ramp ramp;
    _Atomic(struct upload_existing *) existing; /* set once, then only read */
    _Atomic uint64_t requests;
    _Atomic uint64_t retries;
    _Atomic uint64_t bytes_acknowledged;
    _Atomic uint64_t bytes_sent;
    _Atomic uint64_t read_ns;
    _Atomic uint64_t request_ns;
    _Atomic uint64_t window_wait_ns;
    _Atomic uint64_t ramp_wait_ns;
    _Atomic uint64_t parts_left;
    _Atomic unsigned in_window, in_ramp; /* workers that wait there now */
    _Atomic uint64_t failed_ms;          /* clock_monotonic_ms() of the last failed try; 0: none */
    _Atomic int failed_status;
};

struct uploader {
    struct upload_engine *engine;
    struct gcs_client *client;
    uint64_t read_ns; /* inside source reads, since the uploader was made */
    uint8_t *scratch; /* UPLOAD_SCRATCH_BYTES, made when first needed */
};

bool upload_is_cancelled(const struct upload_engine *engine);
static inline void upload_count(_Atomic uint64_t *counter, uint64_t value)
{
    atomic_fetch_add_explicit(counter, value, memory_order_relaxed);
}

/* ---- request.c: gcs calls inside the window ---- */

enum gcs_answer upload_call_insert(struct uploader *uploader, const struct gcs_write *write,
                                   bool is_media, struct http_body *body,
                                   struct gcs_object *ret_object, struct error *err) WARN_UNUSED;
enum gcs_answer upload_call_compose(struct uploader *uploader, const struct gcs_write *write,
                                    const struct gcs_source *sources, size_t count,
                                    bool delete_sources, struct gcs_object *ret_object,
                                    struct error *err) WARN_UNUSED;
enum gcs_answer upload_call_get(struct uploader *uploader, const char *name,
                                struct gcs_object *ret_object, struct error *err) WARN_UNUSED;
enum gcs_answer upload_call_delete(struct uploader *uploader, const char *name, uint64_t generation,
                                   struct error *err) WARN_UNUSED;
enum gcs_answer upload_call_list(struct uploader *uploader, const struct gcs_listing *listing,
                                 struct error *err) WARN_UNUSED;
/* Make sure that this generation is gone. -1 when it is not: STOP_RUN, exit 4 for a missing right.
 */
int upload_delete_exactly(struct uploader *uploader, const char *name, uint64_t generation,
                          struct error *err) WARN_UNUSED;
/* Is the object just written what was read? Looks once when the reply lacked the checksum; an
 * object without one fails the entry, because nothing proves it. */
int upload_compare_written(struct uploader *uploader, const char *name, uint64_t size_bytes,
                           uint32_t crc32c, struct gcs_object *object, bool *ret_equal,
                           struct error *err) WARN_UNUSED;

/* ---- range.c: bytes of a source as a request body ---- */

struct upload_range {
    struct uploader *uploader;
    const struct upload_source *source;
    uint64_t offset; /* of the first byte in the source */
    uint64_t size_bytes;
    uint64_t position; /* bytes given so far */
    uint32_t crc32c;   /* over them */
};
struct http_body upload_range_body(struct upload_range *range);
/* Reads the whole range, sending nothing. Afterwards range->crc32c covers all of it. */
int upload_range_measure(struct upload_range *range, struct error *err) WARN_UNUSED;

/* ---- resolve.c: what to do about an object that exists ---- */

enum upload_resolution {
    UPLOAD_EQUAL,   /* same content: done */
    UPLOAD_REPLACE, /* write again, guarded by ret_seen->generation */
    UPLOAD_GONE,    /* nothing there now: write again, guarded by 0 */
    UPLOAD_UNREAD,  /* same size, and wanted->range is NULL: somebody has to read */
    UPLOAD_NO,      /* `err` says why not */
};

/* What should stand under a name. */
struct upload_wanted {
    const struct upload_object *object;
    uint64_t size_bytes;
    bool has_crc32c;
    uint32_t crc32c;
    struct upload_range *range;  /* read to learn the checksum when has_crc32c is false; or NULL */
    bool replace_always;         /* control objects */
    bool maybe_ours;             /* an earlier try got no reply */
    uint64_t refused_generation; /* that the refused write was guarded with */
};

enum upload_resolution upload_resolve_seen(struct uploader *uploader, struct upload_wanted *wanted,
                                           const struct upload_seen *seen,
                                           struct error *err) WARN_UNUSED;
/* Look first. `ret_seen` is filled for UPLOAD_EQUAL and UPLOAD_REPLACE. */
enum upload_resolution upload_resolve_look(struct uploader *uploader, struct upload_wanted *wanted,
                                           struct upload_seen *ret_seen,
                                           struct error *err) WARN_UNUSED;
/* The two halves, for callers that have no uploader at hand. */
struct upload_seen upload_seen_from(const struct upload_engine *engine,
                                    const struct gcs_object *object);
bool upload_may_replace(const struct upload_engine *engine, const struct upload_seen *seen);
bool upload_is_own(const struct upload_object *object, const struct upload_seen *seen);
int upload_conflict(const struct upload_engine *engine, const char *name,
                    const struct upload_seen *seen, struct error *err);

#endif
