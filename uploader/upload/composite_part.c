/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * One part: sent, compared with what stands on the server, or read towards the proof of a node
 * above it; then whatever became ready because of it.
 */
#include "composite.h"

#include <string.h>

enum part_mode { PART_NOTHING, PART_READ, PART_COMPARE, PART_SEND };

struct part {
    struct uploader *uploader;
    struct upload_composite *composite;
    uint32_t index;
    struct upload_range range;
    char name[GCS_NAME_MAX + 1];
};

/* What to do with a part, by its own state and those above it. */
static enum part_mode part_mode_locked(const struct upload_composite *composite, uint32_t index,
                                       unsigned *ret_level, uint32_t *ret_above)
{
    const struct node *part = composite_node(composite, 0, index);
    if (part->state != NODE_MISSING && part->state != NODE_FOUND) {
        return PART_NOTHING;
    }
    for (unsigned level = 1; level <= composite->top; level++) {
        uint32_t above = index >> (COMPOSITE_FAN_BITS * level);
        if (composite_node(composite, level, above)->state == NODE_FOUND) {
            *ret_level = level;
            *ret_above = above;
            return PART_READ;
        }
    }
    return part->state == NODE_FOUND ? PART_COMPARE : PART_SEND;
}

static int part_accept(struct part *part, uint64_t generation, uint32_t crc32c)
{
    struct upload_composite *composite = part->composite;
    composite_lock(composite);
    composite_node(composite, 0, part->index)->generation = generation;
    composite_unlock(composite);
    composite_report_node(composite, 0, part->index, generation, crc32c);
    composite_lock(composite);
    composite_mark_done_locked(composite, 0, part->index, generation, crc32c);
    composite_unlock(composite);
    return 0;
}

/* A write has no answer, or something unwanted was removed. */
static void part_note(struct part *part, bool is_uncertain)
{
    composite_lock(part->composite);
    struct node *node = composite_node(part->composite, 0, part->index);
    node->is_uncertain = is_uncertain;
    node->generation = 0;
    composite_unlock(part->composite);
}

/* The name is taken: by this part's own earlier success, or by something else. */
static int part_resolve(struct part *part, bool *ret_done, struct error *err)
{
    struct uploader *uploader = part->uploader;
    const bool is_ours = gcs_earlier_try_unanswered(uploader->client);
    struct gcs_object object;
    enum gcs_answer answer = upload_call_get(uploader, part->name, &object, err);
    if (answer == GCS_NOT_FOUND) {
        return 0;
    }
    if (answer != GCS_DONE) {
        return -1;
    }
    if (object.size_bytes == part->range.size_bytes && object.has_crc32c) {
        if (part->range.position != part->range.size_bytes &&
            upload_range_measure(&part->range, err) != 0) {
            return -1;
        }
        if (part->range.crc32c == object.crc32c) {
            if (is_ours) {
                upload_count(&uploader->engine->bytes_acknowledged, object.size_bytes);
            }
            *ret_done = true;
            return part_accept(part, object.generation, object.crc32c);
        }
    }
    return upload_delete_exactly(uploader, part->name, object.generation, err);
}

static int part_written(struct part *part, struct gcs_object *object, unsigned *bad_sends,
                        bool *ret_done, struct error *err)
{
    struct upload_range *range = &part->range;
    bool is_equal = false;
    composite_lock(part->composite);
    composite_node(part->composite, 0, part->index)->generation = object->generation;
    composite_unlock(part->composite);
    if (upload_compare_written(part->uploader, part->name, range->size_bytes, range->crc32c, object,
                               &is_equal, err) != 0) {
        return -1;
    }
    if (is_equal) {
        *ret_done = true;
        return part_accept(part, object->generation, object->crc32c);
    }
    if (upload_delete_exactly(part->uploader, part->name, object->generation, err) != 0) {
        return -1;
    }
    part_note(part, false);
    (*bad_sends)++;
    if (*bad_sends < UPLOAD_SENDS_MAX) {
        return 0;
    }
    CLEANUP_TEXT struct text shown = TEXT_INIT(8192);
    text_add_shown(&shown, part->composite->object.name, strlen(part->composite->object.name), 300);
    return error_entry(err, "upload-refused",
                       "%s: the checksum that the server states for the part at %llu is not that "
                       "of the bytes read (sent %u times)",
                       text_str(&shown), (unsigned long long)range->offset, *bad_sends);
}

static int part_send(struct part *part, struct error *err)
{
    unsigned bad_sends = 0;
    composite_lock(part->composite);
    part->composite->sent_something = true;
    composite_unlock(part->composite);
    for (unsigned round = 0; round < UPLOAD_ROUNDS_MAX; round++) {
        struct gcs_write write = {
            .name = part->name,
            .storage_class = part->composite->engine->settings.storage_class,
            .kms_key = part->composite->engine->settings.kms_key,
        };
        struct http_body body = upload_range_body(&part->range);
        if (body.rewind(body.self, err) != 0) {
            return -1;
        }
        struct gcs_object object;
        bool is_done = false;
        int status = -1;
        switch (upload_call_insert(part->uploader, &write, true, &body, &object, err)) {
        case GCS_DONE:
            status = part_written(part, &object, &bad_sends, &is_done, err);
            break;
        case GCS_EXISTS:
            status = part_resolve(part, &is_done, err);
            break;
        case GCS_CHECKSUM:
            bad_sends++;
            status = bad_sends < UPLOAD_SENDS_MAX ? 0 : -1;
            break;
        case GCS_ERROR:
            part_note(part, true);
            break;
        default:
            break;
        }
        if (status != 0 || is_done) {
            return status;
        }
    }
    return error_retry(err, "a part of %s is changed by somebody else",
                       part->composite->object.name);
}

