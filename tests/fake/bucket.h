/* SPDX-License-Identifier: GPL-3.0-or-later */
/* bucket: what is the same for all buckets, and --bucket-json over it. */
#ifndef FAKE_BUCKET_H
#define FAKE_BUCKET_H

#include "server.h"

/* The class of objects that state none. */
const char *bucket_storage_class(const struct server *server);

#endif
