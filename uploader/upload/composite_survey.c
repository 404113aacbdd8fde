/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What an earlier session left of a composite upload: the object itself, composed groups, parts,
 * and pieces that nobody needs any more. Runs before the first claim, on one thread.
 */
#include "composite.h"

#include <string.h>

/* A listing of pieces no session of ours can exceed; what is beyond stays for `cleanup`. */
#define LEFTOVERS_MAX (1U << 20)

/* A piece under the parts' prefix that does not fit this tree. */
struct leftover {
    uint64_t offset;
    uint64_t length;
    uint64_t generation;
    unsigned level;
};

struct survey {
    struct uploader *uploader;
    struct upload_composite *composite;
    struct leftover *leftovers;
    size_t leftover_count;
    size_t leftover_capacity;
    bool nodes_found;
};

static bool take_number(const char **at, uint64_t *ret_value)
{
    char digits[21];
    size_t len = strspn(*at, "0123456789");
    if (len == 0 || len >= sizeof(digits)) {
        return false;
    }
    memcpy(digits, *at, len);
    digits[len] = '\0';
    *at += len;
    return parse_u64(digits, ret_value) == 0;
}

/* "OFFSET-LENGTH[.cN]" */
static bool parse_tail(const char *tail, struct leftover *ret_piece)
{
    struct leftover piece = {0};
    uint64_t level = 0;
    if (!take_number(&tail, &piece.offset) || *tail++ != '-' ||
        !take_number(&tail, &piece.length)) {
        return false;
    }
    if (strncmp(tail, ".c", 2) == 0) {
        tail += 2;
        if (!take_number(&tail, &level) || level == 0 || level >= COMPOSITE_LEVELS) {
            return false;
        }
    }
    piece.level = (unsigned)level;
    *ret_piece = piece;
    return *tail == '\0';
}

static int keep_leftover(struct survey *survey, const struct leftover *piece, struct error *err)
{
    if (survey->leftover_count == LEFTOVERS_MAX) {
        return 0;
    }
    if (survey->leftover_count == survey->leftover_capacity) {
        size_t capacity = survey->leftover_capacity * 2 + 64;
        struct leftover *grown =
            realloc(survey->leftovers, capacity * sizeof(survey->leftovers[0]));
        if (grown == NULL) {
            return error_memory(err, "a list of leftover parts");
        }
        survey->leftovers = grown;
        survey->leftover_capacity = capacity;
    }
    survey->leftovers[survey->leftover_count++] = *piece;
    return 0;
}

/* The node with exactly these bytes, or false. */
static bool fit_node(const struct upload_composite *composite, const struct leftover *piece,
                     uint32_t *ret_index)
{
    if (piece->level >= composite->top) {
        return false;
    }
    uint64_t step = composite->part_size << (COMPOSITE_FAN_BITS * piece->level);
    uint64_t index = piece->offset / step;
    if (piece->offset % step != 0 || index >= composite->counts[piece->level]) {
        return false;
    }
    *ret_index = (uint32_t)index;
    return composite_span(composite, piece->level, *ret_index).length == piece->length;
}

static int note_piece(struct survey *survey, const struct leftover *piece,
                      const struct gcs_object *object, struct error *err)
{
    uint32_t index = 0;
    if (!fit_node(survey->composite, piece, &index) || object->size_bytes != piece->length ||
        !object->has_crc32c || composite_node(survey->composite, piece->level, index)->is_repeat) {
        return keep_leftover(survey, piece, err);
    }
    struct node *node = composite_node(survey->composite, piece->level, index);
    node->state = NODE_FOUND;
    node->generation = object->generation;
    node->crc32c = object->crc32c;
    survey->nodes_found = true;
    return 0;
}

static int survey_object(void *self, const char *name, const struct gcs_object *object,
                         struct error *err)
{
    struct survey *survey = self;
    size_t prefix_len = strlen(survey->composite->parts_prefix);
    struct leftover piece;
    if (strncmp(name, survey->composite->parts_prefix, prefix_len) != 0 ||
        !parse_tail(name + prefix_len, &piece)) {
        return 0; /* not a name that winch gives */
    }
    piece.generation = object->generation;
    return note_piece(survey, &piece, object, err);
}

/* Sources of a node that was found were deleted before it became a source itself, but for those
 * that a crash spared: direct children are looked at, nothing deeper. */
static bool is_worth_a_look(const struct upload_composite *composite, unsigned level,
                            uint32_t index)
{
    for (unsigned above = level + 1; above <= composite->top; above++) {
        uint32_t at = index >> (COMPOSITE_FAN_BITS * (above - level));
        if (composite_node(composite, above, at)->state == NODE_FOUND) {
            return above == level + 1;
        }
    }
    return true;
}

static int survey_by_looks(struct survey *survey, struct error *err)
{
    struct upload_composite *composite = survey->composite;
    char name[GCS_NAME_MAX + 1];
    for (unsigned level = composite->top; level-- > 0;) {
        for (uint32_t index = 0; index < composite->counts[level]; index++) {
            if (composite_node(composite, level, index)->is_repeat ||
                !is_worth_a_look(composite, level, index)) {
                continue;
            }
            struct gcs_object object;
            composite_name(composite, level, index, name);
            enum gcs_answer answer = upload_call_get(survey->uploader, name, &object, err);
            if (answer == GCS_DONE) {
                struct upload_span span = composite_span(composite, level, index);
                struct leftover piece = {.offset = span.offset,
                                         .length = span.length,
                                         .generation = object.generation,
                                         .level = level};
                if (note_piece(survey, &piece, &object, err) != 0) {
                    return -1;
                }
            } else if (answer == GCS_DENIED) {
                return 0; /* 412 will tell, part by part */
            } else if (answer != GCS_NOT_FOUND) {
                return -1;
            }
        }
    }
    return 0;
}

