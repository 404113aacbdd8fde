/* SPDX-License-Identifier: GPL-3.0-or-later */
/* manifest: one line. */
#include "run/manifest.h"

#include <string.h>

#include "run/journal.h"
#include "run/ledger.h"

void manifest_writer_clear(struct manifest_writer *writer)
{
    for (size_t i = 0; i < RUN_VOLUME_MAX; i++) {
        plan_namer_free(writer->namers[i]);
    }
    catalog_view_clear(&writer->view);
}

struct plan_namer *manifest_namer(struct manifest_writer *writer, size_t volume, struct error *err)
{
    if (writer->namers[volume] == NULL) {
        writer->namers[volume] = plan_namer_new(writer->run->volumes[volume].plan);
        if (writer->namers[volume] == NULL) {
            (void)error_memory(err, "the manifest's names");
        }
    }
    return writer->namers[volume];
}

static void add_path(const struct run_volume *volume, struct plan_namer *namer, uint32_t entry,
                     unsigned name, struct text *line)
{
    size_t len = 0;
    bool exact = true;
    const char *path = plan_path(namer, entry, name, &len, &exact);
    if (path == NULL) {
        line->failed = true; /* out of memory: whoever takes the line looks */
        return;
    }
    text_add(line, "{\"path\":");
    text_add_json(line, path, len);
    if (exact) {
        return;
    }
    struct catalog_name raw;
    if (catalog_name(volume->catalog, entry, name, &raw)) {
        /* The last component only: the folders above have lines of their own. */
        text_add(line, ",\"path_utf16\":\"");
        text_add_hex(line, raw.units_le, 2U * raw.len);
        text_add_char(line, '"');
    }
}

static void add_record(const struct run_volume *volume, const struct catalog_view *view,
                       struct text *line)
{
    text_printf(line, ",\"volume\":\"%s\",\"record\":\"%llu\",\"sequence\":%u", volume->id,
                (unsigned long long)view->entry.record, view->entry.sequence);
}

/* Name, generation, size and checksum of the object of an uploaded task. */
static void add_object(struct run *run, struct plan_namer *namer, const struct run_volume *volume,
                       const struct catalog_view *view, uint64_t task, struct text *line)
{
    const struct plan_task *planned = plan_get_task(volume->plan, task - volume->first_task);
    const struct ledger_row *row = ledger_row(run->ledger, task);
    char crc[9];
    size_t len = 0;
    const char *name = plan_object_name(namer, planned, view, &len);
    if (name == NULL) {
        line->failed = true; /* out of memory: whoever takes the line looks */
        return;
    }
    crc32c_to_base64(row->crc32c, crc);
    text_add(line, ",\"name\":");
    text_add_json(line, name, len);
    text_printf(line, ",\"generation\":\"%llu\",\"size\":%llu,\"crc32c\":\"%s\"",
                (unsigned long long)row->generation, (unsigned long long)planned->size_bytes, crc);
    if (planned->raw) {
        text_printf(line, ",\"raw\":\"efs\",\"content_size\":%llu",
                    (unsigned long long)view->entry.streams[planned->stream].size_bytes);
    }
}

static void add_sentence(struct text *line, const char *sentence)
{
    if (sentence != NULL && sentence[0] != '\0') {
        text_add(line, ",\"error\":");
        text_add_json(line, sentence, strlen(sentence));
    }
}

static int add_failure(struct run *run, const char *reason, const char *sentence, uint64_t task,
                       struct text *line, struct error *err)
{
    const char *error = sentence;
    const void *content = NULL;
    size_t len = 0;
    text_printf(line, ",\"reason\":\"%s\"", reason != NULL ? reason : REASON_BAD_RECORD);
    if (error == NULL && task != UINT64_MAX &&
        journal_detail(run->journal, task, &error, &content, &len, err) != 0) {
        return -1;
    }
    add_sentence(line, error);
    return 0;
}

static int unnamed_stream(const struct volume_entry *entry)
{
    for (size_t i = 0; i < entry->stream_count; i++) {
        if (entry->streams[i].name_len == 0) {
            return (int)i;
        }
    }
    return -1;
}

