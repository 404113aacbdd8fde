/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Custom metadata of an object: little, because the manifest has all the rest. */
#include "plan/plan_internal.h"

#include <string.h>

#define TICKS_PER_SECOND 10000000ULL /* 100 ns each */
#define SECONDS_1601_TO_1970 11644473600LL
#define SECONDS_1970_TO_10000 253402300800LL

void plan_metadata(const struct plan *plan, const struct plan_task *task,
                   const struct catalog_view *view, struct text *text)
{
    const struct volume_entry *entry = &view->entry; /* its streams carry its times */
    text_add_char(text, '{');
    text_add(text, plan->metadata != NULL ? plan->metadata : "");
    if (entry->has_standard) {
        int64_t seconds = (int64_t)(entry->modified / TICKS_PER_SECOND) - SECONDS_1601_TO_1970;
        text_printf(text, "\"goog-reserved-file-mtime\":\"%lld\",\"winch-mtime\":\"%llu\",",
                    (long long)seconds, (unsigned long long)entry->modified);
    }
    if (task->raw) {
        text_add(text, "\"winch-form\":\"efs-raw\",");
    }
    text_printf(text,
                "\"winch-record\":\"%llu-%u\",\"winch-run\":", (unsigned long long)entry->record,
                (unsigned)entry->sequence);
    text_add_json(text, plan->run, strlen(plan->run));
    text_add_char(text, '}');
}

bool plan_custom_time(const struct catalog_view *view, struct text *text)
{
    const struct volume_entry *entry = &view->entry;
    int64_t seconds = (int64_t)(entry->modified / TICKS_PER_SECOND) - SECONDS_1601_TO_1970;
    if (!entry->has_standard || seconds < 0 || seconds >= SECONDS_1970_TO_10000) {
        return false;
    }
    text_add_filetime(text, entry->modified);
    return true;
}
