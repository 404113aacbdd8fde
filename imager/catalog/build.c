/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Filling a catalog entry by entry. */
#include "catalog/catalog_internal.h"

#include <string.h>

static int index_records(struct catalog *catalog, struct error *err);

struct catalog *catalog_new(const char *folder, struct error *err)
{
    if (folder == NULL) {
        folder = getenv("TMPDIR");
    }
    if (folder == NULL || folder[0] == '\0') {
        folder = "/tmp";
    }
    struct catalog *catalog = calloc(1, sizeof(*catalog));
    if (catalog == NULL || (catalog->folder = strdup(folder)) == NULL) {
        free(catalog);
        (void)error_memory(err, "the catalog"); /* fills err; NULL says it */
        return NULL;
    }
    catalog->crossings.fd = -1;
    struct area *areas[] = {&catalog->blobs, &catalog->slots, &catalog->by_record,
                            &catalog->strays};
    for (size_t i = 0; i < ARRAY_LEN(areas); i++) {
        areas[i]->fd = -1;
    }
    for (size_t i = 0; i < ARRAY_LEN(areas); i++) {
        if (area_open(areas[i], "the catalog", catalog->folder, err) != 0) {
            catalog_free(catalog);
            return NULL;
        }
    }
    return catalog;
}

void catalog_free(struct catalog *catalog)
{
    if (catalog == NULL) {
        return;
    }
    area_close(&catalog->blobs);
    area_close(&catalog->slots);
    area_close(&catalog->by_record);
    area_close(&catalog->strays);
    area_close(&catalog->crossings);
    for (size_t i = 0; i < catalog->warning_count; i++) {
        free(catalog->warnings[i]);
    }
    catalog_words_clear(&catalog->words);
    free(catalog->folder);
    free(catalog);
}

int catalog_add(struct catalog *catalog, const struct volume_entry *entry, struct error *err)
{
    if (catalog->count == UINT32_MAX - 1) {
        return error_stop(err, EXIT_STATUS_SOURCE,
                          "the volume has more than %u entries, which winch cannot keep",
                          UINT32_MAX - 1);
    }
    uint8_t *start = area_reserve(&catalog->blobs, catalog_encode_bound(entry), err);
    uint8_t *slot = area_reserve(&catalog->slots, sizeof(struct catalog_slot), err);
    if (start == NULL || slot == NULL) {
        return -1;
    }
    uint8_t *end = catalog_encode(&catalog->words, entry, start);
    if (end == NULL) {
        return error_memory(err, "the catalog");
    }
    bool directory = entry->directory || entry->unnamed_directory_index_bytes != 0;
    *(struct catalog_slot *)(void *)slot = (struct catalog_slot){
        .ref = VOLUME_REF_RECORD(entry->record) | (uint64_t)entry->sequence << 48,
        .place = (uint64_t)catalog->blobs.len * 2 + (directory ? 1 : 0),
    };
    catalog->blobs.len += (size_t)(end - start);
    catalog->slots.len += sizeof(struct catalog_slot);
    catalog->count++;
    return 0;
}

int catalog_add_stray(struct catalog *catalog, uint64_t record, uint16_t sequence, uint64_t base,
                      const char *why, struct error *err)
{
    int number = catalog_words_number(&catalog->words, why);
    if (number < 0 || catalog->stray_count == UINT32_MAX) {
        return error_memory(err, "the catalog");
    }
    uint8_t *stray = area_reserve(&catalog->strays, sizeof(struct catalog_stray), err);
    if (stray == NULL) {
        return -1;
    }
    *(struct catalog_stray *)(void *)stray = (struct catalog_stray){
        .record = record,
        .sequence = sequence,
        .base = base,
        .why = catalog_words_get(&catalog->words, (uint64_t)number),
    };
    catalog->strays.len += sizeof(struct catalog_stray);
    catalog->stray_count++;
    return 0;
}

int catalog_finish(struct catalog *catalog, const struct volume_scan_totals *totals,
                   struct error *err)
{
    catalog->totals = *totals;
    if (catalog_order(catalog, err) != 0 || index_records(catalog, err) != 0) {
        return -1;
    }
    area_seal(&catalog->blobs);
    area_seal(&catalog->slots);
    area_seal(&catalog->by_record);
    area_seal(&catalog->strays);
    return 0;
}

/* The slots are sorted: the last record is the highest. */
static int index_records(struct catalog *catalog, struct error *err)
{
    if (catalog->count == 0) {
        return 0;
    }
    const struct catalog_slot *slots = catalog_slots(catalog);
    uint64_t limit = VOLUME_REF_RECORD(slots[catalog->count - 1].ref) + 1;
    if (limit > catalog->totals.records) {
        return error_stop(err, EXIT_STATUS_INTERNAL,
                          "the scan handed over record %llu of a $MFT with %llu records",
                          (unsigned long long)(limit - 1),
                          (unsigned long long)catalog->totals.records);
    }
    uint8_t *bytes = area_reserve(&catalog->by_record, limit * sizeof(uint32_t), err);
    if (bytes == NULL) {
        return -1;
    }
    uint32_t *by_record = (uint32_t *)(void *)bytes; /* zeros, as the file is new */
    for (uint32_t i = 0; i < catalog->count; i++) {
        by_record[VOLUME_REF_RECORD(slots[i].ref)] = i + 1;
    }
    catalog->by_record.len = limit * sizeof(uint32_t);
    catalog->record_limit = limit;
    return 0;
}
