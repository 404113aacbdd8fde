/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * MBR and the chain of extended partitions. Read by ourselves: libblkid takes time that grows with
 * the square of the chain's length, and passes over what is broken without a word.
 */
#include <string.h>

#include "disk/disk_internal.h"

#define ENTRIES_OFFSET 446
#define ENTRY_BYTES 16
#define ENTRY_COUNT 4
#define TABLE_BYTES 512
#define TYPE_PROTECTIVE 0xEE
#define FLAG_ACTIVE 0x80
#define FIRST_LOGICAL 5
/* Each link holds one partition, or none when that was deleted. */
#define LINKS_MAX (2 * DISK_PARTITION_MAX)

struct entry {
    uint8_t flag;
    uint8_t type;
    uint64_t first; /* sectors */
    uint64_t count;
};

struct chain {
    struct disk *disk;
    struct disk_layout *layout;
    uint64_t first; /* sectors of the extended partition */
    uint64_t end;
    unsigned next_number;
    uint64_t seen[LINKS_MAX]; /* of all extended partitions of the disk */
    size_t seen_count;
};

static struct entry get_entry(const uint8_t *sector, unsigned index);
static bool is_signed(const uint8_t *sector, size_t len);
static bool is_used(const struct entry *entry);
static bool has_good_flag(const struct entry *entry);
static bool is_extended(uint8_t type);
static bool begins_on(const struct entry *entry, uint64_t sectors);
static bool is_strict(const uint8_t *head, uint64_t sectors);
static bool overlap(const struct entry *a, const struct entry *b);
static int holds_volume(struct disk *disk, const struct entry *entry, struct error *err);
static void add_entry(struct disk *disk, struct disk_layout *layout, unsigned number,
                      const struct entry *entry, uint64_t base);
static int follow(struct chain *chain, struct error *err);
static int read_link(struct chain *chain, uint64_t at, uint8_t *sector, const char **ret_why,
                     struct error *err);
static bool take_link(struct chain *chain, uint64_t at, const uint8_t *sector, uint64_t *ret_next);
static void end_chain(struct chain *chain, uint64_t at, const char *why);

bool mbr_is_protective(const uint8_t *head, size_t len)
{
    for (unsigned i = 0; is_signed(head, len) && i < ENTRY_COUNT; i++) {
        struct entry entry = get_entry(head, i);
        /* The rest of the entry, too: boot code may have that byte there. */
        if (entry.type == TYPE_PROTECTIVE && has_good_flag(&entry) && entry.first == 1) {
            return true;
        }
    }
    return false;
}

uint64_t mbr_protected_end(const uint8_t *head, size_t len)
{
    for (unsigned i = 0; is_signed(head, len) && i < ENTRY_COUNT; i++) {
        struct entry entry = get_entry(head, i);
        /* All ones: larger than the field can say. */
        if (entry.type == TYPE_PROTECTIVE && entry.count > 0 && entry.count < UINT32_MAX) {
            return entry.first + entry.count;
        }
    }
    return 0;
}

bool mbr_has_others(const uint8_t *head, size_t len)
{
    for (unsigned i = 0; is_signed(head, len) && i < ENTRY_COUNT; i++) {
        struct entry entry = get_entry(head, i);
        if (entry.type != 0 && entry.type != TYPE_PROTECTIVE && entry.count > 0) {
            return true;
        }
    }
    return false;
}

bool mbr_is_table(const uint8_t *head, size_t len)
{
    for (unsigned i = 0; is_signed(head, len) && i < ENTRY_COUNT; i++) {
        struct entry entry = get_entry(head, i);
        if (!has_good_flag(&entry)) {
            return false;
        }
    }
    return is_signed(head, len);
}

int mbr_is_believed(struct disk *disk, const uint8_t *head, size_t len, bool has_boot_sector,
                    struct error *err)
{
    uint64_t sectors = disk->size_bytes / disk->sector_bytes;

