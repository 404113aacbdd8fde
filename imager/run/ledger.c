/* SPDX-License-Identifier: GPL-3.0-or-later */
/* ledger: a mapped array of 16 bytes a task, and the table of reason codes. */
#include "run/ledger.h"

#include <string.h>

#include "plan/plan.h"

struct ledger {
    struct area area;
    char *folder; /* for the area's messages */
};

_Static_assert(sizeof(struct ledger_row) == 16, "a row is 16 bytes");

struct ledger *ledger_new(uint64_t tasks, const char *folder, struct error *err)
{
    struct ledger *ledger = calloc(1, sizeof(*ledger));
    uint64_t bytes = 0;
    if (ledger == NULL || tasks == UINT64_MAX ||
        mul_overflows(tasks + 1, sizeof(struct ledger_row), &bytes) ||
        (ledger->folder = strdup(folder)) == NULL) {
        free(ledger);
        (void)error_memory(err, "the ledger"); /* NULL says it */
        return NULL;
    }
    ledger->area.fd = -1;
    if (area_open(&ledger->area, "the ledger", ledger->folder, err) != 0 ||
        area_reserve(&ledger->area, (size_t)bytes, err) == NULL) {
        ledger_free(ledger);
        return NULL;
    }
    ledger->area.len = (size_t)bytes;
    return ledger;
}

void ledger_free(struct ledger *ledger)
{
    if (ledger != NULL) {
        area_close(&ledger->area);
        free(ledger->folder);
        free(ledger);
    }
}

struct ledger_row *ledger_row(struct ledger *ledger, uint64_t task)
{
    return (struct ledger_row *)(void *)ledger->area.bytes + task;
}

static const char *const reasons[] = {
    REASON_UPLOAD_REFUSED,
    REASON_DEDUP,
    REASON_CLOUD,
    REASON_EFS,
    REASON_WOF,
    REASON_REPARSE,
    REASON_BAD_RECORD,
    REASON_CROSS_LINKED,
    REASON_BAD_SECTOR,
    REASON_STALE,
    REASON_CONFLICT,
    REASON_PRESENT_UNVERIFIED,
    REASON_TOO_LARGE,
    REASON_NAME,
    REASON_EXCLUDED,
    REASON_SYSTEM,
};

uint8_t reason_number(const char *reason)
{
    for (size_t i = 0; reason != NULL && i < ARRAY_LEN(reasons); i++) {
        if (strcmp(reasons[i], reason) == 0) {
            return (uint8_t)i;
        }
    }
    return 0;
}

const char *reason_name(uint8_t number)
{
    return reasons[number < ARRAY_LEN(reasons) ? number : 0];
}

size_t reason_count(void)
{
    return ARRAY_LEN(reasons);
}
