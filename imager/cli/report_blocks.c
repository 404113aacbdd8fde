/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Blocks of the report: reasons, warnings, volumes, and the numbers of a dry run. */
#include "cli/reasons.h"
#include "cli/report_internal.h"

#include <string.h>

static void add_volume_state(struct text *text, const struct run_volume_summary *volume);
static void add_planned(struct text *text, const char *label, uint64_t count, const char *note);

void report_add_reasons(struct text *text, const struct run_summary *summary, const char *title)
{
    struct run_reason_count sorted[RUN_REASON_MAX];
    size_t count = 0;
    for (size_t i = 0; i < summary->reason_count && i < RUN_REASON_MAX; i++) {
        struct run_reason_count next = summary->reasons[i];
        if (next.count == 0 || next.reason == NULL) {
            continue;
        }
        size_t at = count++;
        for (; at > 0 && sorted[at - 1].count < next.count; at--) {
            sorted[at] = sorted[at - 1];
        }
        sorted[at] = next;
    }
    if (count == 0) {
        return;
    }
    text_printf(text, "\n%s\n", title);
    for (size_t i = 0; i < count; i++) {
        char number[32];
        format_count(sorted[i].count, number);
        const struct reason *reason = reason_find(sorted[i].reason);
        text_printf(text, "  %11s  ", number);
        report_add_shown(text, sorted[i].reason);
        if (reason != NULL) {
            text_printf(text, ": %s\n%15s%s", reason->meaning, "", reason->remedy);
        }
        text_add_char(text, '\n');
    }
    if (summary->committed) {
        text_add(text, "  The manifest names each of them, with the reason.\n");
    }
}

void report_add_warnings(struct text *text, const struct run_summary *summary)
{
    for (size_t i = 0; i < summary->warning_count && i < RUN_WARNING_MAX; i++) {
        if (summary->warnings[i] != NULL) {
            text_add(text, i == 0 ? "\nWarnings\n  " : "  ");
            report_add_lines(text, summary->warnings[i]);
            text_add_char(text, '\n');
        }
    }
}

void report_add_volumes(struct text *text, const struct run_summary *summary)
{
    for (size_t i = 0; i < summary->volume_count && i < RUN_VOLUME_MAX; i++) {
        const struct run_volume_summary *volume = &summary->volumes[i];
        if (i == 0) {
            text_add(text, "\nVolumes of ");
            report_add_shown(text, summary->source);
            text_add_char(text, '\n');
        }
        text_add(text, "  ");
        report_add_shown(text, volume->id);
        if (volume->label[0] != '\0') {
            text_add(text, " \"");
            report_add_shown(text, volume->label);
            text_add_char(text, '"');
        }
        text_add(text, ", ");
        report_add_bytes(text, volume->size_bytes);
        text_add(text, ", serial ");
        report_add_shown(text, volume->serial);
        if (volume->folder[0] != '\0') {
            text_add(text, ", folder ");
            report_add_shown(text, volume->folder);
            text_add_char(text, '/');
        }
        text_add_char(text, '\n');
        add_volume_state(text, volume);
    }
}

void report_add_dry_run(struct text *text, const struct run_summary *summary)
{
    const struct plan_totals *planned = &summary->planned;
    text_add(text, "\nWhat would happen\n");
    add_planned(text, "files", planned->entries_send, "to send");
    add_planned(text, "deduplicated ones of them", planned->rehydrated,
                "read from the chunk store, and checked only then");
    add_planned(text, "files of the chunk store", planned->spares, "kept if one of those fails");
    add_planned(text, "objects", planned->objects, "to write");
    add_planned(text, "requests", planned->requests, "about");
    add_planned(text, "small alternate streams", planned->inlines, "kept in the manifest");
    add_planned(text, "directories", planned->entries_directory, "kept in the manifest");
    add_planned(text, "links", planned->entries_link, "kept in the manifest");
    add_planned(text, "further names (hard links)", planned->names, "kept in the manifest");
    add_planned(text, "entries", planned->entries_excluded,
                "excluded by the system, by default or by you");
    add_planned(text, "names", planned->renamed, "changed to be legal; the manifest has both");
    add_planned(text, "files without a parent folder", planned->orphans,
                "placed under .winch/orphans/");
    report_add_reasons(text, summary, "Would fail, by reason");
    text_add(text, "\nNot asked: rights on the bucket, what is in it already, and how fast it all "
                   "is.\n");
}

static void add_planned(struct text *text, const char *label, uint64_t count, const char *note)
{
    if (count > 0) {
        char number[32];
        format_count(count, number);
        text_printf(text, "  %-30s %14s  %s\n", label, number, note);
    }
}

/* That it is so, the run has warned of; here stands what a person can do about it. */
static void add_volume_state(struct text *text, const struct run_volume_summary *volume)
{
    if (volume->hibernated || volume->log_cached) {
        text_add(text, "     Windows kept changes in memory. For a clean copy shut it down with\n"
                       "     shutdown /s /t 0, then take a new snapshot.\n");
    } else if (volume->dirty || !volume->log_clean) {
        text_add(text, "     It was in use: files written last may be incomplete, as after a power "
                       "cut.\n");
    }
    if (volume->mirror_differs) {
        text_add(text, "     Its file table is damaged in part: run chkdsk on Windows.\n");
    }
}
