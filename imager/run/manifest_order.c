/* SPDX-License-Identifier: GPL-3.0-or-later */
/* manifest: all lines of a run in the order of their paths. The keys of millions of entries do not
 * belong in memory: they lie in an unlinked mapped file that the kernel can evict. */
#include "run/manifest.h"

#include <string.h>

#include "run/ledger.h"
#include "run/state.h"

static int add_key(struct manifest_order *order, struct manifest_item *item, const char *key,
                   size_t len, struct error *err)
{
    uint8_t *room = len > UINT32_MAX ? NULL : area_reserve(&order->keys, len + 1, err);
    if (room == NULL) {
        return len > UINT32_MAX ? error_memory(err, "the manifest's keys") : -1;
    }
    item->key_at = order->keys.len;
    item->key_len = (uint32_t)len;
    memcpy(room, key, len);
    order->keys.len += len;
    if (order->count == order->cap) {
        size_t cap = order->cap == 0 ? 4096 : order->cap * 2;
        struct manifest_item *items = realloc(order->items, cap * sizeof(*items));
        if (items == NULL) {
            return error_memory(err, "the manifest's order");
        }
        order->items = items;
        order->cap = cap;
    }
    order->items[order->count++] = *item;
    return 0;
}

/* Does an alternate stream have a line of its own? Inline ones stand in their entry's line. */
static bool has_line(struct run *run, const struct run_volume *volume,
                     const struct catalog_view *view, unsigned stream)
{
    if (view->entry.streams[stream].name_len == 0) {
        return false;
    }
    uint64_t task = outcome_task(volume, view->index, stream);
    if (task != UINT64_MAX) {
        return ledger_row(run->ledger, task)->state != LEDGER_INLINE;
    }
    struct plan_decision decision = plan_stream_decision(volume->plan, view, stream);
    bool stored_form = decision.state == PLAN_EXCLUDED && decision.reason == NULL;
    return !stored_form && plan_entry_decision(volume->plan, view->index).state != PLAN_EXCLUDED;
}

static int add_entry(struct manifest_writer *writer, size_t index, uint32_t entry,
                     struct plan_namer *namer, struct manifest_order *order, struct error *err)
{
    struct run *run = writer->run;
    const struct run_volume *volume = &run->volumes[index];
    size_t len = 0;
    bool exact = true;
    unsigned names = catalog_name_count(volume->catalog, entry);
    bool excluded = plan_entry_decision(volume->plan, entry).state == PLAN_EXCLUDED;
    for (unsigned i = 0; i < (names > 0 ? names : 1); i++) {
        struct manifest_item item = {
            .kind = i == 0 ? MANIFEST_ENTRY : MANIFEST_NAME,
            .volume = (uint8_t)index,
            .entry = entry,
            .detail = (uint16_t)i,
        };
        const char *path = plan_path(namer, entry, i, &len, &exact);
        if (path == NULL) {
            return error_memory(err, "the manifest's keys");
        }
        if ((i == 0 || !excluded) && add_key(order, &item, path, len, err) != 0) {
            return -1;
        }
    }
    if (catalog_get(volume->catalog, entry, &writer->view, err) != 0) {
        return -1;
    }
    for (size_t i = 0; i < writer->view.entry.stream_count; i++) {
        if (!has_line(run, volume, &writer->view, (unsigned)i)) {
            continue;
        }
        CLEANUP_TEXT struct text key = TEXT_INIT(1 << 20);
        struct manifest_item item = {
            .kind = MANIFEST_STREAM,
            .volume = (uint8_t)index,
            .entry = entry,
            .detail = (uint16_t)i,
        };
        const char *path = plan_path(namer, entry, 0, &len, &exact);
        if (path == NULL) {
            return error_memory(err, "the manifest's keys");
        }
        text_add_bytes(&key, path, len);
        text_add_char(&key, '\0');
        plan_stream_name(&writer->view.entry.streams[i], &key);
        if (key.failed || add_key(order, &item, key.data, key.len, err) != 0) {
            return key.failed ? error_memory(err, "the manifest's keys") : -1;
        }
    }
    return 0;
}

static int compare_items(const void *a, const void *b, void *keys)
{
    const struct manifest_item *left = a;
    const struct manifest_item *right = b;
    const uint8_t *bytes = keys;
    uint32_t len = left->key_len < right->key_len ? left->key_len : right->key_len;
    int order = memcmp(bytes + left->key_at, bytes + right->key_at, len);
    if (order != 0) {
        return order;
    }
    if (left->key_len != right->key_len) {
        return left->key_len < right->key_len ? -1 : 1;
    }
    if (left->volume != right->volume) {
        return left->volume < right->volume ? -1 : 1;
    }
    if (left->entry != right->entry) {
        return left->entry < right->entry ? -1 : 1;
    }
    if (left->kind != right->kind) {
        return left->kind < right->kind ? -1 : 1;
    }
    return (left->detail > right->detail) - (left->detail < right->detail);
}

int manifest_order_build(struct manifest_writer *writer, struct manifest_order *ret_order,
                         struct error *err)
{
    struct run *run = writer->run;
    *ret_order = (struct manifest_order){.keys.fd = -1};
    if (area_open(&ret_order->keys, "the manifest's order", state_folder(run->state), err) != 0) {
        return -1;
    }
    for (size_t i = 0; i < run->volume_count; i++) {
        const struct run_volume *volume = &run->volumes[i];
        struct plan_namer *namer = manifest_namer(writer, i, err);
        if (namer == NULL) {
            return -1;
        }
        for (uint32_t n = 0; n < catalog_stray_count(volume->catalog); n++) {
            struct manifest_item item = {.kind = MANIFEST_STRAY, .volume = (uint8_t)i, .entry = n};
            if (add_key(ret_order, &item, "", 0, err) != 0) {
                return -1;
            }
        }
        for (uint32_t entry = 0; entry < catalog_count(volume->catalog); entry++) {
            if (add_entry(writer, i, entry, namer, ret_order, err) != 0) {
                return -1;
            }
        }
    }
    if (ret_order->count > 0) {
        qsort_r(ret_order->items, ret_order->count, sizeof(*ret_order->items), compare_items,
                ret_order->keys.bytes);
    }
    return 0;
}

void manifest_order_clear(struct manifest_order *order)
{
    area_close(&order->keys);
    free(order->items);
    *order = (struct manifest_order){.keys.fd = -1};
}
