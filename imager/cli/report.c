/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The report in words: the verdict first, then the count, then what a person may want to do. */
#include "cli/report.h"
#include "cli/report_internal.h"

#include <string.h>

/* What limits a shorter run is its start and its end, and nobody needs advice. */
#define PACE_MS_MIN 60000

static void add_finished(struct text *text, const struct run_summary *summary);
static void add_shortcoming(struct text *text, const struct run_summary *summary);
static void add_stopped(struct text *text, const struct run_summary *summary);
static void add_planned_verdict(struct text *text, const struct run_summary *summary);
static uint64_t count_sum(const struct run_summary *summary);
static bool is_finished(const struct run_summary *summary);
static void add_counts(struct text *text, const struct run_summary *summary);
static void add_count_line(struct text *text, const char *sign, const char *label, uint64_t count,
                           const char *note);
static void add_notes(struct text *text, const struct run_summary *summary);
static void add_pace(struct text *text, const struct run_summary *summary);
static void add_proof(struct text *text, const struct run_summary *summary);

void report_render_verdict(struct text *text, const struct run_summary *summary, bool dry_run)
{
    if (!is_finished(summary)) {
        add_stopped(text, summary);
    } else if (summary->exit_status == EXIT_STATUS_INTERNAL) {
        text_add(text, "Do not rely on this run: its numbers do not add up. This is an error of "
                       "winch.");
    } else if (dry_run) {
        add_planned_verdict(text, summary);
    } else {
        add_finished(text, summary);
    }
}

void report_render(struct text *text, const struct run_summary *summary, bool dry_run)
{
    report_render_verdict(text, summary, dry_run);
    text_add_char(text, '\n');
    if (dry_run) {
        if (is_finished(summary)) {
            report_add_dry_run(text, summary);
        }
        report_add_warnings(text, summary);
        report_add_volumes(text, summary);
        return;
    }
    if (is_finished(summary)) {
        add_counts(text, summary);
    }
    report_add_reasons(text, summary, "Not in the bucket, by reason");
    report_add_warnings(text, summary);
    report_add_volumes(text, summary);
    if (is_finished(summary)) {
        add_notes(text, summary);
        add_pace(text, summary);
    }
    add_proof(text, summary);
}

void report_add_shown(struct text *text, const char *string)
{
    text_add_shown(text, string, strlen(string), SIZE_MAX);
}

void report_add_number(struct text *text, uint64_t count, const char *one, const char *plural)
{
    char number[32];
    format_count(count, number);
    text_printf(text, "%s %s%s", number, count == 1 || plural == NULL ? one : plural,
                count != 1 && plural == NULL ? "s" : "");
}

void report_add_bytes(struct text *text, uint64_t bytes)
{
    char number[24];
    format_bytes(bytes, number);
    text_add(text, number);
}

void report_add_lines(struct text *text, const char *lines)
{
    while (*lines != '\0') {
        size_t len = strcspn(lines, "\n");
        text_add_shown(text, lines, len, SIZE_MAX);
        lines += len;
        if (*lines == '\n') {
            text_add(text, "\n  ");
            lines++;
        }
    }
}

/* Did the run see everything, whatever became of it? */
static bool is_finished(const struct run_summary *summary)
{
    switch (summary->exit_status) {
    case EXIT_STATUS_CLEAN:
    case EXIT_STATUS_NOT_CLEAN:
        return true;
    case EXIT_STATUS_INTERNAL:
        return summary->error[0] == '\0'; /* nothing stopped it, but the numbers disagree */
    default:
        return false;
    }
}

static void add_finished(struct text *text, const struct run_summary *summary)
{
    char number[32];
    format_duration(summary->elapsed_ms, number);
    if (summary->exit_status == EXIT_STATUS_NOT_CLEAN) {
        add_shortcoming(text, summary);
        report_add_number(text, summary->uploaded, "file", NULL);
        text_add(text, ", ");
        report_add_bytes(text, summary->bytes);
        text_add(text, summary->uploaded == 1 ? ", is in " : ", are in ");
        report_add_shown(text, summary->destination);
        text_printf(text, " and proven, in %s.", number);
        return;
    }
    if (summary->accepted > 0) {
        text_add(text, "Everything but ");
        report_add_number(text, summary->accepted, "accepted entry", "accepted entries");
        text_add(text, " is in ");
    } else {
        text_add(text, "Everything is in ");
    }
    report_add_shown(text, summary->destination);
    text_add(text, " and proven: ");
    report_add_number(text, summary->uploaded, "file", NULL);
    text_add(text, ", ");
    report_add_bytes(text, summary->bytes);
    text_printf(text, ", in %s.", number);
}

