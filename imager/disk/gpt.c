/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * A GPT: header, checksums, entries. Read by ourselves: libblkid passes over in silence an image
 * cut off before the disk's end, a missing protective MBR, a damaged first copy, broken entries.
 */
#include <string.h>

#include "disk/disk_internal.h"

#define GPT_SECTOR_MAX 4096
#define GPT_ENTRY_BYTES_MIN 128
#define GPT_ENTRY_BYTES_MAX 4096
#define GPT_NAME_UNITS 36

static void copy_name(const uint8_t *units, char *to, size_t size);

bool gpt_parse_header(const uint8_t *sector, size_t len, uint64_t at, struct gpt_header *ret_header)
{
    uint8_t copy[GPT_SECTOR_MAX];
    struct gpt_header header = {0};

    if (len < GPT_HEADER_BYTES || memcmp(sector, "EFI PART", 8) != 0) {
        return false;
    }
    uint32_t header_bytes = read_le32(sector + 12);
    if (header_bytes < GPT_HEADER_BYTES || header_bytes > len || header_bytes > sizeof(copy)) {
        return false;
    }
    memcpy(copy, sector, header_bytes);
    memset(copy + 16, 0, 4); /* the checksum is computed with its own field zero */
    if (gpt_crc32(copy, header_bytes) != read_le32(sector + 16)) {
        return false;
    }
    header.my_sector = read_le64(sector + 24);
    header.other_sector = read_le64(sector + 32);
    header.first_usable = read_le64(sector + 40);
    header.last_usable = read_le64(sector + 48);
    header.entries_sector = read_le64(sector + 72);
    header.entry_count = read_le32(sector + 80);
    header.entry_bytes = read_le32(sector + 84);
    header.entries_crc32 = read_le32(sector + 88);
    gpt_format_guid(sector + 56, header.guid);
    if (header.my_sector != at || header.entry_count > GPT_ENTRIES_MAX ||
        header.entry_bytes < GPT_ENTRY_BYTES_MIN || header.entry_bytes > GPT_ENTRY_BYTES_MAX) {
        return false;
    }
    *ret_header = header;
    return true;
}

uint32_t gpt_crc32(const void *bytes, size_t len)
{
    const uint8_t *at = bytes;
    uint32_t crc = UINT32_MAX;

    for (size_t i = 0; i < len; i++) {
        crc ^= at[i];
        for (int bit = 0; bit < 8; bit++) {
            crc = crc >> 1 ^ (crc & 1 ? UINT32_C(0xEDB88320) : 0);
        }
    }
    return ~crc;
}

bool gpt_parse_entry(const uint8_t *entry, uint32_t sector_bytes,
                     struct disk_partition *ret_partition)
{
    static const uint8_t unused[16];
    uint64_t first = read_le64(entry + 32);
    uint64_t last = read_le64(entry + 40);

    if (memcmp(entry, unused, sizeof(unused)) == 0) {
        return false;
    }
    gpt_format_guid(entry, ret_partition->type);
    gpt_format_guid(entry + 16, ret_partition->guid);
    copy_name(entry + 56, ret_partition->name, sizeof(ret_partition->name));
    if (first == 0 || first > last || last >= UINT64_MAX / sector_bytes) {
        content_set(ret_partition, "impossible");
    } else {
        ret_partition->offset_bytes = first * sector_bytes;
        ret_partition->size_bytes = (last - first + 1) * sector_bytes;
    }
    return true;
}

int gpt_read(struct disk *disk, uint64_t at, struct gpt *gpt, struct error *err)
{
    uint8_t sector[GPT_SECTOR_MAX];
    uint32_t sector_bytes = disk->sector_bytes;
    uint64_t offset = 0;

    if (sector_bytes > sizeof(sector) || mul_overflows(at, sector_bytes, &offset)) {
        return 0;
    }
    int got = layout_try_read(disk, offset, sector, sector_bytes, err);
    if (got != 1) {
        return got;
    }
    if (!gpt_parse_header(sector, sector_bytes, at, &gpt->header) ||
        mul_overflows(gpt->header.entries_sector, sector_bytes, &offset)) {
        return 0;
    }
    size_t len = (size_t)gpt->header.entry_count * gpt->header.entry_bytes;
    CLEANUP_FREE uint8_t *entries = malloc(len + 1);
    if (entries == NULL) {
        return error_memory(err, disk->path);
    }
    got = layout_try_read(disk, offset, entries, len, err);
    if (got != 1 || gpt_crc32(entries, len) != gpt->header.entries_crc32) {
        return got < 0 ? -1 : 0;
    }
    gpt->entries = TAKE(entries);
    return 1;
}

void gpt_list(const struct gpt *gpt, const struct disk *disk, struct disk_layout *layout)
{
    const struct gpt_header *header = &gpt->header;
    bool told = false;

    probe_copy_text(layout->table, sizeof(layout->table), "gpt");
    probe_copy_text(layout->disk_guid, sizeof(layout->disk_guid), header->guid);
    for (uint32_t i = 0; i < header->entry_count; i++) {
        const uint8_t *entry = gpt->entries + (size_t)i * header->entry_bytes;
        struct disk_partition found = {.number = i + 1};
        if (!gpt_parse_entry(entry, disk->sector_bytes, &found)) {
            continue;
        }
        struct disk_partition *partition = layout_append(layout);
        if (partition == NULL) {
            continue; /* counted */
        }
        *partition = found;
        bool outside = read_le64(entry + 32) < header->first_usable ||
                       read_le64(entry + 40) > header->last_usable;
        if (found.kind == NULL && outside && !told) {
            told = true;
            layout_warn(layout, "partition %u reaches out of the area that the GPT itself names",
                        found.number);
        }
    }
}

void gpt_format_guid(const uint8_t guid[16], char out[40])
{
    (void)snprintf(out, 40, "%08x-%04x-%04x-%02x%02x-%02x%02x%02x%02x%02x%02x", read_le32(guid),
                   read_le16(guid + 4), read_le16(guid + 6), guid[8], guid[9], guid[10], guid[11],
                   guid[12], guid[13], guid[14], guid[15]); /* always 36 characters */
}

static void copy_name(const uint8_t *units, char *to, size_t size)
{
    uint16_t name[GPT_NAME_UNITS];
    size_t count = 0;
    size_t len = 0;

    while (count < GPT_NAME_UNITS && read_le16(units + 2 * count) != 0) {
        name[count] = read_le16(units + 2 * count);
        count++;
    }
    for (size_t i = 0; i < count;) {
        char utf8[4];
        size_t more = utf_put_utf8(utf_next_utf16(name, count, &i), utf8);
        if (len + more >= size) {
            break;
        }
        memcpy(to + len, utf8, more);
        len += more;
    }
    to[len] = '\0';
}
