/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What the server would refuse of every object is refused here, before anything is sent. */
#include "cli/object_options.h"
#include "gcs/gcs.h"
#include "plan/plan.h"

#include <string.h>
#include <strings.h>

enum {
    CACHE_CONTROL_MAX = 512,
    METADATA_MAX = GCS_METADATA_MAX - PLAN_METADATA_OWN_MAX,
};

void object_options_check_key(const char *key, struct option_mistakes *mistakes)
{
    if (key == NULL || gcs_kms_key_is_legal(key)) {
        return;
    }
    const char *version = strstr(key, "/cryptoKeyVersions/");
    option_mistake(mistakes, "--encryption-key %s: %s", key,
                   version != NULL ? "name the key without its version; the newest one is taken"
                                   : "is not the name of a Cloud KMS key: "
                                     "projects/P/locations/L/keyRings/R/cryptoKeys/K");
}

void object_options_check_cache_control(const char *value, struct option_mistakes *mistakes)
{
    if (value == NULL) {
        return;
    }
    size_t len = strlen(value);
    for (size_t i = 0; i < len; i++) {
        if (value[i] < ' ' || value[i] > '~') {
            option_mistake(mistakes, "--cache-control %s: only printable ASCII can stand there",
                           value);
            return;
        }
    }
    if (len > CACHE_CONTROL_MAX) {
        option_mistake(mistakes, "--cache-control: has %zu bytes; at most %d are taken", len,
                       CACHE_CONTROL_MAX);
    }
}

/* Keys travel as parts of header names, too, where case does not count. */
static bool key_is_legal(const char *key, size_t len)
{
    static const char letters[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
                                  "-_.";
    return len > 0 && strspn(key, letters) >= len;
}

static bool is_named_before(const struct option_list *items, size_t end, const char *key,
                            size_t len)
{
    for (size_t i = 0; i < end; i++) {
        if (strncasecmp(items->items[i], key, len) == 0 && items->items[i][len] == '=') {
            return true;
        }
    }
    return false;
}

static bool value_is_legal(const char *value)
{
    for (const char *c = value; *c != '\0'; c++) {
        if ((unsigned char)*c < ' ' || *c == 0x7f) {
            return false;
        }
    }
    return utf_valid_utf8(value, strlen(value));
}

/* NULL: nothing is wrong with it. */
static const char *problem_of(const struct option_list *items, size_t index)
{
    const char *item = items->items[index];
    size_t len = strcspn(item, "=");
    if (item[len] != '=') {
        return "write KEY=VALUE";
    }
    if (!key_is_legal(item, len)) {
        return "a key has only letters, digits, - _ .";
    }
    if (strncasecmp(item, "goog-", 5) == 0 || strncasecmp(item, "winch-", 6) == 0) {
        return "keys that begin with goog- or winch- are taken";
    }
    if (is_named_before(items, index, item, len)) {
        return "this key is given twice";
    }
    return value_is_legal(item + len + 1) ? NULL : "a value is UTF-8 without control characters";
}

void object_options_read_metadata(const struct option_list *items, struct text *ret_json,
                                  struct option_mistakes *mistakes)
{
    size_t bytes = 0;
    for (size_t i = 0; i < items->count; i++) {
        const char *item = items->items[i];
        const char *problem = problem_of(items, i);
        if (problem != NULL) {
            option_mistake(mistakes, "--metadata %s: %s", item, problem);
            continue;
        }
        size_t len = strcspn(item, "=");
        bytes += strlen(item) - 1;
        text_add_json(ret_json, item, len);
        text_add_char(ret_json, ':');
        text_add_json(ret_json, item + len + 1, strlen(item + len + 1));
        text_add_char(ret_json, ',');
    }
    if (bytes > METADATA_MAX) {
        option_mistake(mistakes,
                       "--metadata: keys and values have %zu bytes; %d fit beside winch's own",
                       bytes, METADATA_MAX);
    }
}