static int add_inline_streams(struct run *run, const struct run_volume *volume,
                              const struct catalog_view *view, struct text *line, struct error *err)
{
    bool first = true;
    for (size_t i = 0; i < view->entry.stream_count; i++) {
        uint64_t task = outcome_task(volume, view->index, (unsigned)i);
        if (task == UINT64_MAX || ledger_row(run->ledger, task)->state != LEDGER_INLINE) {
            continue;
        }
        const char *error = NULL;
        const void *content = NULL;
        size_t len = 0;
        char crc[9];
        CLEANUP_TEXT struct text name = TEXT_INIT(4096);
        if (journal_detail(run->journal, task, &error, &content, &len, err) != 0) {
            return -1;
        }
        if (len != plan_get_task(volume->plan, task - volume->first_task)->size_bytes ||
            crc32c_update(0, content, len) != ledger_row(run->ledger, task)->crc32c) {
            return error_stop(err, EXIT_STATUS_INTERNAL,
                              "the journal lost the content of a stream of record %llu",
                              (unsigned long long)view->entry.record);
        }
        plan_stream_name(&view->entry.streams[i], &name);
        line->failed = line->failed || name.failed;
        crc32c_to_base64(ledger_row(run->ledger, task)->crc32c, crc);
        text_add(line, first ? ",\"streams\":[{\"stream\":" : ",{\"stream\":");
        text_add_json(line, text_str(&name), name.len);
        text_printf(line, ",\"size\":%zu,\"crc32c\":\"%s\",\"base64\":\"", len, crc);
        text_add_base64(line, content, len);
        text_add(line, "\"}");
        first = false;
    }
    if (!first) {
        text_add_char(line, ']');
    }
    return 0;
}

static int write_entry(struct manifest_writer *writer, const struct run_volume *volume,
                       struct plan_namer *namer, struct text *line, struct error *err)
{
    struct run *run = writer->run;
    const struct catalog_view *view = &writer->view;
    struct outcome outcome = outcome_of_entry(run, volume, view);
    int main_stream = unnamed_stream(&view->entry);
    add_path(volume, namer, view->index, 0, line);
    text_printf(line, ",\"state\":\"%s\"", outcome_name(outcome.state));
    uint64_t task =
        main_stream < 0 ? UINT64_MAX : outcome_task(volume, view->index, (unsigned)main_stream);
    if (task != UINT64_MAX && ledger_row(run->ledger, task)->state == LEDGER_UPLOADED) {
        add_object(run, namer, volume, view, task, line);
        text_printf(line, ",\"uploaded_by_run\":\"%s\"", run->identity.run);
    } else if (main_stream >= 0 && !view->entry.directory) {
        text_printf(line, ",\"size\":%llu",
                    (unsigned long long)view->entry.streams[main_stream].size_bytes);
    }
    if ((outcome.state == OUTCOME_FAILED || outcome.state == OUTCOME_EXCLUDED) &&
        add_failure(run, outcome.reason, outcome.sentence, outcome.task, line, err) != 0) {
        return -1;
    }
    if (main_stream >= 0) {
        text_printf(line, ",\"form\":\"%s\"", plan_form_name(view, (unsigned)main_stream));
    }
    add_record(volume, view, line);
    if (catalog_name_count(volume->catalog, view->index) > 1) {
        text_printf(line, ",\"links\":%u", catalog_name_count(volume->catalog, view->index));
    }
    manifest_add_facts(volume, view, line);
    if (add_inline_streams(run, volume, view, line, err) != 0) {
        return -1;
    }
    text_add(line, "}\n");
    return 0;
}

static int write_name(struct run *run, const struct run_volume *volume,
                      const struct catalog_view *view, struct plan_namer *namer, unsigned name,
                      struct text *line, struct error *err)
{
    size_t len = 0;
    bool exact = true;
    int main_stream = unnamed_stream(&view->entry);
    uint64_t copy = main_stream < 0
                        ? UINT64_MAX
                        : outcome_task_of_name(volume, view->index, (unsigned)main_stream, name);
    add_path(volume, namer, view->index, name, line);
    text_add(line, ",\"state\":\"name\",\"target\":");
    const char *target = plan_path(namer, view->index, 0, &len, &exact);
    if (target == NULL) {
        line->failed = true; /* out of memory: whoever takes the line looks */
        return 0;
    }
    text_add_json(line, target, len);
    if (copy != UINT64_MAX && ledger_row(run->ledger, copy)->state == LEDGER_UPLOADED) {
        add_object(run, namer, volume, view, copy, line);
        text_printf(line, ",\"uploaded_by_run\":\"%s\"", run->identity.run);
    } else if (copy != UINT64_MAX && ledger_row(run->ledger, copy)->state == LEDGER_FAILED &&
               add_failure(run, reason_name(ledger_row(run->ledger, copy)->reason), NULL, copy,
                           line, err) != 0) {
        return -1;
    }
    add_record(volume, view, line);
    text_add(line, "}\n");
    return 0;
}

