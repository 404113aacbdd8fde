/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The GPT that counts: the first one, else its backup, which stands at the end of the disk, or
 * where that was before the disk was enlarged.
 */
#include <string.h>

#include "disk/disk_internal.h"

#define GIB (UINT64_C(1) << 30)
/* Cloud disks end at whole GiB. So many are tried: 2 s where a read takes half a millisecond. */
#define BOUNDARIES_MAX 4096
/* For a disk that answers slowly, or with errors only. */
#define SEARCH_NS_MAX UINT64_C(10000000000)
/* Behind the last usable sector: 16 KiB of entries, then the header. */
#define ENTRIES_BYTES_USUAL 16384
#define PLACES_MAX 4

struct places {
    uint64_t sectors[PLACES_MAX];
    size_t count;
};

static int add_places_of_header(struct disk *disk, struct places *places, struct error *err);
static void add_place_of_mbr(const uint8_t *head, size_t len, struct places *places);
static int search_boundaries(struct disk *disk, uint64_t sectors, struct gpt *gpt,
                             struct error *err);
static void add_place(struct places *places, uint64_t sector);

int gpt_find(struct disk *disk, const uint8_t *head, size_t len, uint64_t size_bytes,
             bool is_protective, struct gpt *ret_gpt, struct error *err)
{
    uint64_t sectors = size_bytes / disk->sector_bytes;
    struct places places = {0};

    int found = gpt_read(disk, 1, ret_gpt, err);
    if (found != 0 || sectors < 3) {
        return found;
    }
    ret_gpt->is_backup = true;
    add_place(&places, sectors - 1);
    if (add_places_of_header(disk, &places, err) != 0) {
        return -1;
    }
    if (is_protective) {
        add_place_of_mbr(head, len, &places);
    }
    for (size_t i = 0; i < places.count; i++) {
        if (places.sectors[i] > 1 && places.sectors[i] < sectors) {
            ret_gpt->is_moved = places.sectors[i] != sectors - 1;
            found = gpt_read(disk, places.sectors[i], ret_gpt, err);
            if (found != 0) {
                return found;
            }
        }
    }
    /* Many reads, so only where a GPT is known to be missing. */
    return is_protective ? search_boundaries(disk, sectors, ret_gpt, err) : 0;
}

/* What a damaged first header says is not to be trusted, but what is found there has checksums. */
static int add_places_of_header(struct disk *disk, struct places *places, struct error *err)
{
    uint8_t sector[GPT_HEADER_BYTES];
    int got = layout_try_read(disk, disk->sector_bytes, sector, sizeof(sector), err);

    if (got == 1) {
        uint64_t last_usable = read_le64(sector + 48);
        add_place(places, read_le64(sector + 32));
        if (last_usable < UINT64_MAX - ENTRIES_BYTES_USUAL) {
            add_place(places, last_usable + ENTRIES_BYTES_USUAL / disk->sector_bytes + 1);
        }
    }
    return got < 0 ? -1 : 0;
}

/* The entry of the protective MBR spans the disk as it was. */
static void add_place_of_mbr(const uint8_t *head, size_t len, struct places *places)
{
    uint64_t end = mbr_protected_end(head, len);

    if (end > 0) {
        add_place(places, end - 1);
    }
}

static int search_boundaries(struct disk *disk, uint64_t sectors, struct gpt *gpt,
                             struct error *err)
{
    uint64_t step = GIB / disk->sector_bytes;
    uint64_t end = sectors / step * step;

    uint64_t deadline = clock_monotonic_ns() + SEARCH_NS_MAX;

    gpt->is_moved = true;
    for (int i = 0; i < BOUNDARIES_MAX && end > 0 && clock_monotonic_ns() < deadline;
         i++, end -= step) {
        int found = end == sectors ? 0 : gpt_read(disk, end - 1, gpt, err);
        if (found != 0) {
            return found;
        }
    }
    return 0;
}

static void add_place(struct places *places, uint64_t sector)
{
    for (size_t i = 0; i < places->count; i++) {
        if (places->sectors[i] == sector) {
            return;
        }
    }
    if (places->count < PLACES_MAX) {
        places->sectors[places->count++] = sector;
    }
}
