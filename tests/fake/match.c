/* SPDX-License-Identifier: GPL-3.0-or-later */
/* match: conditions on method, path and object name, with counting. */
#include "match.h"

#include <string.h>

#define NUMBER_MAX 9007199254740992.0 /* 2^53: exact in a JSON number */

int match_number(const cJSON *json, const char *name, uint64_t fallback, uint64_t *ret,
                 struct error *err)
{
    const cJSON *item = cJSON_GetObjectItemCaseSensitive(json, name);
    if (item == NULL) {
        *ret = fallback;
        return 0;
    }
    double value = cJSON_GetNumberValue(item); /* NaN when it is no number */
    if (!(value >= 0 && value <= NUMBER_MAX)) {
        return error_stop(err, EXIT_STATUS_USAGE, "\"%s\" is not a whole number", name);
    }
    *ret = (uint64_t)value;
    return 0;
}

const char *match_string(const cJSON *json, const char *name)
{
    return cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(json, name));
}

static char *copy_of(const char *string)
{
    return string == NULL ? NULL : strdup(string);
}

static int parse_percent(const cJSON *json, double *ret, struct error *err)
{
    const cJSON *item = cJSON_GetObjectItemCaseSensitive(json, "percent");
    *ret = item == NULL ? 0 : cJSON_GetNumberValue(item); /* NaN when it is no number */
    if (!(*ret >= 0 && *ret <= 100)) {
        return error_stop(err, EXIT_STATUS_USAGE, "\"percent\" is not a number from 0 to 100");
    }
    return 0;
}

int match_parse(const cJSON *json, struct match *ret, struct error *err)
{
    struct match match = {0};
    const char *method = match_string(json, "method");
    if (method != NULL && strlen(method) >= sizeof(match.method)) {
        return error_stop(err, EXIT_STATUS_USAGE, "\"method\" is too long");
    }
    memcpy(match.method, method == NULL ? "" : method, method == NULL ? 1 : strlen(method) + 1);
    if (match_number(json, "nth", 0, &match.nth, err) != 0 ||
        match_number(json, "count", 1, &match.count, err) != 0 ||
        match_number(json, "every", 0, &match.every, err) != 0 ||
        match_number(json, "seed", 0, &match.seed, err) != 0 ||
        parse_percent(json, &match.percent, err) != 0) {
        return -1;
    }
    match.path_contains = copy_of(match_string(json, "path_contains"));
    match.name_contains = copy_of(match_string(json, "name_contains"));
    *ret = match;
    return 0;
}

void match_clear(struct match *match)
{
    free(match->path_contains);
    free(match->name_contains);
    *match = (struct match){0};
}

static int hex_value(char digit)
{
    if (digit >= '0' && digit <= '9') {
        return digit - '0';
    }
    digit = (char)(digit | 0x20);
    return digit >= 'a' && digit <= 'f' ? digit - 'a' + 10 : -1;
}

bool match_unescape(char *string, bool plus)
{
    char *to = string;
    bool clean = true;
    for (const char *from = string; *from != '\0'; to++) {
        int high = from[0] == '%' ? hex_value(from[1]) : -1;
        int low = high >= 0 ? hex_value(from[2]) : -1;
        if (low >= 0) {
            *to = (char)(high * 16 + low);
            clean = clean && *to != '\0';
            from += 3;
        } else {
            *to = plus && *from == '+' ? ' ' : *from;
            from++;
        }
    }
    *to = '\0';
    return clean;
}

static bool target_contains(const char *target, const char *part)
{
    if (strstr(target, part) != NULL) {
        return true;
    }
    char *plain CLEANUP_FREE = strdup(target);
    if (plain == NULL) {
        return false;
    }
    (void)match_unescape(plain, false); /* a %00 only ends the string early */
    return strstr(plain, part) != NULL;
}

static bool fits(const struct match *match, const struct match_subject *subject)
{
    if (match->method[0] != '\0' && strcmp(match->method, subject->method) != 0) {
        return false;
    }
    if (match->path_contains != NULL && !target_contains(subject->target, match->path_contains)) {
        return false;
    }
    return match->name_contains == NULL ||
           (subject->name != NULL && strstr(subject->name, match->name_contains) != NULL);
}

/* Chance by seed and number alone, so that a run can be had again: splitmix64's finish. */
static bool is_struck(const struct match *match)
{
    uint64_t value = match->seed * 0x9E3779B97F4A7C15U + match->seen;
    value = (value ^ (value >> 30)) * 0xBF58476D1CE4E5B9U;
    value = (value ^ (value >> 27)) * 0x94D049BB133111EBU;
    value ^= value >> 31;
    return (double)(value >> 11) / (double)(1ULL << 53) < match->percent / 100;
}

bool match_is_due(struct match *match, const struct match_subject *subject)
{
    if (!fits(match, subject)) {
        return false;
    }
    match->seen++;
    if (match->percent > 0) {
        return is_struck(match);
    }
    if (match->every > 0) {
        return match->seen % match->every == 0;
    }
    return match->nth == 0 ||
           (match->seen >= match->nth && match->seen - match->nth < match->count);
}
