/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * tree: --tree, readable paths for people and for diff. Best effort: a name that is no path here
 * (a component "..", an empty one, `a` beside `a/b`) simply has none.
 */
#ifndef FAKE_TREE_H
#define FAKE_TREE_H

#include "object.h"

/* Link FOLDER/BUCKET/NAME to the object's file, in place of an earlier one. */
void tree_add(const char *folder, const struct object *object);
void tree_remove(const char *folder, const struct object *object);

#endif
