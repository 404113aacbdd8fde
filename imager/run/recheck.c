/* SPDX-License-Identifier: GPL-3.0-or-later */
/* recheck: journal and segments say what was uploaded once; between two sessions anybody may have
 * emptied the bucket, or another run may have replaced objects. */
#include "run/recheck.h"

#include <string.h>

#include "run/ledger.h"
#include "run/manifest.h"

/* An object as the listing shows it. 64 bits of SHA-256 stand for its name: where two names meet,
 * their generations still differ. */
struct live {
    uint64_t name_hash;
    uint64_t generation;
};

struct recheck {
    struct run *run;
    struct manifest_writer writer;
    struct live *items;
    size_t count, cap;
    const char *runs, *parts; /* prefixes of names that are no content */
    uint64_t reopened;
};

static uint64_t hash_name(const char *name)
{
    uint8_t digest[32];
    sha256_bytes(name, strlen(name), digest);
    return read_le64(digest);
}

static int remember_object(void *self, const char *name, const struct gcs_object *object,
                           struct error *err)
{
    struct recheck *recheck = self;
    if (strncmp(name, recheck->runs, strlen(recheck->runs)) == 0 ||
        strncmp(name, recheck->parts, strlen(recheck->parts)) == 0) {
        return 0;
    }
    if (recheck->count == recheck->cap) {
        size_t cap = recheck->cap == 0 ? 4096 : recheck->cap + recheck->cap / 2;
        struct live *items = realloc(recheck->items, cap * sizeof(*items));
        if (items == NULL) {
            return error_memory(err, "the list of objects in the bucket");
        }
        recheck->items = items;
        recheck->cap = cap;
    }
    recheck->items[recheck->count++] = (struct live){hash_name(name), object->generation};
    return 0;
}

static int compare_live(const void *a, const void *b)
{
    const struct live *left = a;
    const struct live *right = b;
    if (left->name_hash != right->name_hash) {
        return left->name_hash < right->name_hash ? -1 : 1;
    }
    return (left->generation > right->generation) - (left->generation < right->generation);
}

static int recheck_task(struct recheck *recheck, size_t index, uint64_t number, struct error *err)
{
    struct run *run = recheck->run;
    const struct run_volume *volume = &run->volumes[index];
    const struct plan_task *task = plan_get_task(volume->plan, number);
    struct ledger_row *row = ledger_row(run->ledger, volume->first_task + number);
    if (row->state != LEDGER_UPLOADED) {
        return 0;
    }
    size_t len = 0;
    struct plan_namer *namer = manifest_namer(&recheck->writer, index, err);
    if (namer == NULL ||
        catalog_get(volume->catalog, task->entry, &recheck->writer.view, err) != 0) {
        return -1;
    }
    const char *name = plan_object_name(namer, task, &recheck->writer.view, &len);
    if (name == NULL) {
        return error_memory(err, "an object's name");
    }
    struct live wanted = {hash_name(name), row->generation};
    if (recheck->count == 0 ||
        bsearch(&wanted, recheck->items, recheck->count, sizeof(wanted), compare_live) == NULL) {
        row->state = LEDGER_OPEN;
        row->generation = 0;
        row->flags = 0;
        run->objects_done--;
        run->bytes_done -= task->size_bytes;
        recheck->reopened++;
    }
    return 0;
}

static int recheck_all(struct recheck *recheck, struct error *err)
{
    struct run *run = recheck->run;
    if (recheck->count > 0) {
        qsort(recheck->items, recheck->count, sizeof(*recheck->items), compare_live);
    }
    for (size_t i = 0; i < run->volume_count; i++) {
        for (uint64_t task = 0; task < plan_task_count(run->volumes[i].plan); task++) {
            if (recheck_task(recheck, i, task, err) != 0) {
                return -1;
            }
        }
    }
    if (recheck->reopened > 0) {
        run_message(run, true,
                    "%llu objects that this run uploaded before are gone or were changed since: "
                    "they are compared and, where needed, sent again.",
                    (unsigned long long)recheck->reopened);
    }
    return 0;
}

int recheck_uploaded(struct run *run, struct error *err)
{
    if (!run->resumed || run->objects_done == 0) {
        return 0;
    }
    CLEANUP_TEXT struct text prefix = TEXT_INIT(GCS_NAME_MAX * 2);
    CLEANUP_TEXT struct text runs = TEXT_INIT(GCS_NAME_MAX * 2);
    CLEANUP_TEXT struct text parts = TEXT_INIT(GCS_NAME_MAX * 2);
    text_printf(&prefix, "%s%s", run->url.prefix, run->url.prefix[0] != '\0' ? "/" : "");
    text_printf(&runs, "%s.winch/runs/", text_str(&prefix));
    text_printf(&parts, "%s.winch/parts/", text_str(&prefix));
    if (prefix.failed || runs.failed || parts.failed) {
        return error_memory(err, "a name");
    }
    struct recheck recheck = {
        .run = run, .writer = {.run = run}, .runs = runs.data, .parts = parts.data};
    struct gcs_listing listing = {
        .prefix = text_str(&prefix), .object = remember_object, .self = &recheck};
    struct error cause = {0};
    enum gcs_answer answer = run_has(run, GCS_RIGHT_LIST)
                                 ? gcs_list(uploader_client(run->uploader), &listing, &cause)
                                 : GCS_DENIED;
    int result = 0;
    if (answer == GCS_DENIED) {
        run_message(run, false,
                    "No right to list: what earlier sessions uploaded is taken to be "
                    "there still.");
    } else if (answer != GCS_DONE) {
        *err = cause;
        result = -1;
    } else {
        result = recheck_all(&recheck, err);
    }
    free(recheck.items);
    manifest_writer_clear(&recheck.writer);
    return result;
}