    if (!is_signed(head, len)) {
        return 0;
    }
    if (has_boot_sector && is_strict(head, sectors)) {
        return 1;
    }
    for (unsigned i = 0; i < ENTRY_COUNT; i++) {
        struct entry entry = get_entry(head, i);
        if (entry.type == 0 || entry.type == TYPE_PROTECTIVE || !has_good_flag(&entry) ||
            !begins_on(&entry, sectors)) {
            continue;
        }
        int found = has_boot_sector ? holds_volume(disk, &entry, err) : 1;
        if (found != 0) {
            return found;
        }
    }
    return 0;
}

int mbr_read(struct disk *disk, const uint8_t *head, struct disk_layout *layout, struct error *err)
{
    struct chain chain = {.disk = disk, .layout = layout, .next_number = FIRST_LOGICAL};

    probe_copy_text(layout->table, sizeof(layout->table), "mbr");
    for (unsigned i = 0; i < ENTRY_COUNT; i++) {
        struct entry entry = get_entry(head, i);
        if (is_used(&entry) && (!is_extended(entry.type) || entry.first == 0 || entry.count == 0)) {
            add_entry(disk, layout, i + 1, &entry, 0);
        }
    }
    for (unsigned i = 0; i < ENTRY_COUNT; i++) {
        struct entry entry = get_entry(head, i);
        if (is_extended(entry.type) && entry.first > 0 && entry.count > 0) {
            chain.first = entry.first;
            chain.end = entry.first + entry.count;
            if (follow(&chain, err) != 0) {
                return -1;
            }
        }
    }
    return 0;
}

static struct entry get_entry(const uint8_t *sector, unsigned index)
{
    const uint8_t *raw = sector + ENTRIES_OFFSET + (size_t)index * ENTRY_BYTES;

    return (struct entry){
        .flag = raw[0], .type = raw[4], .first = read_le32(raw + 8), .count = read_le32(raw + 12)};
}

static bool is_signed(const uint8_t *sector, size_t len)
{
    return len >= TABLE_BYTES && sector[510] == 0x55 && sector[511] == 0xAA;
}

/* Some tools write partitions of type 0, and Linux shows them. */
static bool is_used(const struct entry *entry)
{
    return entry->type != 0 || (entry->first > 0 && entry->count > 0);
}

static bool has_good_flag(const struct entry *entry)
{
    return entry->flag == 0 || entry->flag == FLAG_ACTIVE;
}

static bool is_extended(uint8_t type)
{
    return type == 0x05 || type == 0x0F || type == 0x85;
}

static bool begins_on(const struct entry *entry, uint64_t sectors)
{
    return entry->first > 0 && entry->count > 0 && entry->first < sectors;
}

/* A table as tools write it, which text or code in a boot sector is not: every flag is one, unused
 * entries are empty, used ones begin on the disk and lie apart, one of them at least ends on it. */
static bool is_strict(const uint8_t *head, uint64_t sectors)
{
    bool fits = false;

    for (unsigned i = 0; i < ENTRY_COUNT; i++) {
        struct entry entry = get_entry(head, i);
        bool empty = entry.type == 0 && entry.first == 0 && entry.count == 0 && entry.flag == 0;
        if (!empty && (!has_good_flag(&entry) || entry.type == 0 || entry.type == TYPE_PROTECTIVE ||
                       !begins_on(&entry, sectors))) {
            return false;
        }
        fits = fits || (!empty && entry.first + entry.count <= sectors);
        for (unsigned j = 0; j < i; j++) {
            struct entry other = get_entry(head, j);
            if (overlap(&entry, &other)) {
                return false;
            }
        }
    }
    return fits;
}

static bool overlap(const struct entry *a, const struct entry *b)
{
    return a->count > 0 && b->count > 0 && a->first < b->first + b->count &&
           b->first < a->first + a->count;
}

/* 1: a boot sector that we know stands at its start. */
static int holds_volume(struct disk *disk, const struct entry *entry, struct error *err)
{
    uint8_t sector[TABLE_BYTES];
    struct disk_partition ignored = {0};
    int got = layout_try_read(disk, entry->first * disk->sector_bytes, sector, sizeof(sector), err);

    return got == 1 ? content_recognise(sector, sizeof(sector), &ignored) : got;
}

