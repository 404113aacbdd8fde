/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Private to plan: one pattern against one path, without regard to case. * stays within a
 * component, ** crosses them, a component of its own that is ** may also be none; ? is one
 * character, [a-z] one of a set, [!a-z] one of all others. There is no escape character, because
 * Windows names are full of backslashes: [*] is a star.
 */
#ifndef WINCH_PLAN_GLOB_H
#define WINCH_PLAN_GLOB_H

#include <stdbool.h>
#include <stddef.h>

struct plan_glob {
    char *pattern; /* owned; without slashes at its ends */
    size_t len;
    bool any_component;  /* no slash inside: matches a component wherever it stands */
    bool directory_only; /* ended with a slash */
};

/* -1: out of memory; -2: not UTF-8, or nothing in it. */
int plan_glob_compile(struct plan_glob *glob, const char *pattern);
void plan_glob_clear(struct plan_glob *glob);
/* `component` is where the last component of `path` begins. Its directories have been asked
 * before it, so only the path as a whole and that component are looked at. */
bool plan_glob_match(const struct plan_glob *glob, const char *path, size_t len, size_t component,
                     bool directory);

#endif
