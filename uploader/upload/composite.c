/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * A composite upload's life: made, told what a journal knows, fed with parts, reported once.
 */
#include "composite.h"

#include <string.h>

#define PART_SIZE_STEP (1ULL << 20)
#define PARTS_WANTED 1024
/* "OFFSET-LENGTH.cN" at its longest. */
#define PART_NAME_TAIL 48

uint64_t upload_part_size(uint64_t size_bytes)
{
    uint64_t part_size = size_bytes / PARTS_WANTED;
    if (size_bytes > GCS_OBJECT_MAX || part_size >= UPLOAD_PART_MAX) {
        return UPLOAD_PART_MAX;
    }
    part_size = (part_size + PART_SIZE_STEP - 1) / PART_SIZE_STEP * PART_SIZE_STEP;
    if (part_size < UPLOAD_PART_MIN) {
        return UPLOAD_PART_MIN;
    }
    return part_size < UPLOAD_PART_MAX ? part_size : UPLOAD_PART_MAX;
}

/* False: out of memory. */
static bool copy_string(const char *string, const char **ret_copy)
{
    *ret_copy = string != NULL ? strdup(string) : NULL;
    return string == NULL || *ret_copy != NULL;
}

static int copy_strings(struct upload_composite *composite, const struct upload_object *object,
                        const char *parts_prefix, struct error *err)
{
    struct upload_object *copy = &composite->object;
    composite->parts_prefix = strdup(parts_prefix);
    if (composite->parts_prefix == NULL || !copy_string(object->name, &copy->name) ||
        !copy_string(object->content_type, &copy->content_type) ||
        !copy_string(object->metadata_json, &copy->metadata_json) ||
        !copy_string(object->cache_control, &copy->cache_control) ||
        !copy_string(object->custom_time, &copy->custom_time)) {
        return error_memory(err, "a composite upload");
    }
    return 0;
}

static void free_strings(struct upload_composite *composite)
{
    free((char *)composite->object.name);
    free((char *)composite->object.content_type);
    free((char *)composite->object.metadata_json);
    free((char *)composite->object.cache_control);
    free((char *)composite->object.custom_time);
    free(composite->parts_prefix);
}

static int check_limits(const struct upload_object *object, uint64_t size_bytes, uint64_t part_size,
                        const char *parts_prefix, struct error *err)
{
    if (size_bytes > GCS_OBJECT_MAX) {
        return error_entry(err, "too-large", "%llu bytes are more than an object can hold (5 TiB)",
                           (unsigned long long)size_bytes);
    }
    if (part_size == 0 || size_bytes / part_size >= COMPOSITE_PARTS_MAX) {
        return error_stop(err, EXIT_STATUS_USAGE,
                          "a part size of %llu bytes is too small for %llu bytes",
                          (unsigned long long)part_size, (unsigned long long)size_bytes);
    }
    if (strlen(parts_prefix) + PART_NAME_TAIL > GCS_NAME_MAX ||
        strlen(object->name) > GCS_NAME_MAX) {
        return error_entry(err, "name", "the names of its parts would be longer than %d bytes",
                           GCS_NAME_MAX);
    }
    return 0;
}

static int make_levels(struct upload_composite *composite, struct error *err)
{
    uint64_t count = (composite->size_bytes + composite->part_size - 1) / composite->part_size;
    count = count > 0 ? count : 1;
    for (unsigned level = 0; level < COMPOSITE_LEVELS; level++) {
        composite->levels[level] = calloc(count, sizeof(struct node));
        if (composite->levels[level] == NULL) {
            return error_memory(err, "the tree of a composite upload");
        }
        composite->counts[level] = (uint32_t)count;
        composite->ready[level] = COMPOSITE_NONE;
        composite->top = level;
        if (level > 0 && count == 1) {
            break;
        }
        count = (count + COMPOSITE_FAN - 1) / COMPOSITE_FAN;
    }
    return 0;
}

struct upload_composite *upload_composite_new(struct upload_engine *engine,
                                              const struct upload_object *object,
                                              uint64_t size_bytes, uint64_t part_size,
                                              const char *parts_prefix, uint64_t cookie,
                                              struct error *err)
{
    if (check_limits(object, size_bytes, part_size, parts_prefix, err) != 0) {
        return NULL;
    }
    struct upload_composite *composite = calloc(1, sizeof(*composite));
    if (composite == NULL || pthread_mutex_init(&composite->lock, NULL) != 0) {
        free(composite);
        (void)error_memory(err, "a composite upload");
        return NULL;
    }
    composite->engine = engine;
    composite->size_bytes = size_bytes;
    composite->part_size = part_size;
    composite->cookie = cookie;
    int status = copy_strings(composite, object, parts_prefix, err);
    if (status == 0) {
        status = make_levels(composite, err);
    }
    struct upload_seen seen;
    if (status == 0 && upload_existing_find(atomic_load(&engine->existing), object->name, &seen)) {
        status = composite_note_destination(composite, &seen, false, err);
    }
    if (status != 0) {
        upload_composite_free(composite);
        return NULL;
    }
    composite_lock(composite);
    composite_recount_locked(composite);
    composite_unlock(composite);
    return composite;
}

void upload_composite_free(struct upload_composite *composite)
{
    if (composite == NULL) {
        return;
    }
    for (unsigned level = 0; level < COMPOSITE_LEVELS; level++) {
        free(composite->levels[level]);
    }
    free_strings(composite);
    (void)pthread_mutex_destroy(&composite->lock);
    free(composite);
}

void upload_composite_hint(struct upload_composite *composite, unsigned level, uint32_t index,
                           uint64_t generation, uint32_t crc32c)
{
    (void)generation; /* size and checksum on the server decide, whichever write made them */
    if (level > composite->top || index >= composite->counts[level]) {
        return;
    }
    composite_lock(composite);
    struct node *node = composite_node(composite, level, index);
    node->has_known = true;
    node->known_crc32c = crc32c;
    composite_unlock(composite);
}
