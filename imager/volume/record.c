/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Parses $MFT records. The positions are those of the on-disk format; every length is checked
 * against the bytes in use before anything behind it is looked at.
 */
#include "volume/record.h"

#define FIX_UP_BYTES 512 /* also where sectors have 4 KiB */
/* Windows writes the update sequence array at 48, Linux ntfs3 and NTFS before XP at 42. */
#define HEADER_BYTES_MIN 42
#define ATTRIBUTE_END UINT32_C(0xFFFFFFFF)
#define RESIDENT_BYTES_MIN 24
#define NONRESIDENT_BYTES_MIN 64
#define NONRESIDENT_BYTES_STORED 72

static const char *parse_resident(const uint8_t *at, uint32_t len, struct record_attribute *to);
static const char *parse_nonresident(const uint8_t *at, uint32_t len, struct record_attribute *to);

const char *record_fix_up(uint8_t *record, uint32_t record_bytes)
{
    uint32_t signature = read_le32(record);

    if (signature == RECORD_SIGNATURE_BAAD) {
        return "the record is marked as torn (BAAD)";
    }
    if (signature != RECORD_SIGNATURE_FILE) {
        return "the record has no FILE signature";
    }
    return record_undo_fix_ups(record, record_bytes, HEADER_BYTES_MIN);
}

const char *record_undo_fix_ups(uint8_t *block, uint32_t block_bytes, uint32_t array_min)
{
    uint32_t array = read_le16(block + 4);
    uint32_t count = read_le16(block + 6);

    if (count != block_bytes / FIX_UP_BYTES + 1 || array < array_min || array % 2 != 0 ||
        array + 2 * count > FIX_UP_BYTES - 2) {
        return "the record's update sequence is malformed";
    }
    const uint8_t *number = block + array;
    for (uint32_t i = 1; i < count; i++) {
        const uint8_t *end = block + i * FIX_UP_BYTES - 2;
        if (end[0] != number[0] || end[1] != number[1]) {
            return "the record is torn: it was not written to its end";
        }
    }
    for (uint32_t i = 1; i < count; i++) {
        uint8_t *end = block + i * FIX_UP_BYTES - 2;
        end[0] = number[2 * i];
        end[1] = number[2 * i + 1];
    }
    return NULL;
}

const char *record_parse_header(const uint8_t *record, uint32_t record_bytes,
                                struct record_header *ret_header)
{
    ret_header->lsn = read_le64(record + 8);
    ret_header->sequence = read_le16(record + 16);
    ret_header->link_count = read_le16(record + 18);
    ret_header->first_attribute = read_le16(record + 20);
    ret_header->flags = read_le16(record + 22);
    ret_header->used_bytes = read_le32(record + 24);
    ret_header->base_ref = read_le64(record + 32);
    if (read_le32(record + 28) != record_bytes) {
        return "the record states another size than the volume's records have";
    }
    if (ret_header->used_bytes > record_bytes || ret_header->first_attribute < HEADER_BYTES_MIN ||
        ret_header->first_attribute >= ret_header->used_bytes) {
        return "the record's lengths are wrong";
    }
    return NULL;
}

int record_next_attribute(const uint8_t *record, const struct record_header *header, uint32_t *at,
                          struct record_attribute *ret_attribute, const char **ret_problem)
{
    const uint8_t *from = record + *at;
    uint32_t room = header->used_bytes - *at;

    if (*at >= header->used_bytes || room < 4) {
        *ret_problem = "the record's attributes have no end";
        return -1;
    }
    uint32_t type = read_le32(from);
    if (type == ATTRIBUTE_END) {
        return 0;
    }
    uint32_t len = room < RESIDENT_BYTES_MIN ? 0 : read_le32(from + 4);
    if (len < RESIDENT_BYTES_MIN || len > room) {
        *ret_problem = "an attribute's length is wrong";
        return -1;
    }
    uint32_t name_at = read_le16(from + 10);
    uint32_t name_bytes = from[9] * 2U;
    if (name_bytes > 0 && (name_at > len || name_bytes > len - name_at)) {
        *ret_problem = "an attribute's name lies outside it";
        return -1;
    }
    *ret_attribute = (struct record_attribute){
        .type = type,
        .flags = read_le16(from + 12),
        .id = read_le16(from + 14),
        .name = from + (name_bytes > 0 ? name_at : 0),
        .name_len = from[9],
        .resident = from[8] == 0,
    };
    const char *problem = from[8] == 0 ? parse_resident(from, len, ret_attribute)
                                       : parse_nonresident(from, len, ret_attribute);
    if (problem != NULL) {
        *ret_problem = problem;
        return -1;
    }
    *at += len;
    return 1;
}

bool record_name_is(const struct record_attribute *attribute, const uint16_t *name, size_t name_len)
{
    if (attribute->name_len != name_len) {
        return false;
    }
    for (size_t i = 0; i < name_len; i++) {
        if (read_le16(attribute->name + 2 * i) != name[i]) {
            return false;
        }
    }
    return true;
}

static const char *parse_resident(const uint8_t *at, uint32_t len, struct record_attribute *to)
{
    uint32_t value_len = read_le32(at + 16);
    uint32_t value_at = read_le16(at + 20);

    if (value_at > len || value_len > len - value_at) {
        return "an attribute's value lies outside it";
    }
    to->value = at + value_at;
    to->value_len = value_len;
    return NULL;
}

static const char *parse_nonresident(const uint8_t *at, uint32_t len, struct record_attribute *to)
{
    if (len < NONRESIDENT_BYTES_MIN) {
        return "an attribute's length is wrong";
    }
    uint64_t lowest = read_le64(at + 16);
    uint64_t highest = read_le64(at + 24);
    uint32_t pairs_at = read_le16(at + 32);
    /* An empty stream has highest = lowest - 1, which for 0 is all ones. */
    uint64_t clusters = highest + 1 - lowest;
    if (lowest > INT64_MAX || clusters > INT64_MAX || pairs_at < NONRESIDENT_BYTES_MIN ||
        pairs_at > len) {
        return "an attribute's cluster numbers are wrong";
    }
    to->lowest_vcn = lowest;
    to->clusters = clusters;
    to->pairs = at + pairs_at;
    to->pairs_len = len - pairs_at;
    to->compression_unit = at[34];
    to->allocated_bytes = read_le64(at + 40);
    to->size_bytes = read_le64(at + 48);
    to->valid_bytes = read_le64(at + 56);
    to->stored_bytes = to->allocated_bytes;
    bool has_stored = (to->flags & (ATTRIBUTE_FLAG_COMPRESSION | ATTRIBUTE_FLAG_SPARSE)) != 0;
    if (has_stored && lowest == 0 && pairs_at >= NONRESIDENT_BYTES_STORED) {
        to->stored_bytes = read_le64(at + 64);
    }
    return NULL;
}
