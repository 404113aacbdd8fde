/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What becomes of every entry and every stream. Order matters: what is left out is not judged, a
 * tag is looked at before the data, because the data of a tagged file may be zeros.
 */
#include "plan/plan_internal.h"

#define TAG_SIS 0x80000007U
#define ATTRIBUTE_FLAG_ENCRYPTED 0x4000U
#define ATTRIBUTE_REPARSE_POINT 0x400U /* of $STANDARD_INFORMATION */

static const struct plan_decision decisions[PLAN_CODE_COUNT] = {
    [PLAN_CODE_SEND] = {PLAN_SEND, NULL, NULL},
    [PLAN_CODE_DIRECTORY] = {PLAN_DIRECTORY, NULL, NULL},
    [PLAN_CODE_DIRECTORY_BARE] = {PLAN_DIRECTORY, NULL, NULL},
    [PLAN_CODE_LINK] = {PLAN_LINK, NULL, NULL},
    [PLAN_CODE_SYSTEM] = {PLAN_EXCLUDED, REASON_SYSTEM, "part of the file system itself"},
    [PLAN_CODE_LEFT_BY_DEFAULT] = {PLAN_EXCLUDED, REASON_EXCLUDED, "left out by default"},
    [PLAN_CODE_LEFT_BY_PATTERN] = {PLAN_EXCLUDED, REASON_EXCLUDED, "matches an --exclude"},
    [PLAN_CODE_NOT_INCLUDED] = {PLAN_EXCLUDED, REASON_EXCLUDED,
                                "matches no --include, or is not on the list of --files-from"},
    [PLAN_CODE_OTHER_SIZE] = {PLAN_EXCLUDED, REASON_EXCLUDED,
                              "smaller than --min-size or larger than --max-size"},
    [PLAN_CODE_NO_STREAMS] = {PLAN_EXCLUDED, REASON_EXCLUDED,
                              "alternate streams are left out by --streams none"},
    [PLAN_CODE_BAD_RECORD] = {PLAN_FAILED, REASON_BAD_RECORD, "the $MFT record is damaged"},
    [PLAN_CODE_NO_DATA] = {PLAN_FAILED, REASON_BAD_RECORD, "the file has no data attribute"},
    [PLAN_CODE_LOST_DATA] = {PLAN_FAILED, REASON_BAD_RECORD,
                             "what the $MFT says about this data is damaged: pieces are missing, "
                             "or there twice, or a size is wrong"},
    [PLAN_CODE_LOST_REPARSE] = {PLAN_FAILED, REASON_BAD_RECORD,
                                "marked as a reparse point, but the reparse data is missing; the "
                                "content is not, or not wholly, here"},
    [PLAN_CODE_DIRECTORY_DATA] = {PLAN_FAILED, REASON_BAD_RECORD,
                                  "a directory cannot have data without a stream name"},
    [PLAN_CODE_TOO_MANY_STREAMS] = {PLAN_FAILED, REASON_BAD_RECORD,
                                    "the file has more than 65,536 streams"},
    [PLAN_CODE_WOF] = {PLAN_SEND, NULL, NULL},
    [PLAN_CODE_WOF_STORED] = {PLAN_EXCLUDED, NULL, NULL},
    [PLAN_CODE_WOF_UNKNOWN] = {PLAN_FAILED, REASON_REPARSE,
                               "compressed by Windows (WOF) in a way that is not known, or into a "
                               "WIM file that is not on this volume"},
    [PLAN_CODE_WOF_LOST] = {PLAN_FAILED, REASON_WOF,
                            "compressed by Windows (CompactOS), but its stream WofCompressedData "
                            "is missing or damaged"},
    [PLAN_CODE_DEDUP] = {PLAN_FAILED, REASON_DEDUP,
                         "the content was moved away by Windows Data Deduplication"},
    [PLAN_CODE_DEDUP_LEFT] = {PLAN_FAILED, REASON_DEDUP,
                              "deduplicated by Windows, and not read, as --dedup says"},
    [PLAN_CODE_REHYDRATED] = {PLAN_SEND, NULL, NULL},
    [PLAN_CODE_STORE] = {PLAN_SEND, NULL, NULL},
    [PLAN_CODE_CLOUD] = {PLAN_FAILED, REASON_CLOUD,
                         "a cloud placeholder: the content is not, or not wholly, on this disk"},
    [PLAN_CODE_SIS] = {PLAN_FAILED, REASON_REPARSE,
                       "the content was moved away by Single Instance Storage"},
    [PLAN_CODE_REPARSE] = {PLAN_FAILED, REASON_REPARSE,
                           "a reparse point of a kind that is not known, whose content is not, or "
                           "not wholly, here"},
    [PLAN_CODE_EFS] = {PLAN_FAILED, REASON_EFS, "encrypted by Windows (EFS)"},
    [PLAN_CODE_EFS_RAW] = {PLAN_SEND, NULL, NULL},
    [PLAN_CODE_EFS_TORN] = {PLAN_FAILED, REASON_EFS,
                            "encrypted by Windows (EFS), and not to be had as ciphertext: it has "
                            "holes, an end that was never written, damaged extents, or no key "
                            "data"},
    [PLAN_CODE_TOO_LARGE] = {PLAN_FAILED, REASON_TOO_LARGE,
                             "larger than 5 TiB, the most that an object can hold"},
    /* The catalog has a sentence for each. */
    [PLAN_CODE_CROSSED_DATA] = {PLAN_FAILED, REASON_CROSS_LINKED,
                                "clusters of its data are claimed by others too, or are free"},
    [PLAN_CODE_LOST_VALUE] = {PLAN_FAILED, REASON_BAD_RECORD,
                              "its extended attributes, object id, security or EFS data are "
                              "damaged"},
    [PLAN_CODE_CROSSED_VALUE] = {PLAN_FAILED, REASON_CROSS_LINKED,
                                 "clusters of its extended attributes, security or EFS data are "
                                 "claimed by others too, or are free"},
    [PLAN_CODE_CROSSED_RECORD] = {PLAN_FAILED, REASON_CROSS_LINKED,
                                  "clusters of its attribute list or reparse data are claimed by "
                                  "others too, or are free"},
};