static int write_stream(struct manifest_writer *writer, const struct run_volume *volume,
                        struct plan_namer *namer, unsigned stream, struct text *line,
                        struct error *err)
{
    struct run *run = writer->run;
    const struct catalog_view *view = &writer->view;
    CLEANUP_TEXT struct text name = TEXT_INIT(4096);
    uint64_t task = outcome_task(volume, view->index, stream);
    plan_stream_name(&view->entry.streams[stream], &name);
    line->failed = line->failed || name.failed; /* whoever takes the line looks */
    add_path(volume, namer, view->index, 0, line);
    text_add(line, ",\"stream\":");
    text_add_json(line, text_str(&name), name.len);
    if (task == UINT64_MAX) {
        struct plan_decision decision = plan_stream_decision(volume->plan, view, stream);
        text_printf(line, ",\"state\":\"%s\"",
                    decision.state == PLAN_EXCLUDED ? "excluded" : "failed");
        if (add_failure(run, decision.reason, decision.sentence, UINT64_MAX, line, err) != 0) {
            return -1;
        }
    } else if (ledger_row(run->ledger, task)->state == LEDGER_UPLOADED) {
        text_add(line, ",\"state\":\"uploaded\"");
        add_object(run, namer, volume, view, task, line);
        text_printf(line, ",\"uploaded_by_run\":\"%s\"", run->identity.run);
    } else {
        text_add(line, ",\"state\":\"failed\"");
        if (add_failure(run, reason_name(ledger_row(run->ledger, task)->reason), NULL, task, line,
                        err) != 0) {
            return -1;
        }
    }
    text_printf(line, ",\"form\":\"%s\"", plan_form_name(view, stream));
    add_record(volume, view, line);
    text_add(line, "}\n");
    return 0;
}

static void write_stray(const struct run_volume *volume, uint32_t number, struct text *line)
{
    const struct catalog_stray *stray = catalog_stray(volume->catalog, number);
    text_printf(
        line,
        "{\"state\":\"failed\",\"reason\":\"bad-record\",\"volume\":\"%s\",\"record\":\"%llu\","
        "\"sequence\":%u",
        volume->id, (unsigned long long)stray->record, stray->sequence);
    if (stray->base != 0) {
        text_printf(line, ",\"base\":\"%llu\"", (unsigned long long)stray->base);
    }
    add_sentence(line, stray->why);
    text_add(line, "}\n");
}

int manifest_write_line(struct manifest_writer *writer, const struct manifest_item *item,
                        struct text *line, struct error *err)
{
    const struct run_volume *volume = &writer->run->volumes[item->volume];
    if (item->kind == MANIFEST_STRAY) {
        write_stray(volume, item->entry, line);
        return 0;
    }
    struct plan_namer *namer = manifest_namer(writer, item->volume, err);
    if (namer == NULL || catalog_get(volume->catalog, item->entry, &writer->view, err) != 0) {
        return -1;
    }
    switch ((enum manifest_kind)item->kind) {
    case MANIFEST_ENTRY:
        return write_entry(writer, volume, namer, line, err);
    case MANIFEST_NAME:
        return write_name(writer->run, volume, &writer->view, namer, item->detail, line, err);
    case MANIFEST_STREAM:
        return write_stream(writer, volume, namer, item->detail, line, err);
    case MANIFEST_STRAY:
        break;
    }
    return 0;
}

int manifest_write_task(struct manifest_writer *writer, uint64_t task, struct text *line,
                        struct error *err)
{
    struct run *run = writer->run;
    uint64_t local = 0;
    struct run_volume *volume = run_volume_of(run, task, &local);
    const struct plan_task *planned = plan_get_task(volume->plan, local);
    struct plan_namer *namer = manifest_namer(writer, (size_t)(volume - run->volumes), err);
    if (namer == NULL || catalog_get(volume->catalog, planned->entry, &writer->view, err) != 0) {
        return -1;
    }
    const struct volume_stream *stream = &writer->view.entry.streams[planned->stream];
    add_path(volume, namer, planned->entry, planned->name, line);
    if (stream->name_len > 0) {
        CLEANUP_TEXT struct text name = TEXT_INIT(4096);
        plan_stream_name(stream, &name);
        line->failed = line->failed || name.failed; /* whoever takes the line looks */
        text_add(line, ",\"stream\":");
        text_add_json(line, text_str(&name), name.len);
    }
    text_add(line, ",\"state\":\"uploaded\"");
    add_object(run, namer, volume, &writer->view, task, line);
    add_record(volume, &writer->view, line);
    text_add(line, "}\n");
    return 0;
}
