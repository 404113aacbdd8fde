/* SPDX-License-Identifier: GPL-3.0-or-later */
/* rights: what the caller of the fake may do, as Cloud Storage permissions. */
#ifndef FAKE_RIGHTS_H
#define FAKE_RIGHTS_H

#include <stdbool.h>

enum right {
    RIGHT_CREATE = 1 << 0,
    RIGHT_GET = 1 << 1,
    RIGHT_DELETE = 1 << 2,
    RIGHT_LIST = 1 << 3,
    RIGHT_UPDATE = 1 << 4,
    RIGHT_BUCKETS_GET = 1 << 5,
    RIGHT_ALL = 0xff,
};

/* A comma list of "create", "storage.objects.create", "buckets.get", …, or "all"; "" is none.
 * Returns -1 for a word it does not know. */
int rights_parse(const char *list, unsigned *ret_rights);

/* "storage.objects.create" for one right. */
const char *right_permission(enum right right);

/* Is `permission` (full name) granted by `rights`? Names that the fake does not know are granted
 * only where everything is. */
bool rights_grant(unsigned rights, const char *permission);

#endif
