/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Times of Windows as RFC 3339 has them. */
#include "base/base.h"

#define TICKS_PER_SECOND 10000000ULL
#define SECONDS_1601_TO_1970 11644473600LL

/* Civil date from days since 1970 (proleptic Gregorian): these times reach from 1601 to 60056,
 * which gmtime_r also covers but slowly. */
static void civil_date(int64_t days, int64_t *ret_year, unsigned *ret_month, unsigned *ret_day)
{
    days += 719468;
    int64_t era = (days >= 0 ? days : days - 146096) / 146097;
    unsigned day_of_era = (unsigned)(days - era * 146097);
    unsigned year_of_era =
        (day_of_era - day_of_era / 1460 + day_of_era / 36524 - day_of_era / 146096) / 365;
    unsigned day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    unsigned shifted = (5 * day_of_year + 2) / 153;
    *ret_day = day_of_year - (153 * shifted + 2) / 5 + 1;
    *ret_month = shifted < 10 ? shifted + 3 : shifted - 9;
    *ret_year = (int64_t)year_of_era + era * 400 + (*ret_month <= 2 ? 1 : 0);
}

void text_add_filetime(struct text *text, uint64_t ticks)
{
    int64_t seconds = (int64_t)(ticks / TICKS_PER_SECOND) - SECONDS_1601_TO_1970;
    int64_t days = seconds / 86400;
    int64_t rest = seconds % 86400;
    if (rest < 0) {
        rest += 86400;
        days--;
    }
    int64_t year = 0;
    unsigned month = 0;
    unsigned day = 0;
    civil_date(days, &year, &month, &day);
    text_printf(text, "%04lld-%02u-%02uT%02u:%02u:%02u.%07uZ", (long long)year, month, day,
                (unsigned)(rest / 3600), (unsigned)(rest / 60 % 60), (unsigned)(rest % 60),
                (unsigned)(ticks % TICKS_PER_SECOND));
}
