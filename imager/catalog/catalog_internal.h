/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Private to catalog: how entries are kept. Each entry is one blob of variable length (varint.h,
 * encode.c); a slot says where it stands, a table leads from record to entry. All of it lies in
 * unlinked files that grow in big steps. The building functions are here so that tests can feed a
 * catalog without a volume.
 */
#ifndef WINCH_CATALOG_INTERNAL_H
#define WINCH_CATALOG_INTERNAL_H

#include "catalog/catalog.h"

#define CATALOG_ROOT_RECORD 5
#define CATALOG_EXTEND_RECORD 11
#define CATALOG_SYSTEM_RECORDS 24

/* ---- words: the few sentences that say what is wrong with a record ------------------------ */

#define CATALOG_WORDS_MAX                                                                          \
    1024 /* of a hostile volume too: one more and they share a general one   \
                                */

struct catalog_words {
    char *words[CATALOG_WORDS_MAX]; /* word n stands at n - 1 */
    uint32_t count;
    uint16_t table[2 * CATALOG_WORDS_MAX]; /* hash to n, 0 = free */
};

/* Number of the word, kept as a copy: 0 for NULL, -1 out of memory. */
int catalog_words_number(struct catalog_words *words, const char *word);
/* The word; NULL for 0 and for numbers that were never given. */
const char *catalog_words_get(const struct catalog_words *words, uint64_t number);
void catalog_words_clear(struct catalog_words *words);

/* ---- the catalog --------------------------------------------------------------------------- */

struct catalog_slot {
    uint64_t ref;   /* record, sequence in the upper 16 bits */
    uint64_t place; /* offset of the blob × 2, + 1 for a directory */
};

/* ---- crossings: whose clusters are claimed by others too, or are free ---------------------- */

enum catalog_crossed_part {
    CATALOG_CROSSED_STREAM,
    CATALOG_CROSSED_VALUE,
    CATALOG_CROSSED_RECORD,
    CATALOG_CROSSED_UNUSED, /* counted only */
};

enum catalog_crossed_how {
    CATALOG_CROSSED_OTHER,   /* by another record */
    CATALOG_CROSSED_SIBLING, /* by another attribute of the same record */
    CATALOG_CROSSED_ITSELF,
    CATALOG_CROSSED_FREE,
    CATALOG_CROSSED_UNNAMED, /* by somebody who was not found again */
};

struct catalog_crossing {
    uint64_t cluster; /* the first one that speaks against it */
    uint64_t other;   /* record */
    uint32_t entry;
    uint16_t stream; /* UINT16_MAX for what is no stream: so those come last */
    uint8_t part;    /* enum catalog_crossed_part */
    uint8_t how;     /* enum catalog_crossed_how */
};

struct catalog_crossed_totals {
    struct volume_claims_totals claims;
    uint64_t streams;
    uint64_t values; /* attributes that the entry cannot do without */
    uint64_t unused; /* others, with the first of them */
    uint64_t unused_record, unused_cluster;
    uint64_t system; /* of NTFS's own files, with the first of them */
    uint64_t system_record, system_cluster;
};

#define CATALOG_WARNINGS_MAX 12

struct catalog {
    char *folder;
    struct area blobs;
    struct area slots;     /* struct catalog_slot per entry */
    struct area by_record; /* uint32_t per record: entry + 1, or 0 */
    struct area strays;    /* struct catalog_stray */
    struct area crossings; /* struct catalog_crossing by entry and stream; open only if any */
    size_t crossing_count;
    struct catalog_crossed_totals crossed;
    char *warnings[CATALOG_WARNINGS_MAX];
    size_t warning_count;
    struct catalog_words words;
    struct volume_scan_totals totals;
    uint64_t record_limit; /* entries in by_record */
    uint32_t count;
    uint32_t stray_count;
};

/* Empty, to be filled on one thread. */
struct catalog *catalog_new(const char *folder, struct error *err);
/* In any order. Of two with the same record the first stays. */
int catalog_add(struct catalog *catalog, const struct volume_entry *entry,
                struct error *err) WARN_UNUSED;
int catalog_add_stray(struct catalog *catalog, uint64_t record, uint16_t sequence, uint64_t base,
                      const char *why, struct error *err) WARN_UNUSED;
/* Sorts and indexes; nothing can be looked up before, nothing added after. */
int catalog_finish(struct catalog *catalog, const struct volume_scan_totals *totals,
                   struct error *err) WARN_UNUSED;

/* Find the crossings of a finished catalog. */
int catalog_cross(struct catalog *catalog, const struct volume_claims *claims,
                  struct error *err) WARN_UNUSED;
/* Write them into a view that was just filled. */
int catalog_mark_crossed(const struct catalog *catalog, struct catalog_view *view,
                         struct error *err) WARN_UNUSED;
void catalog_warn_crossed(struct catalog *catalog);
/* Keep a warning for the report. */
void catalog_warn(struct catalog *catalog, const char *fmt, ...) PRINTF_LIKE(2, 3);

/* Compare the directory indexes, and warn of differences. */
int catalog_check_indexes(struct catalog *catalog, struct volume_indexes *indexes,
                          struct error *err) WARN_UNUSED;

static inline struct catalog_slot *catalog_slots(const struct catalog *catalog)
{
    return (struct catalog_slot *)(void *)catalog->slots.bytes;
}

/* Sort the slots by record and drop all but the first of equal records. */
int catalog_order(struct catalog *catalog, struct error *err) WARN_UNUSED;

/* ---- blobs ----------------------------------------------------------------------------------- */

enum catalog_flag {
    CATALOG_DIRECTORY = 1 << 0,
    CATALOG_HAS_STANDARD = 1 << 1,
    CATALOG_CASE_SENSITIVE = 1 << 2,
    CATALOG_DOS_NAMES_ONLY = 1 << 3, /* no longer twin: the 8.3 names are the names */
    CATALOG_PROBLEM = 1 << 4,
    CATALOG_REPARSE_TAG = 1 << 5,
    CATALOG_REPARSE = 1 << 6,
    CATALOG_OBJECT_ID = 1 << 7,
    CATALOG_EA = 1 << 8,
    CATALOG_SECURITY = 1 << 9,
    CATALOG_EFS = 1 << 10,
    CATALOG_INDEX = 1 << 11,
    CATALOG_LOST_VALUE = 1 << 12,
};

enum { CATALOG_NAME_SPACE = 3, CATALOG_NAME_SAME_PARENT = 4, CATALOG_NAME_ODD_SPACE = 8 };

enum catalog_stream_flag {
    CATALOG_STREAM_FORM = 7,
    CATALOG_STREAM_PROBLEM = 1 << 3,
    CATALOG_STREAM_ALL_VALID = 1 << 4,
    CATALOG_STREAM_FLAGS = 1 << 5,
    CATALOG_STREAM_ELSEWHERE = 1 << 6, /* record is not the entry's own */
    CATALOG_STREAM_LOST = 1 << 7,
};

#define CATALOG_SPACE_DOS 2
#define CATALOG_OBJECT_ID_BYTES 16

/* An upper bound for the blob of `entry`; SIZE_MAX when there is none. */
size_t catalog_encode_bound(const struct volume_entry *entry);
/* Write the blob to `out`, which has room for the bound. The end, or NULL: out of memory. */
uint8_t *catalog_encode(struct catalog_words *words, const struct volume_entry *entry,
                        uint8_t *out);

#endif
