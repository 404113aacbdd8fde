/* SPDX-License-Identifier: GPL-3.0-or-later */
/* stream: offset → extent → disk. */
#include "run/stream.h"

#include <string.h>

static int index_extents(struct stream *stream, struct error *err)
{
    size_t count = stream->stream->extent_count;
    if (count > stream->starts_cap) {
        uint64_t *starts = realloc(stream->starts, count * sizeof(*starts));
        if (starts == NULL) {
            return error_memory(err, "an extent list");
        }
        stream->starts = starts;
        stream->starts_cap = count;
    }
    uint64_t at = 0;
    for (size_t i = 0; i < count; i++) {
        uint64_t bytes = 0;
        stream->starts[i] = at;
        if (mul_overflows(stream->stream->extents[i].clusters, stream->cluster_bytes, &bytes) ||
            add_overflows(at, bytes, &at)) {
            return error_entry(err, REASON_BAD_RECORD, "record %llu: extents overflow",
                               (unsigned long long)stream->entry->record);
        }
    }
    if (at < stream->stream->valid_bytes) {
        return error_entry(err, REASON_BAD_RECORD,
                           "record %llu: the extents end before the valid data does",
                           (unsigned long long)stream->entry->record);
    }
    return 0;
}

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
    stream->cluster_bytes = volume_get_info(volume->volume)->cluster_bytes;
    stream->cursor = 0;
    if (!task->through_reader && !task->resident && index_extents(stream, err) != 0) {
        return -1;
    }
    stream->task = task;
    return 0;
}

void stream_clear(struct stream *stream)
{
    free(stream->starts);
    stream->starts = NULL;
    stream->starts_cap = 0;
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

/* The extent that holds `offset`; the cursor makes sequential reads cheap. */
static size_t find_extent(struct stream *stream, uint64_t offset)
{
    size_t count = stream->stream->extent_count;
    size_t i = stream->cursor;
    if (stream->starts[i] <= offset && (i + 1 == count || stream->starts[i + 1] > offset)) {
        return i;
    }
    if (i + 1 < count && stream->starts[i + 1] <= offset &&
        (i + 2 == count || stream->starts[i + 2] > offset)) {
        return i + 1;
    }
    size_t low = 0;
    size_t high = count;
    while (high - low > 1) {
        size_t middle = low + (high - low) / 2;
        if (stream->starts[middle] <= offset) {
            low = middle;
        } else {
            high = middle;
        }
    }
    return low;
}

static int read_extents(struct stream *stream, uint64_t offset, uint8_t *buf, size_t len,
                        struct error *err)
{
    while (len > 0) {
        size_t i = find_extent(stream, offset);
        stream->cursor = i;
        const struct volume_extent *extent = &stream->stream->extents[i];
        uint64_t inside = offset - stream->starts[i];
        uint64_t left = extent->clusters * stream->cluster_bytes - inside;
        size_t take = len < left ? len : (size_t)left;
        if (extent->cluster == VOLUME_HOLE) {
            memset(buf, 0, take);
        } else {
            uint64_t at = volume_cluster_position(stream->volume->volume, extent->cluster) + inside;
            if (disk_read(stream->run->disk, at, buf, take, err) != 0) {
                return -1;
            }
        }
        buf += take;
        offset += take;
        len -= take;
    }
    return 0;
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
        return volume_reader_read(stream->reader, stream->entry->record, stream->entry->sequence,
                                  stream->stream->name, stream->stream->name_len, offset, buf, take,
                                  err);
    }
    if (stream->task->resident) {
        return read_resident(stream, offset, buf, take, err);
    }
    uint64_t valid = stream->stream->valid_bytes;
    size_t real = offset >= valid ? 0 : take < valid - offset ? take : (size_t)(valid - offset);
    if (real > 0 && read_extents(stream, offset, buf, real, err) != 0) {
        return -1;
    }
    memset((uint8_t *)buf + real, 0, take - real);
    return (ssize_t)take;
}
