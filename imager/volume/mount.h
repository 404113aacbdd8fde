/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * libntfs-3g behind a plain interface: one mount, used by one thread, and streams read through it.
 * This header names no type of the library; the files mount*.c alone include its headers.
 */
#ifndef WINCH_VOLUME_MOUNT_H
#define WINCH_VOLUME_MOUNT_H

#include "volume/volume_internal.h"

struct mount;

/* Mount read-only through our own device. STOP_RUN exit 6 with what the library says, in words; a
 * read that failed keeps its kind (FAIL_ENTRY "bad-sector"). */
struct mount *mount_open(struct volume *volume, struct error *err);
void mount_free(struct mount *mount); /* accepts NULL; streams must be closed before */

/* Extents and sizes of $MFT as the library has merged them. */
int mount_map_mft(struct mount *mount, struct extent_list *ret_list, uint64_t *ret_size_bytes,
                  uint64_t *ret_valid_bytes, struct error *err) WARN_UNUSED;
/* Copy up to `len` bytes of $MFT:$BITMAP from `offset`; the count, 0 at the end, -1 on an error. */
ssize_t mount_read_mft_bitmap(struct mount *mount, uint64_t offset, void *buf, size_t len,
                              struct error *err) WARN_UNUSED;
int mount_is_hibernated(struct mount *mount, bool *ret_is_hibernated,
                        struct error *err) WARN_UNUSED;

/* One $DATA stream of one record. `ref` holds record and sequence (0: any). The name is in host
 * order; length 0 is the unnamed data. FAIL_ENTRY "bad-record" when the library refuses. */
struct mount_stream;
struct mount_stream *mount_stream_open(struct mount *mount, uint64_t ref, const uint16_t *name,
                                       uint8_t name_len, struct error *err);
void mount_stream_close(struct mount_stream *stream); /* accepts NULL */
uint64_t mount_stream_size(const struct mount_stream *stream);
/* As volume_reader_read(). */
ssize_t mount_stream_read(struct mount_stream *stream, uint64_t offset, void *buf, size_t len,
                          struct error *err) WARN_UNUSED;

#endif
