/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Judges what an attribute says about its clusters, and fills a volume_stream from it. Whatever
 * does not add up is a problem: such a stream is read through libntfs-3g or not at all.
 */
#include "volume/builder.h"

/* NTFS compresses units of 16 clusters, and only clusters of up to 4 KiB. */
#define LZNT1_UNIT 4
#define LZNT1_CLUSTER_BYTES_MAX 4096

static const char *judge_sizes(const struct builder *builder, const struct builder_item *item,
                               bool *ret_lost);
static const char *judge_form(const struct builder *builder, const struct builder_item *item);
static bool has_hole(const struct builder *builder, const struct builder_item *item);

void builder_spoil_item(struct builder_item *item, const char *problem, bool lost)
{
    if (item->problem == NULL) {
        item->problem = problem;
    }
    item->lost = item->lost || lost;
}

void builder_judge(const struct builder *builder, struct builder_item *item)
{
    bool lost = false;

    if (item->resident) {
        return;
    }
    const char *problem = judge_sizes(builder, item, &lost);
    if (problem == NULL) {
        problem = judge_form(builder, item);
    }
    if (problem != NULL) {
        builder_spoil_item(item, problem, lost);
    }
}

void builder_fill_stream(const struct builder *builder, const struct builder_item *item,
                         struct volume_stream *ret_stream)
{
    enum volume_form form = VOLUME_RESIDENT;
    bool compressed = (item->flags & ATTRIBUTE_FLAG_COMPRESSION) != 0;

    if ((item->flags & ATTRIBUTE_FLAG_ENCRYPTED) != 0) {
        form = VOLUME_EFS;
    } else if (!item->resident) {
        form = compressed ? VOLUME_LZNT1 : has_hole(builder, item) ? VOLUME_SPARSE : VOLUME_PLAIN;
    }
    *ret_stream = (struct volume_stream){
        .name = item->name,
        .name_len = item->name_len,
        .form = form,
        .attribute_flags = item->flags,
        .size_bytes = item->size_bytes,
        .valid_bytes = item->valid_bytes,
        .allocated_bytes = item->resident ? 0 : item->stored_bytes,
        .record = item->record,
        .problem = item->problem,
        .lost = item->lost,
        .doubtful = item->doubtful,
    };
    if (ret_stream->valid_bytes > ret_stream->size_bytes) {
        ret_stream->valid_bytes = ret_stream->size_bytes;
    }
    if (!item->resident && item->extent_count > 0) {
        ret_stream->extents = builder->extents.items + item->extent_first;
        ret_stream->extent_count = item->extent_count;
    }
}

/* A size that cannot be is negative to libntfs-3g, which then reads zeros, and so it does behind
 * the last cluster. */
static const char *judge_sizes(const struct builder *builder, const struct builder_item *item,
                               bool *ret_lost)
{
    uint64_t covered = 0;
    bool too_large = mul_overflows(item->next_vcn, builder->volume->boot.cluster_bytes, &covered);

    *ret_lost = too_large || item->size_bytes > covered;
    if (item->size_bytes > INT64_MAX || item->allocated_bytes > INT64_MAX ||
        item->valid_bytes > INT64_MAX) {
        *ret_lost = true;
        return "its size cannot be";
    }
    if (item->valid_bytes > item->size_bytes) {
        return "its valid length is larger than its size";
    }
    if (too_large || covered != item->allocated_bytes) {
        return "its allocated size does not match its clusters: a piece is missing or too much";
    }
    return item->size_bytes > covered ? "its clusters end before its data" : NULL;
}

static const char *judge_form(const struct builder *builder, const struct builder_item *item)
{
    uint16_t method = item->flags & ATTRIBUTE_FLAG_COMPRESSION;

    if (method == 0) {
        return item->compression_unit > LZNT1_UNIT ? "its compression unit is not known" : NULL;
    }
    if (method != ATTRIBUTE_FLAG_LZNT1) {
        return "its compression method is not known";
    }
    if (item->compression_unit != LZNT1_UNIT ||
        builder->volume->boot.cluster_bytes > LZNT1_CLUSTER_BYTES_MAX) {
        return "its compression unit is not known";
    }
    return NULL;
}

static bool has_hole(const struct builder *builder, const struct builder_item *item)
{
    for (size_t i = 0; i < item->extent_count; i++) {
        if (builder->extents.items[item->extent_first + i].cluster == VOLUME_HOLE) {
            return true;
        }
    }
    return false;
}
