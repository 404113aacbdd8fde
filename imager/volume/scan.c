/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The first pass over $MFT: every record once, in blocks. Base records without an attribute list
 * are handed over at once; the others and the extension records are noted for merge.c.
 */
#include <string.h>

#include "volume/claims.h"
#include "volume/grow.h"
#include "volume/indexes.h"
#include "volume/mount.h"
#include "volume/scan.h"

#define BLOCK_BYTES (UINT32_C(1) << 20)
/* The kernel copies several times faster to the start of a page. */
#define BLOCK_ALIGNMENT 4096
/* The bitmap is read in pieces so that a bad sector hides few records. */
#define BITMAP_PIECE_BYTES 4096
/* Records that Windows keeps for itself; it marks some of them in the bitmap only. */
#define RESERVED_FIRST 12
#define RESERVED_LAST 23

static int scan_open(struct scan *scan, struct error *err);
static void scan_clear(struct scan *scan);
static int read_bitmap(struct scan *scan, struct error *err);
static int scan_blocks(struct scan *scan, struct error *err);
static int read_block(struct scan *scan, uint64_t first, size_t count, struct error *err);
static int scan_record(struct scan *scan, uint64_t number, uint8_t *record, bool unreadable,
                       struct error *err);
static bool is_in_bitmap(const struct scan *scan, uint64_t number, bool unknown);
static int scan_whole_record(struct scan *scan, uint64_t number, uint8_t *record,
                             struct error *err);
static int scan_base(struct scan *scan, uint64_t number, const uint8_t *record,
                     const struct record_header *header, const char *problem, struct error *err);
static int note_extension(struct scan *scan, uint64_t number, const struct record_header *header,
                          struct error *err);
static int note_listed_base(struct scan *scan, uint64_t number, struct error *err);
static int report_unclaimed(struct scan *scan, struct error *err);

int volume_scan(struct volume *volume, const struct volume_visitor *visitor,
                struct volume_scan_totals *ret_totals, struct error *err)
{
    CLEANUP(scan_clear) struct scan scan = {.volume = volume, .visitor = visitor};
    struct error unasked;

    err = err != NULL ? err : &unasked;
    if (scan_open(&scan, err) != 0 || scan_blocks(&scan, err) != 0 ||
        merge_listed_bases(&scan, err) != 0 || report_unclaimed(&scan, err) != 0) {
        return -1;
    }
    if (visitor->claims != NULL && claims_finish(visitor->claims, err) != 0) {
        return -1;
    }
    *ret_totals = scan.totals;
    return 0;
}

int scan_hand_over(struct scan *scan, struct error *err)
{
    struct volume_claims *claims = scan->visitor->claims;
    struct volume_indexes *indexes = scan->visitor->indexes;

    if (builder_finish(&scan->builder, err) != 0 ||
        (claims != NULL && claims_take(claims, &scan->builder, err) != 0) ||
        (indexes != NULL && indexes_take(indexes, &scan->builder, err) != 0)) {
        return -1;
    }
    scan->totals.bases++;
    return scan->visitor->entry(scan->visitor->self, &scan->builder.entry, err);
}

int scan_stray(struct scan *scan, uint64_t record, uint16_t sequence, uint64_t base,
               const char *why, struct error *err)
{
    scan->totals.stray++;
    return scan->visitor->stray(scan->visitor->self, record, sequence, base, why, err);
}

struct scan_extension *scan_find_extension(struct scan *scan, uint64_t ref, uint64_t base_ref)
{
    size_t low = 0;
    size_t high = scan->extension_count;

    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (scan->extensions[middle].record < VOLUME_REF_RECORD(ref)) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    if (low >= scan->extension_count) {
        return NULL;
    }
    struct scan_extension *extension = &scan->extensions[low];
    bool matches = extension->record == VOLUME_REF_RECORD(ref) &&
                   extension->sequence == VOLUME_REF_SEQUENCE(ref) &&
                   extension->base_ref == base_ref;
    return matches ? extension : NULL;
}

