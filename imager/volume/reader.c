/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * One thread's way to streams that need more than their extents: our own decoders for compressed
 * and deduplicated ones, libntfs-3g for those whose extents are not trusted. The library's last
 * stream stays open, since it is read in many pieces.
 */
#include <string.h>

#include "volume/decoder.h"
#include "volume/dedup.h"
#include "volume/mount.h"
#include "volume/record.h"

struct volume_reader {
    struct volume *volume;
    struct decoder *decoder;     /* made at its first use, like the mount */
    bool decodes;                /* the open stream is the decoder's */
    struct dedup_decoder *dedup; /* likewise */
    bool rehydrates;
    struct mount *mount;
    uint8_t *record; /* one raw record, to look at its sequence number */
    struct mount_stream *stream;
    uint64_t stream_ref;
    uint8_t stream_name_len;
    uint16_t stream_name[UINT8_MAX + 1];
};

static bool is_compressed(const struct volume_entry *entry, const struct volume_stream *data);
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
    decoder_free(reader->decoder);
    dedup_decoder_free(reader->dedup);
    mount_stream_close(reader->stream);
    mount_free(reader->mount);
    free(reader->record);
    free(reader);
}

int volume_reader_open(struct volume_reader *reader, const struct volume_entry *entry,
                       size_t stream, struct error *err)
{
    const struct volume_stream *data = &entry->streams[stream];
    uint64_t ref = entry->record | (uint64_t)entry->sequence << 48;

    reader->rehydrates = dedup_is(entry, data);
    reader->decodes = !reader->rehydrates && is_compressed(entry, data);
    if (reader->rehydrates) {
        if (reader->dedup == NULL) {
            reader->dedup = dedup_decoder_new(reader->volume, err);
        }
        return reader->dedup == NULL ? -1 : dedup_decoder_open(reader->dedup, entry, stream, err);
    }
    if (reader->decodes) {
        if (reader->decoder == NULL) {
            reader->decoder = decoder_new(reader->volume, err);
        }
        return reader->decoder == NULL ? -1 : decoder_open(reader->decoder, entry, stream, err);
    }
    if (is_open(reader, ref, data->name, data->name_len)) {
        return 0;
    }
    return open_stream(reader, entry->record, entry->sequence, data->name, data->name_len, err);
}

ssize_t volume_reader_read(struct volume_reader *reader, uint64_t offset, void *buf, size_t len,
                           struct error *err)
{
    if (reader->rehydrates) {
        return dedup_decoder_read(reader->dedup, offset, buf, len, err);
    }
    if (reader->decodes) {
        return decoder_read(reader->decoder, offset, buf, len, err);
    }
    return mount_stream_read(reader->stream, offset, buf, len, err);
}

/* libntfs-3g reads a CompactOS or deduplicated file as zeros, without an error: it is never asked
 * for one. */
static bool is_compressed(const struct volume_entry *entry, const struct volume_stream *data)
{
    if (data->name_len == 0 && entry->reparse_tag == WOF_REPARSE_TAG &&
        volume_wof_stream(entry) != NULL) {
        return true;
    }
    return data->form == VOLUME_LZNT1 && data->problem == NULL;
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
