/* SPDX-License-Identifier: GPL-3.0-or-later */
/* segments: the reading side. What is read is not trusted: a line counts only if it names a task of
 * this plan with the same size and object name. */
#include "run/segments.h"

#include <errno.h>
#include <string.h>

#include <cjson/cJSON.h>

#include "run/gzip.h"
#include "run/journal.h"
#include "run/ledger.h"
#include "run/manifest.h"

#define PACKED_LIMIT (128ULL << 20)
#define UNPACKED_LIMIT (512ULL << 20) /* 200,000 lines with the longest names */
#define SEGMENTS_MAX 200000
#define SIZE_EXACT_MAX 9007199254740992.0 /* 2^53 */

struct rebuild {
    struct run *run;
    struct manifest_writer writer;
    char **names;
    size_t count, cap;
    uint64_t taken;
};

static const char *string_of(const cJSON *line, const char *key)
{
    return cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(line, key));
}

int segments_parse_line(const char *bytes, size_t len, struct segment_line *ret_line,
                        struct error *err)
{
    *ret_line = (struct segment_line){0};
    errno = 0;
    cJSON *json = cJSON_ParseWithLength(bytes, len);
    if (json == NULL && errno == ENOMEM) {
        return error_memory(err, "a line of a segment");
    }
    const char *record = string_of(json, "record");
    const char *generation = string_of(json, "generation");
    const char *crc = string_of(json, "crc32c");
    const cJSON *size = cJSON_GetObjectItemCaseSensitive(json, "size");
    struct segment_line line = {
        .json = json,
        .volume = string_of(json, "volume"),
        .name = string_of(json, "name"),
        .stream = string_of(json, "stream"),
    };
    /* Sizes are JSON numbers: whole ones up to 2^53 are exact. */
    bool good = line.volume != NULL && line.name != NULL && record != NULL && generation != NULL &&
                crc != NULL && cJSON_IsNumber(size) && size->valuedouble >= 0 &&
                size->valuedouble <= SIZE_EXACT_MAX && parse_u64(record, &line.record) == 0 &&
                parse_u64(generation, &line.generation) == 0 && line.generation != 0 &&
                crc32c_from_base64(crc, &line.crc32c) == 0;
    if (!good) {
        cJSON_Delete(json);
        return error_entry(err, NULL, "not a line of a segment");
    }
    line.size_bytes = (uint64_t)size->valuedouble;
    *ret_line = line;
    return 0;
}

void segments_clear_line(struct segment_line *line)
{
    cJSON_Delete(line->json); /* accepts NULL */
    *line = (struct segment_line){0};
}

static size_t find_volume(const struct run *run, const char *id)
{
    for (size_t i = 0; i < run->volume_count; i++) {
        if (strcmp(run->volumes[i].id, id) == 0) {
            return i;
        }
    }
    return SIZE_MAX;
}

/* 1: it is, 0: it is not. */
static int is_stream(const struct volume_stream *stream, const char *wanted, struct error *err)
{
    CLEANUP_TEXT struct text name = TEXT_INIT(4096);
    if (stream->name_len == 0 || wanted == NULL) {
        return stream->name_len == 0 && wanted == NULL;
    }
    plan_stream_name(stream, &name);
    return name.no_memory ? error_memory(err, "a stream's name")
                          : strcmp(text_str(&name), wanted) == 0;
}

/* 1: the object is the one that the plan has for this task; 0: it is not. */
static int object_matches(struct rebuild *rebuild, size_t index, uint64_t task,
                          const struct segment_line *line, struct error *err)
{
    const struct run_volume *volume = &rebuild->run->volumes[index];
    const struct plan_task *planned = plan_get_task(volume->plan, task - volume->first_task);
    size_t len = 0;
    if (planned->way == PLAN_INLINE || planned->size_bytes != line->size_bytes) {
        return 0;
    }
    struct plan_namer *namer = manifest_namer(&rebuild->writer, index, err);
    if (namer == NULL) {
        return -1;
    }
    const char *own = plan_object_name(namer, planned, &rebuild->writer.view, &len);
    return own == NULL ? error_memory(err, "an object's name") : strcmp(own, line->name) == 0;
}

/* 1: that task is open, and it is the one that the line is about; 0: it is not. */
static int is_task(struct rebuild *rebuild, size_t index, uint64_t task,
                   const struct segment_line *line, struct error *err)
{
    const struct run_volume *volume = &rebuild->run->volumes[index];
    if (ledger_row(rebuild->run->ledger, task)->state != LEDGER_OPEN) {
        return 0;
    }
    unsigned stream = plan_get_task(volume->plan, task - volume->first_task)->stream;
    int same = is_stream(&rebuild->writer.view.entry.streams[stream], line->stream, err);
    return same > 0 ? object_matches(rebuild, index, task, line, err) : same;
}

/* The open task that the line is about, or UINT64_MAX. */
static int find_task(struct rebuild *rebuild, size_t index, const struct segment_line *line,
                     uint64_t *ret_task, struct error *err)
{
    const struct run_volume *volume = &rebuild->run->volumes[index];
    int64_t entry = catalog_find(volume->catalog, line->record);
    *ret_task = UINT64_MAX;
    if (entry < 0) {
        return 0;
    }
    if (catalog_get(volume->catalog, (uint32_t)entry, &rebuild->writer.view, err) != 0) {
        return -1;
    }
    for (uint32_t i = volume->entry_first[entry]; i < volume->entry_first[entry + 1]; i++) {
        uint64_t task = volume->first_task + volume->entry_tasks[i];
        int same = is_task(rebuild, index, task, line, err);
        if (same != 0) {
            *ret_task = same > 0 ? task : UINT64_MAX;
            return same > 0 ? 0 : -1;
        }
    }
    return 0;
}

