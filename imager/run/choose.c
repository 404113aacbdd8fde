/* SPDX-License-Identifier: GPL-3.0-or-later */
/* choose: which run to continue. The state folder is asked first, then the bucket. */
#include "run/choose.h"

#include <string.h>

#include "run/identity.h"
#include "run/segments.h"
#include "run/state.h"

#define BUCKET_RUNS_MAX 64 /* newest runs looked at; older unfinished ones are for cleanup */

struct search {
    struct run *run;
    struct gcs_client *client;
    bool found;
    struct identity match;
    struct identity demanded; /* the run that --run-id names, if met */
    bool demanded_met, demanded_finished;
    char (*folders)[RUN_ID_MAX];
    size_t folder_count;
};

enum commit { COMMIT_THERE, COMMIT_MISSING, COMMIT_UNKNOWN };

/* Is the commit mark there? Without the right to look nobody knows. A look that fails is no answer:
 * what a finished run wrote must not be taken for something that may be replaced. */
static int look_for_commit(struct search *search, const char *run_id, enum commit *ret_commit,
                           struct error *err)
{
    *ret_commit = COMMIT_UNKNOWN;
    if (!run_has(search->run, GCS_RIGHT_GET)) {
        return 0;
    }
    CLEANUP_TEXT struct text name = TEXT_INIT(GCS_NAME_MAX * 2);
    struct gcs_object object;
    struct error answer_error = {0};
    run_control_name(search->run, run_id, "run.json", &name);
    if (name.failed) {
        return error_memory(err, "the name of run.json");
    }
    enum gcs_answer answer = gcs_get(search->client, name.data, &object, &answer_error);
    if (answer != GCS_DONE && answer != GCS_NOT_FOUND && answer != GCS_DENIED) {
        *err = answer_error;
        return -1;
    }
    if (answer != GCS_DENIED) {
        *ret_commit = answer == GCS_DONE ? COMMIT_THERE : COMMIT_MISSING;
    }
    return 0;
}

static bool already_superseded(const struct run *run, const char *run_id)
{
    for (size_t i = 0; i < run->superseded_count; i++) {
        if (strcmp(run->superseded[i], run_id) == 0) {
            return true;
        }
    }
    return false;
}

static void supersede(struct run *run, const struct identity *other)
{
    if (run->superseded_count < RUN_SUPERSEDED_MAX && !already_superseded(run, other->run)) {
        memcpy(run->superseded[run->superseded_count], other->run, RUN_ID_MAX);
        run->superseded_count++;
        run_message(
            run, true,
            "Run %s of this source was not finished, and the source has changed since: it is "
            "left behind, and what it wrote may be replaced.",
            other->run);
    }
}

static int consider(struct search *search, const struct identity *other, struct error *err)
{
    struct run *run = search->run;
    const char *demanded = run->settings->run_id;
    bool is_demanded = demanded != NULL && strcmp(demanded, other->run) == 0;
    enum identity_relation relation = identity_compare(&run->identity, other);
    if (relation == IDENTITY_OTHER && !is_demanded) {
        return 0;
    }
    enum commit commit = COMMIT_UNKNOWN;
    if (look_for_commit(search, other->run, &commit, err) != 0) {
        return -1;
    }
    if (is_demanded) {
        search->demanded = *other;
        search->demanded_met = true;
        search->demanded_finished = commit == COMMIT_THERE;
    }
    if (commit == COMMIT_THERE) {
        if (relation != IDENTITY_OTHER) {
            /* Nothing to resume. */
            state_remove_run(run->state, other->run);
        }
        return 0;
    }
    if (relation == IDENTITY_SUPERSEDED && commit == COMMIT_MISSING) {
        supersede(run, other);
    } else if (relation == IDENTITY_SAME && !search->found && (demanded == NULL || is_demanded)) {
        search->found = true;
        search->match = *other;
    }
    return 0;
}

static int consider_local(void *self, const struct identity *identity, struct error *err)
{
    return consider(self, identity, err);
}

static int remember_folder(void *self, const char *name, struct error *err)
{
    struct search *search = self;
    size_t len = strlen(name);
    char run_id[RUN_ID_MAX];
    const size_t id_len = 25; /* 20261129T220312Z-7f3a9c01 */
    if (len < id_len + 1 || name[len - 1] != '/') {
        return 0;
    }
    (void)snprintf(run_id, sizeof(run_id), "%.25s", name + len - 1 - id_len);
    if (!identity_run_is_legal(run_id)) {
        return 0;
    }
    /* Names come in ascending order, which is the order of time: keep the newest. */
    if (search->folder_count == BUCKET_RUNS_MAX) {
        memmove(search->folders[0], search->folders[1], (BUCKET_RUNS_MAX - 1) * RUN_ID_MAX);
        search->folder_count--;
    }
    (void)err; /* nothing here fails */
    memcpy(search->folders[search->folder_count++], run_id, RUN_ID_MAX);
    return 0;
}

