/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Collects the attributes of one entry and hands them out as a volume_entry. What the attributes
 * say about clusters is judged in builder_stream.c.
 */
#include "volume/builder.h"
#include "volume/values.h"

#include <string.h>

#define STANDARD_BYTES_MIN 48
#define STANDARD_BYTES_LONG 72 /* NTFS 3: owner, security id, USN */
#define STANDARD_CASE_SENSITIVE 0x01
#define FILE_NAME_BYTES_MIN 66
/* Reparse data, EAs, security descriptor and $EFS of one entry, when none is resident. */
#define VALUES_BYTES (BUILDER_REPARSE_BYTES_MAX + 4 * BUILDER_VALUE_BYTES_MAX)

static const uint16_t name_i30[] = {'$', 'I', '3', '0'};
static const uint16_t name_efs[] = {'$', 'E', 'F', 'S'};

static void add_standard(struct builder *builder, const struct record_attribute *attribute);
static void add_name(struct builder *builder, const struct record_attribute *attribute);
static bool has_name(const struct builder *builder, const struct volume_name *name);
static const uint16_t *copy_units(struct builder *builder, const uint8_t *units, uint8_t len);
static void add_index(struct builder *builder, const struct record_attribute *attribute);
static int add_clusters(struct builder *builder, const struct record_attribute *attribute,
                        uint64_t record, struct error *err);
static int add_value(struct builder *builder, const struct record_attribute *attribute,
                     uint64_t record, struct error *err);
static struct builder_item *find_item(struct builder *builder, uint32_t type, const uint8_t *name,
                                      uint8_t name_len);
static struct builder_item *new_item(struct builder *builder, uint32_t type, const uint8_t *name,
                                     uint8_t name_len);
static int add_piece(struct builder *builder, struct builder_item *item,
                     const struct record_attribute *attribute, struct error *err);
static int finish_value(struct builder *builder, struct builder_item *item, struct error *err);
static int load_value(struct builder *builder, const struct builder_item *item, size_t max,
                      const uint8_t **ret_bytes, size_t *ret_len, struct error *err);
static int read_value(struct builder *builder, const struct builder_item *item,
                      const uint8_t **ret_bytes, size_t *ret_len, struct error *err)
    __attribute__((noinline));

int builder_init(struct builder *builder, struct volume *volume, struct error *err)
{
    *builder = (struct builder){.volume = volume};
    builder->items = malloc(BUILDER_ITEMS_MAX * sizeof(*builder->items));
    builder->names = malloc(BUILDER_ITEMS_MAX * sizeof(*builder->names));
    builder->units = malloc(BUILDER_UNITS_MAX * sizeof(*builder->units));
    builder->streams = malloc(BUILDER_ITEMS_MAX * sizeof(*builder->streams));
    builder->values = malloc(VALUES_BYTES);
    if (builder->items == NULL || builder->names == NULL || builder->units == NULL ||
        builder->streams == NULL || builder->values == NULL) {
        builder_clear(builder);
        return error_memory(err, "scan of $MFT");
    }
    return 0;
}

void builder_clear(struct builder *builder)
{
    free(builder->items);
    free(builder->names);
    free(builder->units);
    free(builder->streams);
    free(builder->values);
    extent_list_free(&builder->extents);
    *builder = (struct builder){0};
}

void builder_start(struct builder *builder, uint64_t record, const struct record_header *header)
{
    builder->entry = (struct volume_entry){.record = record};
    builder->index = (struct builder_index){0};
    builder->item_count = 0;
    builder->name_count = 0;
    builder->unit_count = 0;
    builder->extents.count = 0;
    builder->values_used = 0;
    if (header != NULL) {
        builder->entry.sequence = header->sequence;
        builder->entry.link_count = header->link_count;
        builder->entry.lsn = header->lsn;
        builder->entry.directory = (header->flags & RECORD_FLAG_DIRECTORY) != 0;
    }
}

void builder_set_problem(struct builder *builder, const char *problem)
{
    if (builder->entry.problem == NULL) {
        builder->entry.problem = problem;
    }
}

