/* SPDX-License-Identifier: GPL-3.0-or-later */
/* manifest: packing lines into pieces, uploading them and their index. */
#include "run/manifest.h"

#include <string.h>

#include "run/control.h"
#include "run/gzip.h"

#define PIECE_BYTES (60ULL << 20) /* packed: then a piece is closed */
#define PIECE_LIMIT (64ULL << 20)
#define SHORT_LINE (3ULL << 20) /* fits behind PIECE_BYTES whatever it packs to */
/* An attribute list of 256 KiB names 8,192 inline streams of 4 KiB, 45 MiB in base64. */
#define LINE_LIMIT (56U << 20)

struct packer {
    struct run *run;
    struct text packed;
    struct text line;
    struct gzip *gzip;
    struct manifest_file file; /* the piece being filled */
    bool open;
};

static int packer_open(struct packer *packer, const char *name, struct error *err)
{
    packer->file = (struct manifest_file){0};
    (void)snprintf(packer->file.name, sizeof(packer->file.name), "%s", name);
    text_reset(&packer->packed);
    if (packer->gzip == NULL) {
        packer->gzip = gzip_new(&packer->packed);
        if (packer->gzip == NULL) {
            return error_memory(err, "packing the manifest");
        }
    } else {
        gzip_restart(packer->gzip);
    }
    char head[128];
    int len = snprintf(head, sizeof(head), "{\"schema\":\"winch-manifest/1\",\"run\":\"%s\"}\n",
                       packer->run->identity.run);
    packer->open = true;
    return gzip_add(packer->gzip, head, (size_t)len) == 0
               ? 0
               : error_memory(err, "packing the manifest");
}

static int packer_add(struct packer *packer, struct error *err)
{
    if (packer->line.failed || gzip_add(packer->gzip, packer->line.data, packer->line.len) != 0) {
        return error_memory(err, "packing the manifest");
    }
    packer->file.lines++;
    return 0;
}

static int upload_packed(struct packer *packer, struct error *err)
{
    struct run *run = packer->run;
    struct upload_result result;
    if (control_upload(run, packer->file.name, "application/gzip", packer->packed.data,
                       packer->packed.len, NULL, &result, err) != 0) {
        return -1;
    }
    packer->file.generation = result.generation;
    packer->file.size_bytes = packer->packed.len;
    packer->file.crc32c = result.crc32c;
    sha256_bytes(packer->packed.data, packer->packed.len, packer->file.sha256);
    return 0;
}

static int packer_close(struct packer *packer, struct error *err)
{
    packer->open = false;
    if (gzip_finish(packer->gzip) != 0) {
        return error_memory(err, "packing the manifest");
    }
    return upload_packed(packer, err);
}

static void packer_clear(struct packer *packer)
{
    gzip_free(packer->gzip);
    text_free(&packer->packed);
    text_free(&packer->line);
    free(packer->file.first);
    free(packer->file.last);
}

static int keep_file(struct manifest_index *index, struct packer *packer, struct error *err)
{
    struct manifest_file *files = realloc(index->files, (index->count + 1) * sizeof(*index->files));
    if (files == NULL) {
        return error_memory(err, "the manifest's index");
    }
    index->files = files;
    index->files[index->count++] = packer->file;
    packer->file = (struct manifest_file){0}; /* its strings are the index's now */
    return 0;
}

static char *copy_path(const struct manifest_order *order, const struct manifest_item *item)
{
    /* A stream's key continues behind a NUL: the copy ends there, at the path. */
    return strndup((const char *)order->keys.bytes + item->key_at, item->key_len);
}

static void count_line(struct manifest_writer *writer, const struct manifest_item *item,
                       struct manifest_index *index)
{
    const struct run_volume *volume = &writer->run->volumes[item->volume];
    switch ((enum manifest_kind)item->kind) {
    case MANIFEST_STRAY:
        index->states[OUTCOME_FAILED]++;
        break;
    case MANIFEST_ENTRY:
        index->states[outcome_of_entry(writer->run, volume, &writer->view).state]++;
        break;
    case MANIFEST_NAME:
        index->names++;
        break;
    case MANIFEST_STREAM:
        index->stream_lines++;
        break;
    }
}

static int close_piece(const struct manifest_order *order, const struct manifest_item *last,
                       struct packer *packer, struct manifest_index *index, struct error *err)
{
    packer->file.last = copy_path(order, last);
    return packer_close(packer, err) != 0 ? -1 : keep_file(index, packer, err);
}

