/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The destination side of a run: endpoint, credentials, what the bucket and the rights allow. */
#include "run/context.h"

#include <string.h>

#include "run/journal.h"

#define USER_AGENT "winch/" WINCH_VERSION

/* Composites leave parts that must be removed, and composing reads: all three are needed. */
#define COMPOSITE_RIGHTS (GCS_RIGHT_CREATE | GCS_RIGHT_GET | GCS_RIGHT_DELETE)
#define ALL_RIGHTS (COMPOSITE_RIGHTS | GCS_RIGHT_LIST | GCS_RIGHT_BUCKET_GET)

static int open_credentials(struct run *run, struct error *err)
{
    if (run->endpoint.is_emulator) {
        return 0;
    }
    struct auth_settings settings = {
        .credentials_file = getenv("GOOGLE_APPLICATION_CREDENTIALS"),
        .metadata_host = getenv("GCE_METADATA_HOST"),
        .ca_file = run->settings->ca_file,
        .cancel = run->settings->cancel,
    };
    if (settings.credentials_file != NULL && settings.credentials_file[0] == '\0') {
        settings.credentials_file = NULL;
    }
    run->auth = auth_new(&settings, err);
    if (run->auth == NULL) {
        return -1;
    }
    run->gcs.http.credentials = auth_credentials(run->auth);
    return 0;
}

static void explain_rights(struct run *run)
{
    if (!run_has(run, GCS_RIGHT_LIST)) {
        run_message(run, false,
                    "No right to list (storage.objects.list): objects that are already "
                    "there are met one by one.");
    }
    if (!run_has(run, GCS_RIGHT_DELETE)) {
        run_message(run, false,
                    "No right to delete (storage.objects.delete): large streams go as one "
                    "request each, not in parallel parts; a run whose state folder is "
                    "lost cannot be resumed.");
    } else if (!run_has(run, GCS_RIGHT_GET)) {
        run_message(run, false,
                    "No right to get (storage.objects.get): large streams go as one request "
                    "each; an object that is already there cannot be compared.");
    }
}

static int look_at_bucket(struct run *run, struct gcs_client *client, struct error *err)
{
    struct error answer_error = {0};
    enum gcs_answer answer = gcs_test_rights(client, &run->rights, &answer_error);
    run->rights_known = answer == GCS_DONE;
    bool is_served = answer != GCS_UNSUPPORTED;
    if (answer == GCS_ERROR) {
        *err = answer_error;
        return -1;
    }
    if (!run->rights_known) {
        run->rights = ALL_RIGHTS; /* not told: try, and say what is refused */
        run_message(run, !is_served, "Rights could not be asked for, so everything is tried: %s%s",
                    answer_error.message,
                    is_served ? "" : "; the server does not seem to know that call");
    } else if (!run_has(run, GCS_RIGHT_CREATE)) {
        return error_stop(
            err, EXIT_STATUS_RIGHTS,
            "gs://%s: this identity lacks storage.objects.create there. Grant "
            "roles/storage.objectCreator (or storage.objectUser) on the bucket, and check "
            "that the VM's access scopes include devstorage.read_write.",
            run->url.bucket);
    }
    explain_rights(run);
    if (run_has(run, GCS_RIGHT_BUCKET_GET)) {
        memset(&answer_error, 0, sizeof(answer_error));
        answer = gcs_get_bucket(client, &run->bucket, &answer_error);
        run->bucket_known = answer == GCS_DONE;
        if (answer == GCS_ERROR) {
            *err = answer_error;
            return -1;
        }
        if (!run->bucket_known) {
            run_message(run, answer == GCS_UNSUPPORTED,
                        "The bucket's settings (retention, versioning) could not be asked for: %s",
                        answer_error.message);
        }
    }
    return 0;
}

int destination_open(struct run *run, struct error *err)
{
    if (gcs_endpoint_from_environment(&run->endpoint, err) != 0) {
        return -1;
    }
    run->gcs = (struct gcs_settings){
        .endpoint = run->endpoint,
        .bucket = run->url.bucket,
        .billing_project = run->settings->billing_project,
        .http =
            {
                .user_agent = USER_AGENT,
                .ca_file = run->settings->ca_file,
                .cancel = run->settings->cancel,
                .give_up_ms = run->settings->give_up_ms,
            },
    };
    if (open_credentials(run, err) != 0) {
        return -1;
    }
    struct gcs_client *client = gcs_client_new(&run->gcs, err);
    if (client == NULL) {
        return -1;
    }
    int result = look_at_bucket(run, client, err);
    gcs_client_free(client);
    return result;
}

/* Parts are ordinary objects for a while: some buckets bill them beyond their deletion. */
static void explain_cost(struct run *run)
{
    const struct gcs_bucket *bucket = &run->bucket;
    if (bucket->soft_delete_seconds > 0 || bucket->versioning) {
        run_message(run, false,
                    "The bucket keeps deleted objects (%s): where the server does not delete the "
                    "parts of large files with the compose, they are billed until they expire.",
                    bucket->versioning ? "versioning" : "soft delete");
    }
    const char *class =
        run->settings->storage_class != NULL ? run->settings->storage_class : bucket->storage_class;
    if (class[0] != '\0' && strcmp(class, "STANDARD") != 0) {
        run_message(run, false,
                    "Storage class %s bills a minimum duration: where the server does not delete "
                    "the parts of large files with the compose, they cost their early deletion.",
                    class);
    }
}

bool destination_composites(struct run *run)
{
    bool retained =
        run->bucket_known && (run->bucket.retention_seconds > 0 || run->bucket.default_event_hold);
    if (retained) {
        run_message(run, false,
                    "The bucket retains objects, so parts could not be removed: large "
                    "streams go as one request each.");
    }
    bool composites = run_has(run, COMPOSITE_RIGHTS) && !retained;
    if (composites && run->bucket_known) {
        explain_cost(run);
    }
    return composites;
}

/* The journal learns of every node before its sources go. Called on workers' threads. */
static void note_node(void *self, uint64_t cookie, unsigned level, uint32_t index,
                      uint64_t generation, uint32_t crc32c)
{
    struct run *run = self;
    journal_node(run->journal, cookie, level, index, generation, crc32c);
}

int destination_start(struct run *run, struct error *err)
{
    for (size_t i = 0; i < run->superseded_count; i++) {
        run->superseded_list[i] = run->superseded[i];
    }
    struct upload_settings settings = {
        .gcs = run->gcs,
        .connections = run->settings->connections,
        .storage_class = run->settings->storage_class,
        .kms_key = run->settings->kms_key,
        .bandwidth = run->settings->bandwidth,
        .has_ramp = run->endpoint.is_google,
        .if_exists = run->settings->if_exists,
        .rights = run->rights,
        .superseded_runs = run->superseded_list,
        .superseded_run_count = run->superseded_count,
        .on_node = note_node,
        .on_node_self = run,
    };
    run->engine = upload_engine_new(&settings, err);
    if (run->engine == NULL) {
        return -1;
    }
    run->uploader = uploader_new(run->engine, err);
    return run->uploader != NULL ? 0 : -1;
}

void destination_close(struct run *run)
{
    uploader_free(run->uploader);
    if (run->engine != NULL) {
        upload_engine_free(run->engine);
    }
    auth_free(run->auth);
}
