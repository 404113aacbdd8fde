/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Composes a group: the server's checksum of the result must be the one combined from the sources;
 * only then are the sources deleted, each by its generation.
 */
#include "composite.h"

#include <string.h>

struct join {
    struct uploader *uploader;
    struct upload_composite *composite;
    unsigned level;
    uint32_t index;
    uint32_t first; /* child */
    uint32_t count;
    uint32_t model; /* among the children, of the repeats; COMPOSITE_NONE */
    uint64_t length;
    uint32_t crc32c; /* combined */
    uint64_t if_generation;
    unsigned bad_composes;
    bool asked_deletion; /* the compose that was answered was to delete its sources */
    bool is_over;        /* done, or handed back because sources are gone */
    struct gcs_source sources[GCS_COMPOSE_MAX];
    char name[GCS_NAME_MAX + 1];
    char names[GCS_COMPOSE_MAX][GCS_NAME_MAX + 1];
};

static bool is_top(const struct join *join)
{
    return join->level == join->composite->top;
}

/* Flags of repeats change only in the call that composes their group. */
static bool is_repeat(const struct join *join, uint32_t i)
{
    return composite_node(join->composite, join->level - 1, join->first + i)->is_repeat;
}

/* The children as they stand, and the checksum that the result must have. */
static void gather(struct join *join)
{
    struct upload_composite *composite = join->composite;
    composite_lock(composite);
    join->crc32c = 0;
    for (uint32_t i = 0; i < join->count; i++) {
        uint32_t child = join->first + i;
        const struct node *node = composite_node(composite, join->level - 1, child);
        uint64_t length = composite_span(composite, join->level - 1, child).length;
        uint32_t source = node->is_repeat ? join->model : i;
        node = composite_node(composite, join->level - 1, join->first + source);
        join->sources[i] =
            (struct gcs_source){.name = join->names[source], .generation = node->generation};
        join->crc32c = crc32c_combine(join->crc32c, node->crc32c, length);
    }
    join->if_generation = is_top(join) ? composite->if_generation : 0;
    composite_unlock(composite);
}

/* Did the compose delete its sources? Seen once on this bucket, at one of them; then believed. */
static bool are_deleted(struct join *join)
{
    _Atomic int *deletion = &join->uploader->engine->source_deletion;
    if (!join->asked_deletion) {
        return false;
    }
    if (atomic_load(deletion) == UPLOAD_DELETION_UNPROVEN) {
        struct error unseen = {0}; /* then they are deleted one by one, which tells it */
        struct gcs_object object;
        uint32_t first = is_repeat(join, 0) ? join->model : 0;
        enum gcs_answer answer =
            upload_call_get(join->uploader, join->names[first], &object, &unseen);
        int unproven = UPLOAD_DELETION_UNPROVEN;
        if (answer == GCS_NOT_FOUND || answer == GCS_DONE) {
            (void)atomic_compare_exchange_strong(deletion, &unproven,
                                                 answer == GCS_DONE ? UPLOAD_DELETION_IGNORED
                                                                    : UPLOAD_DELETION_DONE);
        }
    }
    return atomic_load(deletion) == UPLOAD_DELETION_DONE;
}

static int accept(struct join *join, uint64_t generation, bool was_present, struct error *err)
{
    struct upload_composite *composite = join->composite;
    composite_report_node(composite, join->level, join->index, generation, join->crc32c);
    const bool are_gone = !was_present && are_deleted(join);
    for (uint32_t i = 0; i < join->count; i++) {
        struct error failure = {0};
        if (is_repeat(join, i)) {
            continue; /* its model is deleted once */
        }
        if (!are_gone && upload_delete_exactly(join->uploader, join->names[i],
                                               join->sources[i].generation, &failure) != 0) {
            if (failure.kind != ERROR_FAIL_ENTRY) {
                *err = failure;
                return error_add(err, "a part that has been composed cannot be removed");
            }
            /* A retention policy or a hold keeps it: the object is right all the same. */
            upload_count(&join->uploader->engine->parts_left, 1);
        }
        composite_lock(composite);
        composite_node(composite, join->level - 1, join->first + i)->generation = 0;
        composite_unlock(composite);
    }
    composite_lock(composite);
    composite_mark_done_locked(composite, join->level, join->index, generation, join->crc32c);
    if (is_top(join)) {
        composite->was_present = was_present;
        composite->replaces = !was_present && join->if_generation != 0;
    }
    composite_unlock(composite);
    join->is_over = true;
    return 0;
}

