/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Arithmetic and states of the tree: which bytes a node covers, what it is called, what is ready
 * to be composed and which parts still have to be handed out.
 */
#include "composite.h"

#include <assert.h>

struct upload_span composite_span(const struct upload_composite *composite, unsigned level,
                                  uint32_t index)
{
    unsigned shift = COMPOSITE_FAN_BITS * level;
    uint64_t first = (uint64_t)index << shift;
    uint64_t count = 1ULL << shift;
    if (first + count > composite->counts[0]) {
        count = composite->counts[0] - first;
    }
    uint64_t offset = first * composite->part_size;
    uint64_t length = count * composite->part_size;
    if (length > composite->size_bytes - offset) {
        length = composite->size_bytes - offset;
    }
    return (struct upload_span){
        .offset = offset,
        .length = length,
        .first_part = (uint32_t)first,
        .part_count = (uint32_t)count,
    };
}

void composite_leftover_name(const struct upload_composite *composite, unsigned level,
                             uint64_t offset, uint64_t length, char *out)
{
    int len = snprintf(out, GCS_NAME_MAX + 1, "%s%llu-%llu", composite->parts_prefix,
                       (unsigned long long)offset, (unsigned long long)length);
    if (level > 0 && len > 0 && len <= GCS_NAME_MAX) {
        (void)snprintf(out + len, (size_t)(GCS_NAME_MAX + 1 - len), ".c%u", level);
    }
}

void composite_name(const struct upload_composite *composite, unsigned level, uint32_t index,
                    char *out)
{
    if (level == composite->top) {
        (void)snprintf(out, GCS_NAME_MAX + 1, "%s", composite->object.name);
        return;
    }
    struct upload_span span = composite_span(composite, level, index);
    composite_leftover_name(composite, level, span.offset, span.length, out);
}

uint32_t composite_children(const struct upload_composite *composite, unsigned level,
                            uint32_t index, uint32_t *ret_first)
{
    assert(level > 0);
    uint32_t first = index << COMPOSITE_FAN_BITS;
    uint32_t rest = composite->counts[level - 1] - first;
    *ret_first = first;
    return rest < COMPOSITE_FAN ? rest : COMPOSITE_FAN;
}

static void push_ready_locked(struct upload_composite *composite, unsigned level, uint32_t index)
{
    composite_node(composite, level, index)->next_ready = composite->ready[level];
    composite->ready[level] = index;
}

static void count_node_locked(struct upload_composite *composite, unsigned level, uint32_t index)
{
    struct node *node = composite_node(composite, level, index);
    node->pending = 0;
    if (node->state == NODE_FOUND) {
        struct upload_span span = composite_span(composite, level, index);
        for (uint32_t part = 0; part < span.part_count; part++) {
            uint32_t at = span.first_part + part;
            const struct node *below = composite_node(composite, 0, at);
            node->pending += below->state != NODE_READ && !below->is_repeat ? 1 : 0;
        }
    } else if (node->state == NODE_MISSING) {
        uint32_t first;
        uint32_t count = composite_children(composite, level, index, &first);
        for (uint32_t child = first; child < first + count; child++) {
            const struct node *below = composite_node(composite, level - 1, child);
            node->pending += below->state == NODE_DONE || below->is_repeat ? 0 : 1;
        }
        if (node->pending == 0) {
            push_ready_locked(composite, level, index);
        }
    }
}

static bool is_claimable(const struct node *part)
{
    return !part->is_claimed && (part->state == NODE_MISSING || part->state == NODE_FOUND);
}

void composite_recount_locked(struct upload_composite *composite)
{
    for (unsigned level = 1; level <= composite->top; level++) {
        composite->ready[level] = COMPOSITE_NONE;
        for (uint32_t index = 0; index < composite->counts[level]; index++) {
            count_node_locked(composite, level, index);
        }
    }
    composite->cursor = 0;
    while (composite->cursor < composite->counts[0] &&
           !is_claimable(composite_node(composite, 0, composite->cursor))) {
        composite->cursor++;
    }
    composite->has_ticket = composite->cursor == composite->counts[0];
}

