/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Makes $MFT records and volumes of nothing but $MFT, for the tests of volume.
 */
#ifndef WINCH_TEST_RECORD_MAKER_H
#define WINCH_TEST_RECORD_MAKER_H

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "volume/record.h"
#include "volume/volume_internal.h"

#define MAKER_RECORD_BYTES 1024
#define MAKER_CLUSTER_BYTES 4096
#define MAKER_CLUSTERS 1000000
#define MAKER_ATTRIBUTES_AT 56

static inline void put16(uint8_t *at, uint64_t value)
{
    at[0] = (uint8_t)value;
    at[1] = (uint8_t)(value >> 8);
}

static inline void put32(uint8_t *at, uint64_t value)
{
    put16(at, value);
    put16(at + 2, value >> 16);
}

static inline void put64(uint8_t *at, uint64_t value)
{
    put32(at, value);
    put32(at + 4, value >> 32);
}

/* An empty record in use. Attributes are appended before maker_close(). */
static inline void maker_open(uint8_t *record, uint16_t sequence, uint64_t base_ref)
{
    memset(record, 0, MAKER_RECORD_BYTES);
    memcpy(record, "FILE", 4);
    put16(record + 4, 48);
    put16(record + 6, MAKER_RECORD_BYTES / 512 + 1);
    put16(record + 16, sequence);
    put16(record + 18, 1);
    put16(record + 20, MAKER_ATTRIBUTES_AT);
    put16(record + 22, RECORD_FLAG_IN_USE);
    put32(record + 24, MAKER_ATTRIBUTES_AT);
    put32(record + 28, MAKER_RECORD_BYTES);
    put64(record + 32, base_ref);
}

static inline uint8_t *maker_attribute(uint8_t *record, uint32_t type, const char *name,
                                       uint32_t header_len, uint32_t body_len)
{
    uint32_t at = read_le32(record + 24);
    uint32_t name_len = (uint32_t)strlen(name);
    uint32_t name_bytes = (name_len * 2 + 7) / 8 * 8;
    uint32_t len = header_len + name_bytes + (body_len + 7) / 8 * 8;
    uint8_t *attribute = record + at;

    if (at + len + 8 > MAKER_RECORD_BYTES) {
        abort(); /* a test that asks for too much */
    }
    put32(attribute, type);
    put32(attribute + 4, len);
    attribute[9] = (uint8_t)name_len;
    put16(attribute + 10, header_len);
    for (uint32_t i = 0; i < name_len; i++) {
        put16(attribute + header_len + 2 * i, (uint8_t)name[i]);
    }
    put32(record + 24, at + len);
    return attribute;
}

static inline uint8_t *maker_resident(uint8_t *record, uint32_t type, const char *name,
                                      const void *value, uint32_t len)
{
    uint8_t *attribute = maker_attribute(record, type, name, 24, len);
    uint32_t value_at = 24 + ((uint32_t)strlen(name) * 2 + 7) / 8 * 8;

    put32(attribute + 16, len);
    put16(attribute + 20, value_at);
    memcpy(attribute + value_at, value, len);
    return attribute;
}

/* `clusters` are those that the pairs cover. Allocated, data and valid size are whole clusters, for
 * the tests to change at 40, 48 and 56. */
static inline uint8_t *maker_nonresident(uint8_t *record, uint32_t type, const char *name,
                                         uint64_t lowest_vcn, uint64_t clusters, const void *pairs,
                                         uint32_t len)
{
    uint8_t *attribute = maker_attribute(record, type, name, 64, len);
    uint32_t pairs_at = 64 + ((uint32_t)strlen(name) * 2 + 7) / 8 * 8;

    attribute[8] = 1;
    put64(attribute + 16, lowest_vcn);
    put64(attribute + 24, lowest_vcn + clusters - 1);
    put16(attribute + 32, pairs_at);
    if (lowest_vcn == 0) {
        put64(attribute + 40, clusters * MAKER_CLUSTER_BYTES);
        put64(attribute + 48, clusters * MAKER_CLUSTER_BYTES);
        put64(attribute + 56, clusters * MAKER_CLUSTER_BYTES);
    }
    memcpy(attribute + pairs_at, pairs, len);
    return attribute;
}

