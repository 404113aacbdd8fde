/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A rate, or rows of a week: the day if it matters, the time, the rate from then on. */
#include "cli/bandwidth_option.h"

#include <string.h>
#include <strings.h>

enum { RATE_MIN = 1024, WORD_MAX = 64, MINUTES_PER_HOUR = 60, HOURS_PER_DAY = 24 };

static bool read_rate(const char *word, uint64_t *ret_rate)
{
    if (strcasecmp(word, "off") == 0) {
        *ret_rate = 0;
        return true;
    }
    return parse_size(word, ret_rate) == 0 && *ret_rate >= RATE_MIN;
}

/* "Mon-" in front, in any case; then `*word` points behind it. */
static int read_weekday(const char **word)
{
    static const char *const days[] = {"Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat"};
    for (int i = 0; i < (int)ARRAY_LEN(days); i++) {
        if (strncasecmp(*word, days[i], 3) == 0 && (*word)[3] == '-') {
            *word += 4;
            return i;
        }
    }
    return -1;
}

static int two_digits(const char *at)
{
    bool good = at[0] >= '0' && at[0] <= '9' && at[1] >= '0' && at[1] <= '9';
    return good ? (at[0] - '0') * 10 + (at[1] - '0') : -1;
}

/* "08:00" up to `end`; -1 when it is none. */
static int read_minute(const char *at, const char *end)
{
    if (end - at != 5 || at[2] != ':') {
        return -1;
    }
    int hour = two_digits(at);
    int minute = two_digits(at + 3);
    bool good = hour >= 0 && hour < HOURS_PER_DAY && minute >= 0 && minute < MINUTES_PER_HOUR;
    return good ? hour * MINUTES_PER_HOUR + minute : -1;
}

/* NULL: good. */
static const char *read_row(const char *word, struct upload_rate_row *ret_row)
{
    const char *comma = strchr(word, ',');
    if (comma == NULL) {
        return "a row is TIME,RATE, as in 08:00,20M";
    }
    const char *time = word;
    ret_row->weekday = read_weekday(&time);
    ret_row->minute = read_minute(time, comma);
    if (ret_row->minute < 0) {
        return "a time is 00:00 to 23:59, with Mon- to Sun- in front for one day";
    }
    return read_rate(comma + 1, &ret_row->bytes_per_second)
               ? NULL
               : "a rate is a size for each second, 1K at least, or off";
}

static bool is_there(const struct upload_timetable *table, const struct upload_rate_row *row)
{
    for (size_t i = 0; i < table->count; i++) {
        if (table->rows[i].weekday == row->weekday && table->rows[i].minute == row->minute) {
            return true;
        }
    }
    return false;
}

static const char *add_row(const char *word, struct upload_timetable *table)
{
    struct upload_rate_row row = {0};
    const char *problem = read_row(word, &row);
    if (problem != NULL) {
        return problem;
    }
    if (is_there(table, &row)) {
        return "this time is there twice";
    }
    if (table->count == UPLOAD_RATE_ROWS_MAX) {
        return "a timetable has at most 64 rows";
    }
    table->rows[table->count++] = row;
    return NULL;
}

void bandwidth_option_read(const char *value, struct upload_timetable *ret_table,
                           struct option_mistakes *mistakes)
{
    *ret_table = (struct upload_timetable){0};
    if (strpbrk(value, ",: ") == NULL) {
        struct upload_rate_row row = {.weekday = -1};
        if (!read_rate(value, &row.bytes_per_second)) {
            option_mistake(
                mistakes,
                "--bwlimit %s: is no rate, as in 20M (for each second, 1K at least), and "
                "no timetable, as in \"08:00,20M 19:00,off\"",
                value);
        }
        ret_table->rows[ret_table->count++] = row;
        return;
    }
    const char *at = value + strspn(value, " ");
    while (*at != '\0') {
        char word[WORD_MAX];
        size_t len = strcspn(at, " ");
        (void)snprintf(word, sizeof(word), "%.*s", (int)(len < WORD_MAX ? len : WORD_MAX), at);
        const char *problem = len < WORD_MAX ? add_row(word, ret_table) : "too long for a row";
        if (problem != NULL) {
            option_mistake(mistakes, "--bwlimit: %s: %s", word, problem);
            return;
        }
        at += len;
        at += strspn(at, " ");
    }
    if (ret_table->count == 0) {
        option_mistake(mistakes, "--bwlimit: is empty");
    }
}
