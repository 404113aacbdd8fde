/* SPDX-License-Identifier: GPL-3.0-or-later */
/* run: the order of things. Cheap checks first, nothing written before the source is understood,
 * the commit mark last. */
#include "run/context.h"

#include <string.h>

#include "run/choose.h"
#include "run/count.h"
#include "run/finish.h"
#include "run/identity.h"
#include "run/journal.h"
#include "run/ledger.h"
#include "run/monitor.h"
#include "run/recheck.h"
#include "run/segments.h"
#include "run/state.h"
#include "run/worker.h"

/* Control names are PREFIX/.winch/parts/RUN/RECORD-SEQUENCE-STREAM/OFFSET-LENGTH.cN at their
 * longest. */
#define PREFIX_MAX 512

/* ---- journal --------------------------------------------------------------------------------- */

static void journal_broke(void *self, const struct error *err)
{
    run_stop(self, err);
}

struct loading {
    struct run *run;
    uint64_t segmented_utc_ms;
    uint64_t *late; /* tasks done after the last segment: they go into the next one */
    size_t count, cap;
};

static void loaded_task(void *self, uint64_t task, uint64_t done_utc_ms)
{
    struct loading *loading = self;
    struct run *run = loading->run;
    uint64_t local = 0;
    const struct run_volume *volume = run_volume_of(run, task, &local);
    run->objects_done++;
    run->bytes_done += plan_get_task(volume->plan, local)->size_bytes;
    if (done_utc_ms + 1000 < loading->segmented_utc_ms ||
        ledger_row(run->ledger, task)->state != LEDGER_UPLOADED) {
        return;
    }
    if (loading->count == loading->cap) {
        size_t cap = loading->cap == 0 ? 1024 : loading->cap * 2;
        uint64_t *late = realloc(loading->late, cap * sizeof(*late));
        if (late == NULL) {
            return; /* they are missing from the segments, and found by comparison */
        }
        loading->late = late;
        loading->cap = cap;
    }
    loading->late[loading->count++] = task;
}

/* `*value` stays when the journal has no such number. */
static int number_of(struct journal *journal, const char *key, uint64_t *value, struct error *err)
{
    CLEANUP_FREE char *text = NULL;
    uint64_t number = 0;
    if (journal_get(journal, key, &text, err) != 0) {
        return -1;
    }
    *value = text != NULL && parse_u64(text, &number) == 0 ? number : *value;
    return 0;
}

/* A journal of another plan would put results to the wrong tasks: it is emptied, and all is proven
 * again by comparing, which takes the right to look. Other rights (parts or not) or another version
 * plan otherwise. */
static int check_plan(struct run *run, struct error *err)
{
    char checksum[RUN_VOLUME_MAX * 9 + 1] = "";
    for (size_t i = 0; i < run->volume_count; i++) {
        (void)snprintf(checksum + 9 * i, sizeof(checksum) - 9 * i, "%08x.",
                       plan_checksum(run->volumes[i].plan));
    }
    CLEANUP_FREE char *old = NULL;
    if (journal_get(run->journal, "plan", &old, err) != 0) {
        return -1;
    }
    if (old != NULL && strcmp(old, checksum) == 0) {
        return 0;
    }
    if (old != NULL && !run_has(run, GCS_RIGHT_GET)) {
        return error_stop(err, EXIT_STATUS_RIGHTS,
                          "run %s was planned otherwise (other rights or another version?). Grant "
                          "storage.objects.get, or remove its state folder to begin a new run: "
                          "%s/runs/%s",
                          run->identity.run, state_folder(run->state), run->identity.run);
    }
    if (old != NULL) {
        run_message(run, true,
                    "Run %s was planned otherwise (other rights or another version): all of it is "
                    "compared with the bucket again.",
                    run->identity.run);
        if (journal_forget(run->journal, err) != 0) {
            return -1;
        }
    }
    return journal_set(run->journal, "plan", checksum, err);
}

static int open_books(struct run *run, struct loading *loading, uint64_t *ret_segment,
                      struct error *err)
{
    CLEANUP_TEXT struct text path = TEXT_INIT(4096);
    run->ledger = ledger_new(run->task_count, state_folder(run->state), err);
    if (run->ledger == NULL || state_enter_run(run->state, &run->identity, err) != 0) {
        return -1;
    }
    state_run_path(run->state, "journal.sqlite", &path);
    if (path.failed) {
        return error_memory(err, "the journal's path");
    }
    run->journal = journal_open(path.data, err);
    if (run->journal == NULL || check_plan(run, err) != 0) {
        return -1;
    }
    *ret_segment = 1;
    loading->segmented_utc_ms = 0;
    if (number_of(run->journal, "segment", ret_segment, err) != 0 ||
        number_of(run->journal, "segmented", &loading->segmented_utc_ms, err) != 0) {
        return -1;
    }
    if (journal_load(run->journal, run->ledger, run->task_count, loaded_task, loading, err) != 0) {
        return -1;
    }
    return journal_start(run->journal, journal_broke, run, err);
}

