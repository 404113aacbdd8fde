/* SPDX-License-Identifier: GPL-3.0-or-later */
/* reply: makes the response of a request. The first one made stays; later ones are dropped. */
#ifndef FAKE_REPLY_H
#define FAKE_REPLY_H

#include "request.h"

/* Takes over the bytes of `body`. */
void reply_text(struct request *request, unsigned status, const char *content_type,
                struct text *body);
/* Status and headers only. */
void reply_empty(struct request *request, unsigned status);
/* A header for the response made before. Values with control characters are left out. */
void reply_header(struct request *request, const char *name, const char *value);

/* An error as the JSON or the XML API words it. A `reason` in capitals is a code of the XML API. */
void reply_error(struct request *request, unsigned status, const char *reason, const char *fmt, ...)
    PRINTF_LIKE(4, 5);
void reply_memory(struct request *request);
/* What a store_result other than STORE_OK means to the client. */
void reply_store_result(struct request *request, enum store_result result,
                        enum condition failed_condition);
void reply_not_found(struct request *request, const char *name);

/* The object's JSON, 200. */
void reply_object(struct request *request, const struct object *object);
/* Bytes [offset, offset + len) of the object. */
void reply_media(struct request *request, unsigned status, struct object *object, uint64_t offset,
                 uint64_t len);

#endif
