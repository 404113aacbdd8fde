/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Uploads in one request: multipart/related with metadata, or bare media. The path every small
 * file takes, so texts are reused and the reply is scanned without allocation.
 */
#include "gcs_internal.h"

#include <string.h>

static const char default_type[] = "application/octet-stream";

/* head, media, tail as one body. */
struct related {
    const struct text *head;
    const char *tail;
    size_t tail_len;
    struct http_body *media;
    uint64_t position; /* over all three */
};

static size_t take_bytes(struct related *related, uint64_t start, const char *bytes,
                         size_t bytes_len, char *buf, size_t len)
{
    size_t from = (size_t)(related->position - start);
    size_t count = bytes_len - from < len ? bytes_len - from : len;
    memcpy(buf, bytes + from, count);
    related->position += count;
    return count;
}

/* Fills the buffer across the seams: a small object leaves in one piece. */
static ssize_t related_read(void *self, void *buf, size_t len, struct error *err)
{
    struct related *related = self;
    uint64_t media_start = related->head->len;
    uint64_t tail_start = media_start + related->media->size_bytes;
    char *out = buf;
    size_t used = 0;
    if (related->position < media_start) {
        used = take_bytes(related, 0, related->head->data, related->head->len, out, len);
    }
    while (related->position >= media_start && related->position < tail_start && used < len) {
        uint64_t rest = tail_start - related->position;
        size_t want = rest < len - used ? (size_t)rest : len - used;
        ssize_t got = related->media->read(related->media->self, out + used, want, err);
        if (got < 0) {
            return -1;
        }
        if (got == 0 || (size_t)got > want) {
            return error_stop(err, EXIT_STATUS_INTERNAL,
                              "a body gave %zd of %zu bytes, %llu short of its size", got, want,
                              (unsigned long long)rest);
        }
        related->position += (uint64_t)got;
        used += (size_t)got;
        if ((size_t)got < want) {
            return (ssize_t)used; /* who gives little at a time may want it to go out so */
        }
    }
    if (related->position >= tail_start && used < len) {
        used += take_bytes(related, tail_start, related->tail, related->tail_len, out + used,
                           len - used);
    }
    return (ssize_t)used;
}

static int related_rewind(void *self, struct error *err)
{
    struct related *related = self;
    related->position = 0;
    return related->media->rewind(related->media->self, err);
}

static const char *type_of(const struct gcs_write *write)
{
    return write->content_type != NULL ? write->content_type : default_type;
}

void gcs_url_write(struct gcs_client *client, const struct gcs_write *write)
{
    gcs_url_query_u64(client, "&ifGenerationMatch=", write->if_generation);
    if (write->kms_key != NULL) {
        gcs_url_query(client, "&kmsKeyName=", write->kms_key);
    }
}

void gcs_write_members(struct text *text, const struct gcs_write *write)
{
    text_add(text, "\"contentType\":");
    text_add_json(text, type_of(write), strlen(type_of(write)));
    if (write->has_crc32c) {
        char crc32c[9];
        crc32c_to_base64(write->crc32c, crc32c);
        text_add(text, ",\"crc32c\":\"");
        text_add(text, crc32c);
        text_add_char(text, '"');
    }
    if (write->storage_class != NULL) {
        text_add(text, ",\"storageClass\":");
        text_add_json(text, write->storage_class, strlen(write->storage_class));
    }
    if (write->cache_control != NULL) {
        text_add(text, ",\"cacheControl\":");
        text_add_json(text, write->cache_control, strlen(write->cache_control));
    }
    if (write->custom_time != NULL) {
        text_add(text, ",\"customTime\":");
        text_add_json(text, write->custom_time, strlen(write->custom_time));
    }
    if (write->metadata_json != NULL) {
        text_add(text, ",\"metadata\":");
        text_add(text, write->metadata_json);
    }
}