static void add_shortcoming(struct text *text, const struct run_summary *summary)
{
    uint64_t missing = summary->failed - summary->accepted;
    text_add(text, "Finished, but ");
    if (missing > 0) {
        report_add_number(text, missing, "entry is", "entries are");
        text_add(text, " NOT in the bucket");
    } else if (summary->partitions_not_taken > 0) {
        report_add_number(text, summary->partitions_not_taken, "partition was", "partitions were");
        text_add(text, " NOT taken: no NTFS, or not found");
    } else if (summary->paths_not_found > 0) {
        report_add_number(text, summary->paths_not_found, "path", NULL);
        text_add(text, " of the list could not be found on the disk");
    } else if (summary->parts_left > 0) {
        report_add_number(text, summary->parts_left, "part", NULL);
        text_add(text, " of large files could not be removed from the bucket");
    } else {
        text_add(text, "not clean: ");
        report_add_lines(text, summary->error[0] != '\0' ? summary->error : "see below");
    }
    text_add(text, ". ");
}

static void add_stopped(struct text *text, const struct run_summary *summary)
{
    bool by_signal = summary->exit_status == EXIT_STATUS_INTERRUPTED ||
                     summary->exit_status == EXIT_STATUS_TERMINATED;
    text_add(text, by_signal ? "Stopped by a signal" : "Stopped: ");
    if (by_signal) {
        text_add_char(text, '.');
    } else if (summary->error[0] != '\0') {
        report_add_lines(text, summary->error);
    } else {
        text_printf(text, "exit code %d.", (int)summary->exit_status);
    }
    if (summary->streams_uploaded > 0) {
        text_add(text, by_signal ? " " : "\n");
        char done[32];
        format_count(summary->streams_uploaded, done);
        if (summary->objects_total > 0) {
            text_printf(text, "%s of ", done);
            report_add_number(text, summary->objects_total, "stream", NULL);
        } else {
            report_add_number(text, summary->streams_uploaded, "stream", NULL);
        }
        text_add(text, " (");
        report_add_bytes(text, summary->bytes);
        if (summary->bytes_total > 0) {
            text_add(text, " of ");
            report_add_bytes(text, summary->bytes_total);
        }
        text_printf(text, ") %s done so far.", summary->streams_uploaded == 1 ? "is" : "are");
    }
    if (strstr(summary->error, "same command") != NULL) {
        return; /* the error says it */
    }
    if (by_signal || summary->exit_status == EXIT_STATUS_TEMPORARY) {
        text_add(text, summary->streams_uploaded > 0 || by_signal ? " " : "\n");
        text_add(text, "The same command resumes.");
    } else if (summary->run[0] != '\0' && summary->exit_status != EXIT_STATUS_INTERNAL) {
        text_add(text, summary->streams_uploaded > 0 ? " " : "\n");
        text_add(text, "Once the cause is gone, the same command resumes.");
    }
}

static void add_planned_verdict(struct text *text, const struct run_summary *summary)
{
    const struct plan_totals *planned = &summary->planned;
    uint64_t failed = summary->failed > 0 ? summary->failed : planned->entries_failed;
    text_add(text, "Dry run, nothing was written: ");
    report_add_number(text, planned->entries_send, "file", NULL);
    text_add(text, ", ");
    report_add_bytes(text, planned->bytes);
    text_add(text, ", would go to ");
    report_add_shown(text, summary->destination);
    if (failed > 0) {
        text_add(text, "; ");
        report_add_number(text, failed, "entry", "entries");
        text_add(text, " would FAIL");
    }
    text_add_char(text, '.');
}

static uint64_t count_sum(const struct run_summary *summary)
{
    return summary->extension + summary->uploaded + summary->directories + summary->links +
           summary->excluded + summary->failed;
}

