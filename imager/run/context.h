/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What the pieces of one run share. Filled phase by phase by migrate.c; constant while workers run,
 * except what is marked.
 */
#ifndef WINCH_RUN_CONTEXT_H
#define WINCH_RUN_CONTEXT_H

#include <pthread.h>

#include "run/run.h"
#include "auth/auth.h"

struct ledger;
struct journal;
struct segments;
struct state;

struct run_volume {
    struct disk_partition partition;
    char id[16];
    char folder[256];
    struct volume *volume;
    struct catalog *catalog;
    struct plan *plan;
    uint64_t first_task; /* number in the run of the plan's task 0 */
    /* Tasks of each entry, in task order: entry_tasks[entry_first[e] … entry_first[e+1]-1]. */
    uint32_t *entry_first;
    uint32_t *entry_tasks;
};

#define RUN_ID_MAX 40

/* Who this run is: docs/manifest.md, "Run identity". */
struct identity {
    char run[RUN_ID_MAX];
    char destination[1300];
    char fingerprint[65];              /* SHA-256 over the states of all volumes taken, hex */
    char options[65];                  /* SHA-256 over the options that change content, hex */
    char serials[RUN_VOLUME_MAX * 18]; /* volume serials, comma separated: is it the same source? */
    uint64_t begun_utc_ns;
};

#define RUN_SUPERSEDED_MAX 32
#define RUN_OBJECT_BYTES 65536 /* sending this much weighs as much as one object */

struct run {
    const struct run_settings *settings;
    struct run_summary *summary;
    uint64_t started_ms;

    struct disk *_Atomic disk; /* the monitor looks while it appears */
    struct disk_layout layout;
    struct run_volume volumes[RUN_VOLUME_MAX];
    size_t volume_count;
    _Atomic uint64_t task_count;
    _Atomic uint64_t byte_count; /* of all tasks but those */
    _Atomic uint64_t tasks_left; /* spare ones that nothing needs so far: stores.h */

    struct gcs_url url;
    struct gcs_endpoint endpoint;
    struct auth *auth;
    struct gcs_settings gcs;
    unsigned rights;
    bool rights_known;
    bool bucket_known;
    struct gcs_bucket bucket;
    struct upload_engine *_Atomic engine;
    struct uploader *uploader; /* the main thread's */

    struct identity identity;
    struct state *state;
    bool resumed;
    bool rebuilt;          /* resumed without a state folder: the journal comes from the segments */
    bool descriptors_lost; /* security descriptors of a volume could not be read */
    char superseded[RUN_SUPERSEDED_MAX][RUN_ID_MAX];
    const char *superseded_list[RUN_SUPERSEDED_MAX];
    size_t superseded_count;

    struct ledger *ledger;
    struct journal *journal;
    struct segments *segments; /* NULL: none are written */
    uint64_t tasks_undecided;  /* by the last count: open tasks; a run with one is not finished */

    /* Written by workers and the monitor. */
    _Atomic bool halt; /* no new work: a stop was asked, or an error ended the run */
    _Atomic uint64_t objects_done, bytes_done, streams_failed;
    const char *_Atomic phase;
    _Atomic uint64_t phase_done, phase_total, phase_started_ms;
    pthread_mutex_t error_lock;
    struct error error; /* the first that stops the run; under error_lock */
};

/* Record `err` as what stops the run (the first one wins) and let workers wind up. */
void run_stop(struct run *run, const struct error *err);
void run_phase(struct run *run, const char *phase, uint64_t total);
void run_message(const struct run *run, bool warning, const char *fmt, ...) PRINTF_LIKE(3, 4);
/* A message that the report repeats. */
void run_warn(struct run *run, const char *fmt, ...) PRINTF_LIKE(2, 3);

static inline bool run_has(const struct run *run, unsigned rights)
{
    return (run->rights & rights) == rights;
}

/* The volume that owns a task of the run, and the task's number in its plan. */
struct run_volume *run_volume_of(struct run *run, uint64_t task, uint64_t *ret_number);

/* "PREFIX/.winch/runs/RUN/" + tail, or without RUN when `run_id` is NULL. */
void run_control_name(const struct run *run, const char *run_id, const char *tail,
                      struct text *text);

/* source.c: open the disk, choose volumes, scan them into catalogs. */
int source_open(struct run *run, struct error *err) WARN_UNUSED;
int source_scan(struct run *run, struct error *err) WARN_UNUSED;
int source_plan(struct run *run, struct error *err) WARN_UNUSED;
void source_close(struct run *run);

/* destination.c: endpoint, credentials, bucket, rights; later the engine. */
int destination_open(struct run *run, struct error *err) WARN_UNUSED;
int destination_start(struct run *run, struct error *err) WARN_UNUSED;
void destination_close(struct run *run);
bool destination_composites(struct run *run);

#endif
