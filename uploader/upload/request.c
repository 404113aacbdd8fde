/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Calls of gcs with a place in the window around each, and the small compounds of them that every
 * way of uploading needs.
 */
#include "upload_internal.h"

#include <string.h>

static int enter(struct uploader *uploader, struct error *err)
{
    struct upload_engine *engine = uploader->engine;
    uint64_t waited_ns = 0;
    atomic_fetch_add(&engine->in_window, 1);
    int status =
        upload_window_enter(&engine->window, engine->settings.gcs.http.cancel, &waited_ns, err);
    atomic_fetch_sub(&engine->in_window, 1);
    if (waited_ns != 0) {
        upload_count(&engine->window_wait_ns, waited_ns);
    }
    return status;
}

/* The same for what writes: the ramp first, so that nobody holds a place while it waits. */
static int enter_write(struct uploader *uploader, struct error *err)
{
    struct upload_engine *engine = uploader->engine;
    uint64_t waited_ns = 0;
    atomic_fetch_add(&engine->in_ramp, 1);
    int status =
        upload_ramp_wait(&engine->ramp, engine->settings.gcs.http.cancel, &waited_ns, err);
    atomic_fetch_sub(&engine->in_ramp, 1);
    if (waited_ns != 0) {
        upload_count(&engine->ramp_wait_ns, waited_ns);
    }
    return status == 0 ? enter(uploader, err) : -1;
}

/* What is to be taken off the time of a request: when it began, and the reads up to then. */
struct started {
    uint64_t at_ns;
    uint64_t read_ns;
};

static struct started start(const struct uploader *uploader)
{
    return (struct started){.at_ns = clock_monotonic_ns(), .read_ns = uploader->read_ns};
}

static void leave(struct uploader *uploader, struct started started)
{
    upload_window_leave(&uploader->engine->window);
    uint64_t reads_ns = uploader->read_ns - started.read_ns;
    uint64_t whole_ns = clock_monotonic_ns() - started.at_ns;
    upload_count(&uploader->engine->request_ns, whole_ns > reads_ns ? whole_ns - reads_ns : 0);
}

enum gcs_answer upload_call_insert(struct uploader *uploader, const struct gcs_write *write,
                                   bool is_media, struct http_body *body,
                                   struct gcs_object *ret_object, struct error *err)
{
    if (enter_write(uploader, err) != 0) {
        return GCS_ERROR;
    }
    struct upload_engine *engine = uploader->engine;
    struct upload_limited_body limited = {
        .rate = &engine->rate, .cancel = engine->settings.gcs.http.cancel, .inner = body};
    struct http_body slow = upload_limited_body(&limited);
    struct http_body *sent = engine->rate.table != NULL ? &slow : body;
    struct started started = start(uploader);
    enum gcs_answer answer = is_media
                                 ? gcs_insert_media(uploader->client, write, sent, ret_object, err)
                                 : gcs_insert(uploader->client, write, sent, ret_object, err);
    leave(uploader, started);
    if (answer == GCS_DONE) {
        upload_count(&uploader->engine->bytes_acknowledged, body->size_bytes);
    }
    return answer;
}

enum gcs_answer upload_call_compose(struct uploader *uploader, const struct gcs_write *write,
                                    const struct gcs_source *sources, size_t count,
                                    bool delete_sources, struct gcs_object *ret_object,
                                    struct error *err)
{
    if (enter_write(uploader, err) != 0) {
        return GCS_ERROR;
    }
    struct started started = start(uploader);
    enum gcs_answer answer =
        gcs_compose(uploader->client, write, sources, count, delete_sources, ret_object, err);
    leave(uploader, started);
    return answer;
}

enum gcs_answer upload_call_get(struct uploader *uploader, const char *name,
                                struct gcs_object *ret_object, struct error *err)
{
    if (enter(uploader, err) != 0) {
        return GCS_ERROR;
    }
    struct started started = start(uploader);
    enum gcs_answer answer = gcs_get(uploader->client, name, ret_object, err);
    leave(uploader, started);
    return answer;
}

enum gcs_answer upload_call_delete(struct uploader *uploader, const char *name, uint64_t generation,
                                   struct error *err)
{
    if (enter_write(uploader, err) != 0) {
        return GCS_ERROR;
    }
    struct started started = start(uploader);
    enum gcs_answer answer = gcs_delete(uploader->client, name, generation, err);
    leave(uploader, started);
    return answer;
}

enum gcs_answer upload_call_list(struct uploader *uploader, const struct gcs_listing *listing,
                                 struct error *err)
{
    if (enter(uploader, err) != 0) {
        return GCS_ERROR;
    }
    struct started started = start(uploader);
    enum gcs_answer answer = gcs_list(uploader->client, listing, err);
    leave(uploader, started);
    return answer;
}

int upload_delete_exactly(struct uploader *uploader, const char *name, uint64_t generation,
                          struct error *err)
{
    enum gcs_answer answer = upload_call_delete(uploader, name, generation, err);
    return answer == GCS_DONE || answer == GCS_NOT_FOUND ? 0 : -1;
}

int upload_compare_written(struct uploader *uploader, const char *name, uint64_t size_bytes,
                           uint32_t crc32c, struct gcs_object *object, bool *ret_equal,
                           struct error *err)
{
    if (!object->has_crc32c) {
        struct gcs_object looked;
        enum gcs_answer answer = upload_call_get(uploader, name, &looked, err);
        if (answer == GCS_ERROR) {
            return -1;
        }
        if (answer != GCS_DONE || looked.generation != object->generation || !looked.has_crc32c) {
            CLEANUP_TEXT struct text shown = TEXT_INIT(4096);
            text_add_shown(&shown, name, strlen(name), 300);
            return error_entry(err, "upload-refused",
                               "%s: the server states no crc32c for what it stored, so nothing "
                               "proves it; it is left in the bucket",
                               text_str(&shown));
        }
        *object = looked;
    }
    *ret_equal = object->size_bytes == size_bytes && object->crc32c == crc32c;
    return 0;
}
