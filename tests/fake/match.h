/* SPDX-License-Identifier: GPL-3.0-or-later */
/* match: which requests a fault or a hold is about, and which of those in turn. */
#ifndef FAKE_MATCH_H
#define FAKE_MATCH_H

#include <cjson/cJSON.h>

#include "base/base.h"

struct match {
    char method[16];     /* "": any */
    char *path_contains; /* in the target as it came or unescaped; NULL: any */
    char *name_contains; /* in the object's name; NULL: any */
    uint64_t nth;        /* from this match on, counted from 1; 0: see every */
    uint64_t count;      /* so many from nth on */
    uint64_t every;      /* each so-manieth match */
    double percent;      /* this share of the matches, by chance; 0: see above */
    uint64_t seed;       /* of the chance: the same seed strikes the same matches */
    uint64_t seen;       /* matches so far */
};

/* What a match looks at. `name` is NULL while the object's name is not known. */
struct match_subject {
    const char *method;
    const char *target;
    const char *name;
};

/* Reads "method", "path_contains", "name_contains", "nth", "count", "every", "percent", "seed". */
int match_parse(const cJSON *json, struct match *ret, struct error *err) WARN_UNUSED;
void match_clear(struct match *match);
/* Counts the subject if it fits; true if it is its turn. The caller keeps others out meanwhile. */
bool match_is_due(struct match *match, const struct match_subject *subject);

/* A whole number of 0 to 2^53 in `json`, or `fallback` when absent; -1 on anything else. */
int match_number(const cJSON *json, const char *name, uint64_t fallback, uint64_t *ret,
                 struct error *err) WARN_UNUSED;
/* A string of `json`, NULL when absent. */
const char *match_string(const cJSON *json, const char *name);

/* Replace %XX in place; '+' becomes a space if `plus`. False when a %00 is there. */
bool match_unescape(char *string, bool plus);

#endif