int builder_add(struct builder *builder, const struct record_attribute *attribute, uint64_t record,
                struct error *err)
{
    switch (attribute->type) {
    case ATTRIBUTE_STANDARD:
        add_standard(builder, attribute);
        return 0;
    case ATTRIBUTE_NAME:
        add_name(builder, attribute);
        return 0;
    case ATTRIBUTE_INDEX_ROOT:
    case ATTRIBUTE_INDEX_ALLOCATION:
    case ATTRIBUTE_BITMAP:
        add_index(builder, attribute);
        return add_clusters(builder, attribute, record, err);
    case ATTRIBUTE_UTILITY:
        if (!record_name_is(attribute, name_efs, ARRAY_LEN(name_efs))) {
            return add_clusters(builder, attribute, record, err);
        }
        return add_value(builder, attribute, record, err);
    case ATTRIBUTE_DATA:
    case ATTRIBUTE_REPARSE:
    case ATTRIBUTE_EA:
    case ATTRIBUTE_OBJECT_ID:
    case ATTRIBUTE_SECURITY:
        return add_value(builder, attribute, record, err);
    default:
        return add_clusters(builder, attribute, record, err);
    }
}

void builder_spoil_stream(struct builder *builder, const uint8_t *name, uint8_t name_len,
                          const char *problem)
{
    struct builder_item *item = find_item(builder, ATTRIBUTE_DATA, name, name_len);

    if (item == NULL) {
        item = new_item(builder, ATTRIBUTE_DATA, name, name_len);
    }
    if (item != NULL) {
        builder_spoil_item(item, problem, true);
    } else {
        builder_set_problem(builder, problem);
    }
}

int builder_finish(struct builder *builder, struct error *err)
{
    struct volume_entry *entry = &builder->entry;

    entry->names = builder->names;
    entry->name_count = builder->name_count;
    entry->streams = builder->streams;
    for (size_t i = 0; i < builder->item_count; i++) {
        struct builder_item *item = &builder->items[i];
        builder_judge(builder, item);
        if (item->type == ATTRIBUTE_DATA) {
            builder_fill_stream(builder, item, &builder->streams[entry->stream_count++]);
        } else if (!item->unused && finish_value(builder, item, err) != 0) {
            return -1;
        }
    }
    return 0;
}

static void add_standard(struct builder *builder, const struct record_attribute *attribute)
{
    struct volume_entry *entry = &builder->entry;
    const uint8_t *value = attribute->value;

    if (!attribute->resident || attribute->value_len < STANDARD_BYTES_MIN) {
        builder_set_problem(builder, "its standard information is damaged");
        return;
    }
    if (entry->has_standard) {
        return;
    }
    entry->has_standard = true;
    entry->created = read_le64(value);
    entry->modified = read_le64(value + 8);
    entry->changed = read_le64(value + 16);
    entry->accessed = read_le64(value + 24);
    entry->file_attributes = read_le32(value + 32);
    entry->case_sensitive = (value[40] & STANDARD_CASE_SENSITIVE) != 0;
    if (attribute->value_len >= STANDARD_BYTES_LONG) {
        entry->owner_id = read_le32(value + 48);
        entry->security_id = read_le32(value + 52);
        entry->usn = read_le64(value + 64);
    }
}

static void add_name(struct builder *builder, const struct record_attribute *attribute)
{
    const uint8_t *value = attribute->value;

    if (!attribute->resident || attribute->value_len < FILE_NAME_BYTES_MIN || value[64] == 0 ||
        value[64] * 2U > attribute->value_len - FILE_NAME_BYTES_MIN || value[65] > 3) {
        builder_set_problem(builder, "one of its names is damaged");
        return;
    }
    struct volume_name name = {
        .parent_ref = read_le64(value), .len = value[64], .space = value[65]};
    size_t units_before = builder->unit_count;
    name.units = copy_units(builder, value + FILE_NAME_BYTES_MIN, name.len);
    if (name.units == NULL || builder->name_count >= BUILDER_ITEMS_MAX) {
        builder_set_problem(builder, "it has too many names");
        return;
    }
    if (has_name(builder, &name)) {
        builder->unit_count = units_before;
        return;
    }
    builder->names[builder->name_count++] = name;
}

static bool has_name(const struct builder *builder, const struct volume_name *name)
{
    for (size_t i = 0; i < builder->name_count; i++) {
        const struct volume_name *other = &builder->names[i];
        if (other->len == name->len && other->parent_ref == name->parent_ref &&
            other->space == name->space &&
            memcmp(other->units, name->units, name->len * sizeof(*name->units)) == 0) {
            return true;
        }
    }
    return false;
}

