/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What must not stand in an object name is written %uXXXX, and so is the percent sign of a name
 * that looks like that by itself: therefore the way back is unambiguous.
 */
#include "plan/escape.h"

#include <string.h>

#define HEX_DIGITS "0123456789ABCDEF"

static const uint16_t reserved_start[] = {'.', 'W', 'I', 'N', 'C', 'H'};

static bool is_plain(uint16_t unit);
static bool is_special_whole(const uint16_t *units, size_t count, bool first);
static size_t find_generation(const uint16_t *units, size_t count);
static bool looks_escaped(const uint16_t *units, size_t count);
static bool is_hex(uint16_t unit);
static void put_escape(struct plan_component *ret, uint16_t unit);
static size_t put_other(const uint16_t *units, size_t count, size_t at, struct plan_component *ret);

void plan_escape(const uint16_t *units, size_t count, unsigned where, struct plan_component *ret)
{
    ret->len = 0;
    ret->changed = false;
    ret->exact = true;
    if (count > PLAN_NAME_UNITS_MAX) {
        count = PLAN_NAME_UNITS_MAX; /* names have one byte for their length: cannot be */
        ret->exact = false;
    }
    if (count == 0) {
        put_escape(ret, 0); /* a component must not be empty */
        ret->exact = false;
        return;
    }
    size_t at = 0;
    if (units[0] == '.' && is_special_whole(units, count, (where & PLAN_ESCAPE_FIRST) != 0)) {
        put_escape(ret, units[0]);
        at = 1;
    }
    size_t mark = (where & PLAN_ESCAPE_LAST) != 0 ? find_generation(units, count) : count;
    while (at < count) {
        if (at == mark) {
            put_escape(ret, units[at++]);
        } else if (is_plain(units[at])) {
            ret->bytes[ret->len++] = (char)units[at++];
        } else {
            at = put_other(units, count, at, ret);
        }
    }
}

void plan_escape_le(const uint8_t *units_le, size_t count, unsigned where,
                    struct plan_component *ret)
{
    uint16_t units[PLAN_NAME_UNITS_MAX];
    if (count > PLAN_NAME_UNITS_MAX) {
        count = PLAN_NAME_UNITS_MAX;
    }
    for (size_t i = 0; i < count; i++) {
        units[i] = read_le16(units_le + 2 * i);
    }
    plan_escape(units, count, where, ret);
}

static bool is_plain(uint16_t unit)
{
    return unit >= 0x20 && unit < 0x7F && unit != '/' && unit != ':' && unit != '%';
}

static bool is_special_whole(const uint16_t *units, size_t count, bool first)
{
    if (count == 1 || (count == 2 && units[1] == '.')) {
        return true;
    }
    if (!first || count < ARRAY_LEN(reserved_start)) {
        return false;
    }
    for (size_t i = 1; i < ARRAY_LEN(reserved_start); i++) {
        uint16_t upper = units[i] >= 'a' && units[i] <= 'z' ? units[i] - 0x20U : units[i];
        if (upper != reserved_start[i]) {
            return false;
        }
    }
    return true;
}

/* Where "#DIGITS" begins at the end, else `count`: gcloud storage and gsutil would fetch another
 * object, or none. */
static size_t find_generation(const uint16_t *units, size_t count)
{
    size_t at = count;
    while (at > 0 && units[at - 1] >= '0' && units[at - 1] <= '9') {
        at--;
    }
    return at > 0 && at < count && units[at - 1] == '#' ? at - 1 : count;
}

static bool looks_escaped(const uint16_t *units, size_t count)
{
    return count >= PLAN_ESCAPE_BYTES && units[0] == '%' && units[1] == 'u' && is_hex(units[2]) &&
           is_hex(units[3]) && is_hex(units[4]) && is_hex(units[5]);
}

static bool is_hex(uint16_t unit)
{
    return (unit >= '0' && unit <= '9') || (unit >= 'A' && unit <= 'F') ||
           (unit >= 'a' && unit <= 'f');
}

static void put_escape(struct plan_component *ret, uint16_t unit)
{
    char *out = ret->bytes + ret->len;
    out[0] = '%';
    out[1] = 'u';
    for (unsigned i = 0; i < 4; i++) {
        out[2 + i] = HEX_DIGITS[unit >> (12 - 4 * i) & 0xF];
    }
    ret->len += PLAN_ESCAPE_BYTES;
    ret->changed = true;
}

/* A unit that is not plain ASCII, or the two of a pair. Returns where to go on. */
static size_t put_other(const uint16_t *units, size_t count, size_t at, struct plan_component *ret)
{
    uint16_t unit = units[at];
    if (unit < 0x80) {
        if (unit == '%' && !looks_escaped(units + at, count - at)) {
            ret->bytes[ret->len++] = '%';
        } else {
            put_escape(ret, unit);
        }
        return at + 1;
    }
    uint32_t code_point = utf_next_utf16(units, count, &at);
    size_t len = 0;
    if (code_point != 0xFFFE && code_point != 0xFFFF) {
        len = utf_put_utf8(code_point, ret->bytes + ret->len);
    }
    if (len == 0) {
        put_escape(ret, unit);
    }
    ret->len += len;
    return at;
}