static int related_head(struct gcs_client *client, const struct gcs_write *write, struct error *err)
{
    struct text *head = &client->body;
    text_reset(head);
    text_add(head, "--");
    text_add(head, client->boundary);
    text_add(head, "\r\nContent-Type: application/json; charset=UTF-8\r\n\r\n{\"name\":");
    text_add_json(head, write->name, strlen(write->name));
    text_add_char(head, ',');
    gcs_write_members(head, write);
    text_add(head, "}\r\n--");
    text_add(head, client->boundary);
    text_add(head, "\r\nContent-Type: ");
    text_add(head, type_of(write));
    text_add(head, "\r\n\r\n");
    return head->failed ? error_memory(err, "the head of an upload") : 0;
}

static enum gcs_answer insert_send(struct gcs_client *client, const struct gcs_write *write,
                                   const struct http_header *headers, size_t header_count,
                                   struct http_body *body, struct gcs_object *ret_object,
                                   struct error *err)
{
    struct gcs_exchange exchange = {
        .call = GCS_CALL_INSERT,
        .method = "POST",
        .name = write->name,
        .headers = headers,
        .header_count = header_count,
        .body = body,
        .reply_timeout_ms = GCS_INSERT_TIMEOUT_MS,
    };
    struct http_reply reply;
    enum gcs_answer answer = gcs_exchange_run(client, &exchange, &reply, err);
    bool is_readable =
        answer != GCS_DONE || gcs_object_scan(reply.body.data, reply.body.len, ret_object) == 0;
    http_reply_clear(&reply);
    return is_readable ? answer : gcs_look_after_write(client, GCS_CALL_INSERT, write, err);
}

enum gcs_answer gcs_insert(struct gcs_client *client, const struct gcs_write *write,
                           struct http_body *body, struct gcs_object *ret_object, struct error *err)
{
    gcs_url_begin(client, "/upload/storage/v1", "/o", NULL);
    text_add(&client->url, "?uploadType=multipart&fields=" GCS_FIELDS_WRITTEN);
    gcs_url_write(client, write);
    if (gcs_url_end(client, err) != 0 || related_head(client, write, err) != 0) {
        return GCS_ERROR;
    }
    struct related related = {
        .head = &client->body,
        .tail = client->related_tail,
        .tail_len = strlen(client->related_tail),
        .media = body,
    };
    struct http_body whole = {
        .size_bytes = related.head->len + body->size_bytes + related.tail_len,
        .read = related_read,
        .rewind = related_rewind,
        .self = &related,
    };
    struct http_header header = {.name = "Content-Type", .value = client->related_type};
    return insert_send(client, write, &header, 1, &whole, ret_object, err);
}

enum gcs_answer gcs_insert_media(struct gcs_client *client, const struct gcs_write *write,
                                 struct http_body *body, struct gcs_object *ret_object,
                                 struct error *err)
{
    if (write->storage_class != NULL) {
        /* Bare media cannot state a class, and parts must have the class of the object. */
        struct gcs_write without_metadata = *write;
        without_metadata.metadata_json = NULL;
        without_metadata.cache_control = NULL;
        without_metadata.custom_time = NULL;
        return gcs_insert(client, &without_metadata, body, ret_object, err);
    }
    gcs_url_begin(client, "/upload/storage/v1", "/o", NULL);
    text_add(&client->url, "?uploadType=media&fields=" GCS_FIELDS_WRITTEN);
    gcs_url_query(client, "&name=", write->name);
    gcs_url_write(client, write);
    if (gcs_url_end(client, err) != 0) {
        return GCS_ERROR;
    }
    struct http_header headers[2] = {{.name = "Content-Type", .value = type_of(write)}};
    size_t header_count = 1;
    char hash[24];
    if (write->has_crc32c) {
        char crc32c[9];
        crc32c_to_base64(write->crc32c, crc32c);
        (void)snprintf(hash, sizeof(hash), "crc32c=%s", crc32c);
        headers[header_count++] = (struct http_header){.name = "X-Goog-Hash", .value = hash};
    }
    return insert_send(client, write, headers, header_count, body, ret_object, err);
}
