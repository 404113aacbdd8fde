/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The containers of a volume's chunk stores: filled from the catalog, looked up by many threads. */
#include <string.h>

#include "volume/dedup.h"
#include "volume/grow.h"

#define STORE_NAME_UNITS 42     /* {8-4-4-4-12}.ddp */
#define CONTAINER_NAME_UNITS 21 /* 8.8.ccc */
#define CONTAINERS_MAX (1U << 20)
/* A volume has one store, and a container one generation, or two for a while. */
#define STORES_MAX 256
#define GENERATIONS_MAX 16

struct volume_dedup {
    struct dedup_container *containers;
    size_t count, cap;
    uint8_t (*stores)[VOLUME_DEDUP_STORE_BYTES];
    size_t store_count, store_cap;
};

static int compare_places(const struct dedup_container *a, const struct dedup_container *b);
static int compare_containers(const void *a, const void *b);
static const char *take_stream(struct dedup_container *container, const struct volume *volume,
                               const struct volume_entry *entry, bool *ret_no_memory);

/* ---- names --------------------------------------------------------------------------------- */

static int hex_digit(const uint8_t *units_le, size_t index)
{
    unsigned unit = read_le16(units_le + 2 * index);

    if (unit >= '0' && unit <= '9') {
        return (int)(unit - '0');
    }
    unsigned lower = unit | 0x20U;
    return lower >= 'a' && lower <= 'f' && unit < 0x80 ? (int)(lower - 'a' + 10) : -1;
}

static bool has_text(const uint8_t *units_le, size_t at, const char *lower)
{
    for (size_t i = 0; lower[i] != '\0'; i++) {
        unsigned unit = read_le16(units_le + 2 * (at + i));
        unsigned folded = unit >= 'A' && unit <= 'Z' ? unit | 0x20U : unit;
        if (folded != (unsigned char)lower[i]) {
            return false;
        }
    }
    return true;
}

static bool take_hex(const uint8_t *units_le, size_t at, size_t digits, uint32_t *ret_value)
{
    uint32_t value = 0;

    for (size_t i = 0; i < digits; i++) {
        int digit = hex_digit(units_le, at + i);
        if (digit < 0) {
            return false;
        }
        value = value << 4 | (uint32_t)digit;
    }
    *ret_value = value;
    return true;
}

bool volume_dedup_store_name(const uint8_t *units_le, size_t len,
                             uint8_t ret_store[VOLUME_DEDUP_STORE_BYTES])
{
    /* Where the digits of each byte stand: the first three groups are little endian. */
    static const uint8_t places[VOLUME_DEDUP_STORE_BYTES] = {7,  5,  3,  1,  12, 10, 17, 15,
                                                             20, 22, 25, 27, 29, 31, 33, 35};

    if (len != STORE_NAME_UNITS || !has_text(units_le, 0, "{") || !has_text(units_le, 9, "-") ||
        !has_text(units_le, 14, "-") || !has_text(units_le, 19, "-") ||
        !has_text(units_le, 24, "-") || !has_text(units_le, 37, "}.ddp")) {
        return false;
    }
    for (size_t i = 0; i < VOLUME_DEDUP_STORE_BYTES; i++) {
        uint32_t byte;
        if (!take_hex(units_le, places[i], 2, &byte)) {
            return false;
        }
        ret_store[i] = (uint8_t)byte;
    }
    return true;
}

bool volume_dedup_container_name(const uint8_t *units_le, size_t len, uint32_t *ret_id,
                                 uint32_t *ret_generation)
{
    return len == CONTAINER_NAME_UNITS && has_text(units_le, 8, ".") &&
           has_text(units_le, 17, ".ccc") && take_hex(units_le, 0, 8, ret_id) &&
           take_hex(units_le, 9, 8, ret_generation);
}

/* ---- filling ------------------------------------------------------------------------------- */

struct volume_dedup *volume_dedup_new(struct error *err)
{
    struct volume_dedup *dedup = calloc(1, sizeof(*dedup));

    if (dedup == NULL) {
        (void)error_memory(err, "the table of chunk stores");
    }
    return dedup;
}

void volume_dedup_free(struct volume_dedup *dedup)
{
    if (dedup == NULL) {
        return;
    }
    for (size_t i = 0; i < dedup->count; i++) {
        free(dedup->containers[i].extents);
        free(dedup->containers[i].starts);
    }
    free(dedup->containers);
    free(dedup->stores);
    free(dedup);
}

int volume_dedup_add_store(struct volume_dedup *dedup,
                           const uint8_t store[VOLUME_DEDUP_STORE_BYTES], struct error *err)
{
    if (dedup->store_count >= STORES_MAX) {
        return 0;
    }
    if (grow_array((void **)&dedup->stores, &dedup->store_cap, dedup->store_count + 1,
                   sizeof(*dedup->stores)) != 0) {
        return error_memory(err, "the table of chunk stores");
    }
    memcpy(dedup->stores[dedup->store_count++], store, VOLUME_DEDUP_STORE_BYTES);
    return 0;
}

int volume_dedup_add(struct volume_dedup *dedup, const struct volume *volume,
                     const uint8_t store[VOLUME_DEDUP_STORE_BYTES], enum volume_dedup_kind kind,
                     uint32_t id, uint32_t generation, const struct volume_entry *entry,
                     struct error *err)
{
    bool no_memory = false;

