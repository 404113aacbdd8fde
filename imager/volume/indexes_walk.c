/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Reads index blocks in the order of the disk, neighbours with one read, on several threads: a read
 * of a network disk takes half a millisecond whatever its size, and a million directories may have
 * a block each. When the time is up, the directories of the rest stay unchecked.
 */
#include <pthread.h>
#include <string.h>

#include "volume/indexes.h"

/* A read that covers more is not faster; a gap of this size costs less than another read. */
#define READ_BYTES_MAX (256 << 10)
#define GAP_BYTES_MAX (16 << 10)
/* Hides the latency and costs READ_BYTES_MAX of memory each. */
#define THREADS_MAX 32
/* Fewer blocks than this for each thread are not worth one. */
#define BLOCKS_PER_THREAD 256

struct walk {
    struct volume_indexes *indexes;
    struct indexes_block *blocks;
    size_t count;
    uint64_t end_ms;
    pthread_mutex_t lock;
    size_t next;      /* under the lock, as all below */
    struct error err; /* the first that stops it */
    bool stopped;
};

static bool take_group(struct walk *walk, size_t *ret_first, size_t *ret_count);
static void *walk_thread(void *self);
static void walk_group(struct walk *walk, uint8_t *buf, size_t first, size_t count);
static bool read_block(struct walk *walk, uint8_t *buf, const struct indexes_block *block);
static void see_block(struct walk *walk, uint8_t *bytes, const struct indexes_block *block);
static void mark(struct walk *walk, struct cluster_set *set, const struct indexes_block *block);
static void stop(struct walk *walk, const struct error *cause);
static int compare_blocks(const void *a, const void *b);

int indexes_walk(struct volume_indexes *indexes, struct error *err)
{
    struct walk walk = {
        .indexes = indexes,
        .blocks = (struct indexes_block *)(void *)indexes->blocks.bytes,
        .count = indexes->block_count,
        .end_ms = clock_monotonic_ms() + VOLUME_INDEXES_MS,
    };
    pthread_t threads[THREADS_MAX];
    size_t wanted = indexes->collecting ? 0 : walk.count / BLOCKS_PER_THREAD;
    size_t started = 0;

    if (walk.count == 0) {
        return 0;
    }
    qsort(walk.blocks, walk.count, sizeof(*walk.blocks), compare_blocks);
    (void)pthread_mutex_init(&walk.lock, NULL); /* default attributes cannot fail on Linux */
    while (started < THREADS_MAX && started < wanted &&
           pthread_create(&threads[started], NULL, walk_thread, &walk) == 0) {
        started++;
    }
    (void)walk_thread(&walk);
    for (size_t i = 0; i < started; i++) {
        (void)pthread_join(threads[i], NULL); /* a thread of ours, joined once */
    }
    (void)pthread_mutex_destroy(&walk.lock);
    if (walk.stopped) {
        *err = walk.err;
        return -1;
    }
    for (size_t i = walk.next; i < walk.count; i++) {
        if (cluster_set_add(&indexes->unchecked, walk.blocks[i].directory, 1, NULL, err) != 0) {
            return -1;
        }
    }
    return 0;
}

static bool take_group(struct walk *walk, size_t *ret_first, size_t *ret_count)
{
    bool more = false;

    (void)pthread_mutex_lock(&walk->lock); /* ours, never destroyed while in use */
    if (!walk->stopped && walk->next < walk->count && clock_monotonic_ms() < walk->end_ms) {
        const struct indexes_block *first = &walk->blocks[walk->next];
        uint64_t end = first->position + first->bytes;
        size_t count = 1;
        while (walk->next + count < walk->count) {
            const struct indexes_block *block = first + count;
            uint64_t block_end = block->position + block->bytes;
            if (block->position > end + GAP_BYTES_MAX ||
                block_end - first->position > READ_BYTES_MAX) {
                break;
            }
            end = end > block_end ? end : block_end;
            count++;
        }
        *ret_first = walk->next;
        *ret_count = count;
        walk->next += count;
        more = true;
    }
    (void)pthread_mutex_unlock(&walk->lock);
    return more;
}

static void *walk_thread(void *self)
{
    struct walk *walk = self;
    struct error err = {0};
    size_t first = 0;
    size_t count = 0;
    CLEANUP_FREE uint8_t *buf = malloc(READ_BYTES_MAX + INDEX_BLOCK_BYTES_MAX);

    if (buf == NULL) {
        (void)error_memory(&err, "the walk of directory indexes");
        stop(walk, &err);
        return NULL;
    }
    while (take_group(walk, &first, &count)) {
        walk_group(walk, buf, first, count);
    }
    return NULL;
}

/* Blocks that overlap each other are damage: each is parsed from a copy, since the parser changes
 * what it reads. Where the read of a group fails each block is read alone. */
static void walk_group(struct walk *walk, uint8_t *buf, size_t first, size_t count)
{
    const struct indexes_block *blocks = &walk->blocks[first];
    uint8_t *copy = buf + READ_BYTES_MAX;
    uint64_t start = blocks[0].position;
    uint64_t end = start;
    struct error cause = {0};

    for (size_t i = 0; i < count; i++) {
        uint64_t block_end = blocks[i].position + blocks[i].bytes;
        end = end > block_end ? end : block_end;
    }
    bool whole =
        disk_read(walk->indexes->volume->disk, start, buf, (size_t)(end - start), &cause) == 0;
    if (!whole && cause.kind != ERROR_FAIL_ENTRY) {
        stop(walk, &cause);
        return;
    }
    for (size_t i = 0; i < count; i++) {
        if (whole) {
            memcpy(copy, buf + (blocks[i].position - start), blocks[i].bytes);
        }
        if (whole || read_block(walk, copy, &blocks[i])) {
            see_block(walk, copy, &blocks[i]);
        }
    }
}

static bool read_block(struct walk *walk, uint8_t *buf, const struct indexes_block *block)
{
    struct error cause = {0};

    if (disk_read(walk->indexes->volume->disk, block->position, buf, block->bytes, &cause) == 0) {
        return true;
    }
    if (cause.kind != ERROR_FAIL_ENTRY) {
        stop(walk, &cause);
    } else {
        mark(walk, &walk->indexes->torn, block);
    }
    return false;
}

static void see_block(struct walk *walk, uint8_t *bytes, const struct indexes_block *block)
{
    struct error err = {0};
    struct indexes_names names = {
        .indexes = walk->indexes, .directory = block->directory, .err = &err};

    if (index_parse_block(bytes, block->bytes, block->bytes, block->vcn, indexes_see_name,
                          &names) != NULL) {
        mark(walk, &walk->indexes->torn, block);
    }
    if (names.no_room) {
        stop(walk, &err);
    }
}

static void mark(struct walk *walk, struct cluster_set *set, const struct indexes_block *block)
{
    struct error err = {0};

    (void)pthread_mutex_lock(&walk->lock);
    int result = cluster_set_add(set, block->directory, 1, NULL, &err);
    (void)pthread_mutex_unlock(&walk->lock);
    if (result != 0) {
        stop(walk, &err);
    }
}

static void stop(struct walk *walk, const struct error *cause)
{
    (void)pthread_mutex_lock(&walk->lock);
    if (!walk->stopped) {
        walk->stopped = true;
        walk->err = *cause;
    }
    (void)pthread_mutex_unlock(&walk->lock);
}

static int compare_blocks(const void *a, const void *b)
{
    const struct indexes_block *left = a;
    const struct indexes_block *right = b;

    return (left->position > right->position) - (left->position < right->position);
}
