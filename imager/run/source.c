/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The source side of a run: disk, choice of volumes, their folders in the bucket, scan, plan. */
#include "run/context.h"
#include "run/identity.h"
#include "run/state.h"
#include "run/volume_choice.h"

#include <string.h>
#include <strings.h>

/* One path component out of a label: what would be a separator or a trap becomes '_'. */
enum { MISSING_SHOWN = 10 };

static void folder_from_label(const char *label, char *out, size_t size)
{
    size_t used = 0;
    for (size_t i = 0; label[i] != '\0' && used + 1 < size; i++) {
        unsigned char c = (unsigned char)label[i];
        out[used++] = c < 0x20 || c == 0x7f || strchr("/\\:*?\"<>|#[]", c) != NULL ? '_' : (char)c;
    }
    while (used > 0 && !utf_valid_utf8(out, used)) {
        used--;
    }
    out[used] = '\0';
    if (out[0] == '.') {
        out[0] = '_';
    }
}

/* Also when it looks like a partition's number, by which a volume without a label is called. */
static bool folder_is_taken(const struct run *run, const char *folder)
{
    size_t digits = strspn(folder + 1, "0123456789");
    if ((folder[0] == 'p' || folder[0] == 'P') && digits > 0 && folder[1 + digits] == '\0') {
        return true;
    }
    for (size_t i = 0; i < run->volume_count; i++) {
        if (strcasecmp(run->volumes[i].folder, folder) == 0) {
            return true;
        }
    }
    return false;
}

static void name_volume(struct run *run, struct run_volume *volume, bool alone)
{
    if (volume->partition.number == 0) {
        (void)snprintf(volume->id, sizeof(volume->id), "volume");
    } else {
        (void)snprintf(volume->id, sizeof(volume->id), "p%u", volume->partition.number);
    }
    if (alone) {
        return;
    }
    if (run->settings->volume_names != RUN_NAMES_NUMBER) {
        folder_from_label(volume->partition.label, volume->folder, sizeof(volume->folder));
        if (volume->folder[0] != '\0' && !folder_is_taken(run, volume->folder)) {
            return;
        }
    }
    memcpy(volume->folder, volume->id, sizeof(volume->id));
}

static int open_volume(struct run *run, const struct disk_partition *partition, bool alone,
                       struct error *err)
{
    if (run->volume_count == RUN_VOLUME_MAX) {
        return error_stop(err, EXIT_STATUS_USAGE,
                          "%s: more than %d volumes; take fewer with --volume",
                          run->settings->source, RUN_VOLUME_MAX);
    }
    struct run_volume *volume = &run->volumes[run->volume_count];
    volume->partition = *partition;
    name_volume(run, volume, alone);
    volume->volume = volume_open(run->disk, partition->offset_bytes, partition->size_bytes, err);
    if (volume->volume == NULL) {
        return error_add(err, "%s, %s", run->settings->source, volume->id);
    }
    run->volume_count++;
    return 0;
}

static void fill_summary(struct run *run)
{
    struct run_summary *summary = run->summary;
    summary->volume_count = run->volume_count;
    summary->consistency = "clean";
    for (size_t i = 0; i < run->volume_count; i++) {
        const struct run_volume *volume = &run->volumes[i];
        const struct volume_info *info = volume_get_info(volume->volume);
        struct run_volume_summary *out = &summary->volumes[i];
        (void)snprintf(out->id, sizeof(out->id), "%s", volume->id);
        (void)snprintf(out->folder, sizeof(out->folder), "%s", volume->folder);
        (void)snprintf(out->label, sizeof(out->label), "%s", info->label);
        (void)snprintf(out->serial, sizeof(out->serial), "%016llX",
                       (unsigned long long)info->serial);
        out->size_bytes = volume->partition.size_bytes;
        out->dirty = info->dirty;
        out->hibernated = info->hibernated;
        out->log_clean = info->log_clean;
        out->log_cached = info->log_cached;
        out->mirror_differs = info->mirror_differs;
        if (info->dirty || info->hibernated || !info->log_clean) {
            summary->consistency = "crash";
        }
        if (info->hibernated) {
            run_warn(run,
                     "%s: Windows is hibernated on this volume; changes that only its memory "
                     "holds are not on the disk",
                     volume->id);
        }
        if (info->log_cached) {
            run_warn(run,
                     "%s: Windows kept metadata in its cache (fast start-up); the newest changes "
                     "may be missing",
                     volume->id);
        }
        if (info->dirty) {
            run_warn(run, "%s: the volume is marked dirty: it was not unmounted cleanly",
                     volume->id);
        }
        if (info->mirror_differs) {
            run_warn(run, "%s: $MFTMirr differs from $MFT; $MFT was used", volume->id);
        }
    }
}

