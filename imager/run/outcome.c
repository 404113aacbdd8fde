/* SPDX-License-Identifier: GPL-3.0-or-later */
/* outcome: plan and ledger joined. */
#include "run/outcome.h"

#include <string.h>

#include "run/ledger.h"

const char *outcome_name(enum outcome_state state)
{
    static const char *const names[] = {"uploaded", "directory", "link",
                                        "excluded", "failed",    "undecided"};
    return names[state];
}

uint64_t outcome_task(const struct run_volume *volume, uint32_t entry, unsigned stream)
{
    return outcome_task_of_name(volume, entry, stream, 0);
}

uint64_t outcome_task_of_name(const struct run_volume *volume, uint32_t entry, unsigned stream,
                              unsigned name)
{
    for (uint32_t i = volume->entry_first[entry]; i < volume->entry_first[entry + 1]; i++) {
        uint32_t number = volume->entry_tasks[i];
        const struct plan_task *task = plan_get_task(volume->plan, number);
        if (task->stream == stream && task->name == name) {
            return volume->first_task + number;
        }
    }
    return UINT64_MAX;
}

bool outcome_is_accepted(const struct run_settings *settings, const char *reason)
{
    for (size_t i = 0; reason != NULL && i < settings->accepted_reason_count; i++) {
        if (strcmp(settings->accepted_reasons[i], reason) == 0) {
            return true;
        }
    }
    return false;
}

static void fail(const struct run *run, struct outcome failure, struct outcome *outcome)
{
    if (outcome->state != OUTCOME_FAILED || (outcome_is_accepted(run->settings, outcome->reason) &&
                                             !outcome_is_accepted(run->settings, failure.reason))) {
        *outcome = failure;
    }
}

static void join_task(struct run *run, uint64_t task, struct outcome *outcome)
{
    const struct ledger_row *row = ledger_row(run->ledger, task);
    if (row->state == LEDGER_FAILED) {
        fail(run, (struct outcome){OUTCOME_FAILED, reason_name(row->reason), NULL, task}, outcome);
    } else if (row->state == LEDGER_OPEN && outcome->state != OUTCOME_FAILED) {
        *outcome = (struct outcome){OUTCOME_UNDECIDED, NULL, NULL, task};
    }
}

static void join_stream(struct run *run, const struct run_volume *volume,
                        const struct catalog_view *view, unsigned stream, struct outcome *outcome)
{
    uint64_t task = outcome_task(volume, view->index, stream);
    if (task == UINT64_MAX) {
        struct plan_decision decision = plan_stream_decision(volume->plan, view, stream);
        if (decision.state == PLAN_FAILED) {
            fail(run,
                 (struct outcome){OUTCOME_FAILED, decision.reason, decision.sentence, UINT64_MAX},
                 outcome);
        }
        return;
    }
    join_task(run, task, outcome);
}

/* The objects under further names. */
static void join_copies(struct run *run, const struct run_volume *volume, uint32_t entry,
                        struct outcome *outcome)
{
    for (uint32_t i = volume->entry_first[entry]; i < volume->entry_first[entry + 1]; i++) {
        if (plan_get_task(volume->plan, volume->entry_tasks[i])->name > 0) {
            join_task(run, volume->first_task + volume->entry_tasks[i], outcome);
        }
    }
}

struct outcome outcome_of_entry(struct run *run, const struct run_volume *volume,
                                const struct catalog_view *view)
{
    static const enum outcome_state states[] = {
        [PLAN_SEND] = OUTCOME_UPLOADED, [PLAN_DIRECTORY] = OUTCOME_DIRECTORY,
        [PLAN_LINK] = OUTCOME_LINK,     [PLAN_EXCLUDED] = OUTCOME_EXCLUDED,
        [PLAN_FAILED] = OUTCOME_FAILED,
    };
    struct plan_decision decision = plan_view_decision(volume->plan, view);
    struct outcome outcome = {states[decision.state], decision.reason, decision.sentence,
                              UINT64_MAX};
    if (outcome.state == OUTCOME_EXCLUDED) {
        return outcome;
    }
    for (size_t i = 0; i < view->entry.stream_count; i++) {
        join_stream(run, volume, view, (unsigned)i, &outcome);
    }
    join_copies(run, volume, view->index, &outcome);
    return outcome;
}