static int composed(struct join *join, struct gcs_object *object, struct error *err)
{
    bool is_equal = false;
    if (upload_compare_written(join->uploader, join->name, join->length, join->crc32c, object,
                               &is_equal, err) != 0) {
        return -1;
    }
    if (is_equal) {
        return accept(join, object->generation, false, err);
    }
    /* Its sources may be gone with it. Once is enough: from now on they stay until they are proven
     * to be in the result. */
    atomic_store(&join->uploader->engine->source_deletion, UPLOAD_DELETION_IGNORED);
    if (upload_delete_exactly(join->uploader, join->name, object->generation, err) != 0) {
        return error_add(err, "a wrongly composed object cannot be removed");
    }
    if (is_top(join)) {
        composite_lock(join->composite);
        join->composite->if_generation = 0;
        composite_unlock(join->composite);
    }
    join->bad_composes++;
    if (join->bad_composes < UPLOAD_SENDS_MAX) {
        return 0;
    }
    CLEANUP_TEXT struct text shown = TEXT_INIT(8192);
    text_add_shown(&shown, join->name, strlen(join->name), 300);
    return error_entry(err, "upload-refused",
                       "%s: the server composed it %u times to another checksum than its parts "
                       "have",
                       text_str(&shown), join->bad_composes);
}

/* The object itself is there already. */
static int top_is_taken(struct join *join, struct error *err)
{
    const bool is_ours = gcs_earlier_try_unanswered(join->uploader->client);
    struct upload_wanted wanted = {
        .object = &join->composite->object,
        .size_bytes = join->length,
        .has_crc32c = true,
        .crc32c = join->crc32c,
        .maybe_ours = is_ours,
        .refused_generation = join->if_generation,
    };
    struct upload_seen seen = {0};
    switch (upload_resolve_look(join->uploader, &wanted, &seen, err)) {
    case UPLOAD_EQUAL:
        join->asked_deletion = false; /* whoever made it: the parts may be there */
        return accept(join, seen.generation, !is_ours, err);
    case UPLOAD_REPLACE:
    case UPLOAD_GONE:
        composite_lock(join->composite);
        join->composite->if_generation = seen.generation;
        composite_unlock(join->composite);
        return 0;
    default:
        return -1;
    }
}

/* Something stands under an inner node's name: an earlier success, or rubbish. */
static int inner_is_taken(struct join *join, struct error *err)
{
    struct gcs_object object;
    enum gcs_answer answer = upload_call_get(join->uploader, join->name, &object, err);
    if (answer == GCS_NOT_FOUND) {
        return 0;
    }
    if (answer != GCS_DONE) {
        return -1;
    }
    if (object.size_bytes == join->length && object.has_crc32c && object.crc32c == join->crc32c) {
        return accept(join, object.generation, true, err);
    }
    return upload_delete_exactly(join->uploader, join->name, object.generation, err);
}

/* Is a source still what it was? -1 on errors, 0 when it has to be made again, 1. */
static int look_at_source(struct join *join, uint32_t i, struct error *err)
{
    struct upload_composite *composite = join->composite;
    struct gcs_object object;
    enum gcs_answer answer = upload_call_get(join->uploader, join->names[i], &object, err);
    if (answer != GCS_DONE && answer != GCS_NOT_FOUND) {
        return -1;
    }
    uint32_t child = join->first + i;
    uint64_t length = composite_span(composite, join->level - 1, child).length;
    composite_lock(composite);
    struct node *node = composite_node(composite, join->level - 1, child);
    bool is_good = answer == GCS_DONE && object.size_bytes == length && object.has_crc32c &&
                   object.crc32c == node->crc32c;
    if (is_good) {
        node->generation = object.generation;
    }
    composite_unlock(composite);
    if (answer == GCS_DONE && !is_good &&
        upload_delete_exactly(join->uploader, join->names[i], object.generation, err) != 0) {
        return -1;
    }
    return is_good ? 1 : 0;
}

/* A source answered 404. An earlier compose whose reply was lost may have done the work, and its
 * sources may have been deleted since; otherwise what is missing is sent again. */
static int source_is_gone(struct join *join, struct error *err)
{
    struct upload_composite *composite = join->composite;
    struct gcs_object object;
    enum gcs_answer answer = upload_call_get(join->uploader, join->name, &object, err);
    if (answer == GCS_DONE && object.size_bytes == join->length && object.has_crc32c &&
        object.crc32c == join->crc32c) {
        return accept(join, object.generation, true, err);
    }
    if (answer != GCS_DONE && answer != GCS_NOT_FOUND) {
        return -1;
    }
    bool is_missing[GCS_COMPOSE_MAX] = {false};
    uint32_t missing = 0;
    for (uint32_t i = 0; i < join->count; i++) {
        int status = is_repeat(join, i) ? 1 : look_at_source(join, i, err);
        if (status < 0) {
            return -1;
        }
        is_missing[i] = status == 0;
        missing += status == 0 ? 1 : 0;
    }
    if (missing == 0) {
        return 0;
    }
    composite_lock(composite);
    struct node *node = composite_node(composite, join->level, join->index);
    if (node->losses == UPLOAD_ROUNDS_MAX) {
        composite_unlock(composite);
        return error_retry(err,
                           "parts of %s vanish again and again; does a lifecycle rule or somebody "
                           "else delete them?",
                           composite->object.name);
    }
    node->losses++;
    for (uint32_t i = 0; i < join->count; i++) {
        if (is_missing[i]) {
            composite_reset_locked(composite, join->level - 1, join->first + i);
        }
    }
    node->pending = missing;
    composite_unlock(composite);
    join->is_over = true;
    return 0;
}

