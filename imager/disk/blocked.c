/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * How long reads of a disk take, and which of them hangs right now. A read takes one slot without a
 * lock; only a new longest read takes the lock.
 */
#include "disk/disk_internal.h"

#define NS_PER_MS UINT64_C(1000000)
/* Slots tried before a read goes unwatched: the hash spreads threads, so a few are enough. */
#define BLOCKED_TRIES 16

static void note_longest(struct blocked *blocked, uint64_t elapsed_ms, uint64_t offset);

struct blocked_slot *blocked_begin(struct blocked *blocked, uint64_t offset, uint64_t *ret_start_ns)
{
    uint64_t now = clock_monotonic_ns();
    uint64_t hash = (uint64_t)(uintptr_t)pthread_self() * UINT64_C(0x9E3779B97F4A7C15);
    size_t first = (size_t)(hash >> 32) % BLOCKED_SLOTS;

    *ret_start_ns = now;
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

void blocked_end(struct blocked *blocked, struct blocked_slot *slot, uint64_t start_ns,
                 uint64_t offset)
{
    uint64_t elapsed_ms = (clock_monotonic_ns() - start_ns) / NS_PER_MS;

    if (elapsed_ms > atomic_load(&blocked->longest_ms)) {
        note_longest(blocked, elapsed_ms, offset);
    }
    if (slot != NULL) {
        atomic_store(&slot->started_ns, 0);
    }
}

uint64_t blocked_longest_ms(struct blocked *blocked, uint64_t *ret_offset)
{
    uint64_t now = clock_monotonic_ns();

    (void)pthread_mutex_lock(&blocked->lock); /* a plain mutex of our own cannot fail to lock */
    uint64_t longest = atomic_load(&blocked->longest_ms);
    uint64_t offset = blocked->longest_offset;
    (void)pthread_mutex_unlock(&blocked->lock);

    for (size_t i = 0; i < BLOCKED_SLOTS; i++) {
        uint64_t started = atomic_load(&blocked->slots[i].started_ns);
        if (started != 0 && started < now && (now - started) / NS_PER_MS > longest) {
            longest = (now - started) / NS_PER_MS;
            offset = atomic_load(&blocked->slots[i].offset);
        }
    }
    if (ret_offset != NULL) {
        *ret_offset = offset;
    }
    return longest;
}

static void note_longest(struct blocked *blocked, uint64_t elapsed_ms, uint64_t offset)
{
    (void)pthread_mutex_lock(&blocked->lock); /* as above */
    if (elapsed_ms > atomic_load(&blocked->longest_ms)) {
        atomic_store(&blocked->longest_ms, elapsed_ms);
        blocked->longest_offset = offset;
    }
    (void)pthread_mutex_unlock(&blocked->lock);
}
