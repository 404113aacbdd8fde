/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Going down a path, name by name, with a cache of directories: most entries of a volume share
 * their directory with a neighbour. Only directories that hang below the root are kept.
 */
#include "plan/plan_internal.h"

#include <string.h>

/* Longer paths are put together each time, so that a hostile tree cannot fill the memory. */
enum { CACHED_PATH_MAX = PLAN_OBJECT_NAME_MAX };

#define ACME_PATH ".well-known/acme-challenge"
#define ACME_ESCAPED "%u002Ewell-known/acme-challenge"

static bool is_root(const struct catalog *catalog, uint64_t ref);
static bool same_sequence(const struct catalog *catalog, int64_t index, uint64_t ref);
static bool enter_known(struct plan_namer *namer, uint32_t entry);
static bool enter_anew(struct plan_namer *namer, uint32_t entry);
static struct plan_directory *slot_of(struct plan_namer *namer, uint32_t entry);
static void keep(struct plan_namer *namer, uint32_t entry, bool rooted);
static void escape_acme(struct plan_place *place);

void plan_place_start(struct plan_namer *namer)
{
    struct plan_place *place = &namer->place;
    text_reset(&place->path);
    place->component = 0;
    place->depth = 0;
    place->root = CATALOG_ROOTED;
    place->in_tree = true;
    place->exact = true;
    place->escaped = false;
    place->included = false;
    place->exclusion = PLAN_TAKEN;
}

void plan_place_append(struct plan_namer *namer, const struct catalog_name *name, bool directory)
{
    struct plan_place *place = &namer->place;
    struct plan_component *component = &namer->component;
    unsigned where = (place->in_tree && place->depth == 0 ? PLAN_ESCAPE_FIRST : 0) |
                     (directory ? 0 : PLAN_ESCAPE_LAST);
    plan_escape_le(name->units_le, name->len, where, component);
    if (place->path.len > 0) {
        text_add_char(&place->path, '/');
    }
    place->component = place->path.len;
    text_add_bytes(&place->path, component->bytes, component->len);
    place->depth++;
    place->escaped = place->escaped || component->changed;
    place->exact = place->exact && component->exact;
    if (place->in_tree && place->depth == 2) {
        escape_acme(place);
    }
    if (!namer->with_rules) {
        return;
    }
    const struct plan_rules *rules = &namer->plan->rules;
    const char *path = text_str(&place->path);
    if (place->exclusion == PLAN_TAKEN) {
        place->exclusion =
            plan_rules_exclude(rules, path, place->path.len, place->component, directory);
    }
    /* Asked in any case: a list marks what it meets. */
    bool included = plan_rules_include(rules, path, place->path.len, place->component, directory);
    place->included = place->included || included;
}

bool plan_place_enter(struct plan_namer *namer, uint64_t parent_ref)
{
    const struct catalog *catalog = namer->plan->catalog;
    if (is_root(catalog, parent_ref)) {
        plan_place_start(namer);
        return true;
    }
    int64_t parent = catalog_find(catalog, VOLUME_REF_RECORD(parent_ref));
    if (parent < 0 || !catalog_is_directory(catalog, (uint32_t)parent) ||
        !same_sequence(catalog, parent, parent_ref)) {
        return false;
    }
    struct plan_directory *slot = slot_of(namer, (uint32_t)parent);
    if (slot->entry == (uint32_t)parent && !slot->rooted) {
        return false;
    }
    return enter_known(namer, (uint32_t)parent) || enter_anew(namer, (uint32_t)parent);
}

/* As catalog_chain() sees it. */
static bool is_root(const struct catalog *catalog, uint64_t ref)
{
    if (VOLUME_REF_RECORD(ref) != PLAN_ROOT_RECORD) {
        return false;
    }
    int64_t root = catalog_find(catalog, PLAN_ROOT_RECORD);
    return root < 0 || same_sequence(catalog, root, ref);
}

static bool same_sequence(const struct catalog *catalog, int64_t index, uint64_t ref)
{
    uint16_t sequence = VOLUME_REF_SEQUENCE(ref);
    return sequence == 0 || sequence == catalog_sequence(catalog, (uint32_t)index);
}

static bool enter_known(struct plan_namer *namer, uint32_t entry)
{
    const struct plan_directory *slot = slot_of(namer, entry);
    if (slot->entry != entry || !slot->rooted) {
        return false;
    }
    struct plan_place *place = &namer->place;
    plan_place_start(namer);
    text_add_bytes(&place->path, slot->path, slot->len);
    place->depth = slot->depth;
    place->exact = slot->exact;
    place->escaped = slot->escaped;
    place->included = slot->included;
    place->exclusion = slot->exclusion;
    return true;
}

static bool enter_anew(struct plan_namer *namer, uint32_t entry)
{
    const struct catalog *catalog = namer->plan->catalog;
    size_t depth;
    uint64_t gap;
    if (catalog_chain(catalog, entry, 0, namer->chain, &depth, &gap) != CATALOG_ROOTED ||
        depth >= CATALOG_DEPTH_MAX) {
        keep(namer, entry, false);
        return false;
    }
    size_t known = depth;
    while (known > 0 && !enter_known(namer, namer->chain[known - 1])) {
        known--;
    }
    if (known == 0) {
        plan_place_start(namer);
    }
    for (size_t i = known; i <= depth; i++) {
        struct catalog_name name;
        if (!catalog_name(catalog, i < depth ? namer->chain[i] : entry, 0, &name)) {
            return false; /* cannot be: the chain was made of these names */
        }
        plan_place_append(namer, &name, true);
    }
    keep(namer, entry, true);
    return true;
}

static struct plan_directory *slot_of(struct plan_namer *namer, uint32_t entry)
{
    return &namer->directories[entry % namer->directory_count];
}

/* Remember the place as the directory `entry`, or that this has none. A cache may forget: without
 * memory it does. */
static void keep(struct plan_namer *namer, uint32_t entry, bool rooted)
{
    struct plan_directory *slot = slot_of(namer, entry);
    const struct plan_place *place = &namer->place;
    uint32_t len = rooted ? (uint32_t)place->path.len : 0;
    slot->entry = UINT32_MAX;
    if (len > CACHED_PATH_MAX || place->path.failed) {
        return;
    }
    if (len > slot->cap) {
        char *path = realloc(slot->path, len);
        if (path == NULL) {
            return;
        }
        slot->path = path;
        slot->cap = len;
    }
    if (len > 0) {
        memcpy(slot->path, place->path.data, len);
    }
    slot->entry = entry;
    slot->len = len;
    slot->depth = (uint16_t)place->depth;
    slot->rooted = rooted;
    slot->exact = place->exact;
    slot->escaped = place->escaped;
    slot->included = place->included;
    slot->exclusion = place->exclusion;
}

/* Cloud Storage refuses names that begin so. */
static void escape_acme(struct plan_place *place)
{
    const size_t len = sizeof(ACME_PATH) - 1;
    if (place->path.len == len && memcmp(place->path.data, ACME_PATH, len) == 0) {
        text_reset(&place->path);
        text_add(&place->path, ACME_ESCAPED);
        place->component += PLAN_ESCAPE_BYTES - 1;
        place->escaped = true;
    }
}
