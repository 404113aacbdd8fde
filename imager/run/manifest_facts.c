/* SPDX-License-Identifier: GPL-3.0-or-later */
/* manifest: what Windows knew of an entry besides its bytes, for a later restore. */
#include "run/manifest.h"

#include <string.h>

#define SDDL_BYTES_MAX (8U << 20) /* a list of 64 KiB has at most 4,096 entries */

static void add_time(struct text *line, const char *key, uint64_t ticks)
{
    text_printf(line, ",\"%s\":\"", key);
    text_add_filetime(line, ticks);
    text_add_char(line, '"');
}

static void add_bytes(struct text *line, const char *key, const uint8_t *bytes, size_t len)
{
    text_printf(line, ",\"%s\":\"", key);
    text_add_base64(line, bytes, len);
    text_add_char(line, '"');
}

static void add_short_name(const struct run_volume *volume, uint32_t entry, struct text *line)
{
    struct catalog_name name;
    uint16_t units[255];
    if (!catalog_short_name(volume->catalog, entry, &name) || name.space != 2) {
        return;
    }
    CLEANUP_TEXT struct text utf8 = TEXT_INIT(1024);
    for (size_t i = 0; i < name.len; i++) {
        units[i] = read_le16(name.units_le + 2 * i);
    }
    for (size_t i = 0; i < name.len;) {
        char bytes[4];
        text_add_bytes(&utf8, bytes, utf_put_utf8(utf_next_utf16(units, name.len, &i), bytes));
    }
    line->failed = line->failed || utf8.failed; /* whoever takes the line looks */
    text_add(line, ",\"short_name\":");
    text_add_json(line, text_str(&utf8), utf8.len);
}

/* Left out when the text could not say all; the bytes always stand beside it. */
void manifest_add_sddl(const uint8_t *descriptor, size_t len, struct text *line)
{
    CLEANUP_TEXT struct text sddl = TEXT_INIT(SDDL_BYTES_MAX);
    if (volume_sddl(descriptor, len, &sddl) && !sddl.failed) {
        text_add(line, ",\"sddl\":");
        text_add_json(line, text_str(&sddl), sddl.len);
    }
    line->failed = line->failed || sddl.failed; /* whoever takes the line looks */
}

void manifest_add_facts(const struct run_volume *volume, const struct catalog_view *view,
                        struct text *line)
{
    const struct volume_entry *entry = &view->entry;
    if (entry->has_standard) {
        add_time(line, "mtime", entry->modified);
        add_time(line, "created", entry->created);
        add_time(line, "changed", entry->changed);
        add_time(line, "atime", entry->accessed);
        text_printf(line, ",\"attributes\":%u", entry->file_attributes);
        if (entry->security_id != 0) {
            text_printf(line, ",\"sd\":\"%u\"", entry->security_id);
        }
        if (entry->owner_id != 0) {
            text_printf(line, ",\"owner_id\":\"%u\"", entry->owner_id);
        }
        if (entry->usn != 0) {
            text_printf(line, ",\"usn\":\"%llu\"", (unsigned long long)entry->usn);
        }
    }
    if (entry->case_sensitive) {
        text_add(line, ",\"case_sensitive\":true");
    }
    add_short_name(volume, view->index, line);
    if (entry->reparse_tag != 0) {
        text_printf(line, ",\"reparse_tag\":\"0x%08x\"", entry->reparse_tag);
        add_bytes(line, "reparse", entry->reparse, entry->reparse_len);
    }
    if (entry->object_id != NULL) {
        text_add(line, ",\"object_id\":\"");
        text_add_hex(line, entry->object_id, 16);
        text_add_char(line, '"');
    }
    if (entry->ea_len > 0) {
        add_bytes(line, "ea", entry->ea, entry->ea_len);
    }
    if (entry->security_len > 0) {
        manifest_add_sddl(entry->security, entry->security_len, line);
        add_bytes(line, "security", entry->security, entry->security_len);
    }
    if (entry->efs_len > 0) {
        add_bytes(line, "efs", entry->efs, entry->efs_len);
    }
}