static int scan_open(struct scan *scan, struct error *err)
{
    uint64_t bitmap_bytes = scan->volume->info.mft_records / 8 + BITMAP_PIECE_BYTES;

    if (builder_init(&scan->builder, scan->volume, err) != 0) {
        return -1;
    }
    scan->block = aligned_alloc(BLOCK_ALIGNMENT, BLOCK_BYTES);
    scan->bitmap = calloc(1, bitmap_bytes);
    scan->bitmap_unknown = calloc(1, bitmap_bytes / BITMAP_PIECE_BYTES / 8 + 1);
    scan->unreadable = calloc(BLOCK_BYTES / scan->volume->boot.record_bytes, sizeof(bool));
    if (scan->block == NULL || scan->unreadable == NULL || scan->bitmap == NULL ||
        scan->bitmap_unknown == NULL) {
        return error_memory(err, "scan of $MFT");
    }
    return read_bitmap(scan, err);
}

static void scan_clear(struct scan *scan)
{
    builder_clear(&scan->builder);
    free(scan->block);
    free(scan->unreadable);
    free(scan->bitmap);
    free(scan->bitmap_unknown);
    free(scan->extensions);
    free(scan->listed_bases);
}

static int read_bitmap(struct scan *scan, struct error *err)
{
    uint64_t needed = (scan->volume->info.mft_records + 7) / 8;

    for (uint64_t offset = 0; offset < needed; offset += BITMAP_PIECE_BYTES) {
        struct error cause = {0};
        uint64_t piece = offset / BITMAP_PIECE_BYTES;
        ssize_t count = -1;
        if (scan->volume->mount != NULL) {
            count = mount_read_mft_bitmap(scan->volume->mount, offset, scan->bitmap + offset,
                                          BITMAP_PIECE_BYTES, &cause);
            if (count < 0 && cause.kind != ERROR_FAIL_ENTRY) {
                *err = cause;
                return -1;
            }
        }
        if (count < 0) {
            log_write(LOG_DEBUG, "volume", "a piece of $MFT:$BITMAP cannot be read: %s",
                      cause.message);
            scan->bitmap_unknown[piece / 8] |= (uint8_t)(1U << piece % 8);
        }
    }
    return 0;
}

static int scan_blocks(struct scan *scan, struct error *err)
{
    uint32_t record_bytes = scan->volume->boot.record_bytes;
    uint64_t total = scan->volume->info.mft_records;
    size_t per_block = BLOCK_BYTES / record_bytes;

    for (uint64_t first = 0; first < total; first += per_block) {
        size_t count = total - first < per_block ? (size_t)(total - first) : per_block;
        if (read_block(scan, first, count, err) != 0) {
            return -1;
        }
        scan->totals.mft_crc32c =
            crc32c_update(scan->totals.mft_crc32c, scan->block, count * record_bytes);
        for (size_t i = 0; i < count; i++) {
            if (scan_record(scan, first + i, scan->block + i * record_bytes, scan->unreadable[i],
                            err) != 0) {
                return -1;
            }
        }
        if (scan->visitor->progress != NULL) {
            scan->visitor->progress(scan->visitor->self, first + count, total);
        }
    }
    return 0;
}

/* Where a block has a bad sector its records are read one by one; one that cannot be read stays
 * zero and so has no signature. */
static int read_block(struct scan *scan, uint64_t first, size_t count, struct error *err)
{
    uint32_t record_bytes = scan->volume->boot.record_bytes;
    struct error cause = {0};

    memset(scan->unreadable, 0, count * sizeof(*scan->unreadable));
    if (volume_read_records(scan->volume, first, count, scan->block, &cause) == 0) {
        return 0;
    }
    for (size_t i = 0; i < count && cause.kind == ERROR_FAIL_ENTRY; i++) {
        uint8_t *record = scan->block + i * record_bytes;
        if (volume_read_records(scan->volume, first + i, 1, record, &cause) != 0) {
            memset(record, 0, record_bytes);
            scan->unreadable[i] = true;
        }
    }
    if (cause.kind != ERROR_FAIL_ENTRY) {
        *err = cause;
        return -1;
    }
    return 0;
}

static int scan_record(struct scan *scan, uint64_t number, uint8_t *record, bool unreadable,
                       struct error *err)
{
    uint32_t signature = read_le32(record);
    bool has_signature = signature == RECORD_SIGNATURE_FILE || signature == RECORD_SIGNATURE_BAAD;
    bool in_header = has_signature && (read_le16(record + 22) & RECORD_FLAG_IN_USE) != 0;
    bool in_bitmap = is_in_bitmap(scan, number, in_header || unreadable);

