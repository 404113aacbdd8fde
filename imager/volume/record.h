/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * One $MFT record: fix-ups, header, attributes. Pure functions on buffers; nothing in a record is
 * believed before it was checked. Problems are sentence parts that live forever.
 */
#ifndef WINCH_VOLUME_RECORD_H
#define WINCH_VOLUME_RECORD_H

#include "base/base.h"

enum record_attribute_type {
    ATTRIBUTE_STANDARD = 0x10,
    ATTRIBUTE_LIST = 0x20,
    ATTRIBUTE_NAME = 0x30,
    ATTRIBUTE_OBJECT_ID = 0x40,
    ATTRIBUTE_SECURITY = 0x50,
    ATTRIBUTE_VOLUME_NAME = 0x60,
    ATTRIBUTE_VOLUME_INFORMATION = 0x70,
    ATTRIBUTE_DATA = 0x80,
    ATTRIBUTE_INDEX_ROOT = 0x90,
    ATTRIBUTE_INDEX_ALLOCATION = 0xA0,
    ATTRIBUTE_BITMAP = 0xB0,
    ATTRIBUTE_REPARSE = 0xC0,
    ATTRIBUTE_EA = 0xE0,
    ATTRIBUTE_UTILITY = 0x100,
};

#define ATTRIBUTE_FLAG_COMPRESSION 0x00FF
#define ATTRIBUTE_FLAG_LZNT1 0x0001
#define ATTRIBUTE_FLAG_ENCRYPTED 0x4000
#define ATTRIBUTE_FLAG_SPARSE 0x8000

#define RECORD_FLAG_IN_USE 0x0001
#define RECORD_FLAG_DIRECTORY 0x0002

#define RECORD_SIGNATURE_FILE UINT32_C(0x454C4946)
#define RECORD_SIGNATURE_BAAD UINT32_C(0x44414142)

struct record_header {
    uint64_t lsn;
    uint64_t base_ref;
    uint32_t first_attribute; /* offset */
    uint32_t used_bytes;
    uint16_t sequence;
    uint16_t link_count;
    uint16_t flags;
};

struct record_attribute {
    uint32_t type;
    uint16_t flags;
    uint16_t id;
    const uint8_t *name; /* UTF-16LE, any alignment */
    uint8_t name_len;    /* units */
    bool resident;
    const uint8_t *value; /* resident */
    uint32_t value_len;
    uint64_t lowest_vcn; /* not resident, from here on */
    uint64_t clusters;   /* that this piece covers */
    const uint8_t *pairs;
    size_t pairs_len;
    uint8_t compression_unit;
    uint64_t allocated_bytes; /* sizes are meaningful in the first piece only */
    uint64_t size_bytes;
    uint64_t valid_bytes;
    uint64_t stored_bytes; /* of compressed and sparse streams; else the allocated size */
};

/* Check the signature and undo the fix-ups in place, once. NULL, or why the record is torn. */
const char *record_fix_up(uint8_t *record, uint32_t record_bytes);
/* The same for any block whose header begins like a record's; `array_min` is the lowest place where
 * its update sequence array may stand. `block_bytes` is a multiple of 512. */
const char *record_undo_fix_ups(uint8_t *block, uint32_t block_bytes, uint32_t array_min);
/* Fills every field; the problem, if any, concerns first_attribute and used_bytes. */
const char *record_parse_header(const uint8_t *record, uint32_t record_bytes,
                                struct record_header *ret_header);
/* The attribute at *at, which starts as header->first_attribute and moves on. Returns 1; 0 at the
 * end; -1 with *ret_problem set when the rest of the record cannot be trusted. */
int record_next_attribute(const uint8_t *record, const struct record_header *header, uint32_t *at,
                          struct record_attribute *ret_attribute, const char **ret_problem);
/* Does the attribute carry that name (host order)? */
bool record_name_is(const struct record_attribute *attribute, const uint16_t *name,
                    size_t name_len);

#endif
