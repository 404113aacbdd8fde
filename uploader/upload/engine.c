/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What workers share (settings, window, counters, the listing) and what each has of its own.
 */
#include "upload_internal.h"

#include <string.h>

struct upload_engine *upload_engine_new(const struct upload_settings *settings, struct error *err)
{
    struct upload_engine *engine = calloc(1, sizeof(*engine));
    if (engine == NULL) {
        (void)error_memory(err, "the upload engine");
        return NULL;
    }
    engine->settings = *settings;
    unsigned connections = settings->connections > 0 ? settings->connections : 1;
    if (upload_window_open(&engine->window, connections, err) != 0) {
        free(engine);
        return NULL;
    }
    if (upload_rate_open(&engine->rate, settings->bandwidth, err) != 0) {
        upload_window_close(&engine->window);
        free(engine);
        return NULL;
    }
    if (upload_ramp_open(&engine->ramp, settings->has_ramp, err) != 0) {
        upload_rate_close(&engine->rate);
        upload_window_close(&engine->window);
        free(engine);
        return NULL;
    }
    return engine;
}

void upload_engine_free(struct upload_engine *engine)
{
    if (engine == NULL) {
        return;
    }
    upload_existing_free(atomic_load(&engine->existing));
    upload_ramp_close(&engine->ramp);
    upload_rate_close(&engine->rate);
    upload_window_close(&engine->window);
    free(engine);
}

void upload_engine_counters(struct upload_engine *engine, struct upload_counters *ret_counters)
{
    struct upload_counters counters = {
        .requests = atomic_load(&engine->requests),
        .retries = atomic_load(&engine->retries),
        .bytes_acknowledged = atomic_load(&engine->bytes_acknowledged),
        .bytes_sent = atomic_load(&engine->bytes_sent),
        .read_ns = atomic_load(&engine->read_ns),
        .request_ns = atomic_load(&engine->request_ns),
        .window_wait_ns = atomic_load(&engine->window_wait_ns),
        .ramp_wait_ns = atomic_load(&engine->ramp_wait_ns),
        .parts_left = atomic_load(&engine->parts_left),
    };
    (void)pthread_mutex_lock(&engine->window.lock);
    counters.window = engine->window.places;
    counters.throttled = engine->window.throttled;
    counters.in_requests = engine->window.used;
    (void)pthread_mutex_unlock(&engine->window.lock);
    counters.in_window = atomic_load(&engine->in_window);
    counters.in_ramp = atomic_load(&engine->in_ramp);
    counters.in_bandwidth = atomic_load(&engine->rate.waiting);
    uint64_t failed_ms = atomic_load(&engine->failed_ms);
    if (failed_ms != 0) {
        counters.has_failed = true;
        counters.failed_status = atomic_load(&engine->failed_status);
        counters.failed_ago_ms = clock_monotonic_ms() - failed_ms;
    }
    *ret_counters = counters;
}

bool upload_is_cancelled(const struct upload_engine *engine)
{
    const _Atomic bool *cancel = engine->settings.gcs.http.cancel;
    return cancel != NULL && atomic_load(cancel);
}

static void note_try(void *self, const struct http_try *try_made)
{
    struct upload_engine *engine = self;
    upload_count(&engine->requests, 1 + try_made->resends);
    upload_count(&engine->retries, (try_made->number > 1 ? 1 : 0) + try_made->resends);
    upload_count(&engine->bytes_sent, try_made->sent_bytes);
    if (try_made->status == 0 || try_made->status == 408 || try_made->status == 429 ||
        try_made->status >= 500) {
        atomic_store(&engine->failed_status, try_made->status);
        atomic_store(&engine->failed_ms, clock_monotonic_ms());
    }
    if (try_made->status == 429 || try_made->status == 503) {
        upload_window_note_throttle(&engine->window, clock_monotonic_ms());
        upload_ramp_note_refused(&engine->ramp);
    } else if (try_made->status >= 200 && try_made->status < 300) {
        upload_window_note_success(&engine->window);
    }
}

struct uploader *uploader_new(struct upload_engine *engine, struct error *err)
{
    struct uploader *uploader = calloc(1, sizeof(*uploader));
    if (uploader == NULL) {
        (void)error_memory(err, "an uploader");
        return NULL;
    }
    uploader->engine = engine;
    struct gcs_settings settings = engine->settings.gcs;
    settings.http.on_try = note_try;
    settings.http.on_try_self = engine;
    uploader->client = gcs_client_new(&settings, err);
    if (uploader->client == NULL) {
        uploader_free(uploader);
        return NULL;
    }
    return uploader;
}

void uploader_free(struct uploader *uploader)
{
    if (uploader == NULL) {
        return;
    }
    gcs_client_free(uploader->client);
    free(uploader->scratch);
    free(uploader);
}

struct gcs_client *uploader_client(struct uploader *uploader)
{
    return uploader->client;
}

struct collect {
    const struct upload_engine *engine;
    struct upload_existing *existing;
    const char *skip_prefix;
    uint64_t count;
};

static int collect_object(void *self, const char *name, const struct gcs_object *object,
                          struct error *err)
{
    struct collect *collect = self;
    if (collect->skip_prefix != NULL &&
        strncmp(name, collect->skip_prefix, strlen(collect->skip_prefix)) == 0) {
        return 0;
    }
    struct upload_seen seen = upload_seen_from(collect->engine, object);
    if (upload_existing_add(collect->existing, name, &seen) != 0) {
        return error_memory(err, "the list of objects in the bucket");
    }
    collect->count++;
    return 0;
}

enum gcs_answer upload_list_existing(struct uploader *uploader, const char *prefix,
                                     const char *skip_prefix, uint64_t *ret_count,
                                     struct error *err)
{
    struct upload_engine *engine = uploader->engine;
    struct collect collect = {
        .engine = engine, .existing = upload_existing_new(), .skip_prefix = skip_prefix};
    if (collect.existing == NULL) {
        (void)error_memory(err, "the list of objects in the bucket");
        return GCS_ERROR;
    }
    struct gcs_listing listing = {.prefix = prefix, .object = collect_object, .self = &collect};
    enum gcs_answer answer = upload_call_list(uploader, &listing, err);
    struct upload_existing *none = NULL;
    if (answer != GCS_DONE ||
        !atomic_compare_exchange_strong(&engine->existing, &none, collect.existing)) {
        upload_existing_free(collect.existing);
    }
    if (answer == GCS_DONE) {
        *ret_count = collect.count;
    }
    return answer;
}