static int survey_nodes(struct survey *survey, struct error *err)
{
    struct upload_composite *composite = survey->composite;
    unsigned rights = composite->engine->settings.rights;
    if ((rights & GCS_RIGHT_LIST) != 0) {
        struct gcs_listing listing = {
            .prefix = composite->parts_prefix, .object = survey_object, .self = survey};
        enum gcs_answer answer = upload_call_list(survey->uploader, &listing, err);
        if (answer != GCS_DENIED) {
            return answer == GCS_DONE ? 0 : -1;
        }
    }
    return (rights & GCS_RIGHT_GET) != 0 ? survey_by_looks(survey, err) : 0;
}

/* What a journal says about the children says it about the parent. */
static void spread_knowledge(struct upload_composite *composite)
{
    for (unsigned level = 1; level <= composite->top; level++) {
        for (uint32_t index = 0; index < composite->counts[level]; index++) {
            struct node *node = composite_node(composite, level, index);
            uint32_t first;
            uint32_t count = composite_children(composite, level, index, &first);
            uint32_t crc32c = 0;
            bool is_known = true;
            for (uint32_t child = first; is_known && child < first + count; child++) {
                const struct node *below = composite_node(composite, level - 1, child);
                uint64_t length = composite_span(composite, level - 1, child).length;
                is_known = below->has_known || below->is_repeat;
                crc32c = below->is_repeat ? crc32c_zeros(crc32c, length)
                                          : crc32c_combine(crc32c, below->known_crc32c, length);
            }
            if (is_known && !node->has_known) {
                node->has_known = true;
                node->known_crc32c = crc32c;
            }
        }
    }
}

/* From the top: a node below one that is there is not needed. Found nodes that the journal vouches
 * for are done. */
static int sort_nodes(struct survey *survey, struct error *err)
{
    struct upload_composite *composite = survey->composite;
    for (unsigned level = composite->top; level-- > 0;) {
        for (uint32_t index = 0; index < composite->counts[level]; index++) {
            struct node *node = composite_node(composite, level, index);
            if (node->is_repeat) {
                continue; /* stays COVERED */
            }
            const struct node *above =
                composite_node(composite, level + 1, index >> COMPOSITE_FAN_BITS);
            /* READ marks inner nodes below a FOUND one until the pass is over. */
            bool is_below_done = above->state == NODE_DONE || above->state == NODE_COVERED;
            bool is_below_found = above->state == NODE_FOUND || above->state == NODE_READ;
            if (is_below_done || is_below_found) {
                struct upload_span span = composite_span(composite, level, index);
                struct leftover piece = {.offset = span.offset,
                                         .length = span.length,
                                         .generation = node->generation,
                                         .level = level};
                if (node->state == NODE_FOUND && keep_leftover(survey, &piece, err) != 0) {
                    return -1;
                }
                node->state = is_below_done ? NODE_COVERED : NODE_READ;
                node->generation = 0;
            } else if (node->state == NODE_FOUND && node->has_known &&
                       node->known_crc32c == node->crc32c) {
                node->state = NODE_DONE;
            }
        }
    }
    for (unsigned level = 0; level < composite->top; level++) {
        for (uint32_t index = 0; index < composite->counts[level]; index++) {
            struct node *node = composite_node(composite, level, index);
            node->state = node->state == NODE_READ ? NODE_MISSING : node->state;
        }
    }
    return 0;
}

static int delete_leftovers(struct survey *survey, struct error *err)
{
    char name[GCS_NAME_MAX + 1];
    for (size_t i = 0; i < survey->leftover_count; i++) {
        const struct leftover *piece = &survey->leftovers[i];
        composite_leftover_name(survey->composite, piece->level, piece->offset, piece->length,
                                name);
        if (upload_delete_exactly(survey->uploader, name, piece->generation, err) != 0) {
            return error_add(err, "a leftover part cannot be removed");
        }
    }
    return 0;
}

static int survey_run(struct survey *survey, struct error *err)
{
    struct upload_composite *composite = survey->composite;
    struct gcs_object object;
    enum gcs_answer answer = GCS_DENIED;
    if ((composite->engine->settings.rights & GCS_RIGHT_GET) != 0) {
        answer = upload_call_get(survey->uploader, composite->object.name, &object, err);
        if (answer != GCS_DONE && answer != GCS_NOT_FOUND && answer != GCS_DENIED) {
            return -1;
        }
    }
    composite_node(composite, composite->top, 0)->state = NODE_MISSING;
    composite->if_generation = 0;
    spread_knowledge(composite);
    if (survey_nodes(survey, err) != 0) {
        return -1;
    }
    if (answer == GCS_DONE) {
        struct upload_seen seen = upload_seen_from(composite->engine, &object);
        if (composite_note_destination(composite, &seen, survey->nodes_found, err) != 0) {
            composite_remove(survey->uploader, composite);
            return -1;
        }
    }
    return sort_nodes(survey, err) == 0 ? delete_leftovers(survey, err) : -1;
}

int upload_composite_survey(struct uploader *uploader, struct upload_composite *composite,
                            struct error *err)
{
    struct survey survey = {.uploader = uploader, .composite = composite};
    /* No lock: nobody else has the composite before the first claim. */
    int status = survey_run(&survey, err);
    free(survey.leftovers);
    if (status == 0) {
        composite_lock(composite);
        composite_recount_locked(composite);
        composite_unlock(composite);
    }
    return status;
}