/* `base`: what the entry's position counts from. */
static void add_entry(struct disk *disk, struct disk_layout *layout, unsigned number,
                      const struct entry *entry, uint64_t base)
{
    struct disk_partition *partition = layout_append(layout);

    if (partition == NULL) {
        return;
    }
    partition->number = number;
    (void)snprintf(partition->type, sizeof(partition->type), "0x%02x",
                   entry->type); /* four characters */
    partition->offset_bytes = (base + entry->first) * disk->sector_bytes;
    partition->size_bytes = entry->count * disk->sector_bytes;
    if (entry->type == TYPE_PROTECTIVE) {
        content_set(partition, "lost-gpt"); /* else that GPT would have been read instead */
    } else if (entry->first == 0 || entry->count == 0) {
        content_set(partition, "impossible");
    }
}

static int follow(struct chain *chain, struct error *err)
{
    uint64_t at = chain->first;

    for (;;) {
        uint8_t sector[TABLE_BYTES];
        const char *why = NULL;
        uint64_t next = 0;
        if (chain->layout->left_out > 0) {
            return 0; /* which is told */
        }
        if (read_link(chain, at, sector, &why, err) != 0) {
            return -1;
        }
        if (why != NULL) {
            end_chain(chain, at, why);
            return 0;
        }
        if (!take_link(chain, at, sector, &next)) {
            return 0;
        }
        at = next;
    }
}

/* *ret_why: why the chain ends here though a link leads on. */
static int read_link(struct chain *chain, uint64_t at, uint8_t *sector, const char **ret_why,
                     struct error *err)
{
    uint64_t offset = at * chain->disk->sector_bytes;

    for (size_t i = 0; i < chain->seen_count; i++) {
        if (chain->seen[i] == at) {
            *ret_why = "it leads back to where it was";
            return 0;
        }
    }
    if (chain->seen_count == LINKS_MAX) {
        *ret_why = "it is too long to be followed";
        return 0;
    }
    if (at < chain->first || at >= chain->end) {
        *ret_why = "it leads out of the extended partition";
        return 0;
    }
    if (offset >= chain->disk->size_bytes) {
        *ret_why = "it leads behind the end of the device";
        return 0;
    }
    chain->seen[chain->seen_count++] = at;
    int got = layout_try_read(chain->disk, offset, sector, TABLE_BYTES, err);
    if (got < 0) {
        return -1;
    }
    if (got == 0) {
        *ret_why = "that sector cannot be read";
    } else if (!is_signed(sector, TABLE_BYTES)) {
        *ret_why = "no partition table stands there";
    }
    return 0;
}

/* The partitions of one link. False: it is the last. */
static bool take_link(struct chain *chain, uint64_t at, const uint8_t *sector, uint64_t *ret_next)
{
    bool leads_on = false;

    for (unsigned i = 0; i < ENTRY_COUNT; i++) {
        struct entry entry = get_entry(sector, i);
        uint64_t end = at + entry.first + entry.count;
        if (is_extended(entry.type)) {
            if (!leads_on && (entry.first > 0 || entry.count > 0)) {
                leads_on = true;
                *ret_next = chain->first + entry.first;
            }
        } else if (is_used(&entry) && (i < 2 || (has_good_flag(&entry) && entry.first > 0 &&
                                                 entry.count > 0 && end <= chain->end))) {
            /* The third and the fourth are not used, and sometimes hold rubbish. Linux gives no
             * number to one without a length. */
            bool counts = entry.first > 0 && entry.count > 0;
            add_entry(chain->disk, chain->layout, counts ? chain->next_number : 0, &entry, at);
            chain->next_number += counts ? 1 : 0;
        }
    }
    return leads_on;
}

static void end_chain(struct chain *chain, uint64_t at, const char *why)
{
    uint32_t sector_bytes = chain->disk->sector_bytes;

    layout_warn(chain->layout,
                "the chain of logical partitions breaks at sector %llu: %s; partitions behind that "
                "place cannot be found",
                (unsigned long long)at, why);
    struct disk_partition *partition = layout_append(chain->layout);
    if (partition != NULL) {
        bool inside = at >= chain->first && at < chain->end;
        partition->offset_bytes = at * sector_bytes;
        partition->size_bytes = inside ? (chain->end - at) * sector_bytes : 0;
        content_set(partition, "lost-chain");
    }
}
