/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The one place that decides what an object that is already there means: equal content is done,
 * other content is replaced where that is allowed, and is a conflict otherwise.
 */
#include "upload_internal.h"

#include <string.h>

struct upload_seen upload_seen_from(const struct upload_engine *engine,
                                    const struct gcs_object *object)
{
    const struct upload_settings *settings = &engine->settings;
    struct upload_seen seen = {
        .generation = object->generation,
        .size_bytes = object->size_bytes,
        .crc32c = object->crc32c,
        .has_crc32c = object->has_crc32c,
        .run_mark = upload_run_mark(object->winch_run),
    };
    for (size_t i = 0; object->winch_run[0] != '\0' && i < settings->superseded_run_count; i++) {
        seen.is_superseded =
            seen.is_superseded || strcmp(settings->superseded_runs[i], object->winch_run) == 0;
    }
    return seen;
}

bool upload_may_replace(const struct upload_engine *engine, const struct upload_seen *seen)
{
    return engine->settings.if_exists == UPLOAD_IF_EXISTS_REPLACE || seen->is_superseded;
}

bool upload_is_own(const struct upload_object *object, const struct upload_seen *seen)
{
    if (object->metadata_json == NULL || seen->run_mark == 0) {
        return false;
    }
    /* Found without memory, whose lack would make an object somebody else's. Inside of a value the
     * quotes would be escaped. */
    static const char key[] = "\"winch-run\":\"";
    const char *run = strstr(object->metadata_json, key);
    const char *end = run != NULL ? strchr(run + sizeof(key) - 1, '"') : NULL;
    char id[40];
    if (end == NULL || end - run >= (ptrdiff_t)(sizeof(key) - 1 + sizeof(id))) {
        return false;
    }
    (void)snprintf(id, sizeof(id), "%.*s", (int)(end - run) - (int)sizeof(key) + 1,
                   run + sizeof(key) - 1);
    return upload_run_mark(id) == seen->run_mark;
}

int upload_conflict(const struct upload_engine *engine, const char *name,
                    const struct upload_seen *seen, struct error *err)
{
    CLEANUP_TEXT struct text shown = TEXT_INIT(8192);
    text_add_shown(&shown, name, strlen(name), 300);
    return error_entry(err, "conflict",
                       "gs://%s/%s is there with other content (generation %llu, %llu bytes) and "
                       "was left alone; choose another prefix or --if-exists replace",
                       engine->settings.gcs.bucket, text_str(&shown),
                       (unsigned long long)seen->generation, (unsigned long long)seen->size_bytes);
}

static int not_verified(const struct upload_engine *engine, const char *name, const char *cause,
                        struct error *err)
{
    CLEANUP_TEXT struct text shown = TEXT_INIT(8192);
    text_add_shown(&shown, name, strlen(name), 300);
    return error_entry(err, "present-unverified",
                       "gs://%s/%s is there, but its content cannot be compared: %s",
                       engine->settings.gcs.bucket, text_str(&shown), cause);
}

static enum upload_resolution other_content(struct uploader *uploader,
                                            const struct upload_wanted *wanted,
                                            const struct upload_seen *seen, struct error *err)
{
    const struct upload_engine *engine = uploader->engine;
    if (!wanted->replace_always && !upload_may_replace(engine, seen)) {
        if (!seen->has_crc32c && seen->size_bytes == wanted->size_bytes) {
            (void)not_verified(engine, wanted->object->name, "the server states no crc32c", err);
        } else {
            (void)upload_conflict(engine, wanted->object->name, seen, err);
        }
        return UPLOAD_NO;
    }
    if (seen->generation == wanted->refused_generation) {
        /* The guard named the right generation, so it was not the guard that refused. */
        (void)upload_conflict(engine, wanted->object->name, seen, err);
        (void)error_add(err, "replacing it needs storage.objects.delete");
        return UPLOAD_NO;
    }
    return UPLOAD_REPLACE;
}

enum upload_resolution upload_resolve_seen(struct uploader *uploader, struct upload_wanted *wanted,
                                           const struct upload_seen *seen, struct error *err)
{
    if (seen->size_bytes != wanted->size_bytes || !seen->has_crc32c) {
        return other_content(uploader, wanted, seen, err);
    }
    if (!wanted->has_crc32c) {
        /* Skipping spares the read, except for what this run itself may have put there. */
        if (uploader->engine->settings.if_exists == UPLOAD_IF_EXISTS_SKIP && !wanted->maybe_ours &&
            !seen->is_superseded && !upload_is_own(wanted->object, seen)) {
            (void)upload_conflict(uploader->engine, wanted->object->name, seen, err);
            (void)error_add(err, "not read to compare, because of --if-exists skip");
            return UPLOAD_NO;
        }
        if (wanted->range == NULL) {
            return UPLOAD_UNREAD;
        }
        if (upload_range_measure(wanted->range, err) != 0) {
            return UPLOAD_NO;
        }
        wanted->crc32c = wanted->range->crc32c;
        wanted->has_crc32c = true;
    }
    if (seen->crc32c == wanted->crc32c) {
        return UPLOAD_EQUAL;
    }
    return other_content(uploader, wanted, seen, err);
}

enum upload_resolution upload_resolve_look(struct uploader *uploader, struct upload_wanted *wanted,
                                           struct upload_seen *ret_seen, struct error *err)
{
    static const char no_right[] = "that needs storage.objects.get";
    const struct upload_engine *engine = uploader->engine;
    if ((engine->settings.rights & GCS_RIGHT_GET) == 0) {
        (void)not_verified(engine, wanted->object->name, no_right, err);
        return UPLOAD_NO;
    }
    struct gcs_object object;
    enum gcs_answer answer = upload_call_get(uploader, wanted->object->name, &object, err);
    if (answer == GCS_NOT_FOUND) {
        return UPLOAD_GONE;
    }
    if (answer == GCS_DENIED) {
        (void)not_verified(engine, wanted->object->name, no_right, err);
        return UPLOAD_NO;
    }
    if (answer != GCS_DONE) {
        return UPLOAD_NO;
    }
    *ret_seen = upload_seen_from(engine, &object);
    return upload_resolve_seen(uploader, wanted, ret_seen, err);
}