/* ---- phases ---------------------------------------------------------------------------------- */

static int list_existing(struct run *run, struct error *err)
{
    if (!run_has(run, GCS_RIGHT_LIST)) {
        return 0;
    }
    CLEANUP_TEXT struct text prefix = TEXT_INIT(GCS_NAME_MAX * 2);
    CLEANUP_TEXT struct text skip = TEXT_INIT(GCS_NAME_MAX * 2);
    const char *slash = run->url.prefix[0] != '\0' ? "/" : "";
    text_printf(&prefix, "%s%s", run->url.prefix, slash);
    text_printf(&skip, "%s%s.winch/parts/", run->url.prefix, slash);
    if (prefix.failed || skip.failed) {
        return error_memory(err, "a prefix of names");
    }
    uint64_t count = 0;
    enum gcs_answer answer =
        upload_list_existing(run->uploader, text_str(&prefix), skip.data, &count, err);
    if (answer != GCS_DONE && answer != GCS_DENIED) {
        return -1;
    }
    return 0;
}

static int upload_all(struct run *run, struct error *err)
{
    struct loading loading = {.run = run};
    uint64_t segment = 1;
    int result = open_books(run, &loading, &segment, err);
    if (result == 0) {
        result = destination_start(run, err);
    }
    if (result == 0 && run->rebuilt) {
        result = segments_rebuild(run, &segment, err);
    }
    if (result == 0) {
        run_phase(run, "upload", 0);
        result = recheck_uploaded(run, err) != 0 ? -1 : list_existing(run, err);
    }
    struct work *work = result == 0 && !run->halt ? work_new(run, err) : NULL;
    if (work != NULL) {
        struct error segment_error = {0};
        run->segments = segments_start(run, segment, &segment_error);
        if (segment_error.kind != ERROR_NONE) {
            *err = segment_error;
            result = -1;
        }
        for (size_t i = 0; i < loading.count; i++) {
            segments_note(run->segments, loading.late[i]);
        }
        result = result == 0 ? workers_run(run, work, err) : result;
        segments_stop(run->segments);
        run->segments = NULL;
    }
    work_free(work);
    free(loading.late);
    return work != NULL ? result : -1;
}

static int check_url(struct run *run, struct error *err)
{
    if (gcs_url_parse(run->settings->destination, &run->url, err) != 0) {
        return -1;
    }
    if (strlen(run->url.prefix) > PREFIX_MAX) {
        return error_stop(err, EXIT_STATUS_USAGE,
                          "%s: the prefix is longer than %d bytes, which leaves no room for names",
                          run->settings->destination, PREFIX_MAX);
    }
    (void)snprintf(run->summary->destination, sizeof(run->summary->destination), "gs://%s/%s",
                   run->url.bucket, run->url.prefix);
    return 0;
}

static int dry_run(struct run *run, struct error *err)
{
    identity_new_run(&run->identity);
    if (source_open(run, err) != 0 || source_scan(run, err) != 0 || source_plan(run, err) != 0) {
        return -1;
    }
    run->ledger = ledger_new(run->task_count, "/tmp", err);
    if (run->ledger == NULL) {
        return -1;
    }
    run->identity.run[0] = '\0';
    return count_entries(run, err);
}

/* Everything before the first write. Whoever asks for a stop meanwhile is heard between two steps;
 * the reason is recorded then, and err is left empty. */
static int prepare(struct run *run, struct error *err)
{
    run->state = state_open(run->settings->state_folder, err);
    if (run->state == NULL || source_open(run, err) != 0 ||
        state_lock_destination(run->state, run->summary->destination, err) != 0 || run->halt ||
        destination_open(run, err) != 0 || run->halt || source_scan(run, err) != 0 || run->halt ||
        identity_compute(run, err) != 0 || choose_run(run, err) != 0 || run->halt) {
        return -1;
    }
    return source_plan(run, err);
}

/* A run that leaves a task undecided must not drop what it knows. */
static int check_decided(const struct run *run, struct error *err)
{
    if (run->tasks_undecided == 0) {
        return 0;
    }
    return error_stop(err, EXIT_STATUS_INTERNAL,
                      "%llu streams were neither uploaded nor failed: the run is not finished; "
                      "the same command resumes",
                      (unsigned long long)run->tasks_undecided);
}

