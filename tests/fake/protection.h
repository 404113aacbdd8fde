/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * protection: what a bucket does to deletions, as its resource says: a retention policy and holds
 * forbid them, soft delete makes them cost. Constant after the start.
 */
#ifndef FAKE_PROTECTION_H
#define FAKE_PROTECTION_H

#include <cjson/cJSON.h>

#include "object.h"

struct protection {
    uint64_t retention_ns;   /* retentionPolicy.retentionPeriod; 0: none */
    bool default_event_hold; /* defaultEventBasedHold: new objects are held */
    bool soft_delete;        /* softDeletePolicy.retentionDurationSeconds > 0 */
};

enum protection_verdict { PROTECTION_NONE, PROTECTION_RETAINED, PROTECTION_HELD };

/* From the members of --bucket-json; NULL: nothing is protected. */
struct protection protection_of_bucket(const cJSON *bucket);
/* May this object be deleted or overwritten now? */
enum protection_verdict protection_check(const struct protection *protection,
                                         const struct object *object, uint64_t utc_ns);

#endif
