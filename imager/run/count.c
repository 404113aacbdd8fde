/* SPDX-License-Identifier: GPL-3.0-or-later */
/* count: the sums of a run. */
#include "run/count.h"

#include <string.h>

#include "run/ledger.h"
#include "run/outcome.h"

static void add_reason(struct run_summary *summary, const char *reason)
{
    const char *code = reason != NULL ? reason : REASON_BAD_RECORD;
    for (size_t i = 0; i < summary->reason_count; i++) {
        if (strcmp(summary->reasons[i].reason, code) == 0) {
            summary->reasons[i].count++;
            return;
        }
    }
    if (summary->reason_count < RUN_REASON_MAX) {
        summary->reasons[summary->reason_count++] = (struct run_reason_count){code, 1};
    }
}

static void count_failed(struct run *run, const char *reason)
{
    run->summary->failed++;
    run->summary->accepted += outcome_is_accepted(run->settings, reason) ? 1 : 0;
    add_reason(run->summary, reason);
}

static void count_outcome(struct run *run, const struct outcome *outcome)
{
    struct run_summary *summary = run->summary;
    switch (outcome->state) {
    case OUTCOME_UPLOADED:
        summary->uploaded++;
        break;
    case OUTCOME_DIRECTORY:
        summary->directories++;
        break;
    case OUTCOME_LINK:
        summary->links++;
        break;
    case OUTCOME_EXCLUDED:
        summary->excluded++;
        break;
    case OUTCOME_FAILED:
        count_failed(run, outcome->reason);
        break;
    case OUTCOME_UNDECIDED:
        break; /* missing from the sum, and so it shows */
    }
}

static int count_volume(struct run *run, const struct run_volume *volume, struct catalog_view *view,
                        struct error *err)
{
    const struct volume_scan_totals *totals = catalog_totals(volume->catalog);
    run->summary->records_in_use += totals->records_in_use;
    run->summary->extension += totals->extensions;
    for (uint32_t i = 0; i < catalog_count(volume->catalog); i++) {
        if (catalog_get(volume->catalog, i, view, err) != 0) {
            return -1;
        }
        struct outcome outcome = outcome_of_entry(run, volume, view);
        count_outcome(run, &outcome);
    }
    for (uint32_t i = 0; i < catalog_stray_count(volume->catalog); i++) {
        count_failed(run, REASON_BAD_RECORD);
    }
    run->summary->streams_failed += plan_get_totals(volume->plan)->streams_failed;
    run->summary->names += plan_get_totals(volume->plan)->names;
    return 0;
}

static void count_task(struct run *run, const struct ledger_row *row, uint64_t size)
{
    struct run_summary *summary = run->summary;
    run->tasks_undecided += row->state == LEDGER_OPEN ? 1 : 0;
    if (row->state == LEDGER_FAILED) {
        summary->streams_failed++;
    }
    if (row->state == LEDGER_UPLOADED || row->state == LEDGER_INLINE) {
        summary->streams_uploaded++;
        summary->bytes += size;
        summary->inline_streams += row->state == LEDGER_INLINE ? 1 : 0;
        summary->already_present += (row->flags & LEDGER_PRESENT) != 0 ? 1 : 0;
        summary->replaced += (row->flags & LEDGER_REPLACED) != 0 ? 1 : 0;
    }
}

int count_entries(struct run *run, struct error *err)
{
    CLEANUP_VIEW struct catalog_view view = {0};
    struct run_summary *summary = run->summary;
    run->tasks_undecided = 0;
    for (size_t i = 0; i < run->volume_count; i++) {
        const struct run_volume *volume = &run->volumes[i];
        if (volume->plan == NULL) {
            return 0; /* the run ended before there was anything to count */
        }
        if (count_volume(run, volume, &view, err) != 0) {
            return -1;
        }
        for (uint64_t task = 0; task < plan_task_count(volume->plan); task++) {
            count_task(run, ledger_row(run->ledger, volume->first_task + task),
                       plan_get_task(volume->plan, task)->size_bytes);
        }
    }
    summary->counts_agree = summary->records_in_use == summary->extension + summary->uploaded +
                                                           summary->directories + summary->links +
                                                           summary->excluded + summary->failed;
    return 0;
}
