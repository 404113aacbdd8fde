/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A catalog from the scan of a volume; the only file here that reads one. */
#include "catalog/catalog_internal.h"

struct visit {
    struct catalog *catalog;
    void (*progress)(void *self, uint64_t done, uint64_t total);
    void *progress_self;
};

static struct catalog *build(struct volume *volume, const char *folder, struct visit *visit,
                             bool checked, struct error *err);
static int fill(struct catalog *catalog, struct volume *volume,
                const struct volume_visitor *visitor, struct error *err);
static int visit_entry(void *self, const struct volume_entry *entry, struct error *err);
static int visit_stray(void *self, uint64_t record, uint16_t sequence, uint64_t base,
                       const char *why, struct error *err);
static void visit_progress(void *self, uint64_t done, uint64_t total);

struct catalog *catalog_build(struct volume *volume, const char *folder,
                              void (*progress)(void *self, uint64_t done, uint64_t total),
                              void *progress_self, struct error *err)
{
    struct visit visit = {.progress = progress, .progress_self = progress_self};
    return build(volume, folder, &visit, true, err);
}

struct catalog *catalog_build_unchecked(struct volume *volume, const char *folder,
                                        void (*progress)(void *self, uint64_t done, uint64_t total),
                                        void *progress_self, struct error *err)
{
    struct visit visit = {.progress = progress, .progress_self = progress_self};
    return build(volume, folder, &visit, false, err);
}

static struct catalog *build(struct volume *volume, const char *folder, struct visit *visit,
                             bool checked, struct error *err)
{
    struct catalog *catalog = catalog_new(folder, err);
    if (catalog == NULL) {
        return NULL;
    }
    visit->catalog = catalog;
    struct volume_visitor visitor = {
        .entry = visit_entry,
        .stray = visit_stray,
        .progress = visit->progress == NULL ? NULL : visit_progress,
        .self = visit,
        .claims = volume_claims_new(volume, catalog->folder, err),
    };
    if (checked && visitor.claims != NULL) {
        visitor.indexes = volume_indexes_new(volume, catalog->folder, err);
    }
    int result = -1;
    if (visitor.claims != NULL && (!checked || visitor.indexes != NULL)) {
        result = fill(catalog, volume, &visitor, err);
    }
    volume_claims_free(visitor.claims);
    volume_indexes_free(visitor.indexes);
    if (result != 0) {
        catalog_free(catalog);
        return NULL;
    }
    return catalog;
}

static int fill(struct catalog *catalog, struct volume *volume,
                const struct volume_visitor *visitor, struct error *err)
{
    struct volume_scan_totals totals = {0};
    if (volume_scan(volume, visitor, &totals, err) != 0 ||
        catalog_finish(catalog, &totals, err) != 0 ||
        catalog_cross(catalog, visitor->claims, err) != 0) {
        return -1;
    }
    catalog_warn_crossed(catalog);
    return visitor->indexes == NULL ? 0 : catalog_check_indexes(catalog, visitor->indexes, err);
}

static int visit_entry(void *self, const struct volume_entry *entry, struct error *err)
{
    struct visit *visit = self;
    return catalog_add(visit->catalog, entry, err);
}

static int visit_stray(void *self, uint64_t record, uint16_t sequence, uint64_t base,
                       const char *why, struct error *err)
{
    struct visit *visit = self;
    return catalog_add_stray(visit->catalog, record, sequence, base, why, err);
}

static void visit_progress(void *self, uint64_t done, uint64_t total)
{
    struct visit *visit = self;
    visit->progress(visit->progress_self, done, total);
}
