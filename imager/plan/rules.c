/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Includes, excludes and what is left out by default. */
#include "plan/plan_internal.h"

#include <string.h>
#include <strings.h>

/* At the root: what Windows makes anew by itself, and what was thrown away. */
static const struct {
    const char *name;
    bool directory;
} defaults[] = {
    {"pagefile.sys", false},
    {"hiberfil.sys", false},
    {"swapfile.sys", false},
    {"$RECYCLE.BIN", true},
    {"System Volume Information", true},
};

static int compile(struct plan_glob **ret_globs, size_t *ret_count, const char *const *patterns,
                   size_t count, const char *option, struct error *err);
static void clear(struct plan_glob *globs, size_t count);
static bool any_matches(const struct plan_glob *globs, size_t count, const char *path, size_t len,
                        size_t component, bool directory);
static bool is_default(const char *name, size_t len, bool directory);

int plan_rules_compile(struct plan_rules *rules, const struct plan_settings *settings,
                       struct error *err)
{
    rules->defaults = settings->default_excludes;
    rules->paths = settings->paths;
    if (compile(&rules->includes, &rules->include_count, settings->includes,
                settings->include_count, "--include", err) != 0) {
        return -1;
    }
    return compile(&rules->excludes, &rules->exclude_count, settings->excludes,
                   settings->exclude_count, "--exclude", err);
}

void plan_rules_clear(struct plan_rules *rules)
{
    clear(rules->includes, rules->include_count);
    clear(rules->excludes, rules->exclude_count);
    *rules = (struct plan_rules){0};
}

enum plan_exclusion plan_rules_exclude(const struct plan_rules *rules, const char *path, size_t len,
                                       size_t component, bool directory)
{
    if (any_matches(rules->excludes, rules->exclude_count, path, len, component, directory)) {
        return PLAN_LEFT_BY_PATTERN;
    }
    if (rules->defaults && component == 0 && is_default(path, len, directory)) {
        return PLAN_LEFT_BY_DEFAULT;
    }
    return PLAN_TAKEN;
}

bool plan_rules_all(const struct plan_rules *rules)
{
    return rules->include_count == 0 && rules->paths == NULL;
}

bool plan_rules_include(const struct plan_rules *rules, const char *path, size_t len,
                        size_t component, bool directory)
{
    if (rules->paths != NULL) {
        return plan_paths_look(rules->paths, path, len);
    }
    return rules->include_count == 0 ||
           any_matches(rules->includes, rules->include_count, path, len, component, directory);
}

static int compile(struct plan_glob **ret_globs, size_t *ret_count, const char *const *patterns,
                   size_t count, const char *option, struct error *err)
{
    if (count == 0) {
        return 0;
    }
    *ret_globs = calloc(count, sizeof(**ret_globs));
    if (*ret_globs == NULL) {
        return error_memory(err, "the patterns");
    }
    *ret_count = count;
    for (size_t i = 0; i < count; i++) {
        int result = plan_glob_compile(&(*ret_globs)[i], patterns[i]);
        if (result == -1) {
            return error_memory(err, "the patterns");
        }
        if (result != 0) {
            return error_stop(err, EXIT_STATUS_USAGE,
                              "%s \"%s\": the pattern is empty or not UTF-8", option, patterns[i]);
        }
    }
    return 0;
}

static void clear(struct plan_glob *globs, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        plan_glob_clear(&globs[i]);
    }
    free(globs);
}

static bool any_matches(const struct plan_glob *globs, size_t count, const char *path, size_t len,
                        size_t component, bool directory)
{
    for (size_t i = 0; i < count; i++) {
        if (plan_glob_match(&globs[i], path, len, component, directory)) {
            return true;
        }
    }
    return false;
}

static bool is_default(const char *name, size_t len, bool directory)
{
    for (size_t i = 0; i < ARRAY_LEN(defaults); i++) {
        if (defaults[i].directory == directory && strlen(defaults[i].name) == len &&
            strncasecmp(defaults[i].name, name, len) == 0) {
            return true;
        }
    }
    return false;
}
