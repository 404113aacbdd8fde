/* SPDX-License-Identifier: GPL-3.0-or-later */
/* rights: names of permissions and the option --rights. */
#include "rights.h"

#include <stddef.h>
#include <string.h>

#include "base/base.h"

static const struct {
    const char *permission;
    enum right right;
} permissions[] = {
    {"storage.objects.create", RIGHT_CREATE},
    {"storage.objects.get", RIGHT_GET},
    {"storage.objects.delete", RIGHT_DELETE},
    {"storage.objects.list", RIGHT_LIST},
    {"storage.objects.update", RIGHT_UPDATE},
    {"storage.buckets.get", RIGHT_BUCKETS_GET},
    {"storage.multipartUploads.create", RIGHT_CREATE},
    {"storage.multipartUploads.abort", RIGHT_CREATE},
};

static bool same_word(const char *word, size_t len, const char *name)
{
    return strlen(name) == len && memcmp(word, name, len) == 0;
}

static int parse_word(const char *word, size_t len, unsigned *rights)
{
    if (same_word(word, len, "all")) {
        *rights |= RIGHT_ALL;
        return 0;
    }
    for (size_t i = 0; i < ARRAY_LEN(permissions); i++) {
        const char *full = permissions[i].permission;
        const char *without_storage = full + strlen("storage.");
        const char *verb = strrchr(full, '.') + 1;
        bool of_objects = strncmp(without_storage, "objects.", strlen("objects.")) == 0;
        if (same_word(word, len, full) || same_word(word, len, without_storage) ||
            (of_objects && same_word(word, len, verb))) {
            *rights |= permissions[i].right;
            return 0;
        }
    }
    return -1;
}

int rights_parse(const char *list, unsigned *ret_rights)
{
    unsigned rights = 0;
    const char *word = list;
    while (*word != '\0') {
        size_t len = strcspn(word, ",");
        if (len > 0 && parse_word(word, len, &rights) != 0) {
            return -1;
        }
        word += len;
        word += *word == ',' ? 1 : 0;
    }
    *ret_rights = rights;
    return 0;
}

const char *right_permission(enum right right)
{
    for (size_t i = 0; i < ARRAY_LEN(permissions); i++) {
        if (permissions[i].right == right) {
            return permissions[i].permission;
        }
    }
    return "storage.objects.unknown";
}

bool rights_grant(unsigned rights, const char *permission)
{
    for (size_t i = 0; i < ARRAY_LEN(permissions); i++) {
        if (strcmp(permissions[i].permission, permission) == 0) {
            return (rights & permissions[i].right) != 0;
        }
    }
    return rights == RIGHT_ALL;
}
