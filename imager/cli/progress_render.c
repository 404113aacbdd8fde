/* SPDX-License-Identifier: GPL-3.0-or-later */
/* One moment of a run as a line of text. Pure: knows no terminal. */
#include "cli/progress.h"

#include <string.h>

/* A read of the disk that takes longer than this is worth a word. */
#define STALL_SHOWN_MS 5000
#define BAR_COLUMNS_MIN 10
#define BAR_COLUMNS_MAX 30
#define FIELD_BYTES 64

/* In the order of the line. */
enum field {
    FIELD_COUNT_DONE,
    FIELD_BYTES_DONE,
    FIELD_RATE,
    FIELD_LEFT,
    FIELD_LIMIT,
    FIELD_RETRIES,
    FIELD_FAILED,
    FIELD_STALL,
    FIELDS,
};

/* The most important first. */
static const enum field field_order[FIELDS] = {
    FIELD_STALL,      FIELD_LEFT,       FIELD_FAILED, FIELD_RATE,
    FIELD_BYTES_DONE, FIELD_COUNT_DONE, FIELD_LIMIT,  FIELD_RETRIES,
};

static bool get_share(const struct run_progress *progress, unsigned *ret_percent);
static void fill_fields(const struct run_progress *progress, char fields[FIELDS][FIELD_BYTES]);
static void format_of(uint64_t done, uint64_t total, const char *unit, char out[FIELD_BYTES]);
static void format_bytes_of(uint64_t done, uint64_t total, char out[FIELD_BYTES]);
static void add_bar(struct text *text, unsigned percent, size_t columns);

void progress_render(struct text *text, const struct run_progress *progress, unsigned width)
{
    char fields[FIELDS][FIELD_BYTES] = {{0}};
    fill_fields(progress, fields);

    unsigned percent = 0;
    bool has_share = get_share(progress, &percent);
    char head[FIELD_BYTES];
    if (has_share) {
        (void)snprintf(head, sizeof(head), "%.20s %3u%%", progress->phase, percent);
    } else {
        (void)snprintf(head, sizeof(head), "%.20s", progress->phase);
    }
    size_t left = width == 0 ? SIZE_MAX : width;
    if (strlen(head) > left) {
        text_add_bytes(text, head, left);
        return;
    }
    left -= strlen(head);

    bool taken[FIELDS] = {false};
    for (size_t i = 0; i < FIELDS; i++) {
        size_t columns = strlen(fields[field_order[i]]) + 2;
        if (columns > 2 && columns <= left) {
            taken[field_order[i]] = true;
            left -= columns;
        }
    }
    text_add(text, head);
    if (width > 0 && has_share && left >= BAR_COLUMNS_MIN + 3) {
        add_bar(text, percent, left - 3);
    }
    for (size_t i = 0; i < FIELDS; i++) {
        if (taken[i]) {
            text_add(text, "  ");
            text_add(text, fields[i]);
        }
    }
}

void progress_render_json(struct text *text, const struct run_progress *progress, uint64_t utc_ns)
{
    char time[32];
    clock_format_utc(utc_ns, time);
    text_printf(text, "{\"t\":\"%s\",\"phase\":", time);
    text_add_json(text, progress->phase, strlen(progress->phase));
    text_printf(text,
                ",\"objects\":%llu,\"objects_total\":%llu,\"bytes\":%llu,\"bytes_total\":%llu",
                (unsigned long long)progress->objects, (unsigned long long)progress->objects_total,
                (unsigned long long)progress->bytes, (unsigned long long)progress->bytes_total);
    text_printf(text, ",\"rate\":%llu,\"eta_s\":", (unsigned long long)progress->rate);
    if (progress->eta_seconds == UINT64_MAX) {
        text_add(text, "null");
    } else {
        text_add_u64(text, progress->eta_seconds);
    }
    text_printf(text, ",\"limited_by\":\"%s\",\"retries\":%llu}",
                run_limit_name(progress->limited_by), (unsigned long long)progress->retries);
}

static bool is_upload(const struct run_progress *progress)
{
    return strcmp(progress->phase, "upload") == 0;
}

