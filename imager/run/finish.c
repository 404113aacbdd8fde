/* SPDX-License-Identifier: GPL-3.0-or-later */
/* finish: the last objects of a run, in the order that makes run.json the commit mark. */
#include "run/finish.h"

#include <string.h>

#include "run/control.h"
#include "run/manifest.h"

static void add_prefix(const struct run *run, const char *tail, struct text *text)
{
    text_add(text, run->url.prefix);
    text_add(text, run->url.prefix[0] != '\0' ? "/" : "");
    text_add(text, tail);
}

/* ---- leftovers ----------------------------------------------------------------------------- */

static int remove_under(struct run *run, const char *prefix, uint64_t *ret_left, struct error *err)
{
    uint64_t deleted = 0;
    enum gcs_answer answer = upload_remove_all(run->uploader, prefix, &deleted, ret_left, err);
    return answer == GCS_DONE || answer == GCS_DENIED || answer == GCS_NOT_FOUND ? 0 : -1;
}

static int warn_of_parts(struct run *run)
{
    if (run->summary->parts_left > 0) {
        run_warn(run,
                 "%llu parts could not be removed from gs://%s/%s%s.winch/parts/; they cost money "
                 "until they are deleted",
                 (unsigned long long)run->summary->parts_left, run->url.bucket, run->url.prefix,
                 run->url.prefix[0] != '\0' ? "/" : "");
    }
    return 0;
}

static int remove_leftovers(struct run *run, struct error *err)
{
    struct upload_counters counters;
    upload_engine_counters(run->engine, &counters);
    run->summary->parts_left = counters.parts_left;
    if (!run_has(run, GCS_RIGHT_LIST | GCS_RIGHT_DELETE)) {
        return warn_of_parts(run); /* no segments were written, and parts of others are not seen */
    }
    run->summary->parts_left = 0;
    CLEANUP_TEXT struct text segments = TEXT_INIT(GCS_NAME_MAX * 2);
    run_control_name(run, run->identity.run, "segments/", &segments);
    uint64_t left = 0;
    if (segments.failed || remove_under(run, segments.data, &left, err) != 0) {
        return segments.failed ? error_memory(err, "a name") : -1;
    }
    /* Parts of this run, and of the runs that it supersedes: nobody will compose them any more. */
    for (size_t i = 0; i <= run->superseded_count; i++) {
        CLEANUP_TEXT struct text parts = TEXT_INIT(GCS_NAME_MAX * 2);
        add_prefix(run, ".winch/parts/", &parts);
        text_printf(&parts, "%s/", i == 0 ? run->identity.run : run->superseded[i - 1]);
        left = 0;
        if (parts.failed || remove_under(run, parts.data, &left, err) != 0) {
            return parts.failed ? error_memory(err, "a name") : -1;
        }
        run->summary->parts_left += left;
    }
    return warn_of_parts(run);
}

/* ---- a stranger's guide ---------------------------------------------------------------------- */

static int write_readme(struct run *run, struct error *err)
{
    CLEANUP_TEXT struct text name = TEXT_INIT(GCS_NAME_MAX * 2);
    CLEANUP_TEXT struct text body = TEXT_INIT(65536);
    struct upload_result result;
    struct error ignored = {0};
    const char *slash = run->url.prefix[0] != '\0' ? "/" : "";
    add_prefix(run, ".winch/README.txt", &name);
    text_printf(
        &body,
        "This folder was filled by winch: the files of Windows (NTFS) volumes, one object each.\n\n"
        "  Files             gs://%s/%s%s...            path below the volume, '/' between "
        "folders\n"
        "  Big streams       gs://%s/%s%s.winch/streams/ alternate data streams over 4 KiB\n"
        "  Chunk store       gs://%s/%s%s.winch/dedup/   of Windows Data Deduplication, kept only "
        "when a\n"
        "                    file could not be put together from it\n"
        "  Runs              gs://%s/%s%s.winch/runs/    one folder for each migration\n\n"
        "A run is complete when its folder holds run.json. It names index.json, which names the "
        "manifest\n"
        "files: gzip-packed JSON lines, sorted by path, with size, crc32c, generation, times, "
        "attributes\n"
        "and every file that could NOT be uploaded, with the reason. security.jsonl.gz holds the "
        "Windows\n"
        "security descriptors.\n\n"
        "Without winch, everything comes back with Google's own tools:\n\n"
        "  gcloud storage ls -r 'gs://%s/%s%s**'\n"
        "  gcloud storage cp -r 'gs://%s/%s%s*' /some/folder\n"
        "  gcloud storage cat 'gs://%s/%s%s.winch/runs/RUN/manifest-00000.jsonl.gz' | gunzip | "
        "less\n\n"
        "In names, %%uXXXX stands for a UTF-16 unit that object names cannot hold.\n",
        run->url.bucket, run->url.prefix, slash, run->url.bucket, run->url.prefix, slash,
        run->url.bucket, run->url.prefix, slash, run->url.bucket, run->url.prefix, slash,
        run->url.bucket, run->url.prefix, slash, run->url.bucket, run->url.prefix, slash,
        run->url.bucket, run->url.prefix, slash);
    if (name.failed || body.failed) {
        return error_memory(err, "README.txt");
    }
    struct upload_object object = {.name = name.data, .content_type = "text/plain; charset=utf-8"};
    if (upload_small(run->uploader, &object, body.data, body.len, &result, &ignored) != 0 &&
        ignored.kind != ERROR_FAIL_ENTRY) {
        *err = ignored; /* one that is there, of another version, is good enough */
        return -1;
    }
    return 0;
}