static const uint16_t *copy_units(struct builder *builder, const uint8_t *units, uint8_t len)
{
    if (len > BUILDER_UNITS_MAX - builder->unit_count) {
        return NULL;
    }
    uint16_t *to = builder->units + builder->unit_count;
    for (size_t i = 0; i < len; i++) {
        to[i] = read_le16(units + 2 * i);
    }
    builder->unit_count += len;
    return to;
}

static void add_index(struct builder *builder, const struct record_attribute *attribute)
{
    if (!record_name_is(attribute, name_i30, ARRAY_LEN(name_i30))) {
        return;
    }
    if (attribute->type == ATTRIBUTE_BITMAP) {
        if (attribute->resident) {
            builder->index.bitmap = attribute->value;
            builder->index.bitmap_len = attribute->value_len;
        }
        return;
    }
    if (attribute->type == ATTRIBUTE_INDEX_ROOT && attribute->resident) {
        builder->index.root = attribute->value;
        builder->index.root_len = attribute->value_len;
    }
    if (!attribute->resident && attribute->lowest_vcn == 0) {
        builder->entry.unnamed_directory_index_bytes = attribute->size_bytes;
    } else if (attribute->resident && builder->entry.unnamed_directory_index_bytes == 0) {
        builder->entry.unnamed_directory_index_bytes = attribute->value_len;
    }
}

/* Nothing is read from it, but others must not claim its clusters. */
static int add_clusters(struct builder *builder, const struct record_attribute *attribute,
                        uint64_t record, struct error *err)
{
    size_t before = builder->item_count;

    if (attribute->resident) {
        return 0;
    }
    int result = add_value(builder, attribute, record, err);
    if (builder->item_count > before) {
        builder->items[before].unused = true;
    }
    return result;
}

static int add_value(struct builder *builder, const struct record_attribute *attribute,
                     uint64_t record, struct error *err)
{
    struct builder_item *item =
        find_item(builder, attribute->type, attribute->name, attribute->name_len);
    bool is_new = item == NULL;

    if (is_new) {
        item = new_item(builder, attribute->type, attribute->name, attribute->name_len);
    }
    if (item == NULL) {
        builder_set_problem(builder, "it has too many attributes");
        return 0;
    }
    if (!is_new && (item->resident || attribute->resident || attribute->lowest_vcn == 0 ||
                    item != &builder->items[builder->item_count - 1])) {
        builder_spoil_item(item, "two attributes of this type and name exist", true);
        return 0;
    }
    if (is_new) {
        item->record = record;
        item->flags = attribute->flags;
        item->resident = attribute->resident;
    }
    if (attribute->resident) {
        item->value = attribute->value;
        item->size_bytes = attribute->value_len;
        item->valid_bytes = attribute->value_len;
        return 0;
    }
    return add_piece(builder, item, attribute, err);
}

static struct builder_item *find_item(struct builder *builder, uint32_t type, const uint8_t *name,
                                      uint8_t name_len)
{
    for (size_t i = builder->item_count; i > 0; i--) {
        struct builder_item *item = &builder->items[i - 1];
        if (item->type != type || item->name_len != name_len) {
            continue;
        }
        size_t unit = 0;
        while (unit < name_len && item->name[unit] == read_le16(name + 2 * unit)) {
            unit++;
        }
        if (unit == name_len) {
            return item;
        }
    }
    return NULL;
}

const struct builder_item *builder_find_index(const struct builder *builder, uint32_t type)
{
    for (size_t i = 0; i < builder->item_count; i++) {
        const struct builder_item *item = &builder->items[i];
        if (item->type == type && item->name_len == ARRAY_LEN(name_i30) &&
            memcmp(item->name, name_i30, sizeof(name_i30)) == 0) {
            return item;
        }
    }
    return NULL;
}

static struct builder_item *new_item(struct builder *builder, uint32_t type, const uint8_t *name,
                                     uint8_t name_len)
{
    if (builder->item_count >= BUILDER_ITEMS_MAX) {
        return NULL;
    }
    const uint16_t *units = copy_units(builder, name, name_len);
    if (units == NULL) {
        return NULL;
    }
    struct builder_item *item = &builder->items[builder->item_count++];
    *item = (struct builder_item){
        .type = type, .name = units, .name_len = name_len, .extent_first = builder->extents.count};
    return item;
}

