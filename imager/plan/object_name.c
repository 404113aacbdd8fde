/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Object names: path below the prefix, alternate streams in a tree of their own, cut to what Cloud
 * Storage takes, with a suffix where two tasks would share one.
 */
#include "plan/plan_internal.h"

#define STREAM_FOLDER ".winch/streams/"

enum { SUFFIX_BYTES = 17, SUFFIX_HASH_BYTES = 8, SHA256_BYTES = 32, IDENTITY_BYTES = 64 };

static void add_base(const struct plan *plan, struct text *text);
static void add_suffix(struct text *object, size_t path_start, const struct plan_naming *naming);
static void cut(struct text *text, size_t len);

const char *plan_object_name(struct plan_namer *namer, const struct plan_task *task,
                             const struct catalog_view *view, size_t *ret_len)
{
    struct plan_naming naming = {
        .record = view->entry.record,
        .sequence = view->entry.sequence,
        .stream = task->stream,
        .data = &view->entry.streams[task->stream],
        .rename_round = task->rename_round,
    };
    bool changed;
    if (plan_namer_locate(namer, task->entry, task->name) != 0 ||
        plan_object_name_make(namer, &naming, &changed) != 0) {
        return NULL;
    }
    *ret_len = namer->object.len;
    return text_str(&namer->object);
}

int plan_object_name_make(struct plan_namer *namer, const struct plan_naming *naming,
                          bool *ret_changed)
{
    const struct plan *plan = namer->plan;
    const struct plan_place *place = &namer->place;
    struct text *object = &namer->object;
    bool changed = place->escaped;
    text_reset(object);
    add_base(plan, object);
    if (naming->data->name_len > 0) {
        text_add(object, STREAM_FOLDER);
    }
    size_t path_start = object->len;
    if (plan->volume_name[0] != '\0') {
        text_add(object, plan->volume_name);
        text_add_char(object, '/');
    }
    text_add_bytes(object, text_str(&place->path), place->path.len);
    if (naming->data->name_len > 0) {
        struct plan_component *component = &namer->component;
        plan_escape(naming->data->name, naming->data->name_len, PLAN_ESCAPE_LAST, component);
        text_add_char(object, '/');
        text_add_bytes(object, component->bytes, component->len);
        changed = changed || component->changed;
    }
    if (!object->failed && (object->len > PLAN_OBJECT_NAME_MAX || naming->rename_round > 0)) {
        add_suffix(object, path_start, naming);
        changed = true;
    }
    *ret_changed = changed;
    return object->failed ? -1 : 0;
}

void plan_stream_name(const struct volume_stream *stream, struct text *text)
{
    struct plan_component component;
    plan_escape(stream->name, stream->name_len, PLAN_ESCAPE_LAST, &component);
    text_add_bytes(text, component.bytes, component.len);
}

/* Two volumes of one run have the same record numbers, so their parts lie apart. */
void plan_parts_prefix(const struct plan *plan, const struct plan_task *task,
                       const struct catalog_view *view, struct text *text)
{
    add_base(plan, text);
    text_printf(text, ".winch/parts/%s/", plan->run);
    if (plan->volume_name[0] != '\0') {
        text_printf(text, "%s/", plan->volume_name);
    }
    text_printf(text, "%llu-%u-%u", (unsigned long long)view->entry.record,
                (unsigned)view->entry.sequence, (unsigned)task->stream);
    if (task->name > 0) {
        text_printf(text, ".%u", (unsigned)task->name);
    }
    text_add_char(text, '/');
}

static void add_base(const struct plan *plan, struct text *text)
{
    if (plan->prefix[0] != '\0') {
        text_add(text, plan->prefix);
        text_add_char(text, '/');
    }
}

/* "~" and a hash of the full path; with a rename also of which stream it is, and how often. */
static void add_suffix(struct text *object, size_t path_start, const struct plan_naming *naming)
{
    size_t full_len = object->len;
    if (naming->rename_round > 0) {
        char identity[IDENTITY_BYTES];
        int len =
            snprintf(identity, sizeof(identity), "%llu-%u-%u", (unsigned long long)naming->record,
                     (unsigned)naming->sequence, (unsigned)naming->stream);
        text_add_char(object, '\0');
        text_add_bytes(object, identity, (size_t)len);
        if (naming->rename_round > 1) {
            text_add_char(object, '\0');
            text_add_u64(object, naming->rename_round);
        }
    }
    if (object->failed) {
        return;
    }
    uint8_t hash[SHA256_BYTES];
    sha256_bytes(object->data + path_start, object->len - path_start, hash);
    cut(object, full_len);
    if (full_len > PLAN_OBJECT_NAME_MAX - SUFFIX_BYTES) {
        cut(object, PLAN_OBJECT_NAME_MAX - SUFFIX_BYTES);
    }
    text_add_char(object, '~');
    text_add_hex(object, hash, SUFFIX_HASH_BYTES);
}

/* To `len` bytes, or less where a character would be torn. */
static void cut(struct text *text, size_t len)
{
    while (len > 0 && len < text->len && ((uint8_t)text->data[len] & 0xC0) == 0x80) {
        len--;
    }
    text->len = len;
    text->data[len] = '\0';
}
