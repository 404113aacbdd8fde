/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Zeros of a composite upload are sent once, not part by part: in a group, of the children that are
 * nothing but zeros and as long as any can be, the first is made, and the compose names it as often
 * as it is needed. At every level, so that a hole of terabytes takes a few requests.
 */
#include "composite.h"

static bool is_whole(const struct upload_composite *composite, unsigned level, uint64_t length);
static uint32_t mark_group(struct upload_composite *composite, unsigned level, uint32_t parent,
                           bool (*is_zero)(void *self, uint64_t offset, uint64_t length),
                           void *self);
static void unmark_below(struct upload_composite *composite, unsigned level, uint32_t index);

uint64_t upload_composite_zeros(struct upload_composite *composite,
                                bool (*is_zero)(void *self, uint64_t offset, uint64_t length),
                                void *self)
{
    uint64_t parts = 0;
    composite_lock(composite);
    for (unsigned level = composite->top; level-- > 0;) {
        for (uint32_t parent = 0; parent < composite->counts[level + 1]; parent++) {
            uint32_t marked = mark_group(composite, level, parent, is_zero, self);
            parts += level == 0 ? marked : 0;
        }
    }
    composite_recount_locked(composite);
    composite_unlock(composite);
    return parts * composite->part_size;
}

/* How many of its children are repeats now. What lies below one is one, too. */
static uint32_t mark_group(struct upload_composite *composite, unsigned level, uint32_t parent,
                           bool (*is_zero)(void *self, uint64_t offset, uint64_t length),
                           void *self)
{
    bool all = composite_node(composite, level + 1, parent)->is_repeat;
    bool has_model = false;
    uint32_t first;
    uint32_t marked = 0;
    uint32_t count = composite_children(composite, level + 1, parent, &first);
    for (uint32_t index = first; index < first + count; index++) {
        struct node *node = composite_node(composite, level, index);
        struct upload_span span = composite_span(composite, level, index);
        bool zeros = all || (is_whole(composite, level, span.length) &&
                             is_zero(self, span.offset, span.length));
        node->is_model = zeros && !all && !has_model;
        node->is_repeat = zeros && !node->is_model;
        has_model = has_model || node->is_model;
        if (node->is_repeat) {
            node->state = NODE_COVERED;
            marked++;
        }
    }
    return marked;
}

static bool is_whole(const struct upload_composite *composite, unsigned level, uint64_t length)
{
    return length == composite->part_size << (COMPOSITE_FAN_BITS * level);
}

uint32_t composite_model(const struct upload_composite *composite, unsigned level, uint32_t first,
                         uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) {
        if (composite_node(composite, level, first + i)->is_model) {
            return i;
        }
    }
    return COMPOSITE_NONE;
}

uint32_t composite_unrepeat_locked(struct upload_composite *composite, unsigned level,
                                   uint32_t index)
{
    uint32_t first;
    uint32_t again = 0;
    uint32_t count = composite_children(composite, level, index, &first);
    for (uint32_t child = first; child < first + count; child++) {
        if (composite_node(composite, level - 1, child)->is_repeat) {
            unmark_below(composite, level - 1, child);
            composite_reset_locked(composite, level - 1, child);
            again++;
        }
        composite_node(composite, level - 1, child)->is_model = false;
    }
    composite_node(composite, level, index)->pending = again;
    return again;
}

static void unmark_below(struct upload_composite *composite, unsigned level, uint32_t index)
{
    uint32_t first = index;
    uint32_t count = 1;
    for (unsigned below = level + 1; below-- > 0;) {
        for (uint32_t at = first; at < first + count; at++) {
            composite_node(composite, below, at)->is_repeat = false;
        }
        if (below == 0) {
            break;
        }
        uint32_t end = (first + count) << COMPOSITE_FAN_BITS;
        first <<= COMPOSITE_FAN_BITS;
        end = end < composite->counts[below - 1] ? end : composite->counts[below - 1];
        count = end - first;
    }
}
