/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Numbers, sizes and durations as people write them. */
#include "base/base.h"

#include <string.h>

static const char *parse_digits(const char *string, uint64_t *ret_value);
static const char *parse_unit(const char *string, unsigned *ret_shift);

int parse_u64(const char *string, uint64_t *ret_value)
{
    uint64_t value;
    const char *rest = parse_digits(string, &value);
    if (rest == NULL || *rest != '\0') {
        return -1;
    }
    *ret_value = value;
    return 0;
}

int parse_size(const char *string, uint64_t *ret_bytes)
{
    /* Six digits after the point times a tebibyte still fit 64 bits; further ones are dropped. */
    const uint64_t fraction_scale_max = 1000000;
    uint64_t whole;
    const char *rest = parse_digits(string, &whole);
    if (rest == NULL) {
        return -1;
    }
    uint64_t fraction = 0;
    uint64_t fraction_scale = 1;
    bool has_point = *rest == '.';
    if (has_point) {
        const char *first = rest + 1;
        for (rest = first; *rest >= '0' && *rest <= '9'; rest++) {
            if (fraction_scale < fraction_scale_max) {
                fraction = fraction * 10 + (uint64_t)(*rest - '0');
                fraction_scale *= 10;
            }
        }
        if (rest == first) {
            return -1;
        }
    }
    unsigned shift;
    rest = parse_unit(rest, &shift);
    if (rest == NULL || *rest != '\0' || (has_point && shift == 0)) {
        return -1; /* there is no half byte */
    }
    uint64_t bytes;
    if (mul_overflows(whole, UINT64_C(1) << shift, &bytes) ||
        add_overflows(bytes, (fraction << shift) / fraction_scale, &bytes)) {
        return -1;
    }
    *ret_bytes = bytes;
    return 0;
}

int parse_duration_ms(const char *string, uint64_t *ret_ms)
{
    uint64_t value;
    const char *rest = parse_digits(string, &value);
    if (rest == NULL) {
        return -1;
    }
    uint64_t unit_ms = 1000;
    switch (*rest) {
    case '\0':
    case 's':
        break;
    case 'm':
        unit_ms = UINT64_C(60) * 1000;
        break;
    case 'h':
        unit_ms = UINT64_C(3600) * 1000;
        break;
    case 'd':
        unit_ms = UINT64_C(86400) * 1000;
        break;
    default:
        return -1;
    }
    uint64_t ms;
    if ((*rest != '\0' && rest[1] != '\0') || mul_overflows(value, unit_ms, &ms)) {
        return -1;
    }
    *ret_ms = ms;
    return 0;
}

void format_bytes(uint64_t bytes, char out[24])
{
    static const char letters[] = "KMGTPE";
    if (bytes < 1024) {
        (void)snprintf(out, 24, "%u B", (unsigned)bytes);
        return;
    }
    size_t unit = 0;
    while (unit + 1 < strlen(letters) && bytes >> (10 * (unit + 2)) > 0) {
        unit++;
    }
    size_t shift = 10 * (unit + 1);
    unsigned whole = (unsigned)(bytes >> shift);
    uint64_t rest = bytes & ((UINT64_C(1) << shift) - 1);
    unsigned tenths = (unsigned)((rest * 10 + (UINT64_C(1) << (shift - 1))) >> shift);
    if (tenths == 10) {
        tenths = 0;
        whole++;
        if (whole == 1024) { /* never at the last unit, which ends at 16 */
            whole = 1;
            unit++;
        }
    }
    (void)snprintf(out, 24, "%u.%u %ciB", whole, tenths, letters[unit]);
}

void format_count(uint64_t count, char out[32])
{
    char digits[32];
    size_t len = (size_t)snprintf(digits, sizeof(digits), "%llu", (unsigned long long)count);
    for (size_t i = 0; i < len; i++) {
        if (i > 0 && (len - i) % 3 == 0) {
            *out++ = ',';
        }
        *out++ = digits[i];
    }
    *out = '\0';
}

void format_duration(uint64_t ms, char out[32])
{
    uint64_t tenths = ms / 100 + (ms % 100 >= 50);
    uint64_t seconds = ms / 1000 + (ms % 1000 >= 500);
    uint64_t minutes = ms / 60000 + (ms % 60000 >= 30000);
    if (tenths < 600) {
        (void)snprintf(out, 32, "%u.%u s", (unsigned)(tenths / 10), (unsigned)(tenths % 10));
    } else if (seconds < 3600) {
        (void)snprintf(out, 32, "%u min %02u s", (unsigned)(seconds / 60),
                       (unsigned)(seconds % 60));
    } else {
        (void)snprintf(out, 32, "%llu h %02u min", (unsigned long long)(minutes / 60),
                       (unsigned)(minutes % 60));
    }
}

/* At least one digit. Returns what follows, or NULL. */
static const char *parse_digits(const char *string, uint64_t *ret_value)
{
    const char *next = string;
    uint64_t value = 0;
    for (; *next >= '0' && *next <= '9'; next++) {
        if (mul_overflows(value, 10, &value) ||
            add_overflows(value, (uint64_t)(*next - '0'), &value)) {
            return NULL;
        }
    }
    if (next == string) {
        return NULL;
    }
    *ret_value = value;
    return next;
}

/* [KMGT][B|iB], or B, or nothing. Returns what follows. */
static const char *parse_unit(const char *string, unsigned *ret_shift)
{
    static const char letters[] = "KMGTkmgt";
    unsigned shift = 0;
    const char *letter = *string == '\0' ? NULL : strchr(letters, *string);
    if (letter != NULL) {
        shift = 10 * ((unsigned)(letter - letters) % 4 + 1);
        string++;
        if (string[0] == 'i' && string[1] == 'B') {
            string++;
        }
    }
    if (*string == 'B') {
        string++;
    }
    *ret_shift = shift;
    return string;
}
