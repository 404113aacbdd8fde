/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * catalog: all entries of one volume, compact, filled by one scan. Facts only, no content, no
 * decisions. Lies in an unlinked file mapped from the state folder, so that the kernel can evict
 * it; at most about 200 bytes an entry.
 */
#ifndef WINCH_CATALOG_H
#define WINCH_CATALOG_H

#include "base/base.h"
#include "volume/volume.h"

struct catalog;

/* Scan `volume` into a new catalog. `folder`: where the file is made (it has no name there); NULL:
 * $TMPDIR or /tmp. The directory indexes are compared with what was found; that makes warnings and
 * nothing else. Errors: of volume_scan; STOP_RUN exit 75 when the folder is full, naming it. */
struct catalog *catalog_build(struct volume *volume, const char *folder,
                              void (*progress)(void *self, uint64_t done, uint64_t total),
                              void *progress_self, struct error *err);
/* The same without the check of the directory indexes. */
struct catalog *catalog_build_unchecked(struct volume *volume, const char *folder,
                                        void (*progress)(void *self, uint64_t done, uint64_t total),
                                        void *progress_self, struct error *err);
void catalog_free(struct catalog *catalog);

const struct volume_scan_totals *catalog_totals(const struct catalog *catalog);
uint64_t catalog_bytes(const struct catalog *catalog); /* memory mapped, for the note */
/* What the report should say of the volume; NULL behind the last one. */
const char *catalog_warning(const struct catalog *catalog, size_t index);

/* Find the chunk stores of Windows Data Deduplication among the entries and hand them to `volume`,
 * whose readers need them for deduplicated files. Once, before any of those is read. */
int catalog_find_stores(const struct catalog *catalog, struct volume *volume,
                        struct error *err) WARN_UNUSED;

/* Entries are numbered 0 … count-1 in the order of their records. After the build everything is
 * constant: all functions below may be called from any thread. */
uint32_t catalog_count(const struct catalog *catalog);

/* One decoded entry. The arrays belong to the view and are overwritten by the next catalog_get()
 * with the same view, and so are the sentences in `crossed`. `entry.problem` and streams' `problem`
 * are static or catalog-owned strings. */
struct catalog_view {
    uint32_t index;
    struct volume_entry entry;
    void *scratch;   /* owned; NULL at first */
    char *sentences; /* likewise: what `crossed` points to */
};
#define CLEANUP_VIEW CLEANUP(catalog_view_clear)
int catalog_get(const struct catalog *catalog, uint32_t index, struct catalog_view *view,
                struct error *err) WARN_UNUSED;
void catalog_view_clear(struct catalog_view *view);

/* Cheap looks without decoding the whole entry. */
uint64_t catalog_record(const struct catalog *catalog, uint32_t index);
uint16_t catalog_sequence(const struct catalog *catalog, uint32_t index);
/* By its flag or by its index. */
bool catalog_is_directory(const struct catalog *catalog, uint32_t index);
/* The base entry of a record; -1 when there is none. */
int64_t catalog_find(const struct catalog *catalog, uint64_t record);

/* ---- paths ------------------------------------------------------------------------------- */

/* A name as it stands in the catalog. `name` counts the names that are no 8.3 twins (namespace 2;
 * without any other name they are no twins): 0 is the first. Returns false when there is no such
 * name. The units stay valid with the catalog but are not aligned: read_le16 each. */
struct catalog_name {
    const uint8_t *units_le;
    uint8_t len;
    uint8_t space;
    uint64_t parent_ref;
};
bool catalog_name(const struct catalog *catalog, uint32_t index, unsigned name,
                  struct catalog_name *ret_name);
unsigned catalog_name_count(const struct catalog *catalog, uint32_t index);
/* The 8.3 name belonging to the entry, if any. */
bool catalog_short_name(const struct catalog *catalog, uint32_t index,
                        struct catalog_name *ret_name);

enum catalog_root {
    CATALOG_ROOTED, /* the chain ends in the root directory (record 5) */
    CATALOG_ORPHAN, /* a parent is missing, has another sequence, no name, is no directory, or the
                       chain loops or is too long: then the gap is the entry's own parent */
    CATALOG_SYSTEM, /* record 0–23 itself, or below $Extend (record 11) */
};
#define CATALOG_DEPTH_MAX 2048

/* The directories above `index` by its `name`, outermost first, without root and without itself.
 * For an orphan the chain starts below the gap, and ret_gap is the reference that leads nowhere (0
 * when the entry has no name at all). */
enum catalog_root catalog_chain(const struct catalog *catalog, uint32_t index, unsigned name,
                                uint32_t chain[CATALOG_DEPTH_MAX], size_t *ret_depth,
                                uint64_t *ret_gap);

/* ---- what is no entry -------------------------------------------------------------------- */

struct catalog_stray {
    uint64_t record;
    uint16_t sequence;
    uint64_t base;
    const char *why;
};
/* Records in use that belong to no entry, in the order in which the scan met them. */
uint32_t catalog_stray_count(const struct catalog *catalog);
const struct catalog_stray *catalog_stray(const struct catalog *catalog, uint32_t index);

#endif