/* An earlier session left this part: the same bytes? Then nothing is sent. */
static int part_compare(struct part *part, struct error *err)
{
    composite_lock(part->composite);
    struct node found = *composite_node(part->composite, 0, part->index);
    composite_unlock(part->composite);
    if (upload_range_measure(&part->range, err) != 0) {
        return -1;
    }
    if (part->range.crc32c == found.crc32c) {
        return part_accept(part, found.generation, found.crc32c);
    }
    if (upload_delete_exactly(part->uploader, part->name, found.generation, err) != 0) {
        return -1;
    }
    part_note(part, false);
    return part_send(part, err);
}

static int part_read(struct part *part, unsigned level, uint32_t above, struct error *err)
{
    struct upload_composite *composite = part->composite;
    if (upload_range_measure(&part->range, err) != 0) {
        return -1;
    }
    composite_lock(composite);
    struct node *node = composite_node(composite, 0, part->index);
    node->state = NODE_READ;
    node->crc32c = part->range.crc32c;
    struct node *found = composite_node(composite, level, above);
    found->pending--;
    bool is_last = found->pending == 0;
    composite_unlock(composite);
    return is_last ? composite_settle(part->uploader, composite, level, above, err) : 0;
}

static int part_process(struct uploader *uploader, struct upload_composite *composite,
                        uint32_t index, const struct upload_source *source, struct error *err)
{
    struct upload_span span = composite_span(composite, 0, index);
    struct part part = {
        .uploader = uploader,
        .composite = composite,
        .index = index,
        .range = {.uploader = uploader,
                  .source = source,
                  .offset = span.offset,
                  .size_bytes = span.length},
    };
    composite_name(composite, 0, index, part.name);
    unsigned level = 0;
    uint32_t above = 0;
    composite_lock(composite);
    enum part_mode mode = part_mode_locked(composite, index, &level, &above);
    composite_unlock(composite);
    switch (mode) {
    case PART_READ:
        return part_read(&part, level, above, err);
    case PART_COMPARE:
        return part_compare(&part, err);
    case PART_SEND:
        return part_send(&part, err);
    default:
        return 0;
    }
}

/* Whatever is ready to be composed, and parts that have to be sent after all: those were handed
 * out before, so that nobody may come for them again. */
static int drain(struct uploader *uploader, struct upload_composite *composite,
                 const struct upload_source *source, struct error *err)
{
    for (;;) {
        unsigned level;
        uint32_t index;
        composite_lock(composite);
        bool is_failed = composite->is_failed;
        bool has_node = !is_failed && composite_take_ready_locked(composite, &level, &index);
        bool has_part = !is_failed && !has_node && composite_take_again_locked(composite, &index);
        composite_unlock(composite);
        int status = 0;
        if (has_node) {
            status = composite_join(uploader, composite, level, index, err);
        } else if (has_part) {
            status = part_process(uploader, composite, index, source, err);
        } else {
            return 0;
        }
        if (status != 0) {
            return -1;
        }
    }
}

static void fill_result(const struct upload_composite *composite, struct upload_result *ret_result)
{
    const struct node *top = composite_node(composite, composite->top, 0);
    *ret_result = (struct upload_result){
        .generation = top->generation,
        .size_bytes = composite->size_bytes,
        .crc32c = top->crc32c,
        .already_present = composite->was_present && !composite->sent_something,
        .replaced = composite->replaces,
    };
}

enum upload_progress upload_composite_part(struct uploader *uploader,
                                           struct upload_composite *composite, uint32_t index,
                                           const struct upload_source *source,
                                           struct upload_result *ret_result, struct error *err)
{
    struct error failure = {0};
    composite_lock(composite);
    bool is_failed = composite->is_failed;
    composite_unlock(composite);
    int status = 0;
    if (!is_failed) {
        status = part_process(uploader, composite, index, source, &failure);
    }
    if (!is_failed && status == 0) {
        status = drain(uploader, composite, source, &failure);
    }

    composite_lock(composite);
    if (status != 0 && !composite->is_failed) {
        composite->is_failed = true;
        composite->first_error = failure;
    }
    composite->outstanding--;
    is_failed = composite->is_failed;
    bool is_done = composite_node(composite, composite->top, 0)->state == NODE_DONE;
    bool reports = composite->outstanding == 0 && !composite->is_reported && (is_failed || is_done);
    composite->is_reported = composite->is_reported || reports;
    if (reports && !is_failed) {
        fill_result(composite, ret_result);
    }
    composite_unlock(composite);
    /* From here on only the call that reports may touch the composite: its owner may free it. */
    if (!reports) {
        return UPLOAD_GOING_ON;
    }
    if (!is_failed) {
        return UPLOAD_COMPLETE;
    }
    if (composite->first_error.kind == ERROR_FAIL_ENTRY) {
        composite_remove(uploader, composite);
    }
    if (err != NULL) {
        *err = composite->first_error;
    }
    return UPLOAD_FAILED;
}
