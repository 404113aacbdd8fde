/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Private to plan: which paths are left out, by patterns and by default. */
#ifndef WINCH_PLAN_RULES_H
#define WINCH_PLAN_RULES_H

#include "plan/glob.h"
#include "plan/plan.h"

struct plan_rules {
    struct plan_glob *includes;
    size_t include_count;
    struct plan_glob *excludes;
    size_t exclude_count;
    bool defaults;
    struct plan_paths *paths; /* borrowed, or NULL */
};

enum plan_exclusion { PLAN_TAKEN, PLAN_LEFT_BY_DEFAULT, PLAN_LEFT_BY_PATTERN };

/* Errors: STOP_RUN, usage, for a pattern that can match nothing. */
int plan_rules_compile(struct plan_rules *rules, const struct plan_settings *settings,
                       struct error *err) WARN_UNUSED;
void plan_rules_clear(struct plan_rules *rules);
/* Both look at the last component of `path`, which begins at `component`; what holds for a
 * directory holds for all below, and the caller carries it down. */
enum plan_exclusion plan_rules_exclude(const struct plan_rules *rules, const char *path, size_t len,
                                       size_t component, bool directory);
/* True also when there is nothing that includes; plan_rules_all() says so. */
bool plan_rules_all(const struct plan_rules *rules);
bool plan_rules_include(const struct plan_rules *rules, const char *path, size_t len,
                        size_t component, bool directory);

#endif
