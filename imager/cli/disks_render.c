/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Labels and names come from the disk and are hostile: on a terminal they are shown-escaped. */
#include "cli/disks_render.h"
#include "cli/wrap.h"

#include <string.h>

/* A label may be longer, but then the table would not be one. */
enum { LABEL_BYTES_SHOWN = 64, CONTENT_COLUMNS = 30, CONTENT_BYTES_MAX = 1024 };
/* Remarks begin below the contents. */
enum { REMARK_COLUMN = 19 };

static void add_partition(struct text *text, const struct disk_partition *partition,
                          const struct disks_state *state);
static void add_remark(struct text *text, const char *remark);
static void add_padded(struct text *text, const struct text *cell, size_t columns);
static void add_partition_json(struct text *text, const struct disk_partition *partition,
                               const struct disks_state *state);
static void add_remarks_json(struct text *text, const struct disks_state *state);
static const char *label_of(const struct disk_partition *partition,
                            const struct disks_state *state);
static void add_string(struct text *text, const char *name, const char *value);
static const char *content_word(const struct disk_partition *partition);

void disks_render(struct text *text, const struct disks_entry *disk)
{
    char size[24];
    text_add_shown(text, disk->path, strlen(disk->path), SIZE_MAX);
    if (disk->size_bytes > 0) {
        format_bytes(disk->size_bytes, size);
        text_printf(text, "  %s", size);
    }
    if (disk->model[0] != '\0') {
        text_add(text, "  ");
        text_add_shown(text, disk->model, strlen(disk->model), SIZE_MAX);
    }
    if (disk->by_id[0] != '\0') {
        text_add(text, "  ");
        text_add_shown(text, disk->by_id, strlen(disk->by_id), SIZE_MAX);
    }
    text_add(text, disk->is_system ? "  (in use by this machine)\n" : "\n");
    if (disk->layout == NULL) {
        add_remark(text, disk->error);
        return;
    }
    for (size_t i = 0; i < disk->layout->warning_count; i++) {
        add_remark(text, disk->layout->warnings[i]);
    }
    if (disk->layout->count == 0) {
        add_remark(text, "no partitions");
    }
    for (size_t i = 0; i < disk->layout->count; i++) {
        add_partition(text, &disk->layout->partitions[i],
                      disk->states != NULL ? &disk->states[i] : NULL);
    }
}

void disks_render_json(struct text *text, const struct disks_entry *disk)
{
    add_string(text, "{\"path\":", disk->path);
    text_printf(text, ",\"size\":%llu,\"sector\":%u", (unsigned long long)disk->size_bytes,
                disk->sector_bytes);
    add_string(text, ",\"table\":", disk->layout == NULL ? "" : disk->layout->table);
    add_string(text, ",\"guid\":", disk->layout == NULL ? "" : disk->layout->disk_guid);
    add_string(text, ",\"model\":", disk->model);
    add_string(text, ",\"by_id\":", disk->by_id);
    text_printf(text, ",\"in_use\":%s,\"partitions\":[", disk->is_system ? "true" : "false");
    for (size_t i = 0; disk->layout != NULL && i < disk->layout->count; i++) {
        text_add(text, i == 0 ? "" : ",");
        add_partition_json(text, &disk->layout->partitions[i],
                           disk->states != NULL ? &disk->states[i] : NULL);
    }
    text_add(text, "],\"warnings\":[");
    for (size_t i = 0; disk->layout != NULL && i < disk->layout->warning_count; i++) {
        add_string(text, i == 0 ? "" : ",", disk->layout->warnings[i]);
    }
    text_add(text, "]");
    if (disk->layout == NULL) {
        add_string(text, ",\"error\":", disk->error);
    }
    text_add(text, "}");
}

