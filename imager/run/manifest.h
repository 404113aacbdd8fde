/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * manifest: what is in the bucket, for the customer. Lines are described in docs/manifest.md;
 * manifest_line.c writes one, manifest_order.c sorts them by path, manifest_files.c packs and
 * uploads them.
 */
#ifndef WINCH_RUN_MANIFEST_H
#define WINCH_RUN_MANIFEST_H

#include "run/context.h"
#include "run/control.h"
#include "run/outcome.h"

/* What stands behind a line. */
enum manifest_kind { MANIFEST_STRAY, MANIFEST_ENTRY, MANIFEST_NAME, MANIFEST_STREAM };

struct manifest_item {
    uint64_t key_at;  /* in the arena of keys */
    uint32_t key_len; /* path, for streams with a NUL and the stream's name behind it */
    uint32_t entry;   /* or the stray's number */
    uint16_t detail;  /* name or stream number */
    uint8_t kind;     /* enum manifest_kind */
    uint8_t volume;
};

/* ---- manifest_line.c ---- */

struct manifest_writer {
    struct run *run;
    struct catalog_view view;
    struct plan_namer *namers[RUN_VOLUME_MAX];
};
void manifest_writer_clear(struct manifest_writer *writer);
struct plan_namer *manifest_namer(struct manifest_writer *writer, size_t volume, struct error *err);

/* Append one line with its newline. For errors and inline contents it asks the journal, whose
 * writer must have stopped. */
int manifest_write_line(struct manifest_writer *writer, const struct manifest_item *item,
                        struct text *line, struct error *err) WARN_UNUSED;
/* The short line of an uploaded task, for segments: asks nobody. Thread: the writer's own. */
int manifest_write_task(struct manifest_writer *writer, uint64_t task, struct text *line,
                        struct error *err) WARN_UNUSED;

/* ---- manifest_facts.c ---- */

/* Times, attributes, ids, reparse data, EAs: members with leading commas. */
void manifest_add_facts(const struct run_volume *volume, const struct catalog_view *view,
                        struct text *line);

/* A security descriptor as text, if it can be said. */
void manifest_add_sddl(const uint8_t *descriptor, size_t len, struct text *line);

/* ---- manifest_order.c ---- */

struct manifest_order {
    struct manifest_item *items;
    size_t count, cap;
    struct area keys; /* of all items, one behind the other */
};
/* All lines of the run, sorted by key bytes. */
int manifest_order_build(struct manifest_writer *writer, struct manifest_order *ret_order,
                         struct error *err) WARN_UNUSED;
void manifest_order_clear(struct manifest_order *order);

/* ---- manifest_files.c ---- */

struct manifest_file {
    char name[CONTROL_TAIL_MAX]; /* below the run's folder */
    char *first, *last;          /* paths; owned */
    uint64_t lines, generation, size_bytes;
    uint32_t crc32c;
    uint8_t sha256[32];
};
struct manifest_index {
    struct manifest_file *files;
    size_t count;
    struct manifest_file security;          /* lines 0: none */
    uint64_t states[OUTCOME_UNDECIDED + 1]; /* lines of entries and strays by state */
    uint64_t names, stream_lines;
    char *index_name; /* object name of index.json; owned */
    uint64_t index_generation;
    uint8_t index_sha256[32];
};
/* Write and upload manifest pieces, security.jsonl.gz and index.json. */
int manifest_upload(struct run *run, struct manifest_index *ret_index,
                    struct error *err) WARN_UNUSED;
void manifest_index_clear(struct manifest_index *index);

#endif
