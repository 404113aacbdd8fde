/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The chunk stores of Windows Data Deduplication: their containers are found by their paths, from
 * below, since a container's name is one that hardly anything else has.
 */
#include "catalog/catalog_internal.h"

#include <string.h>

static bool is_called(const struct catalog *catalog, uint64_t ref, const char *lower,
                      uint64_t *ret_parent);
static bool find_store(const struct catalog *catalog, uint64_t ref,
                       uint8_t store[VOLUME_DEDUP_STORE_BYTES]);
static int add_entry(const struct catalog *catalog, uint32_t index, const struct volume *volume,
                     struct volume_dedup *dedup, struct catalog_view *view, struct error *err);

int catalog_find_stores(const struct catalog *catalog, struct volume *volume, struct error *err)
{
    struct volume_dedup *dedup = volume_dedup_new(err);
    struct catalog_view view = {0};
    int result = dedup == NULL ? -1 : 0;

    for (uint32_t i = 0; result == 0 && i < catalog->count; i++) {
        result = add_entry(catalog, i, volume, dedup, &view, err);
    }
    catalog_view_clear(&view);
    if (result != 0) {
        volume_dedup_free(dedup);
        return -1;
    }
    volume_set_dedup(volume, dedup);
    return 0;
}

static int add_entry(const struct catalog *catalog, uint32_t index, const struct volume *volume,
                     struct volume_dedup *dedup, struct catalog_view *view, struct error *err)
{
    uint8_t store[VOLUME_DEDUP_STORE_BYTES];
    struct catalog_name name;
    uint32_t id;
    uint32_t generation;
    uint64_t parent;

    if (!catalog_name(catalog, index, 0, &name)) {
        return 0;
    }
    if (catalog_is_directory(catalog, index)) {
        uint64_t ref = catalog_record(catalog, index) | (uint64_t)catalog_sequence(catalog, index)
                                                            << 48;
        return volume_dedup_store_name(name.units_le, name.len, store) &&
                       find_store(catalog, ref, store)
                   ? volume_dedup_add_store(dedup, store, err)
                   : 0;
    }
    if (!volume_dedup_container_name(name.units_le, name.len, &id, &generation)) {
        return 0;
    }
    bool is_data = is_called(catalog, name.parent_ref, "data", &parent);
    if ((!is_data && !is_called(catalog, name.parent_ref, "stream", &parent)) ||
        !find_store(catalog, parent, store)) {
        return 0;
    }
    if (catalog_get(catalog, index, view, err) != 0) {
        return -1;
    }
    return volume_dedup_add(dedup, volume, store, is_data ? VOLUME_DEDUP_DATA : VOLUME_DEDUP_STREAM,
                            id, generation, &view->entry, err);
}

/* The directory that `ref` means, when it is there. */
static bool find_directory(const struct catalog *catalog, uint64_t ref,
                           struct catalog_name *ret_name)
{
    int64_t index = catalog_find(catalog, VOLUME_REF_RECORD(ref));
    uint16_t sequence = VOLUME_REF_SEQUENCE(ref);

    return index >= 0 && catalog_is_directory(catalog, (uint32_t)index) &&
           (sequence == 0 || sequence == catalog_sequence(catalog, (uint32_t)index)) &&
           catalog_name(catalog, (uint32_t)index, 0, ret_name);
}

static bool is_called(const struct catalog *catalog, uint64_t ref, const char *lower,
                      uint64_t *ret_parent)
{
    struct catalog_name name;

    if (!find_directory(catalog, ref, &name) || name.len != strlen(lower)) {
        return false;
    }
    for (size_t i = 0; i < name.len; i++) {
        unsigned unit = read_le16(name.units_le + 2 * i);
        unit = unit >= 'A' && unit <= 'Z' ? unit + ('a' - 'A') : unit;
        if (unit != (unsigned char)lower[i]) {
            return false;
        }
    }
    *ret_parent = name.parent_ref;
    return true;
}

static bool find_store(const struct catalog *catalog, uint64_t ref,
                       uint8_t store[VOLUME_DEDUP_STORE_BYTES])
{
    struct catalog_name name;
    uint64_t up;

    return find_directory(catalog, ref, &name) &&
           volume_dedup_store_name(name.units_le, name.len, store) &&
           is_called(catalog, name.parent_ref, "chunkstore", &up) &&
           is_called(catalog, up, "dedup", &up) &&
           is_called(catalog, up, "system volume information", &up) &&
           VOLUME_REF_RECORD(up) == CATALOG_ROOT_RECORD;
}