static void add_partition(struct text *text, const struct disk_partition *partition,
                          const struct disks_state *state)
{
    static const char *const roles[] = {
        [DISK_ROLE_DATA] = "",
        [DISK_ROLE_RECOVERY] = "  recovery: taken only when named",
        [DISK_ROLE_SYSTEM] = "  system: taken only when named",
    };
    char size[24];
    format_bytes(partition->size_bytes, size);
    if (partition->number == 0) {
        text_printf(text, "    - %11s  ", size); /* no partition, the device itself */
    } else {
        text_printf(text, "  %3u %11s  ", partition->number, size);
    }
    CLEANUP_TEXT struct text cell = TEXT_INIT(CONTENT_BYTES_MAX);
    const char *label = label_of(partition, state);
    text_add_shown(&cell, content_word(partition), strlen(content_word(partition)), SIZE_MAX);
    if (label[0] != '\0') {
        text_add(&cell, " \"");
        text_add_shown(&cell, label, strlen(label), LABEL_BYTES_SHOWN);
        text_add(&cell, "\"");
    }
    bool is_ntfs = partition->content == DISK_NTFS;
    bool has_more = partition->serial[0] != '\0' || (is_ntfs && partition->role != DISK_ROLE_DATA);
    add_padded(text, &cell, has_more ? CONTENT_COLUMNS : 0);
    if (partition->serial[0] != '\0') {
        text_add(text, "  ");
        text_add_shown(text, partition->serial, strlen(partition->serial), SIZE_MAX);
    }
    bool has_word = state != NULL && state->word != NULL;
    text_printf(text, "%s%s", has_word ? "  " : "", has_word ? state->word : "");
    text_add(text, is_ntfs ? roles[partition->role] : "");
    text_add_char(text, '\n');
    for (size_t i = 0; state != NULL && i < state->remark_count; i++) {
        add_remark(text, state->remarks[i]);
    }
    add_remark(text, state != NULL ? state->problem : "");
    if (partition->beyond_device) {
        char beyond[80];
        (void)snprintf(beyond, sizeof(beyond), "ends %llu bytes behind the end of the device",
                       (unsigned long long)partition->beyond_bytes); /* fits */
        add_remark(text, beyond);
    }
    add_remark(text, partition->advice);
}

/* Below what it belongs to, in line with the contents. */
static void add_remark(struct text *text, const char *remark)
{
    CLEANUP_TEXT struct text shown = TEXT_INIT(CONTENT_BYTES_MAX * 4);
    text_add_shown(&shown, remark, strlen(remark), SIZE_MAX);
    if (shown.len > 0) {
        text_printf(text, "%*s", REMARK_COLUMN, "");
        wrap_add(text, text_str(&shown), REMARK_COLUMN);
    }
}

/* By code points, which is right for all but wide and combining ones. */
static void add_padded(struct text *text, const struct text *cell, size_t columns)
{
    size_t used = 0;
    for (size_t i = 0; i < cell->len; used++) {
        (void)utf_next_utf8(text_str(cell), cell->len, &i); /* only counted */
    }
    text_add(text, text_str(cell));
    for (; used < columns; used++) {
        text_add_char(text, ' ');
    }
}

static void add_partition_json(struct text *text, const struct disk_partition *partition,
                               const struct disks_state *state)
{
    static const char *const roles[] = {
        [DISK_ROLE_DATA] = "data",
        [DISK_ROLE_RECOVERY] = "recovery",
        [DISK_ROLE_SYSTEM] = "system",
    };
    text_printf(text, "{\"number\":%u,\"offset\":%llu,\"size\":%llu", partition->number,
                (unsigned long long)partition->offset_bytes,
                (unsigned long long)partition->size_bytes);
    add_string(text, ",\"content\":", content_word(partition));
    add_string(text, ",\"kind\":", partition->kind != NULL ? partition->kind : "unknown");
    add_string(text, ",\"label\":", label_of(partition, state));
    add_string(text, ",\"serial\":", partition->serial);
    add_string(text, ",\"role\":", roles[partition->role]);
    add_string(text, ",\"type\":", partition->type);
    add_string(text, ",\"guid\":", partition->guid);
    add_string(text, ",\"name\":", partition->name);
    text_printf(text, ",\"beyond_bytes\":%llu", (unsigned long long)partition->beyond_bytes);
    if (state != NULL && state->word != NULL) {
        add_string(text, ",\"state\":", state->word);
        add_remarks_json(text, state);
    }
    add_string(text, ",\"advice\":", partition->advice);
    text_add(text, "}");
}

static void add_remarks_json(struct text *text, const struct disks_state *state)
{
    text_add(text, ",\"remarks\":[");
    for (size_t i = 0; i < state->remark_count; i++) {
        add_string(text, i == 0 ? "" : ",", state->remarks[i]);
    }
    if (state->problem[0] != '\0') {
        add_string(text, state->remark_count == 0 ? "" : ",", state->problem);
    }
    text_add(text, "]");
}

/* libblkid leaves out some; the volume itself knows. */
static const char *label_of(const struct disk_partition *partition, const struct disks_state *state)
{
    return partition->label[0] == '\0' && state != NULL ? state->label : partition->label;
}

static void add_string(struct text *text, const char *name, const char *value)
{
    text_add(text, name);
    text_add_json(text, value, strlen(value));
}

static const char *content_word(const struct disk_partition *partition)
{
    if (partition->content_name[0] != '\0') {
        return partition->content_name;
    }
    switch (partition->content) {
    case DISK_NTFS:
        return "NTFS";
    case DISK_EMPTY:
        return "empty";
    case DISK_UNREADABLE:
        return "unreadable";
    default:
        return "unknown";
    }
}
