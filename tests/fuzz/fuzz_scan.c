/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * A volume of nothing but $MFT, of which the input is the records from 24 on: scan, catalog, plan
 * and names. Fix-ups are put in order, so that what is inside the records is met. Every extent that
 * counts lies on the volume; numbers add up; no two tasks share an object.
 */
#include "fuzz.h"

#include <sys/mman.h>
#include <unistd.h>

#include "../unit/record_maker.h"
#include "plan/plan.h"

#define FIRST 24
#define RECORDS (FIRST + 16)

static void check_streams(const struct volume_entry *entry)
{
    for (size_t i = 0; i < entry->stream_count; i++) {
        const struct volume_stream *stream = &entry->streams[i];
        uint64_t clusters = 0;
        FUZZ_ASSERT(stream->valid_bytes <= stream->size_bytes);
        for (size_t j = 0; stream->problem == NULL && j < stream->extent_count; j++) {
            const struct volume_extent *extent = &stream->extents[j];
            FUZZ_ASSERT(extent->cluster == VOLUME_HOLE ||
                        (extent->cluster < MAKER_CLUSTERS &&
                         extent->clusters <= MAKER_CLUSTERS - extent->cluster));
            clusters += extent->clusters;
        }
        FUZZ_ASSERT(stream->problem != NULL || stream->form == VOLUME_RESIDENT ||
                    clusters >= stream->valid_bytes / MAKER_CLUSTER_BYTES);
    }
}

static void check_catalog(const struct catalog *catalog)
{
    const struct volume_scan_totals *totals = catalog_totals(catalog);
    struct error err = {0};
    CLEANUP_VIEW struct catalog_view view = {0};

    FUZZ_ASSERT(totals->records == RECORDS);
    FUZZ_ASSERT(totals->records_in_use == totals->bases + totals->extensions + totals->stray);
    FUZZ_ASSERT(catalog_count(catalog) == totals->bases);
    FUZZ_ASSERT(catalog_stray_count(catalog) == totals->stray);
    for (uint32_t i = 0; i < catalog_count(catalog); i++) {
        FUZZ_ASSERT(catalog_get(catalog, i, &view, &err) == 0);
        check_streams(&view.entry);
    }
}

static void check_plan(const struct plan *plan, const struct catalog *catalog)
{
    struct plan_namer *namer = plan_namer_new(plan);
    struct error err = {0};
    CLEANUP_VIEW struct catalog_view view = {0};

    FUZZ_ASSERT(namer != NULL);
    for (uint64_t i = 0; i < plan_task_count(plan); i++) {
        const struct plan_task *task = plan_get_task(plan, i);
        size_t len = 0;
        bool exact = false;
        FUZZ_ASSERT(task->entry < catalog_count(catalog));
        FUZZ_ASSERT(catalog_get(catalog, task->entry, &view, &err) == 0);
        FUZZ_ASSERT(task->stream < view.entry.stream_count);
        FUZZ_ASSERT(plan_group(plan, i) >= 1 && plan_group(plan, i) <= PLAN_GROUP_MAX);
        const char *name = plan_object_name(namer, task, &view, &len);
        FUZZ_ASSERT(name != NULL && len > 0 && len <= 1024 && utf_valid_utf8(name, len));
        FUZZ_ASSERT(memcmp(name, "p/", 2) == 0);
        const char *path = plan_path(namer, task->entry, 0, &len, &exact);
        FUZZ_ASSERT(path != NULL && utf_valid_utf8(path, len));
    }
    plan_namer_free(namer);
}

/* As maker_close() does, whatever the record says about its fix-ups. */
static void close_record(uint8_t *record)
{
    memcpy(record, "FILE", 4);
    put16(record + 4, 48);
    put16(record + 6, MAKER_RECORD_BYTES / 512 + 1);
    for (uint32_t i = 1; i <= MAKER_RECORD_BYTES / 512; i++) {
        uint8_t *end = record + i * 512 - 2;
        put16(record + 48 + 2 * i, read_le16(end));
        memcpy(end, record + 48, 2);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    size_t room = (size_t)(RECORDS - FIRST) * MAKER_RECORD_BYTES;
    uint8_t *records = calloc(RECORDS, MAKER_RECORD_BYTES);
    struct error err = {0};
    struct plan_settings settings = {
        .prefix = "p", .volume_name = "", .run = "20261129T220312Z-7f3a9c01", .composites = true};

    FUZZ_ASSERT(records != NULL);
    memcpy(records + (size_t)FIRST * MAKER_RECORD_BYTES, data, size < room ? size : room);
    for (size_t i = FIRST; i < RECORDS && (i - FIRST) * MAKER_RECORD_BYTES < size; i++) {
        if (size > (i - FIRST) * MAKER_RECORD_BYTES + 60) {
            close_record(records + i * MAKER_RECORD_BYTES);
        }
    }
    struct volume *volume = maker_volume(records, RECORDS);
    /* The check of directory indexes starts threads, which takes most of the time. */
    struct catalog *catalog = size % 8 == 0
                                  ? catalog_build(volume, NULL, NULL, NULL, &err)
                                  : catalog_build_unchecked(volume, NULL, NULL, NULL, &err);
    if (catalog != NULL) {
        check_catalog(catalog);
        struct plan *plan = plan_build(catalog, volume, &settings, &err);
        FUZZ_ASSERT(plan != NULL || err.message[0] != '\0');
        if (plan != NULL) {
            check_plan(plan, catalog);
        }
        plan_free(plan);
    }
    catalog_free(catalog);
    maker_volume_free(volume);
    free(records);
    return 0;
}
