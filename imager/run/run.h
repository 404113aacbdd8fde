/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * run: one execution over one state of one source, resumable: workers, journal, segments, manifest,
 * the count. Joins all other folders. Prints nothing; the program shows what it is told here.
 */
#ifndef WINCH_RUN_H
#define WINCH_RUN_H

#include "base/base.h"
#include "disk/disk.h"
#include "plan/plan.h"
#include "upload/upload.h"

enum run_volume_names { RUN_NAMES_AUTO, RUN_NAMES_LETTER, RUN_NAMES_LABEL, RUN_NAMES_NUMBER };

struct run_progress;

/* Everything a migration is told. Strings and arrays are borrowed until run_migrate() returns. */
struct run_settings {
    const char *source;      /* block device or raw image file */
    const char *destination; /* gs://BUCKET[/PREFIX] */
    const char *command;     /* the command line, for run.json; holds no secret */

    const char *const *volumes; /* numbers or labels, or "all"; none: all NTFS data volumes */
    size_t volume_count;
    enum run_volume_names volume_names;

    enum plan_streams streams;
    enum plan_dedup dedup;
    enum plan_hard_links hard_links;
    bool efs_raw;
    bool default_excludes;
    const char *const *includes;
    size_t include_count;
    const char *const *excludes;
    size_t exclude_count;
    struct plan_paths *paths; /* of --files-from, or NULL; not together with includes */
    uint64_t min_size_bytes, max_size_bytes;

    bool dry_run; /* plan only; touches neither bucket nor state folder */
    enum upload_if_exists if_exists;
    unsigned connections;      /* 1 … 256 */
    uint64_t part_size_bytes;  /* 0: by size of the stream */
    const char *storage_class; /* or NULL */
    const char *kms_key;       /* gcs_kms_key_is_legal(), or NULL */
    const char *cache_control; /* of the objects of files; or NULL */
    const char *metadata;      /* as plan_settings.metadata; or NULL */
    bool custom_time;          /* objects of files state the time of their last change */
    const struct upload_timetable *bandwidth; /* or NULL */
    const char *billing_project;
    const char *ca_file;
    const char *const *accepted_reasons; /* --accept: counted as accepted, not exit 3 */
    size_t accepted_reason_count;

    const char *state_folder; /* --state-dir; NULL: environment, then the default */
    const char *run_id;       /* demand exactly that run; or NULL */
    uint64_t give_up_ms;      /* how long one request is tried */
    uint64_t max_duration_ms; /* 0: none; else stop as on a signal, exit 75 */

    /* Raised by a signal handler. `stop`: take no new work, finish what is in flight, at most 10 s.
     * `cancel`: end every wait at once (run_migrate raises it itself after the 10 s). */
    _Atomic bool *stop;
    _Atomic bool *cancel;

    /* Called about four times a second from one thread of the run, and once at the end of each
     * phase. May be NULL. */
    void (*on_progress)(void *self, const struct run_progress *progress);
    /* A sentence for the user while the run goes on (resuming run …, warnings). May be NULL. */
    void (*on_message)(void *self, bool warning, const char *message);
    void *self;
};

enum run_limit {
    RUN_LIMIT_DISK,
    RUN_LIMIT_CPU,
    RUN_LIMIT_NETWORK,
    RUN_LIMIT_RAMP,
    RUN_LIMIT_SERVER
};
const char *run_limit_name(enum run_limit limit); /* "disk", "cpu", … */

struct run_progress {
    const char *phase;   /* "scan", "plan", "upload", "manifest", "done" */
    uint64_t elapsed_ms; /* of the whole command */
    uint64_t phase_ms;
    uint64_t done, total;            /* scan: records; manifest: entries */
    uint64_t objects, objects_total; /* streams acknowledged or already there */
    uint64_t bytes, bytes_total;     /* acknowledged by the server or already there, never sent */
    uint64_t rate;                   /* bytes a second, over the last 10 s */
    uint64_t eta_seconds;            /* UINT64_MAX: not known */
    enum run_limit limited_by;
    uint64_t retries;
    uint64_t failed;     /* streams */
    uint64_t stalled_ms; /* disk read that blocks now, 0 if none */
};

#define RUN_REASON_MAX 24
#define RUN_VOLUME_MAX 64
#define RUN_WARNING_MAX 32

struct run_reason_count {
    const char *reason;
    uint64_t count;
};

struct run_volume_summary {
    char id[16];      /* "p2", or "volume" for a bare one */
    char folder[256]; /* below the prefix, or "" */
    char label[256];
    char serial[32];
    uint64_t size_bytes;
    bool dirty, hibernated, log_clean, log_cached, mirror_differs;
};

/* What the closing report and --json say. Counts are entries (records) unless their name says else.
 */
struct run_summary {
    char run[40]; /* "" when none was begun */
    char source[512];
    char destination[1300];
    char report_object[1300]; /* gs://…/run.json, or "" */
    uint64_t records_in_use, extension, uploaded, directories, links, excluded, failed, accepted;
    struct run_reason_count reasons[RUN_REASON_MAX]; /* of failed and accepted */
    size_t reason_count;
    uint64_t streams_uploaded, streams_failed, names, bytes, already_present, replaced;
    uint64_t inline_streams, orphans, renamed;
    uint64_t requests, retries, objects_total, bytes_total;
    uint64_t parts_left;
    uint64_t paths_not_found;      /* of the list: on none of the volumes */
    uint64_t partitions_not_taken; /* no NTFS, though they may hold data; nobody chose volumes */
    uint64_t elapsed_ms;
    enum run_limit limited_by;
    const char *consistency; /* "clean", "crash" */
    bool resumed;
    bool committed; /* run.json is written */
    bool counts_agree;
    struct run_volume_summary volumes[RUN_VOLUME_MAX];
    size_t volume_count;
    char *warnings[RUN_WARNING_MAX]; /* owned */
    size_t warning_count;
    struct plan_totals planned; /* all volumes together, for --dry-run */
    enum exit_status exit_status;
    char error[1200]; /* why the run stopped, or "" */
};
void run_summary_clear(struct run_summary *summary);

/* Do it. Always fills `ret_summary` as far as things went; returns its exit_status. One call at a
 * time in a process. Exit codes: design in docs/user-guide.md. */
enum exit_status run_migrate(const struct run_settings *settings, struct run_summary *ret_summary);

#endif