void composite_mark_done_locked(struct upload_composite *composite, unsigned level, uint32_t index,
                                uint64_t generation, uint32_t crc32c)
{
    struct node *node = composite_node(composite, level, index);
    node->state = NODE_DONE;
    node->generation = generation;
    node->crc32c = crc32c;
    node->is_uncertain = false;
    if (level == composite->top) {
        return;
    }
    uint32_t parent = index >> COMPOSITE_FAN_BITS;
    struct node *above = composite_node(composite, level + 1, parent);
    assert(above->pending > 0);
    above->pending--;
    if (above->pending == 0) {
        push_ready_locked(composite, level + 1, parent);
    }
}

static uint32_t children_to_make(const struct upload_composite *composite, unsigned level,
                                 uint32_t index)
{
    uint32_t first;
    uint32_t made = 0;
    uint32_t count = composite_children(composite, level, index, &first);
    for (uint32_t child = first; child < first + count; child++) {
        made += composite_node(composite, level - 1, child)->is_repeat ? 0 : 1;
    }
    return made;
}

void composite_reset_locked(struct upload_composite *composite, unsigned level, uint32_t index)
{
    struct upload_span span = composite_span(composite, level, index);
    uint32_t first = index;
    uint32_t count = 1;
    for (unsigned below = level; below > 0; below--) {
        uint32_t first_child = first << COMPOSITE_FAN_BITS;
        uint32_t end = (first + count) << COMPOSITE_FAN_BITS;
        if (end > composite->counts[below - 1]) {
            end = composite->counts[below - 1];
        }
        for (uint32_t at = first; at < first + count; at++) {
            struct node *node = composite_node(composite, below, at);
            if (!node->is_repeat) {
                node->state = NODE_MISSING;
                node->generation = 0;
                node->pending = children_to_make(composite, below, at);
            }
        }
        first = first_child;
        count = end - first_child;
    }
    for (uint32_t at = span.first_part; at < span.first_part + span.part_count; at++) {
        struct node *part = composite_node(composite, 0, at);
        if (part->is_repeat) {
            continue;
        }
        composite->again_count += part->is_again ? 0 : 1;
        part->state = NODE_MISSING;
        part->generation = 0;
        part->is_claimed = false;
        part->is_again = true;
    }
    if (composite->cursor > span.first_part) {
        composite->cursor = span.first_part;
    }
}

bool composite_take_ready_locked(struct upload_composite *composite, unsigned *ret_level,
                                 uint32_t *ret_index)
{
    for (unsigned level = 1; level <= composite->top; level++) {
        uint32_t index = composite->ready[level];
        if (index != COMPOSITE_NONE) {
            composite->ready[level] = composite_node(composite, level, index)->next_ready;
            *ret_level = level;
            *ret_index = index;
            return true;
        }
    }
    return false;
}

static void claim_locked(struct upload_composite *composite, uint32_t index)
{
    struct node *part = composite_node(composite, 0, index);
    part->is_claimed = true;
    if (part->is_again) {
        part->is_again = false;
        composite->again_count--;
    }
}

bool composite_take_again_locked(struct upload_composite *composite, uint32_t *ret_index)
{
    if (composite->again_count == 0) {
        return false;
    }
    for (uint32_t index = composite->cursor; index < composite->counts[0]; index++) {
        const struct node *part = composite_node(composite, 0, index);
        if (part->is_again && is_claimable(part)) {
            claim_locked(composite, index);
            *ret_index = index;
            return true;
        }
    }
    return false;
}

bool upload_composite_claim(struct upload_composite *composite, uint32_t *ret_index)
{
    bool is_claimed = false;
    composite_lock(composite);
    while (composite->cursor < composite->counts[0] &&
           !is_claimable(composite_node(composite, 0, composite->cursor))) {
        composite->cursor++;
    }
    if (composite->is_failed) {
        is_claimed = false;
    } else if (composite->cursor < composite->counts[0]) {
        *ret_index = composite->cursor;
        claim_locked(composite, composite->cursor);
        is_claimed = true;
    } else if (composite->has_ticket) {
        composite->has_ticket = false;
        *ret_index = 0;
        is_claimed = true;
    }
    composite->outstanding += is_claimed ? 1 : 0;
    composite_unlock(composite);
    return is_claimed;
}

void composite_report_node(const struct upload_composite *composite, unsigned level, uint32_t index,
                           uint64_t generation, uint32_t crc32c)
{
    const struct upload_settings *settings = &composite->engine->settings;
    if (settings->on_node != NULL) {
        settings->on_node(settings->on_node_self, composite->cookie, level, index, generation,
                          crc32c);
    }
}
