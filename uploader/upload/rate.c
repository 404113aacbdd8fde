/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The bandwidth limit: bodies of all workers together, in small slices, so that the line is used
 * evenly. Each slice moves the moment from which the next one may go. Waiting happens inside the
 * body's read, where http does not take it for a stall.
 */
#include "upload_internal.h"

#include <time.h>

#define NS_PER_SECOND 1000000000ULL
#define SLICES_PER_SECOND 20 /* 50 ms each */
#define SLICE_MIN 512U
#define BURST_NS (NS_PER_SECOND / 4) /* what an idle line may catch up */
#define LOOK_NS NS_PER_SECOND        /* so often the clock is asked for the row that holds */
#define TICK_MS 50

enum { MINUTES_PER_DAY = 1440, DAYS = 7 };

/* The minute of the week at which a row begins to hold on `day`; -1: not on that day. */
static int begin_of(const struct upload_rate_row *row, int day)
{
    return row->weekday < 0 || row->weekday == day ? day * MINUTES_PER_DAY + row->minute : -1;
}

uint64_t upload_timetable_at(const struct upload_timetable *table, int weekday, int minute)
{
    const int now = weekday * MINUTES_PER_DAY + minute;
    const struct upload_rate_row *best = NULL;
    int best_age = 0;
    for (size_t i = 0; i < table->count; i++) {
        for (int day = 0; day < DAYS; day++) {
            int begin = begin_of(&table->rows[i], day);
            if (begin < 0) {
                continue;
            }
            int age = begin <= now ? now - begin : now - begin + DAYS * MINUTES_PER_DAY;
            /* Of two that begin at once, the one that names its day. */
            if (best == NULL || age < best_age || (age == best_age && best->weekday < 0)) {
                best = &table->rows[i];
                best_age = age;
            }
        }
    }
    return best != NULL ? best->bytes_per_second : 0;
}

int upload_rate_open(struct upload_rate *rate, const struct upload_timetable *table,
                     struct error *err)
{
    *rate = (struct upload_rate){.table = table};
    return pthread_mutex_init(&rate->lock, NULL) == 0 ? 0 : error_memory(err, "a lock");
}

void upload_rate_close(struct upload_rate *rate)
{
    (void)pthread_mutex_destroy(&rate->lock);
}

uint64_t upload_rate_grant(struct upload_rate *rate, uint64_t now_ns, size_t want,
                           size_t *ret_granted)
{
    if (rate->bytes_per_second == 0) {
        *ret_granted = want;
        return 0;
    }
    if (rate->next_ns > now_ns) {
        return rate->next_ns - now_ns;
    }
    uint64_t slice = rate->bytes_per_second / SLICES_PER_SECOND;
    slice = slice > SLICE_MIN ? slice : SLICE_MIN;
    *ret_granted = want < slice ? want : (size_t)slice;
    uint64_t earliest_ns = now_ns > BURST_NS ? now_ns - BURST_NS : 0;
    uint64_t from_ns = rate->next_ns > earliest_ns ? rate->next_ns : earliest_ns;
    rate->next_ns = from_ns + (uint64_t)((double)*ret_granted * (double)NS_PER_SECOND /
                                         (double)rate->bytes_per_second);
    return 0;
}

/* Local time, asked again and again: daylight saving and a clock that is set are followed. */
static void look_at_table_locked(struct upload_rate *rate, uint64_t now_ns)
{
    if (rate->has_looked && now_ns - rate->looked_ns < LOOK_NS) {
        return;
    }
    struct tm local = {0};
    time_t now = (time_t)(clock_utc_ns() / NS_PER_SECOND);
    (void)localtime_r(&now, &local); /* fails for no year that a clock shows */
    uint64_t before = rate->bytes_per_second;
    rate->bytes_per_second =
        upload_timetable_at(rate->table, local.tm_wday, local.tm_hour * 60 + local.tm_min);
    if (rate->bytes_per_second != before) {
        rate->next_ns = now_ns; /* what an old row made wait does not hold any more */
    }
    rate->has_looked = true;
    rate->looked_ns = now_ns;
}

int upload_rate_take(struct upload_rate *rate, size_t want, const _Atomic bool *cancel,
                     size_t *ret_granted, struct error *err)
{
    *ret_granted = want;
    if (rate->table == NULL) {
        return 0;
    }
    for (;;) {
        (void)pthread_mutex_lock(&rate->lock);
        uint64_t now_ns = clock_monotonic_ns();
        look_at_table_locked(rate, now_ns);
        uint64_t wait_ns = upload_rate_grant(rate, now_ns, want, ret_granted);
        (void)pthread_mutex_unlock(&rate->lock);
        if (wait_ns == 0) {
            return 0;
        }
        uint64_t wait_ms = wait_ns / 1000000 + 1;
        atomic_fetch_add(&rate->waiting, 1);
        int status = clock_sleep_ms(wait_ms < TICK_MS ? wait_ms : TICK_MS, cancel);
        atomic_fetch_sub(&rate->waiting, 1);
        if (status != 0) {
            return error_cancelled(err);
        }
    }
}

/* ---- a body at that rate ---- */

static ssize_t limited_read(void *self, void *buf, size_t len, struct error *err)
{
    struct upload_limited_body *limited = self;
    size_t granted = 0;
    if (upload_rate_take(limited->rate, len, limited->cancel, &granted, err) != 0) {
        return -1;
    }
    return limited->inner->read(limited->inner->self, buf, granted, err);
}

static int limited_rewind(void *self, struct error *err)
{
    struct upload_limited_body *limited = self;
    return limited->inner->rewind(limited->inner->self, err);
}

struct http_body upload_limited_body(struct upload_limited_body *limited)
{
    return (struct http_body){
        .size_bytes = limited->inner->size_bytes,
        .read = limited_read,
        .rewind = limited_rewind,
        .self = limited,
    };
}
