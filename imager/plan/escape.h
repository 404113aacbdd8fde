/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Private to plan: one NTFS name as one component of an object name. */
#ifndef WINCH_PLAN_ESCAPE_H
#define WINCH_PLAN_ESCAPE_H

#include "base/base.h"

#define PLAN_NAME_UNITS_MAX 255
#define PLAN_ESCAPE_BYTES 6 /* "%uXXXX" */
#define PLAN_COMPONENT_MAX ((PLAN_NAME_UNITS_MAX + 1) * PLAN_ESCAPE_BYTES)

struct plan_component {
    char bytes[PLAN_COMPONENT_MAX]; /* UTF-8, not terminated */
    size_t len;
    bool changed; /* something was escaped */
    bool exact;   /* unescaping gives the name back */
};

/* Where in an object name the component stands. */
enum {
    PLAN_ESCAPE_FIRST = 1, /* where ".winch" would be ours */
    PLAN_ESCAPE_LAST = 2,  /* at the end, where tools take "#DIGITS" for a generation */
};

/* `count` at most PLAN_NAME_UNITS_MAX; `where` of the bits above. */
void plan_escape(const uint16_t *units, size_t count, unsigned where, struct plan_component *ret);
/* The same from units as they lie in the catalog. */
void plan_escape_le(const uint8_t *units_le, size_t count, unsigned where,
                    struct plan_component *ret);

#endif