static struct plan_decision with_sentence(enum plan_code code, const struct volume_entry *entry,
                                          const struct volume_stream *stream);
static const struct volume_stream *holder_of(const struct volume_entry *entry,
                                             const struct volume_stream *stream);
static const struct volume_stream *find_unnamed(const struct volume_entry *entry);
static bool is_directory(const struct volume_entry *entry);
static bool is_lost(const struct volume_stream *stream);
static enum plan_code decide_values(const struct volume_entry *entry);
static bool is_by_value(enum plan_code code);
static enum plan_code decide_tagged(const struct plan *plan, const struct volume_entry *entry,
                                    const struct volume_stream *unnamed);
static enum plan_code decide_wof(const struct volume_entry *entry,
                                 const struct volume_stream *unnamed);
static enum plan_code decide_store(const struct plan *plan, const struct volume_entry *entry);
static enum plan_code decide_dedup(const struct plan *plan, const struct volume_stream *unnamed);
static enum plan_code decide_data(const struct plan *plan, const struct volume_entry *entry,
                                  const struct volume_stream *stream);
static enum plan_code decide_encrypted(const struct plan *plan, const struct volume_entry *entry,
                                       const struct volume_stream *stream);
static enum plan_code decide_unnamed(const struct plan *plan, enum plan_code code,
                                     const struct volume_entry *entry,
                                     const struct volume_stream *stream);

enum plan_code plan_decide_entry(const struct plan *plan, const struct volume_entry *entry,
                                 const struct plan_surroundings *around)
{
    if (around->system) {
        return PLAN_CODE_SYSTEM;
    }
    if (around->exclusion != PLAN_TAKEN) {
        if (around->store && around->exclusion == PLAN_LEFT_BY_DEFAULT &&
            plan->dedup != PLAN_DEDUP_FAIL) {
            return decide_store(plan, entry);
        }
        return around->exclusion == PLAN_LEFT_BY_DEFAULT ? PLAN_CODE_LEFT_BY_DEFAULT
                                                         : PLAN_CODE_LEFT_BY_PATTERN;
    }
    bool directory = is_directory(entry);
    if (!around->included && !directory) {
        return PLAN_CODE_NOT_INCLUDED;
    }
    if (entry->problem != NULL) {
        return PLAN_CODE_BAD_RECORD;
    }
    if (entry->crossed_record != NULL) {
        return PLAN_CODE_CROSSED_RECORD;
    }
    const struct volume_stream *unnamed = find_unnamed(entry);
    bool link = plan_classify_reparse(entry->reparse_tag) == PLAN_REPARSE_LINK;
    bool lost = unnamed != NULL && is_lost(unnamed);
    enum plan_code by_value = decide_values(entry);
    if (by_value != PLAN_CODE_SEND && (link || directory) && around->included) {
        return by_value;
    }
    if (link && (directory || unnamed == NULL || (!lost && !plan_data_any(unnamed)))) {
        return around->included ? PLAN_CODE_LINK : PLAN_CODE_NOT_INCLUDED;
    }
    if (directory) {
        return around->included ? PLAN_CODE_DIRECTORY : PLAN_CODE_DIRECTORY_BARE;
    }
    if (unnamed != NULL && !lost &&
        (unnamed->size_bytes < plan->min_size_bytes ||
         (plan->max_size_bytes != 0 && unnamed->size_bytes > plan->max_size_bytes))) {
        return PLAN_CODE_OTHER_SIZE;
    }
    enum plan_code code = decide_tagged(plan, entry, unnamed);
    if (code == PLAN_CODE_SEND) {
        code = unnamed == NULL ? PLAN_CODE_NO_DATA : decide_data(plan, entry, unnamed);
    }
    bool is_sent = decisions[code].state == PLAN_SEND;
    return is_sent && by_value != PLAN_CODE_SEND ? by_value : code;
}

