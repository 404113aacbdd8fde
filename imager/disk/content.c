/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What stands on a partition, by its type and its first bytes: pure looks at buffers, for what
 * libblkid does not know or calls by another name. Everything that is not NTFS gets an advice.
 */
#include <string.h>
#include <strings.h>

#include "disk/disk_internal.h"

/* Longer paths than this make the advice unreadable: then it says FILE. */
#define ADVICE_PATH_MAX 64

#define VHD_TYPE_OFFSET 60
#define VHD_TYPE_FIXED 2
#define VHD_TYPE_DIFFERENCING 4

struct type_rule {
    const char *type;
    enum disk_role role;
    const char *kind; /* NULL: look at the bytes */
};

/* Types that say what it is only when the bytes don't. */
static const struct type_rule last_rules[] = {
    {"21686148-6449-6e6f-744e-656564454649", DISK_ROLE_SYSTEM, "bios-boot"},
    {"0657fd6d-a4ab-43c4-84e5-0933c84b4f4f", DISK_ROLE_DATA, "swap"},
};

static const struct type_rule type_rules[] = {
    {"de94bba4-06d1-4d40-a16a-bfd50179d6ac", DISK_ROLE_RECOVERY, NULL},
    {"c12a7328-f81f-11d2-ba4b-00a0c93ec93b", DISK_ROLE_SYSTEM, NULL},
    {"e3c9e316-0b5c-4db8-817d-f92df00215ae", DISK_ROLE_SYSTEM, "reserved"},
    {"5808c8aa-7e8f-42e0-85d2-e1e90434cfb3", DISK_ROLE_SYSTEM, "ldm"},
    {"af9b60a0-1431-4f62-bc68-3311714a69ad", DISK_ROLE_DATA, "ldm"},
    {"e75caf8f-f680-4cee-afa3-b001e56efc2d", DISK_ROLE_DATA, "storage-spaces"},
    {"0x27", DISK_ROLE_RECOVERY, NULL},
    {"0xef", DISK_ROLE_SYSTEM, NULL},
};

static bool is_power_of_two(unsigned value);
static bool is_vhd(const uint8_t *footer);
static uint32_t vhd_type(const uint8_t *footer);

void content_set(struct disk_partition *partition, const char *code)
{
    content_set_container(partition, code, "FILE");
}

void content_set_container(struct disk_partition *partition, const char *code, const char *path)
{
    const struct disk_kind *kind = kind_find(code);
    const char *shown = strlen(path) > ADVICE_PATH_MAX ? "FILE" : path;
    const char *gap = strstr(kind->advice, "%s");

    partition->kind = kind->code;
    partition->content = kind->content;
    probe_copy_text(partition->content_name, sizeof(partition->content_name), kind->name);
    if (gap == NULL) {
        probe_copy_text(partition->advice, sizeof(partition->advice), kind->advice);
    } else {
        (void)snprintf(partition->advice, sizeof(partition->advice), "%.*s%s%s",
                       (int)(gap - kind->advice), kind->advice, shown,
                       gap + 2); /* bounded by ADVICE_PATH_MAX */
    }
}

bool content_recognise(const uint8_t *head, size_t len, struct disk_partition *partition)
{
    if (content_is_bitlocker(head, len)) {
        content_set(partition, "bitlocker");
        return true;
    }
    if (len >= 512 && memcmp(head + 3, "NTFS    ", 8) == 0) {
        content_set(partition, "ntfs");
        (void)snprintf(partition->serial, sizeof(partition->serial), "%016llX",
                       (unsigned long long)read_le64(head + 72)); /* 16 digits always fit */
        return true;
    }
    if (len >= 512 && memcmp(head + 3, "ReFS\0\0\0\0", 8) == 0) {
        content_set(partition, "refs");
        return true;
    }
    return false;
}

bool content_is_ntfs_boot_sector(const uint8_t *sector)
{
    return memcmp(sector + 3, "NTFS    ", 8) == 0 && sector[510] == 0x55 && sector[511] == 0xAA;
}

