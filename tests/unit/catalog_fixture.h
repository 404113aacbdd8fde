/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Entries put together by hand, for the tests of catalog and plan, which need no volume. */
#ifndef WINCH_TESTS_CATALOG_FIXTURE_H
#define WINCH_TESTS_CATALOG_FIXTURE_H

#include "catalog/catalog_internal.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <string.h>

#define REF(record, sequence) ((uint64_t)(record) | (uint64_t)(sequence) << 48)
#define ROOT REF(5, 5)
enum { MADE_NAMES = 8, MADE_STREAMS = 8, MADE_EXTENTS = 32, MADE_UNITS = 4096 };
enum { SPACE_POSIX, SPACE_WIN32, SPACE_DOS, SPACE_BOTH };

struct made {
    struct volume_entry entry;
    struct volume_name names[MADE_NAMES];
    struct volume_stream streams[MADE_STREAMS];
    struct volume_extent extents[MADE_EXTENTS];
    uint16_t units[MADE_UNITS];
    size_t extent_count, unit_count;
};

static inline void made_start(struct made *made, uint64_t record, uint16_t sequence)
{
    made->entry = (struct volume_entry){
        .record = record,
        .sequence = sequence,
        .names = made->names,
        .streams = made->streams,
        .has_standard = true,
        .created = 133000000000000000ULL,
        .modified = 133000000000000000ULL,
        .changed = 133000000000000000ULL,
        .accessed = 133000000000000000ULL,
        .link_count = 1,
    };
    made->extent_count = 0;
    made->unit_count = 0;
}

/* Plain text becomes units; for names that no UTF-8 can spell there is made_units(). */
static inline const uint16_t *made_text(struct made *made, const char *name, uint8_t *ret_len)
{
    uint16_t *units = made->units + made->unit_count;
    ssize_t len = utf_to_utf16(name, strlen(name), units, MADE_UNITS - made->unit_count);
    assert_in_range(len, 0, 255);
    made->unit_count += (size_t)len;
    *ret_len = (uint8_t)len;
    return units;
}

static inline void made_units(struct made *made, uint64_t parent_ref, const uint16_t *units,
                              uint8_t len, uint8_t space)
{
    assert_true(made->entry.name_count < MADE_NAMES);
    made->names[made->entry.name_count++] =
        (struct volume_name){.parent_ref = parent_ref, .units = units, .len = len, .space = space};
}

static inline void made_name(struct made *made, uint64_t parent_ref, const char *name,
                             uint8_t space)
{
    uint8_t len;
    const uint16_t *units = made_text(made, name, &len);
    made_units(made, parent_ref, units, len, space);
}

static inline struct volume_stream *made_stream(struct made *made, const char *name,
                                                enum volume_form form, uint64_t size_bytes)
{
    assert_true(made->entry.stream_count < MADE_STREAMS);
    struct volume_stream *stream = &made->streams[made->entry.stream_count++];
    *stream = (struct volume_stream){
        .form = form,
        .size_bytes = size_bytes,
        .valid_bytes = size_bytes,
        .allocated_bytes = size_bytes,
        .record = made->entry.record,
    };
    stream->name = made_text(made, name, &stream->name_len);
    return stream;
}

/* To the stream that was made last. */
static inline void made_extent(struct made *made, uint64_t cluster, uint64_t clusters)
{
    assert_true(made->extent_count < MADE_EXTENTS);
    struct volume_stream *stream = &made->streams[made->entry.stream_count - 1];
    if (stream->extents == NULL) {
        stream->extents = &made->extents[made->extent_count];
    }
    made->extents[made->extent_count++] = (struct volume_extent){cluster, clusters};
    stream->extent_count++;
}

static inline struct catalog *made_catalog(void)
{
    struct error err = {0};
    struct catalog *catalog = catalog_new(NULL, &err);
    assert_non_null(catalog);
    return catalog;
}

static inline void made_add(struct catalog *catalog, const struct made *made)
{
    struct error err = {0};
    assert_int_equal(catalog_add(catalog, &made->entry, &err), 0);
}

static inline void made_finish(struct catalog *catalog, uint64_t records)
{
    struct error err = {0};
    struct volume_scan_totals totals = {.records = records};
    assert_int_equal(catalog_finish(catalog, &totals, &err), 0);
}

/* A directory, and a file with resident data. */
static inline void made_add_directory(struct catalog *catalog, uint64_t record, uint16_t sequence,
                                      uint64_t parent_ref, const char *name)
{
    struct made made;
    made_start(&made, record, sequence);
    made_name(&made, parent_ref, name, SPACE_BOTH);
    made.entry.directory = true;
    made_add(catalog, &made);
}

static inline void made_add_file(struct catalog *catalog, uint64_t record, uint16_t sequence,
                                 uint64_t parent_ref, const char *name)
{
    struct made made;
    made_start(&made, record, sequence);
    made_name(&made, parent_ref, name, SPACE_BOTH);
    (void)made_stream(&made, "", VOLUME_RESIDENT, 10);
    made_add(catalog, &made);
}

static inline void made_add_root(struct catalog *catalog)
{
    made_add_directory(catalog, 5, 5, ROOT, ".");
}

#endif
