/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Which table a disk has: a GPT, an MBR, or none because one volume fills it. Old ones of the other
 * sorts often stand on the same disk, and what is left aside is said.
 */
#include <string.h>

#include "disk/disk_internal.h"

#define NO_GPT                                                                                     \
    "the first GPT is damaged, and no whole backup was found, at the end of the disk or where "    \
    "that may have been before it was enlarged: its partitions cannot be found"

/* What sector 0 and the GPTs tell. */
struct finding {
    const char *volume; /* what the boot sector in sector 0 is of, or NULL */
    bool is_protective;
    bool has_gpt;
    bool has_mbr;
    struct gpt gpt;
};

static void clear_finding(struct finding *finding);
static bool find_boot_sector(const uint8_t *head, size_t len, struct disk_partition *bare);
static int prefers_volume(struct disk *disk, const uint8_t *head, const struct finding *finding,
                          struct error *err);
static void tell_gpt(struct disk *disk, const struct finding *finding, struct disk_layout *layout);
static int use_mbr(struct disk *disk, const uint8_t *head, const struct finding *finding,
                   struct disk_layout *layout, struct error *err);
static void tell_old_volume(const struct finding *finding, struct disk_layout *layout);

int table_read(struct disk *disk, const uint8_t *head, size_t len, uint64_t size_bytes,
               struct disk_layout *layout, struct error *err)
{
    CLEANUP(clear_finding) struct finding finding = {0};
    struct disk_partition bare = {0};

    if (find_boot_sector(head, len, &bare)) {
        finding.volume = bare.content_name;
    }
    finding.is_protective = mbr_is_protective(head, len);
    int found = gpt_find(disk, head, len, size_bytes, finding.is_protective, &finding.gpt, err);
    if (found < 0) {
        return -1;
    }
    finding.has_gpt = found == 1;
    found = mbr_is_believed(disk, head, len, finding.volume != NULL, err);
    if (found < 0) {
        return -1;
    }
    finding.has_mbr = found == 1;

    int prefers = prefers_volume(disk, head, &finding, err);
    if (prefers < 0) {
        return -1;
    }
    /* A single entry in what else is no table may be boot code. */
    bool rival = finding.has_mbr && mbr_is_table(head, len);
    if (finding.has_gpt && prefers == 0 && (finding.is_protective || !rival)) {
        gpt_list(&finding.gpt, disk, layout);
        tell_gpt(disk, &finding, layout);
        tell_old_volume(&finding, layout);
        return 0;
    }
    /* Without a boot sector to doubt it, also a table with nothing but broken entries; with one
     * also a table that only announces a lost GPT, since that came after the volume. */
    bool is_plain = finding.volume == NULL && !finding.is_protective && mbr_is_table(head, len);
    bool is_announced = finding.volume != NULL && finding.is_protective;
    if (finding.has_mbr || is_plain || is_announced) {
        return use_mbr(disk, head, &finding, layout, err);
    }
    if (finding.is_protective) {
        layout_warn(layout,
                    NO_GPT "; 'gdisk' or 'testdisk' on a copy of the disk may restore them");
    } else if (finding.has_gpt) {
        layout_warn(layout,
                    "an old GPT stands at sector %llu, without an MBR and a first GPT: it was "
                    "left aside, the %s volume over the whole disk counts",
                    (unsigned long long)finding.gpt.header.my_sector, finding.volume);
    }
    if (finding.volume != NULL && mbr_is_believed(disk, head, len, false, NULL) == 1) {
        layout_warn(layout,
                    "bytes in the %s boot sector look like a partition table, a damaged one: they "
                    "were left aside, the volume over the whole disk counts",
                    finding.volume);
    }
    return 0;
}

static void clear_finding(struct finding *finding)
{
    free(finding->gpt.entries);
}

/* Of a volume that fills the disk, or did once: it ends with the same two bytes as an MBR. */
static bool find_boot_sector(const uint8_t *head, size_t len, struct disk_partition *bare)
{
    if (content_recognise(head, len, bare)) {
        return true;
    }
    if (content_is_fat_boot_sector(head, len)) {
        probe_copy_text(bare->content_name, sizeof(bare->content_name), "FAT");
        return true;
    }
    return false;
}

/* A volume that was made over the whole disk leaves the second GPT of before, seldom a first one.
 * But when nothing of NTFS is behind its boot sector, that is the older of the two. */
static int prefers_volume(struct disk *disk, const uint8_t *head, const struct finding *finding,
                          struct error *err)
{
    if (!finding->has_gpt || !finding->gpt.is_backup || finding->is_protective ||
        finding->has_mbr || finding->volume == NULL) {
        return 0;
    }
    return strcmp(finding->volume, "NTFS") == 0 ? content_has_mft(disk, head, err) : 1;
}

static void tell_gpt(struct disk *disk, const struct finding *finding, struct disk_layout *layout)
{
    const struct gpt_header *header = &finding->gpt.header;
    uint64_t end =
        header->other_sector > header->my_sector ? header->other_sector : header->my_sector;

    if (finding->gpt.is_backup) {
        layout_warn(layout, "the first GPT is damaged, its backup was used%s",
                    finding->gpt.is_moved ? "; it stands where the disk ended before it was "
                                            "enlarged"
                                          : "");
    }
    if (end >= disk->size_bytes / disk->sector_bytes && end < UINT64_MAX / disk->sector_bytes) {
        layout->is_cut = true;
        layout_warn(layout,
                    "the GPT was made for a disk of %llu bytes, but only %llu are here: the image "
                    "or the device is cut off",
                    (unsigned long long)((end + 1) * disk->sector_bytes),
                    (unsigned long long)disk->size_bytes);
    }
}

static int use_mbr(struct disk *disk, const uint8_t *head, const struct finding *finding,
                   struct disk_layout *layout, struct error *err)
{
    if (mbr_read(disk, head, layout, err) != 0) {
        return -1;
    }
    if (finding->is_protective) {
        layout_warn(layout, NO_GPT "; the MBR before it was used");
    } else if (finding->has_gpt) {
        layout_warn(layout,
                    "an old GPT stands at sector %llu: the MBR has no entry for it, so it "
                    "was left aside, and the MBR was used",
                    (unsigned long long)finding->gpt.header.my_sector);
    }
    tell_old_volume(finding, layout);
    return 0;
}

static void tell_old_volume(const struct finding *finding, struct disk_layout *layout)
{
    if (finding->volume != NULL) {
        layout_warn(layout,
                    "an old %s boot sector stands in sector 0, of a volume over the whole disk: it "
                    "was left aside, the partition table was used",
                    finding->volume);
    }
}
