/* SPDX-License-Identifier: GPL-3.0-or-later */
/* protection: reads the bucket's members, and judges objects. */
#include "protection.h"

#define NS_PER_SECOND 1000000000ULL

/* 64-bit integers of the API come as strings; who writes a file by hand may write a number. */
static uint64_t seconds_of(const cJSON *item)
{
    uint64_t seconds = 0;
    if (cJSON_IsString(item)) {
        return parse_u64(item->valuestring, &seconds) == 0 ? seconds : 0;
    }
    return cJSON_IsNumber(item) && item->valuedouble > 0 ? (uint64_t)item->valuedouble : 0;
}

struct protection protection_of_bucket(const cJSON *bucket)
{
    const cJSON *retention = cJSON_GetObjectItemCaseSensitive(bucket, "retentionPolicy");
    const cJSON *soft = cJSON_GetObjectItemCaseSensitive(bucket, "softDeletePolicy");
    const cJSON *hold = cJSON_GetObjectItemCaseSensitive(bucket, "defaultEventBasedHold");
    return (struct protection){
        .retention_ns = seconds_of(cJSON_GetObjectItemCaseSensitive(retention, "retentionPeriod")) *
                        NS_PER_SECOND,
        .default_event_hold = cJSON_IsTrue(hold),
        .soft_delete =
            seconds_of(cJSON_GetObjectItemCaseSensitive(soft, "retentionDurationSeconds")) > 0,
    };
}

enum protection_verdict protection_check(const struct protection *protection,
                                         const struct object *object, uint64_t utc_ns)
{
    const struct attributes *attributes = &object->attributes;
    if (attributes->values[ATTRIBUTE_TEMPORARY_HOLD] != NULL ||
        attributes->values[ATTRIBUTE_EVENT_HOLD] != NULL) {
        return PROTECTION_HELD;
    }
    bool is_young = utc_ns - object->created_ns < protection->retention_ns;
    return is_young ? PROTECTION_RETAINED : PROTECTION_NONE;
}
