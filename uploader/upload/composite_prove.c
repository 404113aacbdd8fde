/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Objects of an earlier session whose content nobody vouches for: they are proven by reading the
 * source, and only what turns out to differ is sent.
 */
#include "composite.h"

static uint32_t combine_parts(struct upload_composite *composite, unsigned level, uint32_t index)
{
    struct upload_span span = composite_span(composite, level, index);
    uint32_t crc32c = 0;
    for (uint32_t at = span.first_part; at < span.first_part + span.part_count; at++) {
        /* No lock: all parts are READ, and nobody but this call changes them now. */
        const struct node *part = composite_node(composite, 0, at);
        uint64_t length = composite_span(composite, 0, at).length;
        crc32c = part->is_repeat ? crc32c_zeros(crc32c, length)
                                 : crc32c_combine(crc32c, part->crc32c, length);
    }
    return crc32c;
}

/* The object at the destination is not this stream. */
static int settle_destination(struct upload_composite *composite, struct error *err)
{
    const struct node *top = composite_node(composite, composite->top, 0);
    struct upload_seen seen = {
        .generation = top->generation, .size_bytes = composite->size_bytes, .has_crc32c = true};
    if (composite->if_generation != top->generation) {
        return upload_conflict(composite->engine, composite->object.name, &seen, err);
    }
    return 0;
}

int composite_settle(struct uploader *uploader, struct upload_composite *composite, unsigned level,
                     uint32_t index, struct error *err)
{
    uint32_t crc32c = combine_parts(composite, level, index);
    composite_lock(composite);
    struct node found = *composite_node(composite, level, index);
    composite_unlock(composite);
    bool is_equal = crc32c == found.crc32c;
    if (is_equal) {
        composite_report_node(composite, level, index, found.generation, crc32c);
    } else if (level == composite->top) {
        if (settle_destination(composite, err) != 0) {
            return -1;
        }
    } else {
        char name[GCS_NAME_MAX + 1];
        composite_name(composite, level, index, name);
        if (upload_delete_exactly(uploader, name, found.generation, err) != 0) {
            return -1;
        }
    }
    composite_lock(composite);
    if (is_equal) {
        composite_mark_done_locked(composite, level, index, found.generation, crc32c);
        composite->was_present = composite->was_present || level == composite->top;
    } else {
        composite_reset_locked(composite, level, index);
    }
    composite_unlock(composite);
    return 0;
}

int composite_note_destination(struct upload_composite *composite, const struct upload_seen *seen,
                               bool nodes_found, struct error *err)
{
    const struct upload_engine *engine = composite->engine;
    struct node *top = composite_node(composite, composite->top, 0);
    bool may_replace = upload_may_replace(engine, seen);
    bool is_same_size = seen->size_bytes == composite->size_bytes && seen->has_crc32c;
    bool is_own = upload_is_own(&composite->object, seen);
    bool is_skipped = engine->settings.if_exists == UPLOAD_IF_EXISTS_SKIP && !is_own;
    composite->if_generation = may_replace ? seen->generation : 0;
    top->state = NODE_MISSING;
    top->generation = 0;
    if (is_same_size && top->has_known && top->known_crc32c == seen->crc32c) {
        top->state = NODE_DONE;
        top->generation = seen->generation;
        top->crc32c = seen->crc32c;
        composite->was_present = true;
        return 0;
    }
    if (!may_replace && (!is_same_size || top->has_known || is_skipped)) {
        return upload_conflict(engine, composite->object.name, seen, err);
    }
    /* Parts are only sent once the destination has been found absent or different, so that beside
     * parts an object of another run is not worth a read; the last compose compares it. */
    if (is_same_size && !top->has_known && (is_own || !nodes_found)) {
        top->state = NODE_FOUND;
        top->generation = seen->generation;
        top->crc32c = seen->crc32c;
    }
    return 0;
}
