/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * blob: the bytes of one object, in memory or in a file. Written once by one thread, sealed, then
 * read by any. Reference-counted, so that a reader outlives a delete. With --discard there are no
 * blobs: the places that hold one hold NULL.
 */
#ifndef FAKE_BLOB_H
#define FAKE_BLOB_H

#include <stdatomic.h>

#include "base/base.h"

struct blob;

struct blob_storage {
    bool discard;
    char *data_folder; /* NULL: in memory */
    _Atomic uint64_t next_file;
};

/* A new blob to append to. With a folder its file is named by a hash of bucket and name and a
 * number that no other blob has. Stores NULL in `ret` with --discard. Returns -1 when out of
 * memory or disk. */
int blob_new(struct blob_storage *storage, const char *bucket, const char *name,
             struct blob **ret) WARN_UNUSED;
/* The blob of a file that an earlier process left; NULL if it is gone or has another size. */
struct blob *blob_open_existing(struct blob_storage *storage, const char *file,
                                uint64_t size_bytes);

int blob_append(struct blob *blob, const void *bytes, size_t len) WARN_UNUSED;
/* Append all of `source`, which is sealed. In memory the bytes are shared, not copied. */
int blob_append_blob(struct blob *blob, const struct blob *source) WARN_UNUSED;
/* No more bytes come. */
void blob_seal(struct blob *blob);

uint64_t blob_size(const struct blob *blob);
/* Up to `len` bytes from `offset`; the count, 0 at the end, or -1. Blob in memory only. */
ssize_t blob_read(const struct blob *blob, uint64_t offset, void *buf, size_t len);
/* A new descriptor of the blob's file; -1 if it has none. */
int blob_open_fd(const struct blob *blob);
/* Name of the file inside the data folder; NULL if it has none. */
const char *blob_file(const struct blob *blob);
/* Path of the file; NULL if it has none. */
const char *blob_path(const struct blob *blob);

/* Whether the file stays when the last reference goes. A new blob's does not. */
void blob_set_keep(struct blob *blob, bool keep);

struct blob *blob_retain(struct blob *blob); /* NULL is fine */
void blob_release(struct blob *blob);        /* NULL is fine */
void blob_cleanup(struct blob **blob);

#endif
