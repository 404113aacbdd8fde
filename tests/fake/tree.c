/* SPDX-License-Identifier: GPL-3.0-or-later */
/* tree: hard links under readable paths. */
#include "tree.h"

#include <string.h>
#include <sys/stat.h>

#define PATH_LIMIT 4095

/* Only components that stay inside the folder: not empty, not "." or "..". */
static bool is_plain_path(const char *path)
{
    while (true) {
        size_t len = strcspn(path, "/");
        bool dots = (len == 1 && path[0] == '.') || (len == 2 && strncmp(path, "..", 2) == 0);
        if (len == 0 || dots) {
            return false;
        }
        if (path[len] == '\0') {
            return true;
        }
        path += len + 1;
    }
}

static bool make_path(const char *folder, const struct object *object, struct text *ret)
{
    text_printf(ret, "%s/%s/%s", folder, object->bucket, object->name);
    return is_plain_path(object->bucket) && is_plain_path(object->name) && !ret->failed;
}

void tree_add(const char *folder, const struct object *object)
{
    struct text path CLEANUP_TEXT = TEXT_INIT(PATH_LIMIT);
    if (!make_path(folder, object, &path) || blob_path(object->blob) == NULL) {
        return;
    }
    char *slash = strrchr(path.data, '/');
    *slash = '\0';
    if (file_make_folders(path.data, 0755, NULL) != 0) {
        return;
    }
    *slash = '/';
    (void)unlink(path.data); /* the earlier generation, if any */
    if (link(blob_path(object->blob), path.data) != 0) {
        path.failed = true; /* best effort: the object is there without a readable path */
    }
}

void tree_remove(const char *folder, const struct object *object)
{
    struct text path CLEANUP_TEXT = TEXT_INIT(PATH_LIMIT);
    if (!make_path(folder, object, &path) || unlink(path.data) != 0) {
        return;
    }
    /* Folders that are empty now, up to the bucket's. */
    size_t stop = strlen(folder) + 1 + strlen(object->bucket);
    char *slash = strrchr(path.data, '/');
    while (slash != NULL && (size_t)(slash - path.data) > stop) {
        *slash = '\0';
        if (rmdir(path.data) != 0) {
            return;
        }
        slash = strrchr(path.data, '/');
    }
}
