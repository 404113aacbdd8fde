/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * object_index: with --dir, which file holds which object. A log of JSON lines, appended to at
 * every change and replayed at the next start. With --tree also hard links under readable paths.
 */
#ifndef FAKE_OBJECT_INDEX_H
#define FAKE_OBJECT_INDEX_H

#include "base/base.h"
#include "blob.h"
#include "object.h"

struct object_index;
struct store;

/* Make the folders of `folder` and open its log; prepares `storage` for files there. */
int object_index_open(const char *folder, bool tree, struct blob_storage *storage,
                      struct object_index **ret, struct error *err) WARN_UNUSED;
/* Fill the store from the log, then remove data files that no object has. Before other threads. */
int object_index_replay(struct object_index *index, struct blob_storage *storage,
                        struct store *store, struct error *err) WARN_UNUSED;
void object_index_close(struct object_index *index); /* NULL is fine */

/* Record a change. Called under the store's lock, because the lines must stand in the order of the
 * changes. An index of NULL takes everything. */
int object_index_write_put(struct object_index *index, const struct object *object) WARN_UNUSED;
int object_index_write_delete(struct object_index *index, const struct object *object) WARN_UNUSED;

#endif