enum plan_code plan_decide_stream(const struct plan *plan, enum plan_code code,
                                  const struct volume_entry *entry, size_t stream)
{
    const struct volume_stream *data = &entry->streams[stream];
    if (decisions[code].state == PLAN_EXCLUDED || code == PLAN_CODE_BAD_RECORD ||
        code == PLAN_CODE_CROSSED_RECORD) {
        return code;
    }
    if (stream > UINT16_MAX) {
        return PLAN_CODE_TOO_MANY_STREAMS;
    }
    if (code == PLAN_CODE_STORE) {
        return data->name_len == 0 ? code : PLAN_CODE_LEFT_BY_DEFAULT;
    }
    if (data->name_len == 0) {
        return decide_unnamed(plan, code, entry, data);
    }
    if (plan_classify_reparse(entry->reparse_tag) == PLAN_REPARSE_WOF &&
        data == volume_wof_stream(entry) && !is_directory(entry)) {
        bool is_sent = code == PLAN_CODE_WOF || is_by_value(code);
        return is_sent ? PLAN_CODE_WOF_STORED : code;
    }
    if (plan->streams == PLAN_STREAMS_NONE) {
        return PLAN_CODE_NO_STREAMS;
    }
    return code == PLAN_CODE_DIRECTORY_BARE ? PLAN_CODE_NOT_INCLUDED
                                            : decide_data(plan, entry, data);
}

struct plan_decision plan_decision_of(enum plan_code code)
{
    return decisions[code];
}

struct plan_decision plan_entry_decision(const struct plan *plan, uint32_t entry)
{
    return decisions[plan->codes[entry]];
}

struct plan_decision plan_view_decision(const struct plan *plan, const struct catalog_view *view)
{
    enum plan_code code = (enum plan_code)plan->codes[view->index];
    return with_sentence(code, &view->entry, find_unnamed(&view->entry));
}

struct plan_decision plan_stream_decision(const struct plan *plan, const struct catalog_view *view,
                                          unsigned stream)
{
    enum plan_code code = (enum plan_code)plan->codes[view->index];
    return with_sentence(plan_decide_stream(plan, code, &view->entry, stream), &view->entry,
                         &view->entry.streams[stream]);
}

bool plan_is_store(const struct plan *plan, uint32_t entry)
{
    return plan->codes[entry] == PLAN_CODE_STORE;
}

const char *plan_form_name(const struct catalog_view *view, unsigned stream)
{
    static const char *const names[] = {
        [VOLUME_RESIDENT] = "resident", [VOLUME_PLAIN] = "plain", [VOLUME_SPARSE] = "sparse",
        [VOLUME_LZNT1] = "lznt1",       [VOLUME_EFS] = "efs",
    };
    const struct volume_stream *data = &view->entry.streams[stream];
    if (data->name_len == 0) {
        enum plan_reparse kind = plan_classify_reparse(view->entry.reparse_tag);
        if (kind == PLAN_REPARSE_WOF || kind == PLAN_REPARSE_DEDUP) {
            return kind == PLAN_REPARSE_WOF ? "wof" : "dedup";
        }
    }
    return names[data->form];
}

