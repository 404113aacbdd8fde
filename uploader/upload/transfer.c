/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * One object in one request: small (memory, checksum stated), whole (streamed, checksum compared
 * afterwards) and control objects.
 */
#include "upload_internal.h"

#include <assert.h>
#include <string.h>

struct transfer {
    struct uploader *uploader;
    struct upload_wanted wanted;
    struct http_body body;
    struct upload_range *range; /* NULL: bytes in memory, whose checksum is known */
    uint64_t if_generation;
    bool replaces;
    unsigned bad_sends;
};

static void finish(const struct transfer *transfer, uint64_t generation, uint32_t crc32c,
                   bool already_present, struct upload_result *ret_result)
{
    *ret_result = (struct upload_result){
        .generation = generation,
        .size_bytes = transfer->wanted.size_bytes,
        .crc32c = crc32c,
        .already_present = already_present,
        .replaced = transfer->replaces && !already_present,
    };
}

/* What the listing says. Returns 1 when the object is there and equal, 0 to send, -1. */
static int resolve_listed(struct transfer *transfer, struct upload_result *ret_result,
                          struct error *err)
{
    struct uploader *uploader = transfer->uploader;
    struct upload_seen seen;
    if (!upload_existing_find(atomic_load(&uploader->engine->existing),
                              transfer->wanted.object->name, &seen)) {
        return 0;
    }
    switch (upload_resolve_seen(uploader, &transfer->wanted, &seen, err)) {
    case UPLOAD_EQUAL:
        finish(transfer, seen.generation, seen.crc32c, true, ret_result);
        return 1;
    case UPLOAD_REPLACE:
        transfer->if_generation = seen.generation;
        transfer->replaces = true;
        return 0;
    default:
        return -1;
    }
}

/* The server holds other bytes than were read: away with them, and again. */
static int discard_wrong(struct transfer *transfer, const struct gcs_object *object,
                         struct error *err)
{
    const char *name = transfer->wanted.object->name;
    struct error deleted = {0};
    bool is_gone =
        upload_delete_exactly(transfer->uploader, name, object->generation, &deleted) == 0;
    if (!is_gone && deleted.kind == ERROR_CANCELLED) {
        return error_cancelled(err);
    }
    transfer->bad_sends++;
    transfer->if_generation = 0;
    if (is_gone && transfer->bad_sends < UPLOAD_SENDS_MAX) {
        return 0;
    }
    CLEANUP_TEXT struct text shown = TEXT_INIT(8192);
    text_add_shown(&shown, name, strlen(name), 300);
    return error_entry(err, "upload-refused",
                       "%s: the checksum that the server states is not that of the bytes read "
                       "(sent %u times); the wrong object %s",
                       text_str(&shown), transfer->bad_sends,
                       is_gone ? "was deleted" : "could not be deleted and is still there");
}

static int accept_written(struct transfer *transfer, struct gcs_object *object, bool *ret_done,
                          struct upload_result *ret_result, struct error *err)
{
    const struct upload_wanted *wanted = &transfer->wanted;
    uint32_t crc32c = transfer->range != NULL ? transfer->range->crc32c : wanted->crc32c;
    bool is_equal = false;
    if (upload_compare_written(transfer->uploader, wanted->object->name, wanted->size_bytes, crc32c,
                               object, &is_equal, err) != 0) {
        return -1;
    }
    if (!is_equal) {
        return discard_wrong(transfer, object, err);
    }
    finish(transfer, object->generation, crc32c, false, ret_result);
    *ret_done = true;
    return 0;
}

static int resolve_taken(struct transfer *transfer, bool *ret_done,
                         struct upload_result *ret_result, struct error *err)
{
    struct uploader *uploader = transfer->uploader;
    struct upload_wanted *wanted = &transfer->wanted;
    wanted->maybe_ours = gcs_earlier_try_unanswered(uploader->client);
    wanted->refused_generation = transfer->if_generation;
    if (transfer->range != NULL) {
        /* The server may have refused before it had all; then the source is read once more. */
        wanted->has_crc32c = transfer->range->position == wanted->size_bytes;
        wanted->crc32c = transfer->range->crc32c;
    }
    struct upload_seen seen;
    switch (upload_resolve_look(uploader, wanted, &seen, err)) {
    case UPLOAD_EQUAL:
        if (wanted->maybe_ours) {
            upload_count(&uploader->engine->bytes_acknowledged, wanted->size_bytes);
        }
        finish(transfer, seen.generation, seen.crc32c, !wanted->maybe_ours, ret_result);
        *ret_done = true;
        return 0;
    case UPLOAD_REPLACE:
        transfer->if_generation = seen.generation;
        transfer->replaces = true;
        return 0;
    case UPLOAD_GONE:
        transfer->if_generation = 0;
        return 0;
    default:
        return -1;
    }
}

