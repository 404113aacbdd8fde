/* SPDX-License-Identifier: GPL-3.0-or-later */
/* stream: offset → extent → disk. */
#include "run/stream.h"

#include <string.h>

int stream_open(struct stream *stream, struct run *run, struct run_volume *volume,
                const struct plan_task *task, const struct catalog_view *view,
                struct volume_reader *reader, struct error *err)
{
    if (stream->task == task && stream->reader == reader) {
        return 0; /* still open: the view has not changed either */
    }
    stream->task = NULL;
    stream->run = run;
    stream->volume = volume;
    stream->entry = &view->entry;
    stream->stream = &view->entry.streams[task->stream];
    stream->reader = reader;
    int opened = 0;
    if (task->through_reader) {
        opened = volume_reader_open(reader, stream->entry, task->stream, err);
    } else if (!task->resident) {
        const struct volume_stream *data = stream->stream;
        uint64_t need = task->raw ? volume_efs_cipher_bytes(data) : data->valid_bytes;
        opened = volume_extent_map_set(&stream->map, volume_get_info(volume->volume)->cluster_bytes,
                                       data->extents, data->extent_count, need,
                                       stream->entry->record, err);
    }
    if (opened != 0) {
        return -1;
    }
    stream->task = task;
    return 0;
}

void stream_clear(struct stream *stream)
{
    volume_extent_map_clear(&stream->map);
}

struct upload_source stream_source(struct stream *stream)
{
    return (struct upload_source){
        .size_bytes = stream->task->size_bytes,
        .read = stream_read,
        .self = stream,
    };
}

static ssize_t read_resident(struct stream *stream, uint64_t offset, void *buf, size_t len,
                             struct error *err)
{
    /* Records are at most 64 KiB; a resident stream of its own is rare (groups read many at once).
     */
    const struct volume_info *info = volume_get_info(stream->volume->volume);
    const struct volume_stream *data = stream->stream;
    CLEANUP_FREE uint8_t *record = malloc(info->record_bytes);
    const uint8_t *bytes = NULL;
    uint32_t count = 0;
    if (record == NULL) {
        return error_memory(err, "a record");
    }
    if (volume_read_records(stream->volume->volume, data->record, 1, record, err) != 0 ||
        volume_record_fix_up(stream->volume->volume, record, data->record, err) != 0 ||
        volume_record_resident(stream->volume->volume, record, data->name, data->name_len, &bytes,
                               &count, err) != 0) {
        return -1;
    }
    if (count != stream->task->size_bytes || offset >= count) {
        return error_entry(err, REASON_BAD_RECORD, "record %llu: its resident data changed size",
                           (unsigned long long)data->record);
    }
    size_t take = len < count - offset ? len : (size_t)(count - offset);
    memcpy(buf, bytes + offset, take);
    return (ssize_t)take;
}

/* The ciphertext ends with a whole sector; the trailer says how much of that is the file's. */
static ssize_t read_raw(struct stream *stream, uint64_t offset, uint8_t *buf, size_t len,
                        struct error *err)
{
    uint64_t cipher = volume_efs_cipher_bytes(stream->stream);
    uint8_t trailer[VOLUME_EFS_TRAILER_BYTES];
    if (offset < cipher) {
        size_t take = len < cipher - offset ? len : (size_t)(cipher - offset);
        int read = volume_extent_map_read(&stream->map, stream->volume->volume, stream->run->disk,
                                          offset, buf, take, err);
        return read == 0 ? (ssize_t)take : -1;
    }
    volume_efs_trailer(stream->stream, trailer);
    memcpy(buf, trailer + (offset - cipher), len); /* the task ends with it */
    return (ssize_t)len;
}

ssize_t stream_read(void *self, uint64_t offset, void *buf, size_t len, struct error *err)
{
    struct stream *stream = self;
    uint64_t size = stream->task->size_bytes;
    if (offset >= size || len == 0) {
        return 0;
    }
    size_t take = len < size - offset ? len : (size_t)(size - offset);
    if (stream->task->through_reader) {
        return volume_reader_read(stream->reader, offset, buf, take, err);
    }
    if (stream->task->resident) {
        return read_resident(stream, offset, buf, take, err);
    }
    if (stream->task->raw) {
        return read_raw(stream, offset, buf, take, err);
    }
    uint64_t valid = stream->stream->valid_bytes;
    size_t real = offset >= valid ? 0 : take < valid - offset ? take : (size_t)(valid - offset);
    if (real > 0 && volume_extent_map_read(&stream->map, stream->volume->volume, stream->run->disk,
                                           offset, buf, real, err) != 0) {
        return -1;
    }
    memset((uint8_t *)buf + real, 0, take - real);
    return (ssize_t)take;
}