/* Data that may be meant are not left out silently. */
static void warn_not_taken(struct run *run, const struct disk_partition *partition)
{
    if (!volume_choice_misses(run->settings, partition)) {
        return;
    }
    CLEANUP_TEXT struct text what = TEXT_INIT(1000);
    volume_choice_describe(partition, &what);
    run->summary->partitions_not_taken++;
    run_warn(run,
             "%s: NOT taken, %s: %s. If that is meant, name the volumes to take with --volume.",
             run->settings->source, partition->content == DISK_LOST ? "not found" : "no NTFS",
             text_str(&what));
}

int source_open(struct run *run, struct error *err)
{
    run->disk = disk_open(run->settings->source, err);
    if (run->disk == NULL) {
        return -1;
    }
    disk_set_cancel(run->disk, run->settings->cancel);
    if (disk_read_layout(run->disk, &run->layout, err) != 0) {
        return -1;
    }
    for (size_t i = 0; i < run->layout.warning_count; i++) {
        run_warn(run, "%s: %s", run->settings->source, run->layout.warnings[i]);
    }
    CLEANUP_FREE bool *selected = calloc(run->layout.count + 1, sizeof(*selected));
    if (selected == NULL) {
        return error_memory(err, "the partitions");
    }
    if (volume_choice_make(run->settings, &run->layout, selected, err) != 0) {
        return -1;
    }
    size_t count = 0;
    for (size_t i = 0; i < run->layout.count; i++) {
        count += selected[i] ? 1 : 0;
        if (!selected[i]) {
            warn_not_taken(run, &run->layout.partitions[i]);
        }
    }
    for (size_t i = 0; i < run->layout.count; i++) {
        if (selected[i] && open_volume(run, &run->layout.partitions[i], count == 1, err) != 0) {
            return -1;
        }
    }
    fill_summary(run);
    return 0;
}

static void scan_progress(void *self, uint64_t done, uint64_t total)
{
    struct run *run = self;
    run->phase_done = done;
    run->phase_total = total;
}

int source_scan(struct run *run, struct error *err)
{
    run_phase(run, "scan", 0);
    for (size_t i = 0; i < run->volume_count; i++) {
        struct run_volume *volume = &run->volumes[i];
        const char *folder = run->state != NULL ? state_folder(run->state) : NULL;
        volume->catalog = catalog_build(volume->volume, folder, scan_progress, run, err);
        if (volume->catalog == NULL) {
            return error_add(err, "%s, %s", run->settings->source, volume->id);
        }
        const char *warning;
        for (size_t n = 0; (warning = catalog_warning(volume->catalog, n)) != NULL; n++) {
            run_warn(run, "%s: %s", volume->id, warning);
        }
    }
    return 0;
}

/* Which tasks belong to which entry: counted, then placed, in task order. */
static int index_tasks(struct run_volume *volume, struct error *err)
{
    uint32_t entries = catalog_count(volume->catalog);
    uint64_t tasks = plan_task_count(volume->plan);
    if (tasks > UINT32_MAX) {
        return error_stop(err, EXIT_STATUS_INTERNAL, "more than 4 billion streams on one volume");
    }
    volume->entry_first = calloc((size_t)entries + 2, sizeof(uint32_t));
    volume->entry_tasks = calloc((size_t)tasks + 1, sizeof(uint32_t));
    if (volume->entry_first == NULL || volume->entry_tasks == NULL) {
        return error_memory(err, "the index of tasks");
    }
    uint32_t *first = volume->entry_first;
    for (uint64_t i = 0; i < tasks; i++) {
        first[plan_get_task(volume->plan, i)->entry + 2]++;
    }
    for (uint32_t i = 0; i < entries; i++) {
        first[i + 2] += first[i + 1];
    }
    for (uint64_t i = 0; i < tasks; i++) {
        volume->entry_tasks[first[plan_get_task(volume->plan, i)->entry + 1]++] = (uint32_t)i;
    }
    return 0;
}

