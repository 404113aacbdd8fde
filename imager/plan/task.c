/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Tasks: how a stream is read and sent, their order, and which of them one read serves. */
#include "plan/plan_internal.h"

#define PART_MIN_BYTES (32ULL << 20)
#define PART_MAX_BYTES (1ULL << 30)
enum { PARTS_WANTED = 1024, COMPOSE_MAX = 32 };

static enum plan_way choose_way(const struct plan *plan, const struct volume_stream *stream,
                                uint64_t size_bytes);
static uint64_t find_position(const struct plan *plan, const struct volume_entry *entry,
                              const struct volume_stream *stream);
static bool is_contiguous(const struct plan *plan, const struct volume_stream *stream);
static bool groups_with(const struct plan *plan, const struct plan_task *first,
                        const struct plan_task *task);
static int compare_tasks(const void *a, const void *b);

struct plan_task plan_task_of(const struct plan *plan, uint32_t entry_index,
                              const struct volume_entry *entry, size_t stream)
{
    const struct volume_stream *data = &entry->streams[stream];
    bool wof = data->name_len == 0 &&
               plan_classify_reparse(entry->reparse_tag) == PLAN_REPARSE_WOF &&
               volume_wof_stream(entry) != NULL;
    bool raw = plan->efs_raw && data->form == VOLUME_EFS;
    uint64_t size_bytes = raw ? volume_efs_raw_bytes(data) : data->size_bytes;
    bool through_reader = wof || data->problem != NULL || data->form == VOLUME_LZNT1;
    return (struct plan_task){
        .position = find_position(plan, entry, wof ? volume_wof_stream(entry) : data),
        .size_bytes = size_bytes,
        .entry = entry_index,
        .stream = (uint16_t)stream,
        .way = (uint8_t)choose_way(plan, data, size_bytes),
        .through_reader = through_reader,
        .resident = !wof && data->form == VOLUME_RESIDENT,
        .raw = raw,
        .contiguous = !through_reader && is_contiguous(plan, data),
    };
}

uint64_t plan_task_requests(const struct plan_task *task)
{
    if (task->way == PLAN_INLINE) {
        return 0;
    }
    if (task->way != PLAN_PARTS) {
        return 1;
    }
    uint64_t part = task->size_bytes / PARTS_WANTED;
    part = part < PART_MIN_BYTES ? PART_MIN_BYTES : part;
    part = part > PART_MAX_BYTES ? PART_MAX_BYTES : part;
    uint64_t pieces = (task->size_bytes + part - 1) / part;
    uint64_t requests = 0;
    while (pieces > 1) {
        requests += 2 * pieces; /* each is written once and deleted once */
        pieces = (pieces + COMPOSE_MAX - 1) / COMPOSE_MAX;
    }
    return requests + 1;
}

void plan_sort_tasks(struct plan *plan)
{
    if (plan->task_count > 1) {
        qsort(plan->tasks, plan->task_count, sizeof(*plan->tasks), compare_tasks);
    }
}

size_t plan_group(const struct plan *plan, uint64_t first)
{
    size_t count = 1;
    while (count < PLAN_GROUP_MAX && first + count < plan->task_count &&
           groups_with(plan, &plan->tasks[first], &plan->tasks[first + count])) {
        count++;
    }
    return count;
}

/* Ciphertext always has an object, whose metadata say what it is. */
static enum plan_way choose_way(const struct plan *plan, const struct volume_stream *stream,
                                uint64_t size_bytes)
{
    if (stream->name_len > 0 && plan->streams == PLAN_STREAMS_AUTO &&
        size_bytes <= PLAN_INLINE_MAX && stream->form != VOLUME_EFS) {
        return PLAN_INLINE;
    }
    if (size_bytes <= PLAN_SMALL_MAX) {
        return PLAN_BATCH;
    }
    bool whole = size_bytes <= PLAN_WHOLE_MAX || !plan->composites;
    return whole ? PLAN_WHOLE : PLAN_PARTS;
}

static uint64_t find_position(const struct plan *plan, const struct volume_entry *entry,
                              const struct volume_stream *stream)
{
    if (stream->form == VOLUME_RESIDENT) {
        return volume_record_position(plan->volume, stream->record);
    }
    for (size_t i = 0; i < stream->extent_count && stream->size_bytes > 0; i++) {
        if (stream->extents[i].cluster != VOLUME_HOLE) {
            return volume_cluster_position(plan->volume, stream->extents[i].cluster);
        }
    }
    return volume_record_position(plan->volume, entry->record);
}

/* All its bytes stand on the disk from its position on. */
static bool is_contiguous(const struct plan *plan, const struct volume_stream *stream)
{
    if ((stream->form != VOLUME_PLAIN && stream->form != VOLUME_SPARSE) ||
        stream->extent_count == 0 || stream->size_bytes == 0 ||
        stream->valid_bytes != stream->size_bytes || plan->cluster_bytes == 0) {
        return false;
    }
    const struct volume_extent *extent = &stream->extents[0];
    uint64_t clusters = (stream->size_bytes - 1) / plan->cluster_bytes + 1;
    return extent->cluster != VOLUME_HOLE && extent->clusters >= clusters;
}

static bool groups_with(const struct plan *plan, const struct plan_task *first,
                        const struct plan_task *task)
{
    const struct plan_task *both[] = {first, task};
    for (size_t i = 0; i < ARRAY_LEN(both); i++) {
        bool small = both[i]->way == PLAN_BATCH || both[i]->way == PLAN_INLINE;
        if (!small || both[i]->through_reader || both[i]->resident != first->resident ||
            (!both[i]->resident && !both[i]->contiguous)) {
            return false;
        }
    }
    uint64_t bytes = task->resident ? plan->record_bytes : task->size_bytes;
    uint64_t offset = task->position - first->position; /* tasks are in order */
    return offset <= PLAN_GROUP_SPAN && bytes <= PLAN_GROUP_SPAN - offset;
}

static int compare_tasks(const void *a, const void *b)
{
    const struct plan_task *x = a;
    const struct plan_task *y = b;
    if (x->position != y->position) {
        return x->position < y->position ? -1 : 1;
    }
    if (x->entry != y->entry) {
        return x->entry < y->entry ? -1 : 1;
    }
    if (x->stream != y->stream) {
        return x->stream < y->stream ? -1 : 1;
    }
    return (x->name > y->name) - (x->name < y->name);
}
