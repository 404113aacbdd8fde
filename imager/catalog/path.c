/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The way from an entry up to the root. Parent references are hostile: they may lead nowhere, to a
 * directory that has taken the place of another, or in a circle.
 */
#include "catalog/catalog_internal.h"

static int64_t find_parent(const struct catalog *catalog, uint64_t ref);
static bool is_root(const struct catalog *catalog, uint64_t ref);
static bool same_sequence(const struct catalog *catalog, uint32_t index, uint64_t ref);
static void reverse(uint32_t *chain, size_t depth);

enum catalog_root catalog_chain(const struct catalog *catalog, uint32_t index, unsigned name,
                                uint32_t chain[CATALOG_DEPTH_MAX], size_t *ret_depth,
                                uint64_t *ret_gap)
{
    uint64_t record = catalog_record(catalog, index);
    bool system = record < CATALOG_SYSTEM_RECORDS;
    *ret_depth = 0;
    *ret_gap = 0;
    struct catalog_name at;
    if (record == CATALOG_ROOT_RECORD || !catalog_name(catalog, index, name, &at)) {
        return system ? CATALOG_SYSTEM : CATALOG_ORPHAN;
    }
    const uint64_t first = at.parent_ref;
    bool broken = false;
    size_t depth = 0;
    int64_t mark = index; /* a directory met again is a circle: Brent's way to see it soon */
    size_t mark_until = 1;
    while (!is_root(catalog, at.parent_ref)) {
        uint64_t ref = at.parent_ref;
        int64_t parent = find_parent(catalog, ref);
        if (parent < 0 || !catalog_name(catalog, (uint32_t)parent, 0, &at)) {
            *ret_gap = ref;
            broken = true;
            system = system || VOLUME_REF_RECORD(ref) == CATALOG_EXTEND_RECORD;
            break;
        }
        if (parent == mark || depth == CATALOG_DEPTH_MAX) {
            *ret_gap = first;
            depth = 0;
            broken = true;
            break;
        }
        chain[depth++] = (uint32_t)parent;
        system = system || VOLUME_REF_RECORD(ref) == CATALOG_EXTEND_RECORD;
        if (depth == mark_until) {
            mark = parent;
            mark_until *= 2;
        }
    }
    reverse(chain, depth);
    *ret_depth = depth;
    return system ? CATALOG_SYSTEM : (broken ? CATALOG_ORPHAN : CATALOG_ROOTED);
}

static int64_t find_parent(const struct catalog *catalog, uint64_t ref)
{
    int64_t parent = catalog_find(catalog, VOLUME_REF_RECORD(ref));
    if (parent < 0 || !catalog_is_directory(catalog, (uint32_t)parent) ||
        !same_sequence(catalog, (uint32_t)parent, ref)) {
        return -1;
    }
    return parent;
}

/* The root needs no entry of its own: when its record is torn, paths are still known. */
static bool is_root(const struct catalog *catalog, uint64_t ref)
{
    if (VOLUME_REF_RECORD(ref) != CATALOG_ROOT_RECORD) {
        return false;
    }
    int64_t root = catalog_find(catalog, CATALOG_ROOT_RECORD);
    return root < 0 || same_sequence(catalog, (uint32_t)root, ref);
}

/* A reference without a sequence fits any, as for libntfs-3g. */
static bool same_sequence(const struct catalog *catalog, uint32_t index, uint64_t ref)
{
    uint16_t sequence = VOLUME_REF_SEQUENCE(ref);
    return sequence == 0 || sequence == catalog_sequence(catalog, index);
}

static void reverse(uint32_t *chain, size_t depth)
{
    for (size_t i = 0; i < depth / 2; i++) {
        uint32_t swap = chain[i];
        chain[i] = chain[depth - 1 - i];
        chain[depth - 1 - i] = swap;
    }
}