bool content_is_fat_boot_sector(const uint8_t *head, size_t len)
{
    if (len < 512 || head[510] != 0x55 || head[511] != 0xAA) {
        return false;
    }
    uint16_t sector_bytes = read_le16(head + 11);
    uint8_t cluster_sectors = head[13];
    bool is_fat = sector_bytes >= 512 && sector_bytes <= 4096 && is_power_of_two(sector_bytes) &&
                  is_power_of_two(cluster_sectors) && read_le16(head + 14) > 0 &&
                  (head[16] == 1 || head[16] == 2) && (head[21] >= 0xF8 || head[21] == 0xF0) &&
                  (read_le16(head + 19) > 0 || read_le32(head + 32) > 0);
    return is_fat || memcmp(head + 3, "EXFAT   ", 8) == 0;
}

int content_has_mft(struct disk *disk, const uint8_t *head, struct error *err)
{
    uint8_t record[4];
    int8_t coded = (int8_t)head[13]; /* a power of two, or the negative of its exponent */
    uint64_t cluster_bytes = 0;
    uint64_t offset = 0;

    if (coded < 0 && coded >= -31) {
        cluster_bytes = UINT64_C(1) << -coded;
    } else {
        cluster_bytes = head[13];
    }
    if (mul_overflows(cluster_bytes, read_le16(head + 11), &cluster_bytes) ||
        mul_overflows(cluster_bytes, read_le64(head + 48), &offset) || offset == 0) {
        return 0;
    }
    int got = layout_try_read(disk, offset, record, sizeof(record), err);
    return got == 1 ? memcmp(record, "FILE", sizeof(record)) == 0 : got;
}

bool content_by_type(struct disk_partition *partition, bool has_private_header)
{
    const char *kind = NULL;

    for (size_t i = 0; i < ARRAY_LEN(type_rules); i++) {
        if (strcasecmp(partition->type, type_rules[i].type) == 0) {
            partition->role = type_rules[i].role;
            kind = type_rules[i].kind;
        }
    }
    if (strcmp(partition->type, "0x42") == 0 && has_private_header) {
        kind = "ldm";
    }
    if (kind == NULL || (partition->kind != NULL && kind_find(kind)->content != DISK_RESERVED)) {
        return false; /* that its entry is broken counts more, unless nothing can be lost by it */
    }
    content_set(partition, kind);
    return true;
}

void content_by_type_at_last(struct disk_partition *partition)
{
    for (size_t i = 0; i < ARRAY_LEN(last_rules); i++) {
        if (strcasecmp(partition->type, last_rules[i].type) == 0 &&
            (partition->content == DISK_UNKNOWN || partition->content == DISK_EMPTY ||
             partition->content == DISK_LOST)) {
            partition->role = last_rules[i].role;
            content_set(partition, last_rules[i].kind);
        }
    }
}

const char *content_container(const uint8_t *head, size_t len, const uint8_t *tail)
{
    const char *kind = kind_of_container(head, len);
    /* A VHD that grows has a copy of its footer at the start. */
    bool copy = kind != NULL && strcmp(kind, "vhd") == 0 && len >= 512;

    if (copy && vhd_type(head) == VHD_TYPE_DIFFERENCING) {
        return "vhd-differencing";
    }
    if (kind == NULL && tail != NULL && is_vhd(tail) && !content_is_fixed_vhd(tail)) {
        return vhd_type(tail) == VHD_TYPE_DIFFERENCING ? "vhd-differencing" : "vhd";
    }
    return kind;
}

bool content_is_fixed_vhd(const uint8_t *tail)
{
    return is_vhd(tail) && vhd_type(tail) == VHD_TYPE_FIXED;
}

bool content_is_private_header(const uint8_t *sector)
{
    return memcmp(sector, "PRIVHEAD", 8) == 0;
}

bool content_is_zero(const uint8_t *head, size_t len)
{
    return len == 0 || (head[0] == 0 && memcmp(head, head + 1, len - 1) == 0);
}

static bool is_power_of_two(unsigned value)
{
    return value != 0 && (value & (value - 1)) == 0;
}

static bool is_vhd(const uint8_t *footer)
{
    return memcmp(footer, "conectix", 8) == 0;
}

/* Big-endian, as all of a VHD. */
static uint32_t vhd_type(const uint8_t *footer)
{
    return (uint32_t)footer[VHD_TYPE_OFFSET] << 24 | (uint32_t)footer[VHD_TYPE_OFFSET + 1] << 16 |
           (uint32_t)footer[VHD_TYPE_OFFSET + 2] << 8 | footer[VHD_TYPE_OFFSET + 3];
}
