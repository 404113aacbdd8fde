/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Streams read through libntfs-3g: compressed data, and whatever our own scanner does not trust.
 */
#include <errno.h>
#include <string.h>

#include "volume/mount_internal.h"

struct mount_stream {
    struct mount *mount;
    ntfs_inode *inode;
    ntfs_attr *attribute;
    uint64_t
        size_bytes; /* kept apart: the library changes its own while it reads compressed data */
    char what[64];
};

struct mount_stream *mount_stream_open(struct mount *mount, uint64_t ref, const uint16_t *name,
                                       uint8_t name_len, struct error *err)
{
    ntfschar units[UINT8_MAX + 1];
    struct mount_stream *stream = calloc(1, sizeof(*stream));

    if (stream == NULL) {
        (void)error_memory(err, "stream");
        return NULL;
    }
    stream->mount = mount;
    (void)snprintf(stream->what, sizeof(stream->what), "record %llu",
                   (unsigned long long)VOLUME_REF_RECORD(ref)); /* always fits */
    for (uint8_t i = 0; i < name_len; i++) {
        units[i] = cpu_to_le16(name[i]);
    }
    mount_forget_fault(mount);
    stream->inode = ntfs_inode_open(mount->ntfs, ref);
    if (stream->inode != NULL) {
        stream->attribute =
            ntfs_attr_open(stream->inode, AT_DATA, name_len == 0 ? AT_UNNAMED : units, name_len);
    }
    if (stream->attribute == NULL || stream->attribute->data_size < 0) {
        (void)mount_fail(mount, err, stream->what, errno);
        mount_stream_close(stream);
        return NULL;
    }
    stream->size_bytes = (uint64_t)stream->attribute->data_size;
    return stream;
}

void mount_stream_close(struct mount_stream *stream)
{
    if (stream == NULL) {
        return;
    }
    if (stream->attribute != NULL) {
        ntfs_attr_close(stream->attribute);
    }
    if (stream->inode != NULL) {
        (void)ntfs_inode_close(stream->inode); /* nothing was changed */
    }
    free(stream);
}

uint64_t mount_stream_size(const struct mount_stream *stream)
{
    return stream->size_bytes;
}

ssize_t mount_stream_read(struct mount_stream *stream, uint64_t offset, void *buf, size_t len,
                          struct error *err)
{
    if (offset >= stream->size_bytes) {
        return 0;
    }
    uint64_t rest = stream->size_bytes - offset;
    size_t wanted = len < rest ? len : (size_t)rest;
    mount_forget_fault(stream->mount);
    s64 count = ntfs_attr_pread(stream->attribute, (s64)offset, (s64)wanted, buf);
    /* A part before a failed read is given up: the retry or the next reader asks for less. */
    if (count <= 0 || stream->mount->has_fault) {
        return mount_fail(stream->mount, err, stream->what, count < 0 ? errno : 0);
    }
    return (ssize_t)count;
}
