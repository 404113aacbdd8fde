/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Values of options: what is allowed, and how a refusal names it. */
#include "cli/option_value.h"

#include <string.h>

static void take_list(const struct option *option, struct option_list *list, const char *value,
                      struct option_mistakes *mistakes);
static void take_choice(const struct option *option, int *ret_choice, const char *value,
                        struct option_mistakes *mistakes);
static void take_number(const struct option *option, unsigned *ret_number, const char *value,
                        struct option_mistakes *mistakes);
static void take_size(const struct option *option, uint64_t *ret_bytes, const char *value,
                      struct option_mistakes *mistakes);
static void take_duration(const struct option *option, uint64_t *ret_ms, const char *value,
                          struct option_mistakes *mistakes);
static bool is_refused(const struct option *option, const char *choice);

void *option_place(const struct option *option, void *values)
{
    return (char *)values + option->offset;
}

void option_take_value(const struct option *option, void *values, const char *value,
                       struct option_mistakes *mistakes)
{
    void *place = option_place(option, values);
    if (value[0] == '\0') {
        option_mistake(mistakes, "%s: the value is empty; write %s %s", option->name, option->name,
                       option->argument);
        return;
    }
    switch (option->type) {
    case OPTION_STRING:
        *(const char **)place = value;
        break;
    case OPTION_LIST:
    case OPTION_COMMA_LIST:
        take_list(option, place, value, mistakes);
        break;
    case OPTION_CHOICE:
        take_choice(option, place, value, mistakes);
        break;
    case OPTION_NUMBER:
        take_number(option, place, value, mistakes);
        break;
    case OPTION_SIZE:
        take_size(option, place, value, mistakes);
        break;
    case OPTION_DURATION:
        take_duration(option, place, value, mistakes);
        break;
    case OPTION_HEADING:
    case OPTION_FLAG:
    case OPTION_FLAG_OFF:
        break; /* take no value */
    }
}

static void take_list(const struct option *option, struct option_list *list, const char *value,
                      struct option_mistakes *mistakes)
{
    while (value != NULL) {
        const char *comma = option->type == OPTION_COMMA_LIST ? strchr(value, ',') : NULL;
        size_t len = comma == NULL ? strlen(value) : (size_t)(comma - value);
        if (len == 0) {
            option_mistake(mistakes, "%s: an item between the commas is empty", option->name);
        } else if (option_list_add(list, value, len) < 0) {
            option_list_mistake(mistakes, list, "%s: too many values, at most %d are possible",
                                option->name, OPTION_LIST_MAX);
            return;
        }
        value = comma == NULL ? NULL : comma + 1;
    }
}

static void take_choice(const struct option *option, int *ret_choice, const char *value,
                        struct option_mistakes *mistakes)
{
    if (is_refused(option, value)) {
        option_mistake(mistakes, "%s %s: %s", option->name, value, option->refusal->reason);
        return;
    }
    for (int i = 0; option->choices[i] != NULL; i++) {
        if (strcmp(option->choices[i], value) == 0) {
            *ret_choice = i;
            return;
        }
    }
    CLEANUP_TEXT struct text allowed = TEXT_INIT(1024);
    for (int i = 0; option->choices[i] != NULL; i++) {
        if (!is_refused(option, option->choices[i])) {
            text_add(&allowed, allowed.len == 0 ? "" : ", ");
            text_add(&allowed, option->choices[i]);
        }
    }
    option_mistake(mistakes, "%s %s: allowed are %s", option->name, value, text_str(&allowed));
}

static void take_number(const struct option *option, unsigned *ret_number, const char *value,
                        struct option_mistakes *mistakes)
{
    uint64_t number;
    if (parse_u64(value, &number) < 0 || number < option->min || number > option->max) {
        option_mistake(mistakes, "%s %s: allowed is a number from %u to %u", option->name, value,
                       (unsigned)option->min, (unsigned)option->max);
        return;
    }
    *ret_number = (unsigned)number;
}

static void take_size(const struct option *option, uint64_t *ret_bytes, const char *value,
                      struct option_mistakes *mistakes)
{
    if (option->takes_auto && strcmp(value, "auto") == 0) {
        *ret_bytes = 0;
        return;
    }
    uint64_t bytes;
    if (parse_size(value, &bytes) < 0) {
        option_mistake(mistakes, "%s %s: allowed are sizes such as 300, 64K, 16M, 1.5G, 2T",
                       option->name, value);
        return;
    }
    char min[24];
    char max[24];
    char step[24];
    format_bytes(option->min, min);
    format_bytes(option->max, max);
    format_bytes(option->step, step);
    if (bytes < option->min || bytes > option->max) {
        option_mistake(mistakes, "%s %s: allowed are %s to %s", option->name, value, min, max);
    } else if (option->step > 0 && bytes % option->step != 0) {
        option_mistake(mistakes, "%s %s: has to be a multiple of %s", option->name, value, step);
    } else {
        *ret_bytes = bytes;
    }
}

static void take_duration(const struct option *option, uint64_t *ret_ms, const char *value,
                          struct option_mistakes *mistakes)
{
    uint64_t ms;
    if (parse_duration_ms(value, &ms) < 0) {
        option_mistake(mistakes, "%s %s: allowed are durations such as 90s, 15m, 1h, 2d",
                       option->name, value);
        return;
    }
    if (ms < option->min || ms > option->max) {
        option_mistake(mistakes, "%s %s: allowed are %u seconds to %u days", option->name, value,
                       (unsigned)(option->min / 1000), (unsigned)(option->max / 86400000));
        return;
    }
    *ret_ms = ms;
}

static bool is_refused(const struct option *option, const char *choice)
{
    return option->refusal != NULL && strcmp(option->refusal->choice, choice) == 0;
}