/* False when it cannot be told. 100 only when nothing is left. */
static bool get_share(const struct run_progress *progress, unsigned *ret_percent)
{
    uint64_t done = progress->done;
    uint64_t total = progress->total;
    bool complete = done >= total;
    if (is_upload(progress)) {
        complete = progress->objects >= progress->objects_total &&
                   progress->bytes >= progress->bytes_total;
        bool by_bytes = progress->bytes_total > 0;
        done = by_bytes ? progress->bytes : progress->objects;
        total = by_bytes ? progress->bytes_total : progress->objects_total;
    }
    if (total == 0) {
        return false;
    }
    unsigned percent = done >= total ? 100 : (unsigned)((long double)done * 100 / total);
    *ret_percent = percent == 100 && !complete ? 99 : percent;
    return true;
}

static void fill_fields(const struct run_progress *progress, char fields[FIELDS][FIELD_BYTES])
{
    char number[32];
    if (progress->stalled_ms >= STALL_SHOWN_MS) {
        format_duration(progress->stalled_ms, number);
        (void)snprintf(fields[FIELD_STALL], FIELD_BYTES, "disk silent for %s", number);
    }
    if (!is_upload(progress)) {
        const char *unit = strcmp(progress->phase, "scan") == 0 ? "records" : "entries";
        if (progress->total > 0) {
            format_of(progress->done, progress->total, unit, fields[FIELD_COUNT_DONE]);
        }
        return;
    }
    format_of(progress->objects, progress->objects_total, "objects", fields[FIELD_COUNT_DONE]);
    format_bytes_of(progress->bytes, progress->bytes_total, fields[FIELD_BYTES_DONE]);
    format_bytes(progress->rate, number);
    (void)snprintf(fields[FIELD_RATE], FIELD_BYTES, "%s/s", number);
    if (progress->eta_seconds < UINT64_MAX / 1000) {
        format_duration(progress->eta_seconds * 1000, number);
        (void)snprintf(fields[FIELD_LEFT], FIELD_BYTES, "%s left", number);
    }
    (void)snprintf(fields[FIELD_LIMIT], FIELD_BYTES, "limited by %.20s",
                   run_limit_name(progress->limited_by));
    if (progress->retries > 0) {
        format_count(progress->retries, number);
        (void)snprintf(fields[FIELD_RETRIES], FIELD_BYTES, "%s %s", number,
                       progress->retries == 1 ? "retry" : "retries");
    }
    if (progress->failed > 0) {
        format_count(progress->failed, number);
        (void)snprintf(fields[FIELD_FAILED], FIELD_BYTES, "%s failed", number);
    }
}

static void format_of(uint64_t done, uint64_t total, const char *unit, char out[FIELD_BYTES])
{
    char done_text[32];
    char total_text[32];
    format_count(done, done_text);
    format_count(total, total_text);
    (void)snprintf(out, FIELD_BYTES, "%.26s/%.26s %s", done_text, total_text, unit);
}

/* "1.2/2.9 GiB": both in the unit of the total. */
static void format_bytes_of(uint64_t done, uint64_t total, char out[FIELD_BYTES])
{
    static const char *const units[] = {"B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
    size_t unit = 0;
    while (unit + 1 < ARRAY_LEN(units) && total >> (10 * (unit + 1)) > 0) {
        unit++;
    }
    if (unit == 0) {
        (void)snprintf(out, FIELD_BYTES, "%llu/%llu B", (unsigned long long)done,
                       (unsigned long long)total);
        return;
    }
    double scale = (double)(UINT64_C(1) << (10 * unit));
    /* Cut rather than rounded: 2.9/2.9 is shown only when it is nearly so. */
    double done_tenths = (double)(uint64_t)((double)done * 10 / scale);
    (void)snprintf(out, FIELD_BYTES, "%.1f/%.1f %s", done_tenths / 10, (double)total / scale,
                   units[unit]);
}

/* With the space before it and the brackets: `columns` + 3. */
static void add_bar(struct text *text, unsigned percent, size_t columns)
{
    size_t cells = columns > BAR_COLUMNS_MAX ? BAR_COLUMNS_MAX : columns;
    size_t full = cells * percent / 100;
    text_add(text, " [");
    for (size_t i = 0; i < cells; i++) {
        text_add_char(text, i < full ? '#' : '-');
    }
    text_add_char(text, ']');
}
