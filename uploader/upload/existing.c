/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Objects by name: open addressing over the first 16 bytes of the name's SHA-256. Names are not
 * kept; two names with the same 128 bits do not occur.
 */
#include "upload_internal.h"

#include <string.h>

#define FIRST_CAPACITY 1024
#define RUN_MARK_MASK 0x1fffffffU
#define FLAG_CRC32C 0x20000000U
#define FLAG_SUPERSEDED 0x40000000U

struct entry {
    uint64_t key[2];
    uint64_t generation; /* 0: the place is free */
    uint64_t size_bytes;
    uint32_t crc32c;
    uint32_t mark; /* run mark and flags */
};

struct upload_existing {
    struct entry *entries;
    uint64_t capacity;
    uint64_t count;
};

struct upload_existing *upload_existing_new(void)
{
    struct upload_existing *existing = calloc(1, sizeof(*existing));
    if (existing == NULL) {
        return NULL;
    }
    existing->entries = calloc(FIRST_CAPACITY, sizeof(existing->entries[0]));
    if (existing->entries == NULL) {
        free(existing);
        return NULL;
    }
    existing->capacity = FIRST_CAPACITY;
    return existing;
}

void upload_existing_free(struct upload_existing *existing)
{
    if (existing != NULL) {
        free(existing->entries);
        free(existing);
    }
}

static void hash_name(const char *name, uint64_t key[2])
{
    uint8_t digest[32];
    sha256_bytes(name, strlen(name), digest);
    memcpy(key, digest, 16);
}

/* Any capacity will do: the key's top bits, taken as a fraction of it. */
static uint64_t first_place(const uint64_t key[2], uint64_t capacity)
{
    __extension__ typedef unsigned __int128 wide;
    return (uint64_t)(((wide)key[0] * capacity) >> 64);
}

/* The entry of that key, or the free place where it belongs. */
static struct entry *find_place(struct entry *entries, uint64_t capacity, const uint64_t key[2])
{
    uint64_t place = first_place(key, capacity);
    while (entries[place].generation != 0 &&
           (entries[place].key[0] != key[0] || entries[place].key[1] != key[1])) {
        place = place + 1 < capacity ? place + 1 : 0;
    }
    return &entries[place];
}

static int grow(struct upload_existing *existing)
{
    /* Half as much again, filled to 7/8: about 60 bytes an object in the middle. */
    uint64_t capacity = existing->capacity + existing->capacity / 2;
    struct entry *entries = calloc(capacity, sizeof(*entries));
    if (entries == NULL) {
        return -1;
    }
    for (uint64_t i = 0; i < existing->capacity; i++) {
        const struct entry *old = &existing->entries[i];
        if (old->generation != 0) {
            *find_place(entries, capacity, old->key) = *old;
        }
    }
    free(existing->entries);
    existing->entries = entries;
    existing->capacity = capacity;
    return 0;
}

int upload_existing_add(struct upload_existing *existing, const char *name,
                        const struct upload_seen *seen)
{
    if (existing->count + 1 > existing->capacity / 8 * 7 && grow(existing) != 0) {
        return -1;
    }
    uint64_t key[2];
    hash_name(name, key);
    struct entry *entry = find_place(existing->entries, existing->capacity, key);
    existing->count += entry->generation == 0 ? 1 : 0;
    *entry = (struct entry){
        .key = {key[0], key[1]},
        .generation = seen->generation,
        .size_bytes = seen->size_bytes,
        .crc32c = seen->crc32c,
        .mark = (seen->run_mark & RUN_MARK_MASK) | (seen->has_crc32c ? FLAG_CRC32C : 0) |
                (seen->is_superseded ? FLAG_SUPERSEDED : 0),
    };
    return 0;
}

bool upload_existing_find(const struct upload_existing *existing, const char *name,
                          struct upload_seen *ret_seen)
{
    if (existing == NULL || existing->count == 0) {
        return false;
    }
    uint64_t key[2];
    hash_name(name, key);
    const struct entry *entry = find_place(existing->entries, existing->capacity, key);
    if (entry->generation == 0) {
        return false;
    }
    *ret_seen = (struct upload_seen){
        .generation = entry->generation,
        .size_bytes = entry->size_bytes,
        .crc32c = entry->crc32c,
        .run_mark = entry->mark & RUN_MARK_MASK,
        .has_crc32c = (entry->mark & FLAG_CRC32C) != 0,
        .is_superseded = (entry->mark & FLAG_SUPERSEDED) != 0,
    };
    return true;
}

uint32_t upload_run_mark(const char *run)
{
    if (run[0] == '\0') {
        return 0;
    }
    uint32_t mark = crc32c_update(0, run, strlen(run)) & RUN_MARK_MASK;
    return mark != 0 ? mark : 1;
}