static inline void maker_name(uint8_t *record, uint64_t parent_ref, const char *name)
{
    uint8_t value[66 + 2 * 255] = {0};
    size_t len = strlen(name);

    put64(value, parent_ref);
    value[64] = (uint8_t)len;
    value[65] = 1;
    for (size_t i = 0; i < len; i++) {
        put16(value + 66 + 2 * i, (uint8_t)name[i]);
    }
    (void)maker_resident(record, ATTRIBUTE_NAME, "", value, (uint32_t)(66 + 2 * len));
}

static inline void maker_standard(uint8_t *record)
{
    uint8_t value[72] = {0};

    put64(value, 11);
    put64(value + 8, 22);
    put64(value + 16, 33);
    put64(value + 24, 44);
    put32(value + 32, 0x20);
    put32(value + 48, 5);
    put32(value + 52, 260);
    put64(value + 64, 77);
    (void)maker_resident(record, ATTRIBUTE_STANDARD, "", value, sizeof(value));
}

/* End mark and fix-ups. */
static inline void maker_close(uint8_t *record)
{
    uint32_t used = read_le32(record + 24);

    put32(record + used, UINT32_MAX);
    put32(record + 24, used + 8);
    put16(record + 48, 0x1234);
    for (uint32_t i = 1; i <= MAKER_RECORD_BYTES / 512; i++) {
        uint8_t *end = record + i * 512 - 2;
        put16(record + 48 + 2 * i, read_le16(end));
        put16(end, 0x1234);
    }
}

/* One entry of an attribute list; returns its length. */
static inline uint32_t maker_list_entry(uint8_t *to, uint32_t type, const char *name,
                                        uint64_t lowest_vcn, uint64_t ref)
{
    uint32_t name_len = (uint32_t)strlen(name);
    uint32_t len = (26 + 2 * name_len + 7) / 8 * 8;

    memset(to, 0, len);
    put32(to, type);
    put16(to + 4, len);
    to[6] = (uint8_t)name_len;
    to[7] = 26;
    put64(to + 8, lowest_vcn);
    put64(to + 16, ref);
    for (uint32_t i = 0; i < name_len; i++) {
        put16(to + 26 + 2 * i, (uint8_t)name[i]);
    }
    return len;
}

/* A volume that consists of the records: no mount, no bitmap. Its disk is a file without a name. */
static inline struct volume *maker_volume(const uint8_t *records, size_t count)
{
    char path[] = "/tmp/winch-records-XXXXXX";
    size_t len = count * MAKER_RECORD_BYTES;
    int fd = mkstemp(path);
    struct volume *volume = calloc(1, sizeof(*volume));
    struct error err = {0};

    if (fd < 0 || volume == NULL || write(fd, records, len) != (ssize_t)len ||
        ftruncate(fd, (off_t)((len + MAKER_CLUSTER_BYTES - 1) / MAKER_CLUSTER_BYTES) *
                          MAKER_CLUSTER_BYTES) != 0) {
        abort();
    }
    (void)close(fd);
    volume->disk = disk_open(path, &err);
    (void)unlink(path);
    if (volume->disk == NULL) {
        abort();
    }
    volume->boot = (struct boot){.cluster_bytes = MAKER_CLUSTER_BYTES,
                                 .record_bytes = MAKER_RECORD_BYTES,
                                 .size_bytes = MAKER_CLUSTERS * (uint64_t)MAKER_CLUSTER_BYTES,
                                 .cluster_count = MAKER_CLUSTERS};
    struct volume_extent all = {.cluster = 0, .clusters = len / MAKER_CLUSTER_BYTES + 1};
    struct extent_list list = {.items = &all, .count = 1};
    if (mft_set_extents(volume, &list, len, len, &err) != 0) {
        abort();
    }
    return volume;
}

static inline void maker_volume_free(struct volume *volume)
{
    struct disk *disk = volume->disk;

    volume_free(volume);
    disk_free(disk);
}

#endif