static int ignore_object(void *self, const char *name, const struct gcs_object *object,
                         struct error *err)
{
    (void)self;
    (void)name;
    (void)object;
    (void)err; /* only folders matter here */
    return 0;
}

/* What does not read as a segment 0 is no run that could be continued. */
static int consider_remote(struct search *search, const char *run_id, struct error *err)
{
    CLEANUP_TEXT struct text name = TEXT_INIT(GCS_NAME_MAX * 2);
    CLEANUP_TEXT struct text json = TEXT_INIT(1 << 20);
    bool readable = false;
    struct identity identity;
    run_control_name(search->run, run_id, "segments/00000.jsonl.gz", &name);
    if (name.failed) {
        return error_memory(err, "a segment's name");
    }
    if (segments_read(search->client, name.data, 1 << 20, &json, &readable, err) != 0) {
        return -1;
    }
    if (!readable) {
        return 0;
    }
    const char *end = memchr(text_str(&json), '\n', json.len);
    size_t len = end != NULL ? (size_t)(end - json.data) : json.len;
    struct error cause = {0};
    int status = identity_read(text_str(&json), len, &identity, &cause);
    if (status != 0 && cause.kind != ERROR_FAIL_ENTRY) {
        *err = cause;
        return -1;
    }
    return status != 0 || strcmp(identity.run, run_id) != 0 ? 0 : consider(search, &identity, err);
}

static int search_bucket(struct search *search, struct error *err)
{
    struct run *run = search->run;
    if (!run_has(run, GCS_RIGHT_LIST | GCS_RIGHT_GET)) {
        return 0;
    }
    CLEANUP_TEXT struct text prefix = TEXT_INIT(GCS_NAME_MAX * 2);
    text_printf(&prefix, "%s%s.winch/runs/", run->url.prefix,
                run->url.prefix[0] != '\0' ? "/" : "");
    search->folders = calloc(BUCKET_RUNS_MAX, RUN_ID_MAX);
    if (search->folders == NULL || prefix.failed) {
        return error_memory(err, "the list of runs");
    }
    struct gcs_listing listing = {
        .prefix = prefix.data,
        .delimiter = "/",
        .object = ignore_object,
        .folder = remember_folder,
        .self = search,
    };
    enum gcs_answer answer = gcs_list(search->client, &listing, err);
    if (answer != GCS_DONE && answer != GCS_DENIED && answer != GCS_NOT_FOUND) {
        return -1;
    }
    int result = 0;
    for (size_t i = search->folder_count; i > 0 && result == 0; i--) {
        result = consider_remote(search, search->folders[i - 1], err);
    }
    return result;
}

static int check_demanded(const struct search *search, struct error *err)
{
    const char *demanded = search->run->settings->run_id;
    if (demanded == NULL || search->found) {
        return 0;
    }
    if (!search->demanded_met) {
        return error_stop(err, EXIT_STATUS_NO_RUN,
                          "--run-id %s: no such run in the state folder nor under %s", demanded,
                          search->run->identity.destination);
    }
    if (search->demanded_finished) {
        return error_stop(err, EXIT_STATUS_NO_RUN,
                          "--run-id %s: that run is finished; a finished run is never continued",
                          demanded);
    }
    return error_stop(err, EXIT_STATUS_NO_RUN,
                      "--run-id %s: that run belongs to another state of the source, another "
                      "destination or other options; without --run-id a new run starts",
                      demanded);
}

int choose_run(struct run *run, struct error *err)
{
    struct search search = {.run = run};
    search.client = gcs_client_new(&run->gcs, err);
    if (search.client == NULL) {
        return -1;
    }
    int result = state_each_run(run->state, consider_local, &search, err);
    bool local = search.found;
    if (result == 0 && !local) {
        result = search_bucket(&search, err);
    }
    gcs_client_free(search.client);
    free(search.folders);
    if (result != 0 || check_demanded(&search, err) != 0) {
        return -1;
    }
    if (search.found) {
        memcpy(run->identity.run, search.match.run, RUN_ID_MAX);
        run->identity.begun_utc_ns = search.match.begun_utc_ns;
        run->resumed = true;
        run->rebuilt = !local;
        run_message(run, false, "Continuing run %s%s.", run->identity.run,
                    local ? "" : " from what the bucket knows of it (no state here)");
    } else {
        identity_new_run(&run->identity);
    }
    return 0;
}