static void add_totals(struct plan_totals *sum, const struct plan_totals *one)
{
    /* All members are uint64_t counters. */
    uint64_t *to = (uint64_t *)sum;
    const uint64_t *from = (const uint64_t *)one;
    for (size_t i = 0; i < sizeof(*sum) / sizeof(uint64_t); i++) {
        to[i] += from[i];
    }
}

/* The first few by name; all are counted. */
static void warn_of_missing(struct run *run)
{
    size_t index = 0;
    const char *path;
    while (run->settings->paths != NULL &&
           (path = plan_paths_missing(run->settings->paths, &index)) != NULL) {
        if (run->summary->paths_not_found++ < MISSING_SHOWN) {
            CLEANUP_TEXT struct text shown = TEXT_INIT(1024);
            text_add_shown(&shown, path, strlen(path), 400);
            run_warn(run, "%s: on the list of --files-from, but not on the disk", text_str(&shown));
        }
    }
    if (run->summary->paths_not_found > MISSING_SHOWN) {
        run_warn(run, "%llu more paths of --files-from are not on the disk",
                 (unsigned long long)run->summary->paths_not_found - MISSING_SHOWN);
    }
}

int source_plan(struct run *run, struct error *err)
{
    run_phase(run, "plan", 0);
    const struct run_settings *settings = run->settings;
    bool composites = settings->dry_run || destination_composites(run);
    for (size_t i = 0; i < run->volume_count; i++) {
        struct run_volume *volume = &run->volumes[i];
        struct plan_settings plan = {
            .prefix = run->url.prefix,
            .volume_name = volume->folder,
            .run = run->identity.run,
            .streams = settings->streams,
            .dedup = settings->dedup,
            .hard_links = settings->hard_links,
            .efs_raw = settings->efs_raw,
            .default_excludes = settings->default_excludes,
            .includes = settings->includes,
            .include_count = settings->include_count,
            .excludes = settings->excludes,
            .exclude_count = settings->exclude_count,
            .paths = settings->paths,
            .min_size_bytes = settings->min_size_bytes,
            .max_size_bytes = settings->max_size_bytes,
            .metadata = settings->metadata,
            .composites = composites,
        };
        volume->plan = plan_build(volume->catalog, volume->volume, &plan, err);
        if (volume->plan == NULL || index_tasks(volume, err) != 0) {
            return -1;
        }
        if (plan_get_totals(volume->plan)->rehydrated > 0 &&
            catalog_find_stores(volume->catalog, volume->volume, err) != 0) {
            return -1;
        }
        volume->first_task = run->task_count;
        run->task_count += plan_task_count(volume->plan);
        run->byte_count += plan_get_totals(volume->plan)->bytes;
        add_totals(&run->summary->planned, plan_get_totals(volume->plan));
    }
    warn_of_missing(run);
    if (run->summary->planned.raw > 0) {
        run_warn(run,
                 "%llu encrypted (EFS) %s as ciphertext: only NTFS can read that, with the keys of "
                 "the owners",
                 (unsigned long long)run->summary->planned.raw,
                 run->summary->planned.raw == 1 ? "stream goes" : "streams go");
    }
    run->summary->objects_total = run->task_count - run->summary->planned.spares;
    run->summary->bytes_total = run->byte_count;
    run->summary->orphans = run->summary->planned.orphans;
    run->summary->renamed = run->summary->planned.renamed;
    return 0;
}

void source_close(struct run *run)
{
    for (size_t i = 0; i < run->volume_count; i++) {
        struct run_volume *volume = &run->volumes[i];
        plan_free(volume->plan);
        catalog_free(volume->catalog);
        volume_free(volume->volume);
        free(volume->entry_first);
        free(volume->entry_tasks);
    }
    disk_layout_clear(&run->layout);
    disk_free(run->disk);
}