/* It may not like to be asked for deletions, or take no source twice: then zeros travel like all
 * else. */
static int refused(struct join *join)
{
    int unproven = UPLOAD_DELETION_UNPROVEN;
    if (join->asked_deletion &&
        atomic_compare_exchange_strong(&join->uploader->engine->source_deletion, &unproven,
                                       UPLOAD_DELETION_IGNORED)) {
        return 0;
    }
    composite_lock(join->composite);
    uint32_t again = composite_unrepeat_locked(join->composite, join->level, join->index);
    composite_unlock(join->composite);
    join->is_over = again > 0;
    return again > 0 ? 0 : -1;
}

static int join_once(struct join *join, struct error *err)
{
    struct upload_composite *composite = join->composite;
    gather(join);
    struct gcs_write write = {
        .name = join->name,
        .storage_class = composite->engine->settings.storage_class,
        .kms_key = composite->engine->settings.kms_key,
        .if_generation = join->if_generation,
    };
    if (is_top(join)) {
        write.content_type = composite->object.content_type;
        write.metadata_json = composite->object.metadata_json;
        write.cache_control = composite->object.cache_control;
        write.custom_time = composite->object.custom_time;
    }
    struct gcs_object object;
    join->asked_deletion =
        atomic_load(&join->uploader->engine->source_deletion) != UPLOAD_DELETION_IGNORED;
    switch (upload_call_compose(join->uploader, &write, join->sources, join->count,
                                join->asked_deletion, &object, err)) {
    case GCS_DONE:
        return composed(join, &object, err);
    case GCS_EXISTS:
        return is_top(join) ? top_is_taken(join, err) : inner_is_taken(join, err);
    case GCS_NOT_FOUND:
        return source_is_gone(join, err);
    case GCS_REFUSED:
        return refused(join);
    case GCS_ERROR:
        composite_lock(composite);
        composite_node(composite, join->level, join->index)->is_uncertain = true;
        composite_unlock(composite);
        return -1;
    default:
        return -1;
    }
}

int composite_join(struct uploader *uploader, struct upload_composite *composite, unsigned level,
                   uint32_t index, struct error *err)
{
    /* 34 KiB of names: too much for a worker's stack, little beside the parts. */
    CLEANUP_FREE struct join *join = calloc(1, sizeof(*join));
    if (join == NULL) {
        return error_memory(err, "the names of a compose");
    }
    join->uploader = uploader;
    join->composite = composite;
    join->level = level;
    join->index = index;
    join->count = composite_children(composite, level, index, &join->first);
    join->model = composite_model(composite, level - 1, join->first, join->count);
    join->length = composite_span(composite, level, index).length;
    composite_name(composite, level, index, join->name);
    for (uint32_t i = 0; i < join->count; i++) {
        composite_name(composite, level - 1, join->first + i, join->names[i]);
    }
    for (unsigned round = 0; round < UPLOAD_ROUNDS_MAX; round++) {
        if (join_once(join, err) != 0) {
            return -1;
        }
        if (join->is_over) {
            return 0;
        }
    }
    return error_retry(err, "what %s is composed of is changed by somebody else",
                       composite->object.name);
}

void composite_remove(struct uploader *uploader, struct upload_composite *composite)
{
    char name[GCS_NAME_MAX + 1];
    for (unsigned level = 0; level < composite->top; level++) {
        for (uint32_t index = 0; index < composite->counts[level]; index++) {
            composite_lock(composite);
            struct node node = *composite_node(composite, level, index);
            composite_unlock(composite);
            struct error ignored = {0};
            struct gcs_object object;
            composite_name(composite, level, index, name);
            if (node.generation == 0 && node.is_uncertain &&
                upload_call_get(uploader, name, &object, &ignored) == GCS_DONE) {
                node.generation = object.generation;
            }
            /* The entry has failed already, and what stays is found again by its prefix. */
            if (node.generation != 0 &&
                upload_delete_exactly(uploader, name, node.generation, &ignored) != 0 &&
                ignored.kind != ERROR_FAIL_ENTRY) {
                return;
            }
        }
    }
}