    scan->totals.records++;
    if (!in_header && !in_bitmap) {
        return 0;
    }
    scan->totals.records_in_use++;
    if (in_header && in_bitmap) {
        return scan_whole_record(scan, number, record, err);
    }
    uint16_t sequence = has_signature ? read_le16(record + 16) : 0;
    if (number >= RESERVED_FIRST && number <= RESERVED_LAST) {
        builder_start(&scan->builder, number, NULL);
        scan->builder.entry.sequence = sequence;
        return scan_hand_over(scan, err);
    }
    const char *why = in_header ? "in use by its header, free in $MFT:$BITMAP"
                      : unreadable
                          ? "in use in $MFT:$BITMAP or not known to be free, but it cannot be read"
                      : !has_signature
                          ? "in use in $MFT:$BITMAP, but it has no FILE signature"
                          : "in use in $MFT:$BITMAP, free by its header";
    return scan_stray(scan, number, sequence, has_signature ? read_le64(record + 32) : 0, why, err);
}

/* `unknown`: the answer where the bitmap cannot be read. Then the header decides, and what cannot
 * be read either counts as in use, since a file may be there. */
static bool is_in_bitmap(const struct scan *scan, uint64_t number, bool unknown)
{
    uint64_t piece = number / 8 / BITMAP_PIECE_BYTES;

    if ((scan->bitmap_unknown[piece / 8] >> piece % 8 & 1) != 0) {
        return unknown;
    }
    return (scan->bitmap[number / 8] >> number % 8 & 1) != 0;
}

static int scan_whole_record(struct scan *scan, uint64_t number, uint8_t *record, struct error *err)
{
    uint32_t record_bytes = scan->volume->boot.record_bytes;
    struct record_header header;
    const char *torn = record_fix_up(record, record_bytes);
    const char *problem = record_parse_header(record, record_bytes, &header);

    if (torn != NULL) {
        return scan_stray(scan, number, header.sequence, header.base_ref, torn, err);
    }
    if (header.base_ref == 0) {
        return scan_base(scan, number, record, &header, problem, err);
    }
    if (problem != NULL) {
        return scan_stray(scan, number, header.sequence, header.base_ref, problem, err);
    }
    return note_extension(scan, number, &header, err);
}

static int scan_base(struct scan *scan, uint64_t number, const uint8_t *record,
                     const struct record_header *header, const char *problem, struct error *err)
{
    struct record_attribute attribute;
    uint32_t at = header->first_attribute;
    int more = problem == NULL ? 1 : 0;

    builder_start(&scan->builder, number, header);
    while (more > 0) {
        more = record_next_attribute(record, header, &at, &attribute, &problem);
        if (more > 0 && attribute.type == ATTRIBUTE_LIST) {
            return note_listed_base(scan, number, err);
        }
        if (more > 0 && builder_add(&scan->builder, &attribute, number, err) != 0) {
            return -1;
        }
    }
    if (problem != NULL) {
        builder_set_problem(&scan->builder, problem);
    }
    return scan_hand_over(scan, err);
}

static int note_extension(struct scan *scan, uint64_t number, const struct record_header *header,
                          struct error *err)
{
    if (grow_array((void **)&scan->extensions, &scan->extension_cap, scan->extension_count + 1,
                   sizeof(*scan->extensions)) != 0) {
        return error_memory(err, "extension records");
    }
    scan->extensions[scan->extension_count++] = (struct scan_extension){
        .record = number, .base_ref = header->base_ref, .sequence = header->sequence};
    return 0;
}

static int note_listed_base(struct scan *scan, uint64_t number, struct error *err)
{
    if (grow_array((void **)&scan->listed_bases, &scan->listed_base_cap,
                   scan->listed_base_count + 1, sizeof(*scan->listed_bases)) != 0) {
        return error_memory(err, "records with an attribute list");
    }
    scan->listed_bases[scan->listed_base_count++] = number;
    return 0;
}

static int report_unclaimed(struct scan *scan, struct error *err)
{
    for (size_t i = 0; i < scan->extension_count; i++) {
        const struct scan_extension *extension = &scan->extensions[i];
        if (extension->claimed) {
            continue;
        }
        if (scan_stray(scan, extension->record, extension->sequence, extension->base_ref,
                       "an extension record that no attribute list names", err) != 0) {
            return -1;
        }
    }
    return 0;
}