static int migrate(struct run *run, struct error *err)
{
    if (check_url(run, err) != 0) {
        return -1;
    }
    if (run->settings->dry_run) {
        return dry_run(run, err);
    }
    if (prepare(run, err) != 0) {
        return -1;
    }
    (void)snprintf(run->summary->run, sizeof(run->summary->run), "%s", run->identity.run);
    run->summary->resumed = run->resumed;
    int result = upload_all(run, err);
    struct error journal_failure = {0};
    if (run->journal != NULL && journal_stop(run->journal, &journal_failure) != 0 && result == 0) {
        *err = journal_failure;
        result = -1;
    }
    if (result != 0 || run->halt) {
        return result;
    }
    struct error count_failure = {0};
    if (count_entries(run, &count_failure) != 0 || check_decided(run, &count_failure) != 0) {
        *err = count_failure;
        return -1;
    }
    return finish_run(run, err);
}

/* ---- ends ------------------------------------------------------------------------------------ */

/* What only concerns an entry has no exit code of its own when it ends the run. */
static enum exit_status exit_of(const struct error *err)
{
    if (err->kind == ERROR_CANCELLED) {
        return EXIT_STATUS_INTERRUPTED;
    }
    if (err->kind == ERROR_FAIL_ENTRY) {
        bool source = err->reason != NULL && strcmp(err->reason, REASON_BAD_SECTOR) == 0;
        return source ? EXIT_STATUS_SOURCE : EXIT_STATUS_FAILED;
    }
    return err->exit_status != EXIT_STATUS_CLEAN ? err->exit_status : EXIT_STATUS_FAILED;
}

/* A stop that comes when the commit mark is written already has stopped nothing. */
static enum exit_status judge(const struct run *run)
{
    const struct run_summary *summary = run->summary;
    if (!summary->committed && run->error.kind != ERROR_NONE) {
        return exit_of(&run->error);
    }
    if (!run->settings->dry_run && (!summary->committed || !summary->counts_agree)) {
        return EXIT_STATUS_INTERNAL;
    }
    bool clean = summary->failed <= summary->accepted && summary->parts_left == 0 &&
                 summary->partitions_not_taken == 0 && summary->paths_not_found == 0 &&
                 !run->descriptors_lost;
    return clean ? EXIT_STATUS_CLEAN : EXIT_STATUS_NOT_CLEAN;
}

static void close_all(struct run *run)
{
    journal_close(run->journal);
    ledger_free(run->ledger);
    source_close(run);
    destination_close(run);
    if (run->state != NULL && run->summary->committed) {
        state_leave_run(run->state);
    }
    state_close(run->state);
    (void)pthread_mutex_destroy(&run->error_lock);
}

static void fill_counters(struct run *run)
{
    struct upload_counters counters = {0};
    if (run->engine != NULL) {
        upload_engine_counters(run->engine, &counters);
    }
    run->summary->requests = counters.requests;
    run->summary->retries = counters.retries;
    run->summary->elapsed_ms = clock_monotonic_ms() - run->started_ms;
}

enum exit_status run_migrate(const struct run_settings *settings, struct run_summary *ret_summary)
{
    CLEANUP_FREE struct run *run = calloc(1, sizeof(*run));
    struct error err = {0};
    memset(ret_summary, 0, sizeof(*ret_summary));
    if (run == NULL) {
        (void)error_memory(&err, "the run");
        memcpy(ret_summary->error, err.message, sizeof(err.message));
        return ret_summary->exit_status = err.exit_status;
    }
    run->settings = settings;
    run->summary = ret_summary;
    run->started_ms = clock_monotonic_ms();
    ret_summary->consistency = "clean";
    (void)snprintf(ret_summary->source, sizeof(ret_summary->source), "%s", settings->source);
    (void)snprintf(ret_summary->destination, sizeof(ret_summary->destination), "%s",
                   settings->destination);
    (void)pthread_mutex_init(&run->error_lock, NULL); /* default attributes cannot fail on Linux */
    run_phase(run, "scan", 0);
    struct monitor *monitor = http_global_init(&err) == 0 ? monitor_start(run, &err) : NULL;
    if (monitor == NULL || migrate(run, &err) != 0) {
        run_stop(run, &err);
    }
    run_phase(run, "done", 0);
    monitor_stop(monitor);
    /* A run that stopped early still says how far it came. */
    if (!ret_summary->committed && !settings->dry_run && run->ledger != NULL &&
        ret_summary->records_in_use == 0 && count_entries(run, &err) != 0) {
        run_message(run, true, "The counts so far could not be made: %s", err.message);
    }
    fill_counters(run);
    ret_summary->exit_status = judge(run);
    if (run->error.kind != ERROR_NONE && !ret_summary->committed) {
        (void)snprintf(ret_summary->error, sizeof(ret_summary->error), "%s", run->error.message);
    }
    close_all(run);
    return ret_summary->exit_status;
}

void run_summary_clear(struct run_summary *summary)
{
    for (size_t i = 0; i < summary->warning_count; i++) {
        free(summary->warnings[i]);
        summary->warnings[i] = NULL;
    }
    summary->warning_count = 0;
}
