/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * A range of a source as a request body: read straight into the sender's buffer, checksum taken
 * while the bytes are in the cache.
 */
#include "upload_internal.h"

static ssize_t range_read(void *self, void *buf, size_t len, struct error *err)
{
    struct upload_range *range = self;
    uint64_t rest = range->size_bytes - range->position;
    size_t want = rest < len ? (size_t)rest : len;
    if (want == 0) {
        return 0;
    }
    uint64_t started_ns = clock_monotonic_ns();
    uint64_t offset = range->offset + range->position;
    ssize_t got = range->source->read(range->source->self, offset, buf, want, err);
    uint64_t elapsed_ns = clock_monotonic_ns() - started_ns;
    range->uploader->read_ns += elapsed_ns;
    upload_count(&range->uploader->engine->read_ns, elapsed_ns);
    if (got < 0) {
        return -1;
    }
    if (got == 0 || (size_t)got > want) {
        return error_stop(err, EXIT_STATUS_INTERNAL,
                          "a source gave %zd bytes at %llu where %zu were asked for", got,
                          (unsigned long long)offset, want);
    }
    range->crc32c = crc32c_update(range->crc32c, buf, (size_t)got);
    range->position += (uint64_t)got;
    return got;
}

static int range_rewind(void *self, struct error *err)
{
    struct upload_range *range = self;
    (void)err; /* cannot fail: the source is read by position */
    range->position = 0;
    range->crc32c = 0;
    return 0;
}

struct http_body upload_range_body(struct upload_range *range)
{
    return (struct http_body){
        .size_bytes = range->size_bytes,
        .read = range_read,
        .rewind = range_rewind,
        .self = range,
    };
}

int upload_range_measure(struct upload_range *range, struct error *err)
{
    struct uploader *uploader = range->uploader;
    if (uploader->scratch == NULL) {
        uploader->scratch = malloc(UPLOAD_SCRATCH_BYTES);
        if (uploader->scratch == NULL) {
            return error_memory(err, "a read buffer");
        }
    }
    range->position = 0;
    range->crc32c = 0;
    while (range->position < range->size_bytes) {
        if (upload_is_cancelled(uploader->engine)) {
            return error_cancelled(err);
        }
        if (range_read(range, uploader->scratch, UPLOAD_SCRATCH_BYTES, err) < 0) {
            return -1;
        }
    }
    return 0;
}