static int write_item(struct manifest_writer *writer, const struct manifest_order *order,
                      const struct manifest_item *item, struct packer *packer,
                      struct manifest_index *index, struct error *err)
{
    text_reset(&packer->line);
    if (manifest_write_line(writer, item, &packer->line, err) != 0) {
        return -1;
    }
    /* A line of many inline streams may be too large for the rest of a piece. */
    if (packer->open && packer->line.len > SHORT_LINE &&
        packer->packed.len + packer->line.len > PIECE_BYTES &&
        close_piece(order, item - 1, packer, index, err) != 0) {
        return -1;
    }
    if (!packer->open) {
        char name[CONTROL_TAIL_MAX];
        (void)snprintf(name, sizeof(name), "manifest-%05zu.jsonl.gz", index->count);
        if (packer_open(packer, name, err) != 0) {
            return -1;
        }
        packer->file.first = copy_path(order, item);
    }
    if (packer_add(packer, err) != 0) {
        return -1;
    }
    count_line(writer, item, index);
    return packer->packed.len < PIECE_BYTES ? 0 : close_piece(order, item, packer, index, err);
}

static int write_pieces(struct run *run, struct manifest_writer *writer, struct packer *packer,
                        struct manifest_index *index, struct error *err)
{
    struct manifest_order order = {.keys.fd = -1};
    int result = manifest_order_build(writer, &order, err);
    run->phase_total = order.count;
    for (size_t i = 0; i < order.count && result == 0; i++) {
        result = write_item(writer, &order, &order.items[i], packer, index, err);
        run->phase_done = i + 1;
        if (result == 0 && run->settings->cancel != NULL && *run->settings->cancel) {
            result = error_cancelled(err);
        }
    }
    if (result == 0 && packer->open) {
        result = close_piece(&order, &order.items[order.count - 1], packer, index, err);
    }
    manifest_order_clear(&order);
    return result;
}

/* ---- security descriptors ------------------------------------------------------------------ */

struct security_writer {
    struct packer *packer;
    const char *volume;
};

static int write_descriptor(void *self, uint32_t id, const uint8_t *bytes, size_t len,
                            struct error *err)
{
    struct security_writer *writer = self;
    struct text *line = &writer->packer->line;
    text_reset(line);
    text_printf(line, "{\"volume\":\"%s\",\"sd\":\"%u\"", writer->volume, id);
    manifest_add_sddl(bytes, len, line);
    text_add(line, ",\"base64\":\"");
    text_add_base64(line, bytes, len);
    text_add(line, "\"}\n");
    return packer_add(writer->packer, err);
}

static int write_security(struct run *run, struct packer *packer, struct manifest_index *index,
                          struct error *err)
{
    if (packer_open(packer, "security.jsonl.gz", err) != 0) {
        return -1;
    }
    for (size_t i = 0; i < run->volume_count; i++) {
        struct security_writer writer = {packer, run->volumes[i].id};
        struct error damage = {0};
        uint64_t damaged = 0;
        int result = volume_read_security(run->volumes[i].volume, write_descriptor, &writer,
                                          &damaged, &damage);
        if (result != 0 && damage.kind != ERROR_FAIL_ENTRY) {
            *err = damage;
            return -1;
        }
        if (result != 0) {
            run->descriptors_lost = true;
            run_warn(run, "%s: security descriptors could not be read: %s", run->volumes[i].id,
                     damage.message);
        } else if (damaged > 0) {
            run_warn(run, "%s: %llu damaged security descriptors were left out", run->volumes[i].id,
                     (unsigned long long)damaged);
        }
    }
    if (packer_close(packer, err) != 0) {
        return -1;
    }
    index->security = packer->file;
    return 0;
}

/* ---- chunk stores -------------------------------------------------------------------------- */

/* How the chunks of an entry are found, when it could not be read: its line of its own. */
static int write_reparse(struct manifest_writer *writer, const struct run_volume *volume,
                         struct plan_namer *namer, struct text *line, struct error *err)
{
    const struct catalog_view *view = &writer->view;
    struct outcome outcome = outcome_of_entry(writer->run, volume, view);
    size_t len = 0;
    bool exact = true;
    text_reset(line);
    if (outcome.state != OUTCOME_FAILED || outcome.reason == NULL ||
        strcmp(outcome.reason, REASON_DEDUP) != 0) {
        return 0;
    }
    const char *path = plan_path(namer, view->index, 0, &len, &exact);
    if (path == NULL) {
        return error_memory(err, "a path");
    }
    text_add(line, "{\"path\":");
    text_add_json(line, path, len);
    text_printf(line, ",\"volume\":\"%s\",\"record\":\"%llu\",\"sequence\":%u,\"reparse\":\"",
                volume->id, (unsigned long long)view->entry.record, (unsigned)view->entry.sequence);
    text_add_base64(line, view->entry.reparse, view->entry.reparse_len);
    text_add(line, "\"}\n");
    return 0;
}

