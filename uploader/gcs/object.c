/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Reads the few members of an object resource that matter. A small scanner without allocation
 * serves the reply of every upload; items of listings come parsed.
 */
#include "gcs_internal.h"

#include <string.h>

struct scan {
    const char *at;
    const char *end;
};

static void scan_space(struct scan *scan)
{
    while (scan->at < scan->end &&
           (*scan->at == ' ' || *scan->at == '\t' || *scan->at == '\r' || *scan->at == '\n')) {
        scan->at++;
    }
}

static bool scan_char(struct scan *scan, char c)
{
    scan_space(scan);
    if (scan->at < scan->end && *scan->at == c) {
        scan->at++;
        return true;
    }
    return false;
}

/* A string with its quotes; `ret_raw` is what stands between them, escapes as they are. */
static bool scan_string(struct scan *scan, const char **ret_raw, size_t *ret_len)
{
    if (!scan_char(scan, '"')) {
        return false;
    }
    const char *start = scan->at;
    while (scan->at < scan->end && *scan->at != '"') {
        scan->at += *scan->at == '\\' ? 2 : 1;
    }
    if (scan->at >= scan->end) {
        return false;
    }
    *ret_raw = start;
    *ret_len = (size_t)(scan->at - start);
    scan->at++;
    return true;
}

/* Over a value of any kind. Brackets are counted, not matched: the aim is to find the end of
 * what a server sent, and a cut body has too few of them. */
static bool scan_skip(struct scan *scan)
{
    const char *raw;
    size_t len;
    unsigned depth = 0;
    do {
        scan_space(scan);
        if (scan->at >= scan->end) {
            return false;
        }
        switch (*scan->at) {
        case '"':
            if (!scan_string(scan, &raw, &len)) {
                return false;
            }
            break;
        case '{':
        case '[':
            depth++;
            scan->at++;
            break;
        case '}':
        case ']':
            if (depth == 0) {
                return false;
            }
            depth--;
            scan->at++;
            break;
        case ',':
        case ':':
            if (depth == 0) {
                return false;
            }
            scan->at++;
            break;
        default:
            scan->at++;
            while (scan->at < scan->end && memchr(" \t\r\n,:{}[]\"", *scan->at, 11) == NULL) {
                scan->at++;
            }
            break;
        }
    } while (depth > 0);
    return true;
}

/* Undo the escapes of plain ASCII; anything else does not occur in the values wanted here. */
static bool unescape(const char *raw, size_t len, char *out, size_t size)
{
    size_t used = 0;
    for (size_t i = 0; i < len; i++) {
        char c = raw[i];
        if (c == '\\' && i + 1 < len) {
            i++;
            c = raw[i];
            if (c == 'u') {
                unsigned value = 0;
                if (i + 4 >= len || sscanf(raw + i + 1, "%4x", &value) != 1 || value == 0 ||
                    value > 0x7f) {
                    return false;
                }
                c = (char)value;
                i += 4;
            } else if (memchr("\"\\/", c, 3) == NULL) {
                return false;
            }
        }
        if (used + 1 >= size) {
            return false;
        }
        out[used++] = c;
    }
    out[used] = '\0';
    return true;
}

/* A string or a bare number, as text. */
static bool scan_scalar(struct scan *scan, char *out, size_t size)
{
    scan_space(scan);
    const char *start = scan->at;
    if (start < scan->end && *start == '"') {
        const char *raw;
        size_t len;
        return scan_string(scan, &raw, &len) && unescape(raw, len, out, size);
    }
    size_t len = 0;
    while (scan->at < scan->end && *scan->at >= '0' && *scan->at <= '9') {
        scan->at++;
        len++;
    }
    if (len == 0 || len >= size) {
        return false;
    }
    memcpy(out, start, len);
    out[len] = '\0';
    return true;
}

static bool key_is(const char *raw, size_t len, const char *key)
{
    return len == strlen(key) && memcmp(raw, key, len) == 0;
}

static bool object_set(struct gcs_object *object, const char *key, size_t key_len,
                       const char *value)
{
    uint64_t number = 0;
    if (key_is(key, key_len, "crc32c")) {
        object->has_crc32c = crc32c_from_base64(value, &object->crc32c) == 0;
        return object->has_crc32c;
    }
    if (parse_u64(value, &number) != 0) {
        return false;
    }
    if (key_is(key, key_len, "generation")) {
        object->generation = number;
    } else if (key_is(key, key_len, "size")) {
        object->size_bytes = number;
    } else {
        object->component_count = number > UINT32_MAX ? UINT32_MAX : (uint32_t)number;
    }
    return true;
}