/* What is cross-linked or damaged has a sentence of its own. */
static struct plan_decision with_sentence(enum plan_code code, const struct volume_entry *entry,
                                          const struct volume_stream *stream)
{
    struct plan_decision decision = decisions[code];
    stream = holder_of(entry, stream);
    const char *own = code == PLAN_CODE_CROSSED_RECORD                   ? entry->crossed_record
                      : code == PLAN_CODE_CROSSED_VALUE                  ? entry->crossed_value
                      : code == PLAN_CODE_LOST_VALUE                     ? entry->lost_value
                      : code == PLAN_CODE_BAD_RECORD                     ? entry->problem
                      : code == PLAN_CODE_CROSSED_DATA && stream != NULL ? stream->crossed
                                                                         : NULL;
    if (own != NULL) {
        decision.sentence = own;
    }
    return decision;
}

/* The stream that holds the bytes: for the content of a CompactOS file it is another one. */
static const struct volume_stream *holder_of(const struct volume_entry *entry,
                                             const struct volume_stream *stream)
{
    if (stream == NULL || stream->name_len > 0 ||
        plan_classify_reparse(entry->reparse_tag) != PLAN_REPARSE_WOF) {
        return stream;
    }
    const struct volume_stream *stored = volume_wof_stream(entry);
    return stored != NULL ? stored : stream;
}

static const struct volume_stream *find_unnamed(const struct volume_entry *entry)
{
    for (size_t i = 0; i < entry->stream_count; i++) {
        if (entry->streams[i].name_len == 0) {
            return &entry->streams[i];
        }
    }
    return NULL;
}

static bool is_directory(const struct volume_entry *entry)
{
    return entry->directory || entry->unnamed_directory_index_bytes != 0;
}

/* No reader would look at a stream without bytes, so that its problem would pass for an empty
 * file. */
static bool is_lost(const struct volume_stream *stream)
{
    return stream->problem != NULL && (stream->lost || stream->size_bytes == 0);
}

/* What is wrong with values that are no content. */
static enum plan_code decide_values(const struct volume_entry *entry)
{
    if (entry->crossed_value != NULL) {
        return PLAN_CODE_CROSSED_VALUE;
    }
    return entry->lost_value != NULL ? PLAN_CODE_LOST_VALUE : PLAN_CODE_SEND;
}

static bool is_by_value(enum plan_code code)
{
    return code == PLAN_CODE_CROSSED_VALUE || code == PLAN_CODE_LOST_VALUE;
}

static enum plan_code decide_tagged(const struct plan *plan, const struct volume_entry *entry,
                                    const struct volume_stream *unnamed)
{
    if (entry->reparse_tag == TAG_SIS) {
        return PLAN_CODE_SIS;
    }
    bool present = unnamed != NULL && plan_data_present(entry, unnamed, plan->cluster_bytes);
    switch (plan_classify_reparse(entry->reparse_tag)) {
    case PLAN_REPARSE_NONE:
        /* It may have been any of those below, whose streams read as zeros. */
        return !present && (entry->file_attributes & ATTRIBUTE_REPARSE_POINT) != 0
                   ? PLAN_CODE_LOST_REPARSE
                   : PLAN_CODE_SEND;
    case PLAN_REPARSE_WOF:
        return decide_wof(entry, unnamed);
    case PLAN_REPARSE_DEDUP:
        return decide_dedup(plan, unnamed);
    case PLAN_REPARSE_CLOUD:
        return present ? PLAN_CODE_SEND : PLAN_CODE_CLOUD;
    case PLAN_REPARSE_OTHER:
        return present ? PLAN_CODE_SEND : PLAN_CODE_REPARSE;
    case PLAN_REPARSE_LINK: /* one with data of its own: nothing else would keep them */
        break;
    }
    return PLAN_CODE_SEND;
}

/* Its unnamed stream is one hole, and reads as zeros: never looked at. */
static enum plan_code decide_wof(const struct volume_entry *entry,
                                 const struct volume_stream *unnamed)
{
    const struct volume_stream *stored = volume_wof_stream(entry);
    if (!volume_wof_is_known(entry)) {
        return PLAN_CODE_WOF_UNKNOWN;
    }
    if (unnamed == NULL) {
        return PLAN_CODE_NO_DATA;
    }
    if (is_lost(unnamed)) {
        return PLAN_CODE_LOST_DATA;
    }
    if (stored == NULL || stored->problem != NULL) {
        return PLAN_CODE_WOF_LOST;
    }
    if (stored->crossed != NULL) {
        return PLAN_CODE_CROSSED_DATA;
    }
    return unnamed->size_bytes > PLAN_OBJECT_MAX ? PLAN_CODE_TOO_LARGE : PLAN_CODE_WOF;
}