static int send_once(struct transfer *transfer, bool *ret_done, struct upload_result *ret_result,
                     struct error *err)
{
    const struct upload_object *object = transfer->wanted.object;
    const bool states_crc32c = transfer->range == NULL;
    struct gcs_write write = {
        .name = object->name,
        .content_type = object->content_type,
        .metadata_json = object->metadata_json,
        .cache_control = object->cache_control,
        .custom_time = object->custom_time,
        .storage_class = transfer->uploader->engine->settings.storage_class,
        .kms_key = transfer->uploader->engine->settings.kms_key,
        .if_generation = transfer->if_generation,
        .has_crc32c = states_crc32c,
        .crc32c = states_crc32c ? transfer->wanted.crc32c : 0,
    };
    if (transfer->body.rewind(transfer->body.self, err) != 0) {
        return -1;
    }
    struct gcs_object written;
    switch (upload_call_insert(transfer->uploader, &write, false, &transfer->body, &written, err)) {
    case GCS_DONE:
        return accept_written(transfer, &written, ret_done, ret_result, err);
    case GCS_EXISTS:
        return resolve_taken(transfer, ret_done, ret_result, err);
    case GCS_CHECKSUM:
        transfer->bad_sends++;
        return transfer->bad_sends < UPLOAD_SENDS_MAX ? 0 : -1;
    default:
        return -1;
    }
}

static int transfer_run(struct transfer *transfer, struct upload_result *ret_result,
                        struct error *err)
{
    int listed = resolve_listed(transfer, ret_result, err);
    if (listed != 0) {
        return listed > 0 ? 0 : -1;
    }
    for (unsigned round = 0; round < UPLOAD_ROUNDS_MAX; round++) {
        bool is_done = false;
        if (send_once(transfer, &is_done, ret_result, err) != 0) {
            return -1;
        }
        if (is_done) {
            return 0;
        }
    }
    CLEANUP_TEXT struct text shown = TEXT_INIT(8192);
    text_add_shown(&shown, transfer->wanted.object->name, strlen(transfer->wanted.object->name),
                   300);
    return error_retry(err, "%s: somebody else keeps changing this object", text_str(&shown));
}

static int send_memory(struct uploader *uploader, const struct upload_object *object,
                       const void *bytes, size_t len, bool replace_always,
                       struct upload_result *ret_result, struct error *err)
{
    struct http_memory memory = {.bytes = bytes, .len = len};
    struct transfer transfer = {
        .uploader = uploader,
        .wanted =
            {
                .object = object,
                .size_bytes = len,
                .has_crc32c = true,
                .crc32c = crc32c_update(0, bytes, len),
                .replace_always = replace_always,
            },
        .body = http_memory_body(&memory),
    };
    return transfer_run(&transfer, ret_result, err);
}

int upload_small(struct uploader *uploader, const struct upload_object *object, const void *bytes,
                 size_t len, struct upload_result *ret_result, struct error *err)
{
    assert(len <= UPLOAD_SMALL_MAX);
    return send_memory(uploader, object, bytes, len, false, ret_result, err);
}

int upload_control(struct uploader *uploader, const struct upload_object *object, const void *bytes,
                   size_t len, struct upload_result *ret_result, struct error *err)
{
    return send_memory(uploader, object, bytes, len, true, ret_result, err);
}

int upload_whole(struct uploader *uploader, const struct upload_object *object,
                 const struct upload_source *source, struct upload_result *ret_result,
                 struct error *err)
{
    if (source->size_bytes > GCS_OBJECT_MAX) {
        return error_entry(err, "too-large", "%llu bytes are more than an object can hold (5 TiB)",
                           (unsigned long long)source->size_bytes);
    }
    struct upload_range range = {
        .uploader = uploader, .source = source, .size_bytes = source->size_bytes};
    struct transfer transfer = {
        .uploader = uploader,
        .wanted = {.object = object, .size_bytes = source->size_bytes, .range = &range},
        .body = upload_range_body(&range),
        .range = &range,
    };
    return transfer_run(&transfer, ret_result, err);
}
