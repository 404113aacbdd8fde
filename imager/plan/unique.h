/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Private to plan: which object names have been given away, as a set of 64-bit hashes. Two names
 * with the same hash count as the same, which costs one of them a suffix and nothing else.
 */
#ifndef WINCH_PLAN_UNIQUE_H
#define WINCH_PLAN_UNIQUE_H

#include <stddef.h>
#include <stdint.h>

struct plan_unique {
    uint64_t *table; /* 0 = free */
    size_t cap;      /* a power of two */
    size_t count;
};

/* SipHash-1-3 with a fixed key: a plan has to come out the same whenever it is made. */
uint64_t plan_unique_hash(const char *name, size_t len);
/* 1: it is new and now in; 0: it was there; -1: out of memory. */
int plan_unique_add(struct plan_unique *unique, uint64_t hash);
void plan_unique_clear(struct plan_unique *unique);

#endif
