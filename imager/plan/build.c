/* SPDX-License-Identifier: GPL-3.0-or-later */
/* One pass over the catalog: decisions, tasks, names that are given once only, and the numbers. */
#include "plan/plan_internal.h"
#include "plan/unique.h"

#include <string.h>

/* Enough that the order of records, which mixes directories, finds most of them again. */
enum { BUILD_DIRECTORIES = 32768, TASKS_FIRST = 1024, RENAME_ROUNDS_MAX = 255 };

struct build {
    struct plan *plan;
    struct plan_namer *namer;
    struct plan_unique unique;
    struct catalog_view view;
    unsigned name_count; /* of the entry in view */
};

/* What the checksum covers of each task. */
struct sum_item {
    uint64_t record, position, size_bytes, name_hash;
    uint16_t sequence, stream;
    uint8_t way, flags, rename_round, unused;
};

static int decide_entry(struct build *build, struct error *err);
static int look_around(struct build *build, struct plan_surroundings *around);
static void count_entry(struct build *build, enum plan_code code, bool orphan);
static int decide_streams(struct build *build, enum plan_code code, struct error *err);
static int add_task(struct build *build, size_t stream, unsigned name, struct error *err);
static int add_copies(struct build *build, size_t stream, struct error *err);
static int give_name(struct build *build, struct plan_task *task, uint64_t *ret_hash,
                     struct error *err);
static void count_task(struct plan_totals *totals, const struct plan_task *task);
static void add_checksum(struct build *build, const struct plan_task *task, uint64_t name_hash);
static int keep_task(struct plan *plan, const struct plan_task *task);

int plan_decide_all(struct plan *plan, struct error *err)
{
    struct build build = {.plan = plan};
    uint32_t count = catalog_count(plan->catalog);
    size_t directories = count < BUILD_DIRECTORIES ? (size_t)count + 1 : BUILD_DIRECTORIES;
    build.namer = plan_namer_make(plan, directories, true);
    if (build.namer == NULL) {
        return error_memory(err, "the plan");
    }
    int result = 0;
    for (uint32_t i = 0; i < count && result == 0; i++) {
        result = catalog_get(plan->catalog, i, &build.view, err);
        if (result == 0) {
            result = decide_entry(&build, err);
        }
    }
    if (result == 0 && plan->rules.paths != NULL && plan_paths_failed(plan->rules.paths)) {
        result = error_memory(err, "the list of paths");
    }
    catalog_view_clear(&build.view);
    plan_unique_clear(&build.unique);
    plan_namer_free(build.namer);
    return result;
}

static int decide_entry(struct build *build, struct error *err)
{
    struct plan *plan = build->plan;
    const struct volume_entry *entry = &build->view.entry;
    uint32_t index = build->view.index;
    build->name_count = entry->name_count > 1 ? catalog_name_count(plan->catalog, index)
                                              : (unsigned)entry->name_count;
    struct plan_surroundings around;
    if (look_around(build, &around) != 0) {
        return error_memory(err, "the plan");
    }
    enum plan_code code = plan_decide_entry(plan, entry, &around);
    plan->codes[index] = (uint8_t)code;
    count_entry(build, code, build->namer->place.root == CATALOG_ORPHAN);
    return decide_streams(build, code, err);
}

/* A file with several names is left out only if none of them would be taken. Ends with the place of
 * the first name, by which objects are called. */
static int look_around(struct build *build, struct plan_surroundings *around)
{
    struct plan_namer *namer = build->namer;
    uint32_t index = build->view.index;
    unsigned name = 0;
    for (;;) {
        if (plan_namer_locate(namer, index, name) != 0) {
            return -1;
        }
        const struct plan_place *place = &namer->place;
        struct plan_surroundings found = {
            .system = place->root == CATALOG_SYSTEM,
            .exclusion = place->exclusion,
            .included = place->included,
        };
        bool taken = !found.system && found.exclusion == PLAN_TAKEN && found.included;
        if (name == 0 || taken) {
            *around = found;
        }
        name++;
        /* A list marks what it meets, so all names are looked at. */
        if (name >= build->name_count || (taken && build->plan->rules.paths == NULL)) {
            break;
        }
    }
    return name > 1 ? plan_namer_locate(namer, index, 0) : 0;
}

static void count_entry(struct build *build, enum plan_code code, bool orphan)
{
    struct plan_totals *totals = &build->plan->totals;
    uint64_t *const counts[] = {
        [PLAN_SEND] = &totals->entries_send,     [PLAN_DIRECTORY] = &totals->entries_directory,
        [PLAN_LINK] = &totals->entries_link,     [PLAN_EXCLUDED] = &totals->entries_excluded,
        [PLAN_FAILED] = &totals->entries_failed,
    };
    enum plan_state state = plan_decision_of(code).state;
    (*counts[state])++;
    if (state != PLAN_EXCLUDED) {
        totals->names += build->name_count > 1 ? build->name_count - 1 : 0;
        totals->orphans += orphan ? 1 : 0;
    }
}

