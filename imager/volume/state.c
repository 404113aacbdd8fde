/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The state of a volume for the report: label, version and flags from $Volume, and what $LogFile
 * says about the last shutdown. Damage here stops nobody; the fields stay empty.
 */
#include <string.h>

#include "volume/log_file.h"
#include "volume/mount.h"
#include "volume/record.h"

#define RECORD_LOG_FILE 2
#define RECORD_VOLUME 3
#define VOLUME_FLAG_DIRTY 0x0001

static int read_volume_record(struct volume *volume, struct error *err);
static void take_attribute(struct volume_info *info, const struct record_attribute *attribute);
static void copy_label(const struct record_attribute *attribute, char *to, size_t size);
static int read_log(struct volume *volume, struct error *err);

int state_read(struct volume *volume, struct error *err)
{
    const struct boot *boot = &volume->boot;
    struct volume_info *info = &volume->info;

    info->serial = boot->serial;
    info->sector_bytes = boot->sector_bytes;
    info->cluster_bytes = boot->cluster_bytes;
    info->record_bytes = boot->record_bytes;
    info->cluster_count = boot->cluster_count;
    if (read_volume_record(volume, err) != 0 || read_log(volume, err) != 0) {
        return -1;
    }
    return mount_is_hibernated(volume->mount, &info->hibernated, err);
}

static int read_volume_record(struct volume *volume, struct error *err)
{
    uint32_t record_bytes = volume->boot.record_bytes;
    CLEANUP_FREE uint8_t *record = malloc(record_bytes);
    struct record_header header;
    struct error cause = {0};

    if (record == NULL) {
        return error_memory(err, "record of $Volume");
    }
    if (volume_read_records(volume, RECORD_VOLUME, 1, record, &cause) != 0) {
        if (cause.kind != ERROR_FAIL_ENTRY) {
            *err = cause;
            return -1;
        }
        return 0;
    }
    if (record_fix_up(record, record_bytes) != NULL ||
        record_parse_header(record, record_bytes, &header) != NULL) {
        return 0;
    }
    struct record_attribute attribute;
    const char *problem = NULL;
    uint32_t at = header.first_attribute;
    while (record_next_attribute(record, &header, &at, &attribute, &problem) > 0) {
        if (attribute.resident) {
            take_attribute(&volume->info, &attribute);
        }
    }
    return 0;
}

static void take_attribute(struct volume_info *info, const struct record_attribute *attribute)
{
    if (attribute->type == ATTRIBUTE_VOLUME_NAME) {
        copy_label(attribute, info->label, sizeof(info->label));
    } else if (attribute->type == ATTRIBUTE_VOLUME_INFORMATION && attribute->value_len >= 12) {
        info->version_major = attribute->value[8];
        info->version_minor = attribute->value[9];
        info->dirty = (read_le16(attribute->value + 10) & VOLUME_FLAG_DIRTY) != 0;
    }
}

static void copy_label(const struct record_attribute *attribute, char *to, size_t size)
{
    uint16_t units[128]; /* Windows allows 32 */
    size_t count = attribute->value_len / 2;
    size_t len = 0;

    count = count < ARRAY_LEN(units) ? count : ARRAY_LEN(units);
    for (size_t i = 0; i < count; i++) {
        units[i] = read_le16(attribute->value + 2 * i);
    }
    for (size_t i = 0; i < count;) {
        char utf8[4];
        uint32_t code_point = utf_next_utf16(units, count, &i);
        size_t more = utf_put_utf8(code_point, utf8);
        if (more == 0) {
            more = utf_put_utf8(0xFFFD, utf8); /* a lone surrogate has no UTF-8 */
        }
        if (code_point == 0 || len + more >= size) {
            break;
        }
        memcpy(to + len, utf8, more);
        len += more;
    }
    to[len] = '\0';
}

static int read_log(struct volume *volume, struct error *err)
{
    struct log_file_state state = {0};
    struct error cause = {0};
    CLEANUP_FREE uint8_t *head = malloc(LOG_FILE_HEAD_BYTES);
    if (head == NULL) {
        return error_memory(err, "start of $LogFile");
    }
    struct mount_stream *stream =
        mount_stream_open(volume->mount, RECORD_LOG_FILE, NULL, 0, &cause);
    if (stream != NULL) {
        ssize_t count = mount_stream_read(stream, 0, head, LOG_FILE_HEAD_BYTES, &cause);
        if (count > 0) {
            log_file_parse(head, (size_t)count, &state);
        }
        mount_stream_close(stream);
    }
    if (cause.kind != ERROR_NONE && cause.kind != ERROR_FAIL_ENTRY) {
        *err = cause;
        return -1;
    }
    volume->info.log_clean = state.clean;
    volume->info.log_cached = state.cached;
    volume->info.log_lsn = state.lsn;
    return 0;
}
