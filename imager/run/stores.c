/* SPDX-License-Identifier: GPL-3.0-or-later */
/* stores: which spare tasks are worked on. */
#include "run/stores.h"

#include "run/ledger.h"

/* Turn rows of spare tasks from one state into the other; how many. */
static uint64_t turn(struct run *run, const struct run_volume *volume, enum ledger_state from,
                     enum ledger_state to)
{
    uint64_t count = plan_task_count(volume->plan);
    uint64_t turned = 0;
    for (uint64_t i = count; i > 0 && plan_get_task(volume->plan, i - 1)->spare; i--) {
        struct ledger_row *row = ledger_row(run->ledger, volume->first_task + i - 1);
        if (row->state == from) {
            row->state = (uint8_t)to;
            turned++;
        }
    }
    return turned;
}

void stores_leave(struct run *run)
{
    for (size_t i = 0; i < run->volume_count; i++) {
        run->tasks_left += turn(run, &run->volumes[i], LEDGER_OPEN, LEDGER_SKIPPED);
    }
}

/* Because of how it stands on the disk, and not of what the bucket says. */
static bool is_unread(const struct ledger_row *row)
{
    static const char *const reasons[] = {REASON_DEDUP, REASON_BAD_SECTOR, REASON_BAD_RECORD,
                                          REASON_STALE};
    bool found = false;
    for (size_t i = 0; i < ARRAY_LEN(reasons) && row->state == LEDGER_FAILED; i++) {
        found = found || row->reason == reason_number(reasons[i]);
    }
    return found;
}

static uint64_t count_failed(const struct run *run, const struct run_volume *volume)
{
    uint64_t failed = plan_get_totals(volume->plan)->dedup_failed;
    for (uint64_t i = 0; i < plan_task_count(volume->plan); i++) {
        bool unread = plan_get_task(volume->plan, i)->rehydrated &&
                      is_unread(ledger_row(run->ledger, volume->first_task + i));
        failed += unread ? 1 : 0;
    }
    return failed;
}

bool stores_need(struct run *run)
{
    bool any = false;
    for (size_t i = 0; i < run->volume_count; i++) {
        const struct run_volume *volume = &run->volumes[i];
        const struct plan_totals *totals = plan_get_totals(volume->plan);
        uint64_t failed = totals->spares > 0 ? count_failed(run, volume) : 0;
        if (failed == 0) {
            continue;
        }
        uint64_t opened = turn(run, volume, LEDGER_SKIPPED, LEDGER_OPEN);
        run->tasks_left -= opened;
        run->byte_count += totals->spare_bytes;
        run->summary->objects_total += opened;
        run->summary->bytes_total += totals->spare_bytes;
        any = any || opened > 0;
        run_warn(
            run,
            "%s: %llu deduplicated streams could not be read: the files of the chunk store are "
            "kept under .winch/dedup/.",
            volume->id, (unsigned long long)failed);
    }
    return any;
}
