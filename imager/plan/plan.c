/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A plan from beginning to end: settings in, tasks in order out. */
#include "plan/plan_internal.h"

#include <assert.h>
#include <string.h>

static struct plan *plan_new(const struct catalog *catalog, const struct volume *volume,
                             const struct plan_settings *settings);
static int check_settings(const struct plan_settings *settings, struct error *err);

struct plan *plan_build(const struct catalog *catalog, const struct volume *volume,
                        const struct plan_settings *settings, struct error *err)
{
    if (check_settings(settings, err) != 0) {
        return NULL;
    }
    struct plan *plan = plan_new(catalog, volume, settings);
    if (plan == NULL) {
        (void)error_memory(err, "the plan"); /* fills err; NULL says it */
        return NULL;
    }
    if (plan_rules_compile(&plan->rules, settings, err) != 0 || plan_decide_all(plan, err) != 0) {
        plan_free(plan);
        return NULL;
    }
    plan_sort_tasks(plan);
    return plan;
}

void plan_free(struct plan *plan)
{
    if (plan == NULL) {
        return;
    }
    plan_rules_clear(&plan->rules);
    free(plan->prefix);
    free(plan->volume_name);
    free(plan->run);
    free(plan->codes);
    free(plan->tasks);
    free(plan);
}

const struct plan_totals *plan_get_totals(const struct plan *plan)
{
    return &plan->totals;
}

uint32_t plan_checksum(const struct plan *plan)
{
    return plan->checksum;
}

uint64_t plan_task_count(const struct plan *plan)
{
    return plan->task_count;
}

const struct plan_task *plan_get_task(const struct plan *plan, uint64_t number)
{
    assert(number < plan->task_count);
    return &plan->tasks[number];
}

static struct plan *plan_new(const struct catalog *catalog, const struct volume *volume,
                             const struct plan_settings *settings)
{
    struct plan *plan = calloc(1, sizeof(*plan));
    if (plan == NULL) {
        return NULL;
    }
    plan->catalog = catalog;
    plan->volume = volume;
    plan->prefix = strdup(settings->prefix);
    plan->volume_name = strdup(settings->volume_name);
    plan->run = strdup(settings->run);
    plan->metadata = settings->metadata;
    plan->streams = settings->streams;
    plan->dedup = settings->dedup;
    plan->hard_links = settings->hard_links;
    plan->efs_raw = settings->efs_raw;
    plan->composites = settings->composites;
    plan->min_size_bytes = settings->min_size_bytes;
    plan->max_size_bytes = settings->max_size_bytes;
    plan->codes = calloc((size_t)catalog_count(catalog) + 1, sizeof(*plan->codes));
    /* Cluster and record sizes as the positions show them; the first two records of $MFT are
     * neighbours on every volume. */
    plan->cluster_bytes = volume_cluster_position(volume, 1) - volume_cluster_position(volume, 0);
    plan->record_bytes = volume_record_position(volume, 1) - volume_record_position(volume, 0);
    if (plan->prefix == NULL || plan->volume_name == NULL || plan->run == NULL ||
        plan->codes == NULL) {
        plan_free(plan);
        return NULL;
    }
    return plan;
}

static int check_settings(const struct plan_settings *settings, struct error *err)
{
    assert(settings->prefix != NULL && settings->volume_name != NULL && settings->run != NULL);
    size_t len = strlen(settings->prefix) + strlen(settings->volume_name);
    if (len > PLAN_BASE_MAX) {
        return error_stop(err, EXIT_STATUS_USAGE,
                          "the destination prefix has %zu bytes, with the volume's folder; at most "
                          "%d leave room for names: choose a shorter one",
                          len, PLAN_BASE_MAX);
    }
    return 0;
}