static int take_line(struct rebuild *rebuild, const struct segment_line *line, struct error *err)
{
    struct run *run = rebuild->run;
    size_t index = find_volume(run, line->volume);
    uint64_t task = 0;
    if (index == SIZE_MAX) {
        return 0;
    }
    if (find_task(rebuild, index, line, &task, err) != 0) {
        return -1;
    }
    if (task == UINT64_MAX) {
        return 0;
    }
    struct ledger_row *row = ledger_row(run->ledger, task);
    row->generation = line->generation;
    row->crc32c = line->crc32c;
    row->state = LEDGER_UPLOADED;
    journal_result(run->journal, task, row, NULL, NULL, 0);
    run->objects_done++;
    run->bytes_done += line->size_bytes;
    rebuild->taken++;
    return 0;
}

static int append_bytes(void *self, const void *bytes, size_t len, struct error *err)
{
    struct text *text = self;
    text_add_bytes(text, bytes, len);
    if (text->no_memory) {
        return error_memory(err, "a segment");
    }
    return text->failed ? error_entry(err, NULL, "a segment is larger than it can be") : 0;
}

static void forget_bytes(void *self)
{
    text_reset(self);
}

int segments_read(struct gcs_client *client, const char *name, size_t packed_limit,
                  struct text *ret_lines, bool *ret_readable, struct error *err)
{
    CLEANUP_TEXT struct text packed = TEXT_INIT(packed_limit);
    struct error cause = {0};
    *ret_readable = false;
    enum gcs_answer answer =
        gcs_read(client, name, 0, 0, 0, append_bytes, forget_bytes, &packed, &cause);
    if (answer == GCS_ERROR && cause.kind != ERROR_FAIL_ENTRY) {
        *err = cause;
        return -1;
    }
    *ret_readable =
        answer == GCS_DONE && gzip_unpack(packed.data, packed.len, ret_lines, &cause) == 0;
    if (answer == GCS_DONE && !*ret_readable && cause.kind == ERROR_STOP_RUN) {
        *err = cause;
        return -1;
    }
    return 0;
}

static int read_segment(struct rebuild *rebuild, const char *name, struct error *err)
{
    CLEANUP_TEXT struct text lines = TEXT_INIT(UNPACKED_LIMIT);
    bool readable = false;
    if (segments_read(uploader_client(rebuild->run->uploader), name, PACKED_LIMIT, &lines,
                      &readable, err) != 0) {
        return -1;
    }
    if (!readable) {
        return 0; /* damaged or gone: what it named is found by comparison */
    }
    const char *at = text_str(&lines);
    const char *end = at + lines.len;
    while (at < end) {
        const char *newline = memchr(at, '\n', (size_t)(end - at));
        size_t len = newline != NULL ? (size_t)(newline - at) : (size_t)(end - at);
        struct segment_line line;
        struct error cause = {0};
        int status = segments_parse_line(at, len, &line, &cause);
        status = status == 0 ? take_line(rebuild, &line, &cause) : status;
        segments_clear_line(&line);
        if (status != 0 && cause.kind != ERROR_FAIL_ENTRY) {
            *err = cause;
            return -1;
        }
        at += len + 1;
    }
    return 0;
}

static int remember_name(void *self, const char *name, const struct gcs_object *object,
                         struct error *err)
{
    struct rebuild *rebuild = self;
    (void)object; /* read as it is now */
    if (rebuild->count == SEGMENTS_MAX) {
        return error_stop(err, EXIT_STATUS_TEMPORARY, "too many segments");
    }
    if (rebuild->count == rebuild->cap) {
        size_t cap = rebuild->cap == 0 ? 64 : rebuild->cap * 2;
        char **names = realloc(rebuild->names, cap * sizeof(*names));
        if (names == NULL) {
            return error_memory(err, "the list of segments");
        }
        rebuild->names = names;
        rebuild->cap = cap;
    }
    rebuild->names[rebuild->count] = strdup(name);
    if (rebuild->names[rebuild->count] == NULL) {
        return error_memory(err, "the list of segments");
    }
    rebuild->count++;
    return 0;
}

static uint64_t next_number(const struct rebuild *rebuild)
{
    uint64_t next = 1;
    for (size_t i = 0; i < rebuild->count; i++) {
        const char *base = strrchr(rebuild->names[i], '/');
        uint64_t number = base != NULL ? strtoull(base + 1, NULL, 10) : 0;
        next = number >= next && number < UINT32_MAX ? number + 1 : next;
    }
    return next;
}

int segments_rebuild(struct run *run, uint64_t *ret_next_number, struct error *err)
{
    struct rebuild rebuild = {.run = run, .writer = {.run = run}};
    CLEANUP_TEXT struct text prefix = TEXT_INIT(GCS_NAME_MAX * 2);
    run_control_name(run, run->identity.run, "segments/", &prefix);
    struct gcs_listing listing = {
        .prefix = text_str(&prefix),
        .object = remember_name,
        .self = &rebuild,
    };
    int result = prefix.failed ? error_memory(err, "a segment's name") : 0;
    if (result == 0) {
        enum gcs_answer answer = gcs_list(uploader_client(run->uploader), &listing, err);
        result = answer == GCS_DONE ? 0 : -1;
    }
    for (size_t i = 0; i < rebuild.count && result == 0; i++) {
        result = read_segment(&rebuild, rebuild.names[i], err);
    }
    *ret_next_number = next_number(&rebuild);
    if (result == 0) {
        run_message(run, false, "%llu streams are known to be done from the run's segments.",
                    (unsigned long long)rebuild.taken);
    }
    for (size_t i = 0; i < rebuild.count; i++) {
        free(rebuild.names[i]);
    }
    free(rebuild.names);
    manifest_writer_clear(&rebuild.writer);
    return result;
}
