/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Reads an object's bytes, all or a range, into a sink.
 */
#include "gcs_internal.h"

/* Counts what passes, so that a reply that ends early or ignores the range is noticed. */
struct counted {
    int (*sink)(void *self, const void *bytes, size_t len, struct error *err);
    void (*restart)(void *self);
    void *self;
    uint64_t received_bytes;
    uint64_t limit_bytes; /* 0: none */
};

static int counted_sink(void *self, const void *bytes, size_t len, struct error *err)
{
    struct counted *counted = self;
    counted->received_bytes += len;
    if (counted->limit_bytes != 0 && counted->received_bytes > counted->limit_bytes) {
        return error_retry(err, "the server sent more than the %llu bytes asked for",
                           (unsigned long long)counted->limit_bytes);
    }
    return counted->sink(counted->self, bytes, len, err);
}

static void counted_restart(void *self)
{
    struct counted *counted = self;
    counted->received_bytes = 0;
    if (counted->restart != NULL) {
        counted->restart(counted->self);
    }
}

enum gcs_answer gcs_read(struct gcs_client *client, const char *name, uint64_t generation,
                         uint64_t offset, uint64_t length,
                         int (*sink)(void *self, const void *bytes, size_t len, struct error *err),
                         void (*sink_restart)(void *self), void *self, struct error *err)
{
    gcs_url_begin(client, "/storage/v1", "/o/", name);
    text_add(&client->url, "?alt=media");
    if (generation != 0) {
        gcs_url_query_u64(client, "&generation=", generation);
    }
    if (gcs_url_end(client, err) != 0) {
        return GCS_ERROR;
    }
    char range[64];
    struct http_header header = {.name = "Range", .value = range};
    bool is_range = offset != 0 || length != 0;
    if (length != 0) {
        (void)snprintf(range, sizeof(range), "bytes=%llu-%llu", (unsigned long long)offset,
                       (unsigned long long)(offset + length - 1));
    } else {
        (void)snprintf(range, sizeof(range), "bytes=%llu-", (unsigned long long)offset);
    }
    struct counted counted = {
        .sink = sink, .restart = sink_restart, .self = self, .limit_bytes = length};
    struct gcs_exchange exchange = {
        .call = GCS_CALL_READ,
        .method = "GET",
        .name = name,
        .headers = &header,
        .header_count = is_range ? 1 : 0,
        .reply_timeout_ms = GCS_INSERT_TIMEOUT_MS,
        .sink = counted_sink,
        .sink_restart = counted_restart,
        .sink_self = &counted,
    };
    struct http_reply reply;
    enum gcs_answer answer = gcs_exchange_run(client, &exchange, &reply, err);
    bool range_ignored = is_range && reply.status == 200 && offset != 0;
    http_reply_clear(&reply);
    if (answer != GCS_DONE) {
        return answer;
    }
    if (range_ignored || (length != 0 && counted.received_bytes != length)) {
        char what[420];
        gcs_answer_describe(GCS_CALL_READ, client->settings.bucket, name, what, sizeof(what));
        (void)error_retry(err, "%s: %llu bytes came instead of the range asked for", what,
                          (unsigned long long)counted.received_bytes);
        return GCS_ERROR;
    }
    return GCS_DONE;
}