static int write_reparse_of(struct manifest_writer *writer, size_t index, struct packer *packer,
                            unsigned *pieces, struct error *err)
{
    const struct run_volume *volume = &writer->run->volumes[index];
    struct plan_namer *namer = manifest_namer(writer, index, err);
    if (namer == NULL) {
        return -1;
    }
    for (uint32_t entry = 0; entry < catalog_count(volume->catalog); entry++) {
        if (catalog_get(volume->catalog, entry, &writer->view, err) != 0) {
            return -1;
        }
        if (plan_classify_reparse(writer->view.entry.reparse_tag) != PLAN_REPARSE_DEDUP) {
            continue;
        }
        if (write_reparse(writer, volume, namer, &packer->line, err) != 0) {
            return -1;
        }
        if (packer->line.len == 0) {
            continue;
        }
        char name[CONTROL_TAIL_MAX];
        (void)snprintf(name, sizeof(name), ".winch/dedup/reparse-%s-%05u.jsonl.gz",
                       writer->run->identity.run, *pieces);
        if ((!packer->open && packer_open(packer, name, err) != 0) ||
            packer_add(packer, err) != 0) {
            return -1;
        }
        if (packer->packed.len >= PIECE_BYTES) {
            (*pieces)++;
            if (packer_close(packer, err) != 0) {
                return -1;
            }
        }
    }
    return 0;
}

/* Beside the store, so that what is kept there can be put together without the manifest. */
static int write_dedup(struct manifest_writer *writer, struct packer *packer, struct error *err)
{
    const struct run *run = writer->run;
    bool any = false;
    unsigned pieces = 0;
    for (size_t i = 0; i < run->summary->reason_count; i++) {
        any = any || strcmp(run->summary->reasons[i].reason, REASON_DEDUP) == 0;
    }
    if (!any || run->settings->dedup == PLAN_DEDUP_FAIL) {
        return 0;
    }
    for (size_t i = 0; i < run->volume_count; i++) {
        if (write_reparse_of(writer, i, packer, &pieces, err) != 0) {
            return -1;
        }
    }
    return packer->open ? packer_close(packer, err) : 0;
}

/* ---- index ----------------------------------------------------------------------------------- */

static void add_file(struct text *json, const struct manifest_file *file)
{
    char crc[9];
    crc32c_to_base64(file->crc32c, crc);
    text_printf(json, "{\"name\":\"%s\"", file->name);
    if (file->first != NULL && file->last != NULL) {
        text_add(json, ",\"first\":");
        text_add_json(json, file->first, strlen(file->first));
        text_add(json, ",\"last\":");
        text_add_json(json, file->last, strlen(file->last));
    }
    text_printf(
        json,
        ",\"lines\":%llu,\"generation\":\"%llu\",\"size\":%llu,\"crc32c\":\"%s\",\"sha256\":\"",
        (unsigned long long)file->lines, (unsigned long long)file->generation,
        (unsigned long long)file->size_bytes, crc);
    text_add_hex(json, file->sha256, sizeof(file->sha256));
    text_add(json, "\"}");
}

static int upload_index(struct run *run, struct manifest_index *index, struct error *err)
{
    CLEANUP_TEXT struct text json = TEXT_INIT(PIECE_LIMIT);
    CLEANUP_TEXT struct text name = TEXT_INIT(GCS_NAME_MAX * 2);
    struct upload_result result;
    text_printf(&json, "{\"schema\":\"winch-index/1\",\"run\":\"%s\",\"files\":[",
                run->identity.run);
    for (size_t i = 0; i < index->count; i++) {
        text_add(&json, i > 0 ? "," : "");
        add_file(&json, &index->files[i]);
    }
    text_add(&json, "],\"security\":");
    add_file(&json, &index->security);
    text_add(&json, "}\n");
    if (json.failed) {
        return error_memory(err, "the manifest's index");
    }
    char tail[CONTROL_TAIL_MAX] = "index.json";
    if (control_upload(run, tail, "application/json", json.data, json.len, &name, &result, err) !=
        0) {
        return -1;
    }
    if (name.failed) {
        return error_memory(err, "the index's name");
    }
    index->index_generation = result.generation;
    sha256_bytes(json.data, json.len, index->index_sha256);
    index->index_name = TAKE(name.data);
    return 0;
}

int manifest_upload(struct run *run, struct manifest_index *ret_index, struct error *err)
{
    struct manifest_writer writer = {.run = run};
    struct packer packer = {
        .run = run,
        .packed = TEXT_INIT(PIECE_LIMIT),
        .line = TEXT_INIT(LINE_LIMIT),
    };
    *ret_index = (struct manifest_index){0};
    int result = write_pieces(run, &writer, &packer, ret_index, err);
    if (result == 0) {
        result = write_security(run, &packer, ret_index, err);
    }
    if (result == 0) {
        result = write_dedup(&writer, &packer, err);
    }
    if (result == 0) {
        result = upload_index(run, ret_index, err);
    }
    packer_clear(&packer);
    manifest_writer_clear(&writer);
    return result;
}

void manifest_index_clear(struct manifest_index *index)
{
    for (size_t i = 0; i < index->count; i++) {
        free(index->files[i].first);
        free(index->files[i].last);
    }
    free(index->files);
    free(index->index_name);
    *index = (struct manifest_index){0};
}
