/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * One thread's handle on libntfs-3g. The last stream stays open, since a compressed stream is read
 * in many pieces.
 */
#include <string.h>

#include "volume/mount.h"
#include "volume/record.h"

struct volume_reader {
    struct volume *volume;
    struct mount *mount;
    uint8_t *record; /* one raw record, to look at its sequence number */
    struct mount_stream *stream;
    uint64_t stream_ref;
    uint8_t stream_name_len;
    uint16_t stream_name[UINT8_MAX + 1];
};

static bool is_open(const struct volume_reader *reader, uint64_t ref, const uint16_t *name,
                    uint8_t name_len);
static int open_stream(struct volume_reader *reader, uint64_t record, uint16_t sequence,
                       const uint16_t *name, uint8_t name_len, struct error *err);
static int check_sequence(struct volume_reader *reader, uint64_t record, uint16_t sequence,
                          struct error *err);

struct volume_reader *volume_reader_new(struct volume *volume, struct error *err)
{
    struct volume_reader *reader = calloc(1, sizeof(*reader));

    if (reader == NULL || (reader->record = malloc(volume->boot.record_bytes)) == NULL) {
        (void)error_memory(err, "NTFS reader");
        free(reader);
        return NULL;
    }
    reader->volume = volume;
    return reader;
}

void volume_reader_free(struct volume_reader *reader)
{
    if (reader == NULL) {
        return;
    }
    mount_stream_close(reader->stream);
    mount_free(reader->mount);
    free(reader->record);
    free(reader);
}

ssize_t volume_reader_read(struct volume_reader *reader, uint64_t record, uint16_t sequence,
                           const uint16_t *name, uint8_t name_len, uint64_t offset, void *buf,
                           size_t len, struct error *err)
{
    uint64_t ref = record | (uint64_t)sequence << 48;

    if (!is_open(reader, ref, name, name_len) &&
        open_stream(reader, record, sequence, name, name_len, err) != 0) {
        return -1;
    }
    return mount_stream_read(reader->stream, offset, buf, len, err);
}

static bool is_open(const struct volume_reader *reader, uint64_t ref, const uint16_t *name,
                    uint8_t name_len)
{
    return reader->stream != NULL && reader->stream_ref == ref &&
           reader->stream_name_len == name_len &&
           (name_len == 0 || memcmp(reader->stream_name, name, name_len * sizeof(*name)) == 0);
}

static int open_stream(struct volume_reader *reader, uint64_t record, uint16_t sequence,
                       const uint16_t *name, uint8_t name_len, struct error *err)
{
    mount_stream_close(reader->stream);
    reader->stream = NULL;
    if (check_sequence(reader, record, sequence, err) != 0) {
        return -1;
    }
    if (reader->mount == NULL) {
        reader->mount = mount_open(reader->volume, err);
        if (reader->mount == NULL) {
            return -1;
        }
    }
    uint64_t ref = record | (uint64_t)sequence << 48;
    reader->stream = mount_stream_open(reader->mount, ref, name, name_len, err);
    if (reader->stream == NULL) {
        return -1;
    }
    reader->stream_ref = ref;
    reader->stream_name_len = name_len;
    if (name_len > 0) {
        memcpy(reader->stream_name, name, name_len * sizeof(*name));
    }
    return 0;
}

/* The library answers EIO for a record that was used again; this tells it apart. */
static int check_sequence(struct volume_reader *reader, uint64_t record, uint16_t sequence,
                          struct error *err)
{
    struct record_header header = {0};

    if (volume_read_records(reader->volume, record, 1, reader->record, err) != 0 ||
        volume_record_fix_up(reader->volume, reader->record, record, err) != 0) {
        return -1;
    }
    (void)record_parse_header(reader->record, reader->volume->boot.record_bytes,
                              &header); /* later */
    if ((header.flags & RECORD_FLAG_IN_USE) == 0) {
        return error_entry(err, "stale-reference", "record %llu is free now",
                           (unsigned long long)record);
    }
    if (sequence != 0 && header.sequence != sequence) {
        return error_entry(err, "stale-reference",
                           "record %llu has sequence %u now, not %u: it was used again",
                           (unsigned long long)record, header.sequence, sequence);
    }
    return 0;
}
