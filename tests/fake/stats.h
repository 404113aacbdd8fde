/* SPDX-License-Identifier: GPL-3.0-or-later */
/* stats: counters since the start, for GET /_fake/stats. Any thread may add. */
#ifndef FAKE_STATS_H
#define FAKE_STATS_H

#include <stdatomic.h>
#include <stdint.h>

#define STATS_STATUS_COUNT 600

struct stats {
    _Atomic uint64_t requests; /* to the storage API; not to /_fake, token or metadata */
    _Atomic uint64_t received_bytes;
    _Atomic uint64_t inserts;
    _Atomic uint64_t composes;
    _Atomic uint64_t copies;
    _Atomic uint64_t deletes;
    _Atomic uint64_t gets;
    _Atomic uint64_t lists;
    _Atomic uint64_t authorized; /* requests that carried an Authorization header */
    _Atomic uint64_t tokens;     /* tokens handed out */
    _Atomic uint64_t faults;     /* faults that struck */
    _Atomic uint64_t by_status[STATS_STATUS_COUNT];
};

static inline void stats_add(_Atomic uint64_t *counter, uint64_t amount)
{
    atomic_fetch_add_explicit(counter, amount, memory_order_relaxed);
}

static inline uint64_t stats_read(const _Atomic uint64_t *counter)
{
    return atomic_load_explicit(counter, memory_order_relaxed);
}

#endif
