/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The final object of --json. Its fields are a promise: docs/user-guide.md. */
#include "cli/report.h"

#include <string.h>

static void add_string(struct text *text, const char *name, const char *value);
static void add_or_null(struct text *text, const char *name, const char *value);
static void add_number(struct text *text, const char *name, uint64_t value);
static void add_flag(struct text *text, const char *name, bool value);
static void add_source(struct text *text, const struct run_summary *summary);
static void add_reasons(struct text *text, const struct run_summary *summary);
static void add_planned(struct text *text, const struct plan_totals *planned);
static void add_warnings(struct text *text, const struct run_summary *summary);

void report_json(struct text *text, const struct run_summary *summary, bool dry_run)
{
    text_add(text, "{");
    add_or_null(text, "\"run\":", summary->run);
    add_source(text, summary);
    add_string(text, ",\"destination\":", summary->destination);
    add_number(text, ",\"records_in_use\":", summary->records_in_use);
    add_number(text, ",\"extension\":", summary->extension);
    add_number(text, ",\"uploaded\":", summary->uploaded);
    add_number(text, ",\"directories\":", summary->directories);
    add_number(text, ",\"links\":", summary->links);
    add_number(text, ",\"excluded\":", summary->excluded);
    add_number(text, ",\"failed\":", summary->failed);
    add_number(text, ",\"accepted\":", summary->accepted);
    add_reasons(text, summary);
    add_number(text, ",\"streams_uploaded\":", summary->streams_uploaded);
    add_number(text, ",\"streams_failed\":", summary->streams_failed);
    add_number(text, ",\"names\":", summary->names);
    add_number(text, ",\"bytes\":", summary->bytes);
    add_number(text, ",\"already_present\":", summary->already_present);
    add_number(text, ",\"paths_not_found\":", summary->paths_not_found);
    add_number(text, ",\"requests\":", summary->requests);
    text_printf(text, ",\"seconds\":%llu.%03u", (unsigned long long)(summary->elapsed_ms / 1000),
                (unsigned)(summary->elapsed_ms % 1000));
    add_string(text, ",\"limited_by\":", run_limit_name(summary->limited_by));
    /* What is asked for comes with --require. */
    text_add(text, ",\"consistency\":{\"asked\":null");
    add_or_null(text, ",\"got\":", summary->consistency);
    text_add(text, "}");
    add_warnings(text, summary);
    add_flag(text, ",\"resumed\":", summary->resumed);
    if (dry_run) {
        add_flag(text, ",\"dry_run\":", true);
        add_planned(text, &summary->planned);
    }
    if (summary->error[0] != '\0') {
        add_string(text, ",\"error\":", summary->error);
    }
    text_printf(text, ",\"exit\":%d}", (int)summary->exit_status);
}

static void add_string(struct text *text, const char *name, const char *value)
{
    text_add(text, name);
    text_add_json(text, value, strlen(value));
}

static void add_or_null(struct text *text, const char *name, const char *value)
{
    if (value == NULL || value[0] == '\0') {
        text_add(text, name);
        text_add(text, "null");
    } else {
        add_string(text, name, value);
    }
}

static void add_number(struct text *text, const char *name, uint64_t value)
{
    text_add(text, name);
    text_add_u64(text, value);
}

static void add_flag(struct text *text, const char *name, bool value)
{
    text_add(text, name);
    text_add(text, value ? "true" : "false");
}

static void add_source(struct text *text, const struct run_summary *summary)
{
    add_string(text, ",\"source\":{\"path\":", summary->source);
    text_add(text, ",\"volumes\":[");
    for (size_t i = 0; i < summary->volume_count && i < RUN_VOLUME_MAX; i++) {
        const struct run_volume_summary *volume = &summary->volumes[i];
        add_string(text, i == 0 ? "{\"id\":" : ",{\"id\":", volume->id);
        add_string(text, ",\"folder\":", volume->folder);
        add_string(text, ",\"label\":", volume->label);
        add_string(text, ",\"serial\":", volume->serial);
        add_number(text, ",\"bytes\":", volume->size_bytes);
        add_flag(text, ",\"dirty\":", volume->dirty);
        add_flag(text, ",\"hibernated\":", volume->hibernated);
        text_add(text, "}");
    }
    text_add(text, "]}");
}

static void add_reasons(struct text *text, const struct run_summary *summary)
{
    text_add(text, ",\"reasons\":{");
    bool is_first = true;
    for (size_t i = 0; i < summary->reason_count && i < RUN_REASON_MAX; i++) {
        const struct run_reason_count *next = &summary->reasons[i];
        if (next->count > 0 && next->reason != NULL) {
            add_string(text, is_first ? "" : ",", next->reason);
            add_number(text, ":", next->count);
            is_first = false;
        }
    }
    text_add(text, "}");
}

static void add_planned(struct text *text, const struct plan_totals *planned)
{
    add_number(text, ",\"planned\":{\"files\":", planned->entries_send);
    add_number(text, ",\"objects\":", planned->objects);
    add_number(text, ",\"bytes\":", planned->bytes);
    add_number(text, ",\"requests\":", planned->requests);
    add_number(text, ",\"directories\":", planned->entries_directory);
    add_number(text, ",\"links\":", planned->entries_link);
    add_number(text, ",\"excluded\":", planned->entries_excluded);
    add_number(text, ",\"failed\":", planned->entries_failed);
    add_number(text, ",\"renamed\":", planned->renamed);
    text_add(text, "}");
}

static void add_warnings(struct text *text, const struct run_summary *summary)
{
    text_add(text, ",\"warnings\":[");
    bool is_first = true;
    for (size_t i = 0; i < summary->warning_count && i < RUN_WARNING_MAX; i++) {
        if (summary->warnings[i] != NULL) {
            add_string(text, is_first ? "" : ",", summary->warnings[i]);
            is_first = false;
        }
    }
    text_add(text, "]");
}