static void add_counts(struct text *text, const struct run_summary *summary)
{
    char accepted[96];
    char number[32];
    format_count(summary->accepted, number);
    (void)snprintf(accepted, sizeof(accepted), "%.26s of them accepted by --accept", number);
    text_add(text, "\nThe count\n");
    add_count_line(text, " ", "records in use on the source", summary->records_in_use, "");
    add_count_line(text, "=", "uploaded", summary->uploaded, "");
    add_count_line(text, "+", "directories", summary->directories, "in the manifest");
    add_count_line(text, "+", "links", summary->links, "in the manifest");
    add_count_line(text, "+", "excluded", summary->excluded, "by the system, by default or by you");
    add_count_line(text, "+", "extension records", summary->extension,
                   "further parts of the others");
    add_count_line(text, "+", "failed", summary->failed, summary->accepted > 0 ? accepted : "");
    if (summary->counts_agree && count_sum(summary) == summary->records_in_use) {
        text_add(text, "  The numbers add up.\n");
    } else {
        format_count(count_sum(summary), number);
        text_printf(text,
                    "  THE NUMBERS DO NOT ADD UP: the sum is %s. This is an error of winch.\n",
                    number);
    }
}

static void add_count_line(struct text *text, const char *sign, const char *label, uint64_t count,
                           const char *note)
{
    char number[32];
    format_count(count, number);
    text_printf(text, "  %s %-28s %14s", sign, label, number);
    if (note[0] != '\0' && count > 0) {
        text_printf(text, "  %s", note);
    }
    text_add_char(text, '\n');
}

static void add_notes(struct text *text, const struct run_summary *summary)
{
    const struct {
        uint64_t count;
        const char *one, *plural, *rest;
    } notes[] = {
        {summary->already_present, "stream", "streams", " there already, with equal content."},
        {summary->names, "further name of a file (hard link)",
         "further names of files (hard links)", " in the manifest."},
        {summary->inline_streams, "small alternate stream", "small alternate streams",
         " in the manifest."},
        {summary->renamed, "name", "names",
         " changed to be legal in a bucket; the manifest has the originals."},
        {summary->orphans, "file without a parent folder", "files without a parent folder",
         " under .winch/orphans/."},
        {summary->replaced, "object with other content", "objects with other content",
         " replaced."},
        {summary->parts_left, "part of a large file", "parts of large files",
         " left under .winch/parts/, and cost storage until deleted."},
    };
    bool has_title = false;
    for (size_t i = 0; i < ARRAY_LEN(notes); i++) {
        if (notes[i].count > 0) {
            text_add(text, has_title ? "  " : "\nAlso\n  ");
            report_add_number(text, notes[i].count, notes[i].one, notes[i].plural);
            text_add(text, notes[i].rest);
            text_add_char(text, '\n');
            has_title = true;
        }
    }
}

static void add_pace(struct text *text, const struct run_summary *summary)
{
    static const char *const pace[] = {
        [RUN_LIMIT_DISK] = "The disk set the pace; a larger or faster disk type reads faster.",
        [RUN_LIMIT_CPU] = "The processors set the pace; a machine type with more helps.",
        [RUN_LIMIT_NETWORK] = "The network set the pace; a larger machine type has more of it.",
        [RUN_LIMIT_RAMP] = "The bucket set the pace; a new one takes few writes a second at first.",
        [RUN_LIMIT_SERVER] = "The server set the pace; its replies were slow.",
    };
    char number[32];
    text_add(text, "\nThe pace\n  ");
    format_duration(summary->elapsed_ms, number);
    text_printf(text, "%s, ", number);
    /* What an earlier start sent, or somebody else, took no time now. */
    bool all_sent_now = !summary->resumed && summary->already_present == 0;
    if (all_sent_now && summary->elapsed_ms > 0) {
        report_add_bytes(text, (uint64_t)((long double)summary->bytes * 1000 /
                                          (long double)summary->elapsed_ms));
        text_add(text, "/s on average, ");
    }
    report_add_number(text, summary->requests, "request", NULL);
    text_add(text, ", ");
    report_add_number(text, summary->retries, "retry", "retries");
    text_add(text, summary->resumed ? "; the run was resumed.\n" : ".\n");
    if (summary->elapsed_ms >= PACE_MS_MIN && (size_t)summary->limited_by < ARRAY_LEN(pace)) {
        text_printf(text, "  %s\n", pace[summary->limited_by]);
    }
}

static void add_proof(struct text *text, const struct run_summary *summary)
{
    if (summary->run[0] == '\0') {
        return;
    }
    text_add(text, "\nThe proof\n  run ");
    report_add_shown(text, summary->run);
    text_add_char(text, '\n');
    if (!summary->committed) {
        text_add(text, "  There is no manifest yet: the run is not finished.\n");
        return;
    }
    text_add(text, "  manifest: ");
    report_add_shown(text, summary->report_object);
    text_add(text,
             "\n"
             "  Not checked: whether the files make sense to the programs that wrote them.\n"
             "  Windows permissions are recorded in the manifest; the bucket does not enforce "
             "them.\n");
}