static int decide_streams(struct build *build, enum plan_code code, struct error *err)
{
    const struct plan *plan = build->plan;
    const struct volume_entry *entry = &build->view.entry;
    size_t copied = entry->stream_count;
    for (size_t i = 0; i < entry->stream_count; i++) {
        enum plan_code own = plan_decide_stream(plan, code, entry, i);
        enum plan_state state = plan_decision_of(own).state;
        if (state == PLAN_FAILED) {
            build->plan->totals.streams_failed++;
        }
        if (state == PLAN_SEND && add_task(build, i, 0, err) != 0) {
            return -1;
        }
        copied = state == PLAN_SEND && entry->streams[i].name_len == 0 ? i : copied;
    }
    bool is_copied = plan->hard_links == PLAN_HARD_LINKS_COPY && copied < entry->stream_count;
    return is_copied ? add_copies(build, copied, err) : 0;
}

/* The other names, each by the rules for itself. */
static int add_copies(struct build *build, size_t stream, struct error *err)
{
    const struct plan_place *place = &build->namer->place;
    for (unsigned name = 1; name < build->name_count && name <= UINT16_MAX; name++) {
        if (plan_namer_locate(build->namer, build->view.index, name) != 0) {
            return error_memory(err, "the plan");
        }
        bool taken =
            place->root != CATALOG_SYSTEM && place->exclusion == PLAN_TAKEN && place->included;
        if (taken && add_task(build, stream, name, err) != 0) {
            return -1;
        }
    }
    return 0;
}

static int add_task(struct build *build, size_t stream, unsigned name, struct error *err)
{
    struct plan *plan = build->plan;
    struct plan_task task = plan_task_of(plan, build->view.index, &build->view.entry, stream);
    task.name = (uint16_t)name;
    uint64_t name_hash = 0;
    if (task.way != PLAN_INLINE && give_name(build, &task, &name_hash, err) != 0) {
        return -1;
    }
    count_task(&plan->totals, &task);
    add_checksum(build, &task, name_hash);
    return keep_task(plan, &task) == 0 ? 0 : error_memory(err, "the plan");
}

static int give_name(struct build *build, struct plan_task *task, uint64_t *ret_hash,
                     struct error *err)
{
    const struct volume_entry *entry = &build->view.entry;
    struct plan_naming naming = {
        .record = entry->record,
        .sequence = entry->sequence,
        .stream = task->stream,
        .data = &entry->streams[task->stream],
    };
    for (unsigned round = 0; round <= RENAME_ROUNDS_MAX; round++) {
        naming.rename_round = (uint8_t)round;
        bool changed;
        if (plan_object_name_make(build->namer, &naming, &changed) != 0) {
            return error_memory(err, "the plan");
        }
        const struct text *object = &build->namer->object;
        uint64_t hash = plan_unique_hash(text_str(object), object->len);
        int added = plan_unique_add(&build->unique, hash);
        if (added < 0) {
            return error_memory(err, "the plan");
        }
        if (added > 0) {
            task->renamed = round > 0;
            task->rename_round = (uint8_t)round;
            build->plan->totals.renamed += changed ? 1 : 0;
            *ret_hash = hash;
            return 0;
        }
    }
    return error_stop(err, EXIT_STATUS_INTERNAL, "no free object name for record %llu",
                      (unsigned long long)entry->record);
}

static void count_task(struct plan_totals *totals, const struct plan_task *task)
{
    totals->tasks++;
    totals->bytes += task->size_bytes;
    totals->raw += task->raw ? 1 : 0;
    totals->requests += plan_task_requests(task);
    switch ((enum plan_way)task->way) {
    case PLAN_INLINE:
        totals->inlines++;
        return;
    case PLAN_BATCH:
        totals->batch++;
        break;
    case PLAN_WHOLE:
        totals->whole++;
        break;
    case PLAN_PARTS:
        totals->parts++;
        break;
    }
    totals->objects++;
}

static void add_checksum(struct build *build, const struct plan_task *task, uint64_t name_hash)
{
    struct sum_item item = {
        .record = build->view.entry.record,
        .position = task->position,
        .size_bytes = task->size_bytes,
        .name_hash = name_hash,
        .sequence = build->view.entry.sequence,
        .stream = task->stream,
        .way = task->way,
        .flags = (uint8_t)((task->through_reader ? 1 : 0) | (task->resident ? 2 : 0) |
                           (task->contiguous ? 4 : 0) | (task->raw ? 8 : 0)),
        .rename_round = task->rename_round,
    };
    build->plan->checksum = crc32c_update(build->plan->checksum, &item, sizeof(item));
}

static int keep_task(struct plan *plan, const struct plan_task *task)
{
    if (plan->task_count == plan->task_cap) {
        size_t cap = plan->task_cap == 0 ? TASKS_FIRST : plan->task_cap * 2;
        struct plan_task *tasks = reallocarray(plan->tasks, cap, sizeof(*tasks));
        if (tasks == NULL) {
            return -1;
        }
        plan->tasks = tasks;
        plan->task_cap = cap;
    }
    plan->tasks[plan->task_count++] = *task;
    return 0;
}