    if (dedup->count >= CONTAINERS_MAX) {
        return 0; /* 1 TiB of the smallest: files in what is left out say what they miss */
    }
    if (grow_array((void **)&dedup->containers, &dedup->cap, dedup->count + 1,
                   sizeof(*dedup->containers)) != 0) {
        return error_memory(err, "the table of chunk stores");
    }
    struct dedup_container *container = &dedup->containers[dedup->count];
    *container = (struct dedup_container){
        .kind = kind, .id = id, .generation = generation, .record = entry->record};
    memcpy(container->store, store, VOLUME_DEDUP_STORE_BYTES);
    container->problem = take_stream(container, volume, entry, &no_memory);
    dedup->count++;
    return no_memory ? error_memory(err, "the table of chunk stores") : 0;
}

static const char *take_stream(struct dedup_container *container, const struct volume *volume,
                               const struct volume_entry *entry, bool *ret_no_memory)
{
    const struct volume_stream *data = NULL;
    uint64_t at = 0;

    for (size_t i = 0; i < entry->stream_count && data == NULL; i++) {
        data = entry->streams[i].name_len == 0 ? &entry->streams[i] : NULL;
    }
    if (entry->problem != NULL || data == NULL || data->problem != NULL) {
        return "its $MFT record is damaged";
    }
    if (entry->crossed_record != NULL || data->crossed != NULL) {
        return "clusters of it are claimed by others too, or are free";
    }
    if (entry->reparse_tag != 0 || (data->form != VOLUME_PLAIN && data->form != VOLUME_SPARSE)) {
        return "it is compressed, encrypted or empty";
    }
    container->extents = calloc(data->extent_count + 1, sizeof(*container->extents));
    container->starts = calloc(data->extent_count + 1, sizeof(*container->starts));
    if (container->extents == NULL || container->starts == NULL) {
        *ret_no_memory = true;
        return "no memory";
    }
    container->extent_count = data->extent_count;
    for (size_t i = 0; i < data->extent_count; i++) {
        uint64_t bytes = 0;
        container->extents[i] = data->extents[i];
        container->starts[i] = at;
        if (mul_overflows(data->extents[i].clusters, volume->boot.cluster_bytes, &bytes) ||
            add_overflows(at, bytes, &at)) {
            return "its extents overflow";
        }
    }
    container->valid_bytes = data->valid_bytes;
    return at < data->valid_bytes ? "its extents end before its data does" : NULL;
}

void volume_set_dedup(struct volume *volume, struct volume_dedup *dedup)
{
    volume_dedup_free(volume->dedup);
    volume->dedup = dedup;
    if (dedup != NULL && dedup->count > 1) {
        qsort(dedup->containers, dedup->count, sizeof(*dedup->containers), compare_containers);
    }
}

/* ---- looking up ---------------------------------------------------------------------------- */

static int compare_places(const struct dedup_container *a, const struct dedup_container *b)
{
    int stores = memcmp(a->store, b->store, sizeof(a->store));

    if (stores != 0) {
        return stores;
    }
    if (a->kind != b->kind) {
        return a->kind < b->kind ? -1 : 1;
    }
    return a->id != b->id ? (a->id < b->id ? -1 : 1) : 0;
}

/* The newest generation first. */
static int compare_containers(const void *a, const void *b)
{
    const struct dedup_container *x = a;
    const struct dedup_container *y = b;
    int places = compare_places(x, y);

    if (places != 0) {
        return places;
    }
    if (x->generation != y->generation) {
        return x->generation > y->generation ? -1 : 1;
    }
    return x->record != y->record ? (x->record < y->record ? -1 : 1) : 0;
}

const struct dedup_container *dedup_find(const struct volume_dedup *dedup,
                                         const uint8_t store[VOLUME_DEDUP_STORE_BYTES],
                                         enum volume_dedup_kind kind, uint32_t id,
                                         size_t *ret_count)
{
    struct dedup_container wanted = {.kind = kind, .id = id};
    size_t low = 0;
    size_t high = dedup == NULL ? 0 : dedup->count;

    *ret_count = 0;
    memcpy(wanted.store, store, sizeof(wanted.store));
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (compare_places(&dedup->containers[middle], &wanted) < 0) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    while (dedup != NULL && low + *ret_count < dedup->count && *ret_count < GENERATIONS_MAX &&
           compare_places(&dedup->containers[low + *ret_count], &wanted) == 0) {
        (*ret_count)++;
    }
    return *ret_count == 0 ? NULL : &dedup->containers[low];
}

bool dedup_has_store(const struct volume_dedup *dedup,
                     const uint8_t store[VOLUME_DEDUP_STORE_BYTES])
{
    for (size_t i = 0; dedup != NULL && i < dedup->store_count; i++) {
        if (memcmp(dedup->stores[i], store, VOLUME_DEDUP_STORE_BYTES) == 0) {
            return true;
        }
    }
    return false;
}

bool dedup_container_holds(const struct dedup_container *container, uint64_t offset, uint64_t len)
{
    return offset <= container->valid_bytes && len <= container->valid_bytes - offset;
}

int dedup_container_read(const struct dedup_container *container, const struct volume *volume,
                         uint64_t offset, void *buf, size_t len, struct error *err)
{
    uint8_t *to = buf;
    size_t low = 0;
    size_t high = container->extent_count;

    while (high - low > 1) {
        size_t middle = low + (high - low) / 2;
        if (container->starts[middle] <= offset) {
            low = middle;
        } else {
            high = middle;
        }
    }
    for (; len > 0; low++) {
        const struct volume_extent *extent = &container->extents[low];
        uint64_t inside = offset - container->starts[low];
        uint64_t left = extent->clusters * volume->boot.cluster_bytes - inside;
        size_t take = len < left ? len : (size_t)left;
        if (extent->cluster == VOLUME_HOLE) {
            memset(to, 0, take);
        } else if (take > 0 && disk_read(volume->disk,
                                         volume_cluster_position(volume, extent->cluster) + inside,
                                         to, take, err) != 0) {
            return -1;
        }
        to += take;
        offset += take;
        len -= take;
    }
    return 0;
}
