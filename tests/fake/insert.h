/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * insert: one object on its way into the store: what it is to be called, what the client says about
 * it, its bytes as they come with their checksums, and at the end the checks and the put. The ways
 * to send an object (media, multipart, resumable, XML) differ only in how they fill this.
 */
#ifndef FAKE_INSERT_H
#define FAKE_INSERT_H

#include <openssl/evp.h>

#include "request.h"

struct insert {
    struct server *server;
    char *bucket;
    char *name;
    struct attributes attributes;
    struct conditions conditions;
    struct digest digest; /* of the bytes so far; md5 once they have ended */
    struct blob *blob;    /* NULL with --discard, and before insert_open() */
    EVP_MD_CTX *md5;      /* NULL unless somebody wants it */
    bool failed;          /* out of memory or disk */
    bool expects_crc32c;
    uint32_t expected_crc32c;
    bool expects_md5;
    uint8_t expected_md5[16];
};

/* Right and bucket for an insert; -1 after having answered. */
int insert_check_access(struct request *request);
/* A checksum the client states: `kind` is "crc32c" or "md5". -1 after having answered. */
int insert_expect(struct request *request, struct insert *insert, const char *kind,
                  const char *base64);
/* All checksums of X-Goog-Hash and Content-MD5 headers. */
int insert_expect_headers(struct request *request, struct insert *insert);
/* Attributes and checksums of the object resource that the client sent, and the object's name into
 * `ret_name` (borrowed from `json`, NULL when absent). */
int insert_take_metadata(struct request *request, struct insert *insert, const cJSON *json,
                         const char **ret_name);
/* Ready for bytes: request->bucket and request->object are checked and copied. */
int insert_open(struct request *request, struct insert *insert);
void insert_take(struct insert *insert, const void *bytes, size_t len);
/* Would the put be refused already now? -1 after having answered. */
int insert_check_put(struct request *request, struct insert *insert);
/* Are the bytes what the client said? Ends the checksums. -1 after having answered. */
int insert_check_digest(struct request *request, struct insert *insert);
/* All bytes are there: compare checksums and put. Returns a reference to the object, or NULL after
 * having answered. */
struct object *insert_put(struct request *request, struct insert *insert);
void insert_clear(struct insert *insert);

#endif