/* One that is damaged is left out as before, unless all of the store was asked for. */
static enum plan_code decide_store(const struct plan *plan, const struct volume_entry *entry)
{
    const struct volume_stream *unnamed = find_unnamed(entry);
    if (is_directory(entry) || entry->reparse_tag != 0) {
        return PLAN_CODE_LEFT_BY_DEFAULT;
    }
    enum plan_code code = entry->problem != NULL          ? PLAN_CODE_BAD_RECORD
                          : entry->crossed_record != NULL ? PLAN_CODE_CROSSED_RECORD
                          : unnamed == NULL               ? PLAN_CODE_NO_DATA
                                                          : decide_data(plan, entry, unnamed);
    if (code == PLAN_CODE_SEND) {
        return PLAN_CODE_STORE;
    }
    return plan->dedup == PLAN_DEDUP_RAW ? code : PLAN_CODE_LEFT_BY_DEFAULT;
}

/* Its unnamed stream reads as zeros, too. An empty one would need no reader to say so. */
static enum plan_code decide_dedup(const struct plan *plan, const struct volume_stream *unnamed)
{
    if (plan->dedup != PLAN_DEDUP_AUTO) {
        return PLAN_CODE_DEDUP_LEFT;
    }
    if (unnamed == NULL) {
        return PLAN_CODE_NO_DATA;
    }
    if (is_lost(unnamed)) {
        return PLAN_CODE_LOST_DATA;
    }
    if (unnamed->size_bytes == 0 || unnamed->form == VOLUME_RESIDENT ||
        unnamed->form == VOLUME_EFS) {
        return PLAN_CODE_DEDUP;
    }
    return unnamed->size_bytes > PLAN_OBJECT_MAX ? PLAN_CODE_TOO_LARGE : PLAN_CODE_REHYDRATED;
}

static enum plan_code decide_data(const struct plan *plan, const struct volume_entry *entry,
                                  const struct volume_stream *stream)
{
    if (stream->form == VOLUME_EFS || (stream->attribute_flags & ATTRIBUTE_FLAG_ENCRYPTED) != 0) {
        return decide_encrypted(plan, entry, stream);
    }
    if (is_lost(stream)) {
        return PLAN_CODE_LOST_DATA;
    }
    if (stream->crossed != NULL) {
        return PLAN_CODE_CROSSED_DATA;
    }
    return stream->size_bytes > PLAN_OBJECT_MAX ? PLAN_CODE_TOO_LARGE : PLAN_CODE_SEND;
}

/* Ciphertext that looks like content must never pass for it: only when that is asked for, and in a
 * form of its own. */
static enum plan_code decide_encrypted(const struct plan *plan, const struct volume_entry *entry,
                                       const struct volume_stream *stream)
{
    if (!plan->efs_raw) {
        return PLAN_CODE_EFS;
    }
    if (is_lost(stream)) {
        return PLAN_CODE_LOST_DATA;
    }
    if (stream->crossed != NULL) {
        return PLAN_CODE_CROSSED_DATA;
    }
    if (!volume_efs_is_whole(entry, stream, (uint32_t)plan->cluster_bytes)) {
        return PLAN_CODE_EFS_TORN;
    }
    return volume_efs_raw_bytes(stream) > PLAN_OBJECT_MAX ? PLAN_CODE_TOO_LARGE : PLAN_CODE_EFS_RAW;
}

/* Folders and links may carry an empty one. */
static enum plan_code decide_unnamed(const struct plan *plan, enum plan_code code,
                                     const struct volume_entry *entry,
                                     const struct volume_stream *stream)
{
    if (is_directory(entry)) {
        bool has_data = stream->size_bytes > 0 || is_lost(stream);
        return has_data ? PLAN_CODE_DIRECTORY_DATA : code;
    }
    enum plan_reparse kind = plan_classify_reparse(entry->reparse_tag);
    bool is_link = kind == PLAN_REPARSE_LINK;
    if (is_by_value(code) && kind == PLAN_REPARSE_DEDUP) {
        return PLAN_CODE_REHYDRATED;
    }
    bool is_sent = is_by_value(code) && (!is_link || plan_data_any(stream));
    return is_sent ? decide_data(plan, entry, stream) : code;
}
