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

#define VHD_TYPE_FIXED 2

struct type_rule {
    const char *type;
    enum disk_role role;
    enum disk_content content; /* DISK_UNKNOWN: look at the bytes */
};

static const struct type_rule type_rules[] = {
    {"de94bba4-06d1-4d40-a16a-bfd50179d6ac", DISK_ROLE_RECOVERY, DISK_UNKNOWN},
    {"c12a7328-f81f-11d2-ba4b-00a0c93ec93b", DISK_ROLE_SYSTEM, DISK_UNKNOWN},
    {"e3c9e316-0b5c-4db8-817d-f92df00215ae", DISK_ROLE_SYSTEM, DISK_RESERVED},
    {"5808c8aa-7e8f-42e0-85d2-e1e90434cfb3", DISK_ROLE_SYSTEM, DISK_DYNAMIC},
    {"af9b60a0-1431-4f62-bc68-3311714a69ad", DISK_ROLE_DATA, DISK_DYNAMIC},
    {"e75caf8f-f680-4cee-afa3-b001e56efc2d", DISK_ROLE_DATA, DISK_STORAGE_SPACES},
    {"0x27", DISK_ROLE_RECOVERY, DISK_UNKNOWN},
    {"0xef", DISK_ROLE_SYSTEM, DISK_UNKNOWN},
};

struct container {
    const char *name;
    const char *format; /* as qemu-img calls it, or NULL: `other` says what to do */
    const char *other;
    size_t offset;
    const char *magic;
    size_t magic_len;
};

static const struct container containers[] = {
    {"VHDX file", "vhdx", NULL, 0, "vhdxfile", 8},
    {"VHD file", "vpc", NULL, 0, "conectix", 8},
    {"qcow2 file", "qcow2", NULL, 0, "QFI\xfb", 4},
    {"VMDK file", "vmdk", NULL, 0, "KDMV", 4},
    {"VMDK file", "vmdk", NULL, 0, "# Disk DescriptorFile", 21},
    {"VDI file", "vdi", NULL, 64, "\x7f\x10\xda\xbe", 4},
    {"EWF file", NULL, "make it raw first: ewfexport -f raw", 0, "EVF\x09\x0d\x0a\xff", 7},
    {"gzip file", NULL,
     "unpack it first (gzip -d, or tar xzf for an image that Compute Engine exported)", 0,
     "\x1f\x8b\x08", 3},
    {"xz file", NULL, "unpack it first (xz -d)", 0,
     "\xfd"
     "7zXZ",
     5},
    {"zstd file", NULL, "unpack it first (zstd -d)", 0, "\x28\xb5\x2f\xfd", 4},
};

static void advise_convert(const struct container *container, const char *path,
                           struct disk_partition *partition);

bool content_recognise(const uint8_t *head, size_t len, struct disk_partition *partition)
{
    if (content_is_bitlocker(head, len)) {
        content_set(partition, DISK_BITLOCKER, "BitLocker",
                    "encrypted: unlock it with 'cryptsetup bitlkOpen DEVICE NAME' (it asks for the "
                    "password or the recovery key) and give winch /dev/mapper/NAME");
        return true;
    }
    if (len >= 512 && memcmp(head + 3, "NTFS    ", 8) == 0) {
        content_set(partition, DISK_NTFS, "NTFS", "");
        (void)snprintf(partition->serial, sizeof(partition->serial), "%016llX",
                       (unsigned long long)read_le64(head + 72)); /* 16 digits always fit */
        return true;
    }
    if (len >= 512 && memcmp(head + 3, "ReFS\0\0\0\0", 8) == 0) {
        content_set(partition, DISK_REFS, "ReFS",
                    "winch reads NTFS only: copy its files to an NTFS volume from Windows");
        return true;
    }
    return false;
}

bool content_by_type(struct disk_partition *partition, bool has_private_header)
{
    enum disk_content content = DISK_UNKNOWN;

    for (size_t i = 0; i < ARRAY_LEN(type_rules); i++) {
        if (strcasecmp(partition->type, type_rules[i].type) == 0) {
            partition->role = type_rules[i].role;
            content = type_rules[i].content;
        }
    }
    if (strcmp(partition->type, "0x42") == 0 && has_private_header) {
        content = DISK_DYNAMIC;
    }
    switch (content) {
    case DISK_RESERVED:
        content_set(partition, content, "Microsoft reserved", "holds no files");
        return true;
    case DISK_DYNAMIC:
        content_set(partition, content, "dynamic disk (LDM)",
                    "attach all disks of the group, run 'ldmtool create all', and give winch the "
                    "volume it makes under /dev/mapper/");
        return true;
    case DISK_STORAGE_SPACES:
        content_set(
            partition, content, "Storage Spaces",
            "a member of a storage pool, which Linux cannot put together: copy its files to "
            "an NTFS volume on a basic disk from Windows");
        return true;
    default:
        return false;
    }
}

bool content_container(const uint8_t *head, size_t len, const uint8_t *tail, const char *path,
                       struct disk_partition *partition)
{
    for (size_t i = 0; i < ARRAY_LEN(containers); i++) {
        const struct container *container = &containers[i];
        if (len >= container->offset + container->magic_len &&
            memcmp(head + container->offset, container->magic, container->magic_len) == 0) {
            advise_convert(container, path, partition);
            return true;
        }
    }
    if (tail != NULL && memcmp(tail, "conectix", 8) == 0 && !content_is_fixed_vhd(tail)) {
        advise_convert(&containers[1], path, partition);
        return true;
    }
    return false;
}

bool content_is_fixed_vhd(const uint8_t *tail)
{
    /* The disk type is a big-endian word at 60. */
    return memcmp(tail, "conectix", 8) == 0 && tail[60] == 0 && tail[61] == 0 && tail[62] == 0 &&
           tail[63] == VHD_TYPE_FIXED;
}

bool content_is_private_header(const uint8_t *sector)
{
    return memcmp(sector, "PRIVHEAD", 8) == 0;
}

bool content_is_zero(const uint8_t *head, size_t len)
{
    return len == 0 || (head[0] == 0 && memcmp(head, head + 1, len - 1) == 0);
}

void content_set(struct disk_partition *partition, enum disk_content content, const char *name,
                 const char *advice)
{
    partition->content = content;
    probe_copy_text(partition->content_name, sizeof(partition->content_name), name);
    probe_copy_text(partition->advice, sizeof(partition->advice), advice);
}

static void advise_convert(const struct container *container, const char *path,
                           struct disk_partition *partition)
{
    const char *shown = strlen(path) > ADVICE_PATH_MAX ? "FILE" : path;
    char advice[sizeof(partition->advice)];

    if (container->format != NULL) {
        (void)snprintf(advice, sizeof(advice),
                       "not a raw image: run 'qemu-img convert -f %s -O raw %s disk.raw' and give "
                       "winch disk.raw",
                       container->format, shown); /* bounded by ADVICE_PATH_MAX */
    } else {
        (void)snprintf(advice, sizeof(advice), "not a raw image: %s", container->other);
    }
    content_set(partition, DISK_CONTAINER, container->name, advice);
}
