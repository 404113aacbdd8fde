/* SPDX-License-Identifier: GPL-3.0-or-later */
/* stillness: counts the time, and finds the words. */
#include "run/stillness.h"

#define MINUTE_MS 60000ULL
#define BLOCKED_WORTH_MS 1000 /* a read that takes longer is a reason */

bool stillness_look(struct stillness *stillness, uint64_t mark, uint64_t now_ms,
                    uint64_t *ret_still_ms)
{
    static const uint64_t minutes[] = {1, 5, 15};
    if (stillness->since_ms == 0 || mark != stillness->mark) {
        *stillness = (struct stillness){.mark = mark, .since_ms = now_ms};
        return false;
    }
    const unsigned early = ARRAY_LEN(minutes);
    uint64_t next =
        stillness->told < early ? minutes[stillness->told] : 60ULL * (stillness->told - early + 1);
    *ret_still_ms = now_ms - stillness->since_ms;
    if (*ret_still_ms < next * MINUTE_MS) {
        return false;
    }
    stillness->told++;
    return true;
}

static void add_failure(const struct upload_counters *counters, struct text *text)
{
    char ago[32];
    if (!counters->has_failed) {
        return;
    }
    format_duration(counters->failed_ago_ms, ago);
    if (counters->failed_status == 0) {
        text_printf(text, " (the last try without a reply ended %s ago)", ago);
    } else {
        text_printf(text, " (the last failure was HTTP %d, %s ago)", counters->failed_status, ago);
    }
}

static void add_waiting(unsigned count, const char *what, struct text *text)
{
    if (count > 0) {
        text_printf(text, "; %u %s %s", count, count == 1 ? "waits" : "wait", what);
    }
}

void stillness_describe(uint64_t still_ms, const struct upload_counters *counters,
                        uint64_t blocked_ms, uint64_t offset, struct text *text)
{
    char duration[32];
    format_duration(still_ms, duration);
    text_printf(text, "Nothing has moved for %s: ", duration);
    if (blocked_ms >= BLOCKED_WORTH_MS) {
        format_duration(blocked_ms, duration);
        text_printf(text, "the disk has not answered a read at byte %llu for %s; ",
                    (unsigned long long)offset, duration);
    }
    text_printf(text, "%u %s under way", counters->in_requests,
                counters->in_requests == 1 ? "request is" : "requests are");
    add_failure(counters, text);
    add_waiting(counters->in_window, "for a place among them", text);
    add_waiting(counters->in_ramp, "for the ramp of writes", text);
    add_waiting(counters->in_bandwidth, "for the bandwidth limit", text);
    text_add(text, ". What fails is tried again until --give-up.");
}
