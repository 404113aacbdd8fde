/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Labels and names come from the disk and are hostile: on a terminal they are shown-escaped. */
#include "cli/disks_render.h"

#include <string.h>

/* A label may be longer, but then the table would not be one. */
enum { LABEL_BYTES_SHOWN = 64, CONTENT_COLUMNS = 32, CONTENT_BYTES_MAX = 1024 };

static void add_partition(struct text *text, const struct disk_partition *partition);
static void add_remark(struct text *text, const char *remark);
static void add_padded(struct text *text, const struct text *cell, size_t columns);
static void add_partition_json(struct text *text, const struct disk_partition *partition);
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
    add_remark(text, disk->layout->warning);
    if (disk->layout->count == 0) {
        add_remark(text, "no partitions");
    }
    for (size_t i = 0; i < disk->layout->count; i++) {
        add_partition(text, &disk->layout->partitions[i]);
    }
}

void disks_render_json(struct text *text, const struct disks_entry *disk)
{
    add_string(text, "{\"path\":", disk->path);
    text_printf(text, ",\"size\":%llu,\"sector\":%u", (unsigned long long)disk->size_bytes,
                disk->sector_bytes);
    add_string(text, ",\"table\":", disk->layout == NULL ? "" : disk->layout->table);
    add_string(text, ",\"model\":", disk->model);
    text_add(text, ",\"partitions\":[");
    for (size_t i = 0; disk->layout != NULL && i < disk->layout->count; i++) {
        text_add(text, i == 0 ? "" : ",");
        add_partition_json(text, &disk->layout->partitions[i]);
    }
    text_add(text, "]");
    if (disk->layout == NULL) {
        add_string(text, ",\"error\":", disk->error);
    } else if (disk->layout->warning[0] != '\0') {
        add_string(text, ",\"warning\":", disk->layout->warning);
    }
    text_add(text, "}");
}

static void add_partition(struct text *text, const struct disk_partition *partition)
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
    text_add_shown(&cell, content_word(partition), strlen(content_word(partition)), SIZE_MAX);
    if (partition->label[0] != '\0') {
        text_add(&cell, " \"");
        text_add_shown(&cell, partition->label, strlen(partition->label), LABEL_BYTES_SHOWN);
        text_add(&cell, "\"");
    }
    bool is_ntfs = partition->content == DISK_NTFS;
    bool has_more = partition->serial[0] != '\0' || (is_ntfs && partition->role != DISK_ROLE_DATA);
    add_padded(text, &cell, has_more ? CONTENT_COLUMNS : 0);
    if (partition->serial[0] != '\0') {
        text_add(text, "  ");
        text_add_shown(text, partition->serial, strlen(partition->serial), SIZE_MAX);
    }
    text_add(text, is_ntfs ? roles[partition->role] : "");
    text_add_char(text, '\n');
    if (partition->beyond_device) {
        add_remark(text, "ends behind the end of the device: is the image complete?");
    }
    if (!is_ntfs) {
        add_remark(text, partition->advice);
    }
}

/* Below what it belongs to, in line with the contents. */
static void add_remark(struct text *text, const char *remark)
{
    if (remark[0] != '\0') {
        text_printf(text, "%19s", "");
        text_add_shown(text, remark, strlen(remark), SIZE_MAX);
        text_add_char(text, '\n');
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

static void add_partition_json(struct text *text, const struct disk_partition *partition)
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
    add_string(text, ",\"label\":", partition->label);
    add_string(text, ",\"serial\":", partition->serial);
    add_string(text, ",\"role\":", roles[partition->role]);
    add_string(text, ",\"type\":", partition->type);
    add_string(text, ",\"guid\":", partition->guid);
    add_string(text, ",\"advice\":", partition->advice);
    text_add(text, "}");
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
