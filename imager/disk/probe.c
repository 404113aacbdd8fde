/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * libblkid: partition tables and the names of file systems. It reads the disk by itself, but only
 * here, before a run starts.
 */
#include <blkid/blkid.h>
#include <string.h>

#include "disk/disk_internal.h"

/* libblkid counts partition positions in 512-byte units whatever the sector size is. */
#define BLKID_UNIT_BYTES 512

static void free_probe(blkid_probe *probe);
static void take_partition(blkid_partition from, bool is_gpt, struct disk_layout *layout);
static void name_content(blkid_probe probe, struct disk_partition *partition);
static const char *look_up(blkid_probe probe, const char *name);

int probe_table(struct disk *disk, struct disk_layout *layout, struct error *err)
{
    CLEANUP(free_probe) blkid_probe probe = blkid_new_probe();
    if (probe == NULL) {
        return error_memory(err, disk->path);
    }
    if (blkid_probe_set_device(probe, disk->fd, 0, (blkid_loff_t)disk->size_bytes) != 0) {
        return 0;
    }
    if (blkid_probe_set_sectorsize(probe, disk->sector_bytes) != 0 ||
        blkid_probe_enable_partitions(probe, 1) != 0 ||
        blkid_probe_set_partitions_flags(probe, BLKID_PARTS_ENTRY_DETAILS) != 0) {
        return error_memory(err, disk->path);
    }
    blkid_partlist list = blkid_probe_get_partitions(probe);
    blkid_parttable table = list != NULL ? blkid_partlist_get_table(list) : NULL;
    const char *type = table != NULL ? blkid_parttable_get_type(table) : NULL;
    if (type == NULL) {
        return 0;
    }
    bool is_gpt = strcmp(type, "gpt") == 0;
    const char *id = blkid_parttable_get_id(table);
    probe_copy_text(layout->table, sizeof(layout->table), strcmp(type, "dos") == 0 ? "mbr" : type);
    probe_copy_text(layout->disk_guid, sizeof(layout->disk_guid), is_gpt && id != NULL ? id : "");
    int count = blkid_partlist_numof_partitions(list);
    for (int i = 0; i < count; i++) {
        blkid_partition partition = blkid_partlist_get_partition(list, i);
        if (partition != NULL) {
            take_partition(partition, is_gpt, layout);
        }
    }
    return 0;
}

bool probe_content(struct disk *disk, struct disk_partition *partition)
{
    uint64_t room = disk->size_bytes - partition->offset_bytes;
    uint64_t size = partition->size_bytes < room ? partition->size_bytes : room;
    CLEANUP(free_probe) blkid_probe probe = blkid_new_probe();

    if (probe == NULL || size == 0 ||
        blkid_probe_set_device(probe, disk->fd, (blkid_loff_t)partition->offset_bytes,
                               (blkid_loff_t)size) != 0 ||
        blkid_probe_set_sectorsize(probe, disk->sector_bytes) != 0 ||
        blkid_probe_enable_superblocks(probe, 1) != 0 ||
        blkid_probe_set_superblocks_flags(probe, BLKID_SUBLKS_LABEL | BLKID_SUBLKS_UUID |
                                                     BLKID_SUBLKS_TYPE | BLKID_SUBLKS_VERSION |
                                                     BLKID_SUBLKS_USAGE) != 0) {
        return false;
    }
    int found = blkid_do_safeprobe(probe);
    if (found == -2 && partition->content != DISK_NTFS) {
        content_set(partition, "several");
        return true;
    }
    if (found != 0) {
        return false;
    }
    const char *label = look_up(probe, "LABEL");
    probe_copy_text(partition->label, sizeof(partition->label), label != NULL ? label : "");
    if (partition->content == DISK_NTFS) {
        return true;
    }
    name_content(probe, partition);
    return partition->content_name[0] != '\0';
}

void probe_copy_text(char *to, size_t size, const char *from)
{
    size_t len = strlen(from);

    to[0] = '\0';
    if (!utf_valid_utf8(from, len)) {
        return;
    }
    if (len >= size) {
        len = size - 1;
        while (len > 0 && ((uint8_t)from[len] & 0xC0) == 0x80) {
            len--;
        }
    }
    memcpy(to, from, len);
    to[len] = '\0';
}

static void free_probe(blkid_probe *probe)
{
    if (*probe != NULL) {
        blkid_free_probe(*probe);
    }
}

static void take_partition(blkid_partition from, bool is_gpt, struct disk_layout *layout)
{
    blkid_loff_t start = blkid_partition_get_start(from);
    blkid_loff_t size = blkid_partition_get_size(from);
    int number = blkid_partition_get_partno(from);

    if (blkid_partition_is_extended(from) || start < 0 || size <= 0 || number < 1 ||
        start > INT64_MAX / BLKID_UNIT_BYTES || size > INT64_MAX / BLKID_UNIT_BYTES) {
        return;
    }
    struct disk_partition *partition = layout_append(layout);
    if (partition == NULL) {
        return;
    }
    partition->number = (unsigned)number;
    partition->offset_bytes = (uint64_t)start * BLKID_UNIT_BYTES;
    partition->size_bytes = (uint64_t)size * BLKID_UNIT_BYTES;
    if (is_gpt) {
        const char *type = blkid_partition_get_type_string(from);
        const char *guid = blkid_partition_get_uuid(from);
        const char *name = blkid_partition_get_name(from);
        probe_copy_text(partition->type, sizeof(partition->type), type != NULL ? type : "");
        probe_copy_text(partition->guid, sizeof(partition->guid), guid != NULL ? guid : "");
        probe_copy_text(partition->name, sizeof(partition->name), name != NULL ? name : "");
    } else {
        (void)snprintf(partition->type, sizeof(partition->type), "0x%02x",
                       (unsigned)blkid_partition_get_type(from) & 0xFF); /* four characters */
    }
}

/* What libblkid calls TYPE, in the words of kinds.c. */
static void name_content(blkid_probe probe, struct disk_partition *partition)
{
    const char *type = look_up(probe, "TYPE");
    const char *version = look_up(probe, "VERSION");
    const char *usage = look_up(probe, "USAGE");

    if (type == NULL) {
        return;
    }
    if (strcmp(type, "ReFS") == 0) {
        content_set(partition, "refs");
    } else if (strcmp(type, "vfat") == 0 && version != NULL && kind_find(version) != NULL) {
        content_set(partition, version);
    } else if (kind_find(type) != NULL) {
        content_set(partition, type);
    } else {
        bool member = usage != NULL && (strcmp(usage, "raid") == 0 || strcmp(usage, "crypto") == 0);
        content_set(partition, member ? "raid" : "other");
        probe_copy_text(partition->content_name, sizeof(partition->content_name), type);
    }
}

static const char *look_up(blkid_probe probe, const char *name)
{
    const char *value = NULL;

    if (blkid_probe_lookup_value(probe, name, &value, NULL) != 0) {
        return NULL;
    }
    return value;
}
