/* SPDX-License-Identifier: GPL-3.0-or-later */
/* JSON replies of the Storage API: objects, pages of a list, buckets, rights. */
#include "fuzz.h"

#include <string.h>

#include "gcs/gcs_internal.h"

struct seen {
    size_t names;
    bool stops;
};

static int see_object(void *self, const char *name, const struct gcs_object *object,
                      struct error *err)
{
    struct seen *seen = self;
    FUZZ_ASSERT(name != NULL && object != NULL);
    seen->names++;
    return seen->stops ? error_stop(err, EXIT_STATUS_FAILED, "enough") : 0;
}

static int see_prefix(void *self, const char *prefix, struct error *err)
{
    (void)err;
    FUZZ_ASSERT(self != NULL && prefix != NULL);
    return 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size == 0) {
        return 0;
    }
    const char *json = (const char *)data + 1;
    size_t len = size - 1;
    struct gcs_object object;
    struct gcs_bucket bucket;
    unsigned rights = 0;
    struct error err = {0};
    struct seen seen = {.stops = (data[0] & 1) != 0};
    struct gcs_listing listing = {
        .prefix = "p/", .object = see_object, .folder = see_prefix, .self = &seen};
    CLEANUP_TEXT struct text token = TEXT_INIT(8192);

    if (gcs_object_scan(json, len, &object) == 0) {
        FUZZ_ASSERT(object.generation != 0);
    }
    int bucket_read = gcs_bucket_scan(json, len, &bucket, &err);
    int rights_read = gcs_rights_scan(json, len, &rights, &err);
    FUZZ_ASSERT(bucket_read == 0 || bucket_read == -1);
    FUZZ_ASSERT(rights_read == 0 || rights_read == -1);
    char *copy = malloc(len + 1);
    FUZZ_ASSERT(copy != NULL);
    memcpy(copy, json, len);
    copy[len] = '\0';
    err = (struct error){0};
    int listed = gcs_list_page(copy, len, &listing, &token, &err);
    FUZZ_ASSERT(listed == 0 || err.message[0] != '\0');
    free(copy);
    return 0;
}