static int add_piece(struct builder *builder, struct builder_item *item,
                     const struct record_attribute *attribute, struct error *err)
{
    bool no_memory = false;

    if (attribute->lowest_vcn == 0) {
        item->compression_unit = attribute->compression_unit;
        item->size_bytes = attribute->size_bytes;
        item->valid_bytes = attribute->valid_bytes;
        item->allocated_bytes = attribute->allocated_bytes;
        item->stored_bytes = attribute->stored_bytes;
    }
    if (attribute->lowest_vcn != item->next_vcn) {
        builder_spoil_item(item,
                           item->next_vcn == 0 ? "a piece is missing: its first one"
                           : attribute->lowest_vcn > item->next_vcn
                               ? "a piece is missing: its extents have a gap"
                               : "its extents overlap each other",
                           true);
        return 0;
    }
    const char *problem =
        runlist_decode(attribute->pairs, attribute->pairs_len, builder->volume->boot.cluster_count,
                       attribute->clusters, item->extent_first, &builder->extents, &no_memory);
    if (no_memory) {
        return error_memory(err, "extents of a file");
    }
    if (problem != NULL) {
        builder_spoil_item(item, problem, false);
        item->doubtful = true;
    }
    item->next_vcn += attribute->clusters;
    item->extent_count = builder->extents.count - item->extent_first;
    return 0;
}

/* Values that the entry carries whole. A damaged one is left out and named; without its reparse
 * data an entry cannot be told from a plain file, so that this one spoils the entry. */
static int finish_value(struct builder *builder, struct builder_item *item, struct error *err)
{
    struct volume_entry *entry = &builder->entry;
    size_t max =
        item->type == ATTRIBUTE_REPARSE ? BUILDER_REPARSE_BYTES_MAX : BUILDER_VALUE_BYTES_MAX;
    const uint8_t *bytes = NULL;
    size_t len = 0;

    if (load_value(builder, item, max, &bytes, &len, err) != 0) {
        return -1;
    }
    const char *problem = values_problem(item->type, bytes, len);
    if (problem != NULL && item->type == ATTRIBUTE_REPARSE) {
        builder_set_problem(builder, problem);
        return 0;
    }
    if (problem != NULL) {
        entry->lost_value = entry->lost_value == NULL ? problem : entry->lost_value;
        return 0;
    }
    switch (item->type) {
    case ATTRIBUTE_REPARSE:
        entry->reparse = bytes;
        entry->reparse_len = len;
        entry->reparse_tag = read_le32(bytes);
        break;
    case ATTRIBUTE_EA:
        entry->ea = bytes;
        entry->ea_len = len;
        break;
    case ATTRIBUTE_OBJECT_ID:
        entry->object_id = bytes;
        break;
    case ATTRIBUTE_SECURITY:
        entry->security = bytes;
        entry->security_len = len;
        break;
    default:
        entry->efs = bytes;
        entry->efs_len = len;
        break;
    }
    return 0;
}

/* *ret_bytes stays NULL when the value is damaged or too large. */
static int load_value(struct builder *builder, const struct builder_item *item, size_t max,
                      const uint8_t **ret_bytes, size_t *ret_len, struct error *err)
{
    if (item->problem != NULL || item->size_bytes > max) {
        return 0;
    }
    if (item->resident) {
        *ret_bytes = item->value;
        *ret_len = (size_t)item->size_bytes;
        return 0;
    }
    if (item->extent_count == 0 ||
        (item->flags & (ATTRIBUTE_FLAG_COMPRESSION | ATTRIBUTE_FLAG_ENCRYPTED)) != 0 ||
        item->size_bytes > VALUES_BYTES - builder->values_used) {
        return 0;
    }
    return read_value(builder, item, ret_bytes, ret_len, err);
}

/* Apart from load_value(), so that the error's memory costs nothing where nothing is read. */
static int read_value(struct builder *builder, const struct builder_item *item,
                      const uint8_t **ret_bytes, size_t *ret_len, struct error *err)
{
    struct error cause = {0};
    uint8_t *to = builder->values + builder->values_used;
    size_t len = (size_t)item->size_bytes;

    if (mft_read_extents(builder->volume, builder->extents.items + item->extent_first,
                         item->extent_count, item->valid_bytes, to, len, &cause) != 0) {
        if (cause.kind != ERROR_FAIL_ENTRY) {
            *err = cause;
            return -1;
        }
        return 0;
    }
    builder->values_used += len;
    *ret_bytes = to;
    *ret_len = len;
    return 0;
}
