/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Names and numbers: shown and JSON forms, object names, patterns, sizes. */
#include "fuzz.h"

#include <string.h>

#include <cjson/cJSON.h>

#include "base/base.h"
#include "plan/escape.h"
#include "plan/glob.h"

/* For people: UTF-8 without anything that moves a cursor or turns the text. */
static void check_shown(const char *bytes, size_t len)
{
    CLEANUP_TEXT struct text shown = TEXT_INIT(1 << 20);
    text_add_shown(&shown, bytes, len, SIZE_MAX);
    const char *text = text_str(&shown);
    FUZZ_ASSERT(utf_valid_utf8(text, shown.len));
    for (size_t i = 0; i < shown.len;) {
        uint32_t c = utf_next_utf8(text, shown.len, &i);
        FUZZ_ASSERT(c >= 0x20 && (c < 0x7F || c > 0x9F));
        FUZZ_ASSERT(c < 0x202A || (c > 0x202E && c < 0x2066) || c > 0x2069);
        FUZZ_ASSERT(c != 0x200E && c != 0x200F && c != 0x061C);
    }
}

static void check_json(const char *bytes, size_t len)
{
    CLEANUP_TEXT struct text json = TEXT_INIT(1 << 20);
    text_add_json(&json, bytes, len);
    cJSON *parsed = cJSON_ParseWithLength(text_str(&json), json.len);
    FUZZ_ASSERT(cJSON_IsString(parsed));
    if (utf_valid_utf8(bytes, len) && memchr(bytes, 0, len) == NULL) {
        FUZZ_ASSERT(strlen(parsed->valuestring) == len);
        FUZZ_ASSERT(memcmp(parsed->valuestring, bytes, len) == 0);
    }
    cJSON_Delete(parsed);
}

static bool is_hex(const uint16_t *units)
{
    for (size_t i = 0; i < 4; i++) {
        uint16_t c = units[i];
        if (!((c >= '0' && c <= '9') || (c >= 'A' && c <= 'F') || (c >= 'a' && c <= 'f'))) {
            return false;
        }
    }
    return true;
}

/* One name: legal in a bucket, and "%uXXXX" taken back gives it again. */
static void check_escape(const uint8_t *data, size_t size)
{
    uint16_t units[PLAN_NAME_UNITS_MAX];
    uint16_t back[PLAN_COMPONENT_MAX];
    size_t count = size / 2 < PLAN_NAME_UNITS_MAX ? size / 2 : PLAN_NAME_UNITS_MAX;
    struct plan_component component;

    for (size_t i = 0; i < count; i++) {
        units[i] = read_le16(data + 2 * i);
    }
    plan_escape(units, count, size % 4, &component);
    FUZZ_ASSERT(component.len <= sizeof(component.bytes));
    FUZZ_ASSERT(utf_valid_utf8(component.bytes, component.len));
    FUZZ_ASSERT(memchr(component.bytes, '/', component.len) == NULL);
    FUZZ_ASSERT(memchr(component.bytes, '\n', component.len) == NULL);
    ssize_t wide =
        utf_to_utf16(component.bytes, component.len, back, sizeof(back) / sizeof(back[0]));
    FUZZ_ASSERT(wide >= 0);
    size_t at = 0;
    for (size_t i = 0; component.exact && i < (size_t)wide; at++) {
        uint16_t unit = back[i++];
        if (unit == '%' && (size_t)wide - i >= 5 && back[i] == 'u' && is_hex(back + i + 1)) {
            char digits[5] = {(char)back[i + 1], (char)back[i + 2], (char)back[i + 3],
                              (char)back[i + 4], 0};
            unit = (uint16_t)strtoul(digits, NULL, 16);
            i += 5;
        }
        FUZZ_ASSERT(at < count && units[at] == unit);
    }
    FUZZ_ASSERT(!component.exact || at == count);
}

static void check_glob(const uint8_t *data, size_t size)
{
    size_t split = size > 0 ? data[0] % size : 0;
    char *pattern = strndup((const char *)data, split);
    const char *path = (const char *)data + split;
    struct plan_glob glob;

    FUZZ_ASSERT(pattern != NULL);
    if (plan_glob_compile(&glob, pattern) == 0) {
        (void)plan_glob_match(&glob, path, size - split, 0, false);
        (void)plan_glob_match(&glob, path, size - split, (size - split) / 2, true);
        plan_glob_clear(&glob);
    }
    free(pattern);
}

static void check_numbers(const char *bytes, size_t len)
{
    char *string = strndup(bytes, len);
    uint64_t value = 0;
    uint64_t again = 0;
    char decimal[24];

    FUZZ_ASSERT(string != NULL);
    if (parse_u64(string, &value) == 0) {
        (void)snprintf(decimal, sizeof(decimal), "%llu", (unsigned long long)value);
        FUZZ_ASSERT(parse_u64(decimal, &again) == 0 && again == value);
    }
    FUZZ_ASSERT(parse_size(string, &value) <= 0);
    FUZZ_ASSERT(parse_duration_ms(string, &value) <= 0);
    free(string);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    size = size < 4096 ? size : 4096; /* longer names exist nowhere */
    check_shown((const char *)data, size);
    check_json((const char *)data, size);
    check_escape(data, size);
    check_glob(data, size);
    check_numbers((const char *)data, size);
    return 0;
}
