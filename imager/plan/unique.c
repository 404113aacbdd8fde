/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A set of hashes with open addressing, at most three quarters full. */
#include "plan/unique.h"

#include "base/base.h"

enum { FIRST_CAP = 1024 };

#define KEY_LOW 0x77696E63682D6E61ULL
#define KEY_HIGH 0x6D65732D706C616EULL

struct sip {
    uint64_t a, b, c, d;
};

static uint64_t rotate(uint64_t value, unsigned bits);
static void mix(struct sip *s);
static int grow(struct plan_unique *unique);
static size_t find_place(const uint64_t *table, size_t cap, uint64_t hash);

uint64_t plan_unique_hash(const char *name, size_t len)
{
    struct sip s = {
        .a = KEY_LOW ^ 0x736F6D6570736575ULL,
        .b = KEY_HIGH ^ 0x646F72616E646F6DULL,
        .c = KEY_LOW ^ 0x6C7967656E657261ULL,
        .d = KEY_HIGH ^ 0x7465646279746573ULL,
    };
    uint64_t last = (uint64_t)len << 56;
    size_t at = 0;
    for (; at + 8 <= len; at += 8) {
        uint64_t word = read_le64(name + at);
        s.d ^= word;
        mix(&s);
        s.a ^= word;
    }
    for (unsigned shift = 0; at < len; at++, shift += 8) {
        last |= (uint64_t)(uint8_t)name[at] << shift;
    }
    s.d ^= last;
    mix(&s);
    s.a ^= last;
    s.c ^= 0xFF;
    mix(&s);
    mix(&s);
    mix(&s);
    return s.a ^ s.b ^ s.c ^ s.d;
}

int plan_unique_add(struct plan_unique *unique, uint64_t hash)
{
    hash = hash == 0 ? 1 : hash;
    if (unique->count >= unique->cap / 4 * 3 && grow(unique) != 0) {
        return -1;
    }
    size_t at = find_place(unique->table, unique->cap, hash);
    if (unique->table[at] == hash) {
        return 0;
    }
    unique->table[at] = hash;
    unique->count++;
    return 1;
}

void plan_unique_clear(struct plan_unique *unique)
{
    free(unique->table);
    *unique = (struct plan_unique){0};
}

static uint64_t rotate(uint64_t value, unsigned bits)
{
    return value << bits | value >> (64 - bits);
}

static void mix(struct sip *s)
{
    s->a += s->b;
    s->b = rotate(s->b, 13) ^ s->a;
    s->a = rotate(s->a, 32);
    s->c += s->d;
    s->d = rotate(s->d, 16) ^ s->c;
    s->a += s->d;
    s->d = rotate(s->d, 21) ^ s->a;
    s->c += s->b;
    s->b = rotate(s->b, 17) ^ s->c;
    s->c = rotate(s->c, 32);
}

static int grow(struct plan_unique *unique)
{
    size_t cap = unique->cap == 0 ? FIRST_CAP : unique->cap * 2;
    uint64_t *table = calloc(cap, sizeof(*table));
    if (table == NULL) {
        return -1;
    }
    for (size_t i = 0; i < unique->cap; i++) {
        if (unique->table[i] != 0) {
            table[find_place(table, cap, unique->table[i])] = unique->table[i];
        }
    }
    free(unique->table);
    unique->table = table;
    unique->cap = cap;
    return 0;
}

/* Where the hash stands, or the free place for it. */
static size_t find_place(const uint64_t *table, size_t cap, uint64_t hash)
{
    size_t at = (size_t)hash & (cap - 1);
    while (table[at] != 0 && table[at] != hash) {
        at = (at + 1) & (cap - 1);
    }
    return at;
}