/* The object `metadata`, of which only winch-run is kept; a value that does not fit is no run. */
static bool scan_metadata(struct scan *scan, struct gcs_object *object)
{
    if (!scan_char(scan, '{')) {
        return scan_skip(scan);
    }
    if (scan_char(scan, '}')) {
        return true;
    }
    do {
        const char *key;
        size_t key_len;
        if (!scan_string(scan, &key, &key_len) || !scan_char(scan, ':')) {
            return false;
        }
        scan_space(scan);
        if (key_is(key, key_len, "winch-run") && scan->at < scan->end && *scan->at == '"') {
            const char *raw;
            size_t len;
            if (!scan_string(scan, &raw, &len)) {
                return false;
            }
            if (!unescape(raw, len, object->winch_run, sizeof(object->winch_run))) {
                object->winch_run[0] = '\0';
            }
        } else if (!scan_skip(scan)) {
            return false;
        }
    } while (scan_char(scan, ','));
    return scan_char(scan, '}');
}

int gcs_object_scan(const char *json, size_t len, struct gcs_object *ret_object)
{
    if (json == NULL || len == 0) {
        return -1;
    }
    struct scan scan = {.at = json, .end = json + len};
    struct gcs_object object = {0};
    bool has_size = false;
    if (!scan_char(&scan, '{')) {
        return -1;
    }
    do {
        const char *key;
        size_t key_len;
        if (!scan_string(&scan, &key, &key_len) || !scan_char(&scan, ':')) {
            return -1;
        }
        bool is_size = key_is(key, key_len, "size");
        if (is_size || key_is(key, key_len, "generation") || key_is(key, key_len, "crc32c") ||
            key_is(key, key_len, "componentCount")) {
            char value[32];
            if (!scan_scalar(&scan, value, sizeof(value)) ||
                !object_set(&object, key, key_len, value)) {
                return -1;
            }
            has_size = has_size || is_size;
        } else if (key_is(key, key_len, "metadata")) {
            if (!scan_metadata(&scan, &object)) {
                return -1;
            }
        } else if (!scan_skip(&scan)) {
            return -1;
        }
    } while (scan_char(&scan, ','));
    if (!scan_char(&scan, '}')) {
        return -1;
    }
    scan_space(&scan);
    if (scan.at != scan.end || object.generation == 0 || !has_size) {
        return -1;
    }
    *ret_object = object;
    return 0;
}

/* Doubles hold every whole number below this. */
#define EXACT_LIMIT 9007199254740992.0

static bool read_u64(const cJSON *value, uint64_t *ret_number)
{
    const char *string = cJSON_GetStringValue(value);
    if (string != NULL) {
        return parse_u64(string, ret_number) == 0;
    }
    if (!cJSON_IsNumber(value) || !(value->valuedouble >= 0 && value->valuedouble < EXACT_LIMIT)) {
        return false;
    }
    *ret_number = (uint64_t)value->valuedouble;
    return (double)*ret_number == value->valuedouble;
}

const char *gcs_object_from_json(const cJSON *item, struct gcs_object *ret_object)
{
    struct gcs_object object = {0};
    if (!read_u64(cJSON_GetObjectItemCaseSensitive(item, "generation"), &object.generation) ||
        object.generation == 0) {
        return "generation";
    }
    if (!read_u64(cJSON_GetObjectItemCaseSensitive(item, "size"), &object.size_bytes)) {
        return "size";
    }
    const char *crc32c = cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(item, "crc32c"));
    object.has_crc32c = crc32c != NULL && crc32c_from_base64(crc32c, &object.crc32c) == 0;
    const cJSON *count = cJSON_GetObjectItemCaseSensitive(item, "componentCount");
    if (cJSON_IsNumber(count) && count->valueint > 0) {
        object.component_count = (uint32_t)count->valueint;
    }
    const cJSON *metadata = cJSON_GetObjectItemCaseSensitive(item, "metadata");
    const char *run = cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(metadata, "winch-run"));
    if (run != NULL && strlen(run) < sizeof(object.winch_run)) {
        memcpy(object.winch_run, run, strlen(run) + 1);
    }
    *ret_object = object;
    return NULL;
}
