/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * libblkid: the names of file systems and their labels. It reads the disk by itself, but only here,
 * before a run starts.
 */
#include <blkid/blkid.h>
#include <errno.h>
#include <string.h>

#include "disk/disk_internal.h"

static void free_probe(blkid_probe *probe);
static void name_content(blkid_probe probe, struct disk_partition *partition);
static const char *look_up(blkid_probe probe, const char *name);

int probe_content(struct disk *disk, struct disk_partition *partition, struct error *err)
{
    uint64_t room = disk->size_bytes - partition->offset_bytes;
    uint64_t size = partition->size_bytes < room ? partition->size_bytes : room;

    if (size == 0) {
        return 0;
    }
    CLEANUP(free_probe) blkid_probe probe = blkid_new_probe();
    if (probe == NULL) {
        return error_memory(err, disk->path);
    }
    errno = 0; /* libblkid leaves it when it fails for another reason than a call */
    if (blkid_probe_set_device(probe, disk->fd, (blkid_loff_t)partition->offset_bytes,
                               (blkid_loff_t)size) != 0 ||
        blkid_probe_set_sectorsize(probe, disk->sector_bytes) != 0 ||
        blkid_probe_enable_superblocks(probe, 1) != 0 ||
        blkid_probe_set_superblocks_flags(probe, BLKID_SUBLKS_LABEL | BLKID_SUBLKS_UUID |
                                                     BLKID_SUBLKS_TYPE | BLKID_SUBLKS_VERSION |
                                                     BLKID_SUBLKS_USAGE) != 0) {
        return errno == ENOMEM ? error_memory(err, disk->path) : 0;
    }
    errno = 0;
    int found = blkid_do_safeprobe(probe);
    if (found < 0 && (found == -ENOMEM || errno == ENOMEM)) {
        return error_memory(err, disk->path);
    }
    if (found == -2 && partition->content != DISK_NTFS) {
        content_set(partition, "several");
        return 1;
    }
    if (found != 0) {
        return 0;
    }
    const char *label = look_up(probe, "LABEL");
    probe_copy_text(partition->label, sizeof(partition->label), label != NULL ? label : "");
    if (partition->content == DISK_NTFS) {
        return 1;
    }
    name_content(probe, partition);
    return partition->content_name[0] != '\0' ? 1 : 0;
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
