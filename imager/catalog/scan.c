/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A catalog from the scan of a volume; the only file here that reads one. */
#include "catalog/catalog_internal.h"

struct visit {
    struct catalog *catalog;
    void (*progress)(void *self, uint64_t done, uint64_t total);
    void *progress_self;
};

static int visit_entry(void *self, const struct volume_entry *entry, struct error *err);
static int visit_stray(void *self, uint64_t record, uint16_t sequence, uint64_t base,
                       const char *why, struct error *err);
static void visit_progress(void *self, uint64_t done, uint64_t total);

struct catalog *catalog_build(struct volume *volume, const char *folder,
                              void (*progress)(void *self, uint64_t done, uint64_t total),
                              void *progress_self, struct error *err)
{
    struct catalog *catalog = catalog_new(folder, err);
    if (catalog == NULL) {
        return NULL;
    }
    struct volume_claims *claims = volume_claims_new(volume, catalog->folder, err);
    struct visit visit = {catalog, progress, progress_self};
    struct volume_visitor visitor = {
        .entry = visit_entry,
        .stray = visit_stray,
        .progress = progress == NULL ? NULL : visit_progress,
        .self = &visit,
        .claims = claims,
    };
    struct volume_scan_totals totals = {0};
    bool good = claims != NULL && volume_scan(volume, &visitor, &totals, err) == 0 &&
                catalog_finish(catalog, &totals, err) == 0 &&
                catalog_cross(catalog, claims, err) == 0;
    volume_claims_free(claims);
    if (!good) {
        catalog_free(catalog);
        return NULL;
    }
    catalog_warn_crossed(catalog);
    return catalog;
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
