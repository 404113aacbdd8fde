/* SPDX-License-Identifier: GPL-3.0-or-later */
/* object_json: objects as the JSON API shows them, with `fields` honoured by word. */
#ifndef FAKE_OBJECT_JSON_H
#define FAKE_OBJECT_JSON_H

#include "object.h"

struct object_view {
    const char *origin; /* "http://host:port" */
    uint64_t fields;    /* bit set from object_fields() */
    bool wrong_crc;     /* a fault: state another crc32c */
};

/* The members that `fields` (a query parameter, may be NULL) asks for. */
uint64_t object_fields(const char *fields);
void object_add_json(struct text *out, const struct object *object, const struct object_view *view);
/* Quoted RFC 3339 with milliseconds. */
void object_add_time(struct text *out, uint64_t utc_ns);

#endif
