/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Which read of a disk hangs right now, and for how long. A read takes one slot, without a lock. */
#include "disk/disk_internal.h"

#define NS_PER_MS UINT64_C(1000000)
/* Slots tried before a read goes unwatched: the hash spreads threads, so a few are enough. */
#define BLOCKED_TRIES 16

struct blocked_slot *blocked_begin(struct blocked *blocked, uint64_t offset)
{
    uint64_t now = clock_monotonic_ns();
    uint64_t hash = (uint64_t)(uintptr_t)pthread_self() * UINT64_C(0x9E3779B97F4A7C15);
    size_t first = (size_t)(hash >> 32) % BLOCKED_SLOTS;

    for (size_t i = 0; i < BLOCKED_TRIES; i++) {
        struct blocked_slot *slot = &blocked->slots[(first + i) % BLOCKED_SLOTS];
        uint64_t expected = 0;
        if (atomic_compare_exchange_strong(&slot->started_ns, &expected, now)) {
            atomic_store(&slot->offset, offset);
            return slot;
        }
    }
    return NULL;
}

void blocked_end(struct blocked_slot *slot)
{
    if (slot != NULL) {
        atomic_store(&slot->started_ns, 0);
    }
}

uint64_t blocked_now_ms(struct blocked *blocked, uint64_t *ret_offset)
{
    uint64_t now = clock_monotonic_ns();
    uint64_t longest = 0;

    *ret_offset = 0;
    for (size_t i = 0; i < BLOCKED_SLOTS; i++) {
        uint64_t started = atomic_load(&blocked->slots[i].started_ns);
        if (started != 0 && started < now && (now - started) / NS_PER_MS > longest) {
            longest = (now - started) / NS_PER_MS;
            *ret_offset = atomic_load(&blocked->slots[i].offset);
        }
    }
    return longest;
}