/* ---- the commit mark ------------------------------------------------------------------------- */

static void add_totals(const struct run *run, const struct manifest_index *index, struct text *json)
{
    const struct run_summary *s = run->summary;
    const struct {
        const char *key;
        uint64_t value;
    } totals[] = {
        {"records_in_use", s->records_in_use},
        {"extension", s->extension},
        {"uploaded", s->uploaded},
        {"directories", s->directories},
        {"links", s->links},
        {"excluded", s->excluded},
        {"failed", s->failed},
        {"accepted", s->accepted},
        {"streams_uploaded", s->streams_uploaded},
        {"streams_failed", s->streams_failed},
        {"names", s->names},
        {"bytes", s->bytes},
        {"orphans", s->orphans},
        {"renamed", s->renamed},
        {"lines_uploaded", index->states[OUTCOME_UPLOADED]},
        {"lines_directories", index->states[OUTCOME_DIRECTORY]},
        {"lines_links", index->states[OUTCOME_LINK]},
        {"lines_excluded", index->states[OUTCOME_EXCLUDED]},
        {"lines_failed", index->states[OUTCOME_FAILED]},
        {"lines_names", index->names},
    };
    text_add(json, ",\"totals\":{");
    for (size_t i = 0; i < ARRAY_LEN(totals); i++) {
        text_printf(json, "%s\"%s\":%llu", i > 0 ? "," : "", totals[i].key,
                    (unsigned long long)totals[i].value);
    }
    text_printf(json, "},\"counts_agree\":%s,\"reasons\":{", s->counts_agree ? "true" : "false");
    for (size_t i = 0; i < s->reason_count; i++) {
        text_printf(json, "%s\"%s\":%llu", i > 0 ? "," : "", s->reasons[i].reason,
                    (unsigned long long)s->reasons[i].count);
    }
    text_add_char(json, '}');
}

static void add_string(struct text *json, const char *key, const char *value)
{
    text_printf(json, ",\"%s\":", key);
    text_add_json(json, value, strlen(value));
}

static void add_volumes(const struct run *run, struct text *json)
{
    text_add(json, ",\"volumes\":[");
    for (size_t i = 0; i < run->volume_count; i++) {
        const struct run_volume *volume = &run->volumes[i];
        const struct volume_info *info = volume_get_info(volume->volume);
        const struct volume_scan_totals *totals = catalog_totals(volume->catalog);
        text_printf(json, "%s{\"id\":\"%s\"", i > 0 ? "," : "", volume->id);
        add_string(json, "folder", volume->folder);
        add_string(json, "label", info->label);
        add_string(json, "partition_guid", volume->partition.guid);
        text_printf(json,
                    ",\"serial\":\"%016llX\",\"offset\":%llu,\"size\":%llu,\"cluster\":%u,"
                    "\"records_in_use\":%llu,\"mft_crc32c\":\"%08x\",\"log_lsn\":\"%llu\","
                    "\"dirty\":%s,\"hibernated\":%s,\"log_clean\":%s,\"metadata_cached\":%s,"
                    "\"mirror_differs\":%s}",
                    (unsigned long long)info->serial,
                    (unsigned long long)volume->partition.offset_bytes,
                    (unsigned long long)volume->partition.size_bytes, info->cluster_bytes,
                    (unsigned long long)totals->records_in_use, totals->mft_crc32c,
                    (unsigned long long)info->log_lsn, info->dirty ? "true" : "false",
                    info->hibernated ? "true" : "false", info->log_clean ? "true" : "false",
                    info->log_cached ? "true" : "false", info->mirror_differs ? "true" : "false");
    }
    text_add_char(json, ']');
}

