/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Paths of entries: below the root, or among the orphans. */
#include "plan/plan_internal.h"

#include <string.h>

/* For workers, whose tasks come in the order of the disk: the last directories are enough. */
enum { WORKER_DIRECTORIES = 64 };

static void locate_root(struct plan_namer *namer);
static void locate_unnamed(struct plan_namer *namer, uint32_t entry);
static void locate_by_chain(struct plan_namer *namer, uint32_t entry, unsigned name);
static void start_orphan(struct plan_namer *namer, uint64_t gap);
static void take_component(struct plan_namer *namer, uint32_t entry, unsigned name);

struct plan_namer *plan_namer_new(const struct plan *plan)
{
    return plan_namer_make(plan, WORKER_DIRECTORIES, false);
}

struct plan_namer *plan_namer_make(const struct plan *plan, size_t directory_count, bool with_rules)
{
    struct plan_namer *namer = calloc(1, sizeof(*namer));
    if (namer == NULL) {
        return NULL;
    }
    namer->plan = plan;
    namer->with_rules = with_rules;
    namer->place.path.limit = PLAN_PATH_MAX;
    namer->path.limit = PLAN_PATH_MAX + PLAN_BASE_MAX + 1;
    namer->object.limit = 2 * PLAN_PATH_MAX;
    namer->directories = calloc(directory_count, sizeof(*namer->directories));
    if (namer->directories == NULL) {
        free(namer);
        return NULL;
    }
    namer->directory_count = directory_count;
    for (size_t i = 0; i < directory_count; i++) {
        namer->directories[i].entry = UINT32_MAX;
    }
    return namer;
}

void plan_namer_free(struct plan_namer *namer)
{
    if (namer == NULL) {
        return;
    }
    for (size_t i = 0; i < namer->directory_count; i++) {
        free(namer->directories[i].path);
    }
    free(namer->directories);
    text_free(&namer->place.path);
    text_free(&namer->path);
    text_free(&namer->object);
    free(namer);
}

int plan_namer_locate(struct plan_namer *namer, uint32_t entry, unsigned name)
{
    const struct catalog *catalog = namer->plan->catalog;
    uint64_t record = catalog_record(catalog, entry);
    struct catalog_name own;
    if (record == PLAN_ROOT_RECORD) {
        locate_root(namer);
    } else if (!catalog_name(catalog, entry, name, &own)) {
        locate_unnamed(namer, entry);
    } else if (record >= PLAN_SYSTEM_RECORDS && plan_place_enter(namer, own.parent_ref)) {
        plan_place_append(namer, &own, catalog_is_directory(catalog, entry));
    } else {
        locate_by_chain(namer, entry, name);
    }
    return namer->place.path.failed ? -1 : 0;
}

const char *plan_path(struct plan_namer *namer, uint32_t entry, unsigned name, size_t *ret_len,
                      bool *ret_exact)
{
    if (plan_namer_locate(namer, entry, name) != 0) {
        return NULL;
    }
    const struct text *below = &namer->place.path;
    text_reset(&namer->path);
    if (namer->plan->volume_name[0] != '\0') {
        text_add(&namer->path, namer->plan->volume_name);
        text_add_char(&namer->path, '/');
    }
    text_add_bytes(&namer->path, text_str(below), below->len);
    if (namer->path.failed) {
        return NULL;
    }
    *ret_len = namer->path.len;
    *ret_exact = namer->place.exact;
    return text_str(&namer->path);
}

/* Its only name is a dot, which here stands for itself. */
static void locate_root(struct plan_namer *namer)
{
    plan_place_start(namer);
    text_add_char(&namer->place.path, '.');
    namer->place.root = CATALOG_SYSTEM;
}

static void locate_unnamed(struct plan_namer *namer, uint32_t entry)
{
    const struct catalog *catalog = namer->plan->catalog;
    uint64_t record = catalog_record(catalog, entry);
    struct plan_place *place = &namer->place;
    plan_place_start(namer);
    place->in_tree = false;
    place->exact = false;
    place->root = record < PLAN_SYSTEM_RECORDS ? CATALOG_SYSTEM : CATALOG_ORPHAN;
    place->included = plan_rules_all(&namer->plan->rules);
    text_printf(&place->path, ".winch/orphans/unnamed/%llu-%u", (unsigned long long)record,
                (unsigned)catalog_sequence(catalog, entry));
}

static void locate_by_chain(struct plan_namer *namer, uint32_t entry, unsigned name)
{
    size_t depth;
    uint64_t gap;
    enum catalog_root root =
        catalog_chain(namer->plan->catalog, entry, name, namer->chain, &depth, &gap);
    plan_place_start(namer);
    if (root == CATALOG_ORPHAN || gap != 0) {
        start_orphan(namer, gap);
    }
    namer->place.root = root;
    for (size_t i = 0; i < depth; i++) {
        take_component(namer, namer->chain[i], 0);
    }
    take_component(namer, entry, name);
}

static void start_orphan(struct plan_namer *namer, uint64_t gap)
{
    namer->place.in_tree = false;
    text_printf(&namer->place.path, ".winch/orphans/%llu-%u",
                (unsigned long long)VOLUME_REF_RECORD(gap), (unsigned)VOLUME_REF_SEQUENCE(gap));
}

static void take_component(struct plan_namer *namer, uint32_t entry, unsigned name)
{
    const struct catalog *catalog = namer->plan->catalog;
    struct catalog_name units;
    if (catalog_name(catalog, entry, name, &units)) {
        plan_place_append(namer, &units, catalog_is_directory(catalog, entry));
    }
}
