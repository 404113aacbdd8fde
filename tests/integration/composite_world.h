/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * One composite upload under test: started, fed by one or many workers, interrupted, resumed from
 * what a journal would have kept. For the one test program that includes it.
 */
#ifndef COMPOSITE_WORLD_H
#define COMPOSITE_WORLD_H

#include "upload_world.h"

#define SEED 1
#define PART 4096ULL
/* 1,100 parts: parts, groups, groups of groups, and the object. */
#define DEEP (1100 * PART - 17)
#define DEEP_TOP 3

struct upload {
    struct session session;
    struct upload_composite *composite;
    struct pattern pattern;
    char name[64];
    char prefix[128];
    uint64_t size_bytes;
    uint64_t part_size;
    const char *metadata;
    struct upload_result result;
    enum upload_progress progress;
    unsigned completed;
};

/* What a journal would have kept. */
struct kept {
    unsigned level;
    uint32_t index;
    uint64_t generation;
    uint32_t crc32c;
};

static struct {
    pthread_mutex_t lock;
    struct kept nodes[4096];
    size_t count;
} journal = {.lock = PTHREAD_MUTEX_INITIALIZER};

static inline void keep_node(void *self, uint64_t cookie, unsigned level, uint32_t index,
                             uint64_t generation, uint32_t crc32c)
{
    (void)self;
    assert_int_equal(cookie, 4711);
    (void)pthread_mutex_lock(&journal.lock);
    /* Tests that read the journal empty it first; the others let it run full. */
    if (journal.count < ARRAY_LEN(journal.nodes)) {
        journal.nodes[journal.count++] = (struct kept){level, index, generation, crc32c};
    }
    (void)pthread_mutex_unlock(&journal.lock);
}

static inline void upload_open(struct upload *upload, const char *name)
{
    (void)snprintf(upload->name, sizeof(upload->name), "%s", name);
    (void)snprintf(upload->prefix, sizeof(upload->prefix), ".winch/parts/run/%s/", name);
    upload->pattern.seed = upload->pattern.seed != 0 ? upload->pattern.seed : SEED;
    upload->size_bytes = upload->size_bytes != 0 ? upload->size_bytes : DEEP;
    upload->part_size = upload->part_size != 0 ? upload->part_size : PART;
    upload->session.settings.on_node = keep_node;
    session_open(&upload->session);
}

static inline int upload_start(struct upload *upload)
{
    struct upload_object object = {.name = upload->name,
                                   .content_type = "application/x-test",
                                   .metadata_json =
                                       upload->metadata != NULL ? upload->metadata : OWN_METADATA};
    upload->session.err = (struct error){0};
    upload->composite =
        upload_composite_new(upload->session.engine, &object, upload->size_bytes, upload->part_size,
                             upload->prefix, 4711, &upload->session.err);
    return upload->composite != NULL ? 0 : -1;
}

static inline void upload_close(struct upload *upload)
{
    upload_composite_free(upload->composite);
    session_close(&upload->session);
}

/* At most `limit` parts on the session's own uploader. */
static inline void upload_parts(struct upload *upload, uint32_t limit)
{
    struct upload_source source = pattern_source(&upload->pattern, upload->size_bytes);
    uint32_t index;
    upload->progress = UPLOAD_GOING_ON;
    for (uint32_t i = 0; i < limit && upload_composite_claim(upload->composite, &index); i++) {
        upload->progress = upload_composite_part(upload->session.uploader, upload->composite, index,
                                                 &source, &upload->result, &upload->session.err);
        if (upload->progress != UPLOAD_GOING_ON) {
            return;
        }
    }
}

static void *work(void *self)
{
    struct upload *upload = self;
    struct error err = {0};
    struct uploader *uploader = uploader_new(upload->session.engine, &err);
    assert_non_null(uploader);
    struct upload_source source = pattern_source(&upload->pattern, upload->size_bytes);
    uint32_t index;
    while (upload_composite_claim(upload->composite, &index)) {
        struct upload_result result;
        enum upload_progress progress =
            upload_composite_part(uploader, upload->composite, index, &source, &result, &err);
        if (progress != UPLOAD_GOING_ON) {
            upload->progress = progress;
            upload->result = result;
            upload->session.err = err;
            upload->completed++;
            break;
        }
    }
    uploader_free(uploader);
    return NULL;
}

static inline void upload_all(struct upload *upload, unsigned workers)
{
    pthread_t threads[16];
    for (unsigned i = 0; i < workers; i++) {
        assert_int_equal(pthread_create(&threads[i], NULL, work, upload), 0);
    }
    for (unsigned i = 0; i < workers; i++) {
        (void)pthread_join(threads[i], NULL);
    }
    assert_int_equal(upload->completed, 1);
}

static inline void assert_complete(struct upload *upload)
{
    if (upload->progress != UPLOAD_COMPLETE) {
        fail_msg("not complete: %d %s", (int)upload->progress, upload->session.err.message);
    }
    uint32_t crc = pattern_sum(&upload->pattern, 0, upload->size_bytes);
    assert_int_equal(upload->result.crc32c, crc);
    assert_int_equal(upload->result.size_bytes, upload->size_bytes);
    assert_content(&upload->session, upload->name, upload->size_bytes, crc);
    assert_int_equal(count_objects(&upload->session, upload->prefix), 0);
}

static inline void assert_failed(const struct upload *upload, enum error_kind kind,
                                 const char *reason)
{
    const struct error *err = &upload->session.err;
    if (upload->progress != UPLOAD_FAILED || err->kind != kind ||
        (reason != NULL && (err->reason == NULL || strcmp(err->reason, reason) != 0))) {
        fail_msg("progress %d kind %d %s", (int)upload->progress, (int)err->kind, err->message);
    }
}

#endif