static void spell_run(const struct run *run, const struct manifest_index *index, struct text *json)
{
    char begun[32];
    char ended[32];
    clock_format_utc(run->identity.begun_utc_ns, begun);
    clock_format_utc(clock_utc_ns(), ended);
    text_printf(json, "{\"schema\":\"winch-run/1\",\"run\":\"%s\"", run->identity.run);
    text_add(json, ",\"index\":{\"name\":");
    text_add_json(json, index->index_name, strlen(index->index_name));
    text_printf(json, ",\"generation\":\"%llu\",\"sha256\":\"",
                (unsigned long long)index->index_generation);
    text_add_hex(json, index->index_sha256, sizeof(index->index_sha256));
    text_add(json, "\"}");
    add_string(json, "destination", run->identity.destination);
    add_string(json, "source", run->settings->source);
    text_printf(json, ",\"source_size\":%llu", (unsigned long long)disk_size_bytes(run->disk));
    add_string(json, "disk_guid", run->layout.disk_guid);
    add_volumes(run, json);
    add_string(json, "fingerprint", run->identity.fingerprint);
    add_string(json, "options", run->identity.options);
    add_string(json, "layout", run->volume_count > 1 ? "volumes" : "single");
    text_printf(json, ",\"consistency\":{\"asked\":null,\"got\":\"%s\"}",
                run->summary->consistency);
    add_totals(run, index, json);
    text_add(json, ",\"warnings\":[");
    for (size_t i = 0; i < run->summary->warning_count; i++) {
        text_add(json, i > 0 ? "," : "");
        text_add_json(json, run->summary->warnings[i], strlen(run->summary->warnings[i]));
    }
    text_printf(json, "],\"begun\":\"%s\",\"ended\":\"%s\",\"resumed\":%s,\"version\":\"%s\"",
                begun, ended, run->resumed ? "true" : "false", WINCH_VERSION);
    add_string(json, "command", run->settings->command != NULL ? run->settings->command : "");
    text_add(json, "}\n");
}

static int commit(struct run *run, const struct manifest_index *index, struct error *err)
{
    CLEANUP_TEXT struct text name = TEXT_INIT(GCS_NAME_MAX * 2);
    CLEANUP_TEXT struct text json = TEXT_INIT(4 << 20);
    bool taken = false;
    run_control_name(run, run->identity.run, "run.json", &name);
    spell_run(run, index, &json);
    if (name.failed || json.failed) {
        return error_memory(err, "run.json");
    }
    if (control_upload_fixed(run, "run.json", "application/json", json.data, json.len, &taken,
                             err) != 0) {
        return -1;
    }
    if (taken) {
        run_warn(run,
                 "run.json was written by an earlier session of this run and may not be looked "
                 "at; it was left as it is");
    }
    (void)snprintf(run->summary->report_object, sizeof(run->summary->report_object), "gs://%s/%s",
                   run->url.bucket, name.data);
    run->summary->committed = true;
    return 0;
}

/* The manifest counted its own lines: they must tell the same story as the count. */
static void compare_lines(struct run *run, const struct manifest_index *index)
{
    const struct run_summary *s = run->summary;
    if (index->states[OUTCOME_UPLOADED] != s->uploaded ||
        index->states[OUTCOME_DIRECTORY] != s->directories ||
        index->states[OUTCOME_LINK] != s->links || index->states[OUTCOME_EXCLUDED] != s->excluded ||
        index->states[OUTCOME_FAILED] != s->failed || index->names != s->names) {
        run->summary->counts_agree = false;
    }
}

int finish_run(struct run *run, struct error *err)
{
    struct manifest_index index = {0};
    run_phase(run, "manifest", 0);
    int result = manifest_upload(run, &index, err);
    if (result == 0) {
        compare_lines(run, &index);
        result = remove_leftovers(run, err);
    }
    if (result == 0) {
        result = write_readme(run, err);
    }
    if (result == 0) {
        result = commit(run, &index, err);
    }
    manifest_index_clear(&index);
    return result;
}
