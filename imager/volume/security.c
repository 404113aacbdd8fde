/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Security descriptors from $Secure:$SDS. The stream is made of blocks of 256 KiB, each followed by
 * a copy of itself, so that a damaged entry may still be read from the copy.
 */
#include <string.h>

#include "volume/mount.h"

#define RECORD_SECURE 9
#define BLOCK_BYTES (UINT32_C(256) << 10)
#define PAIR_BYTES (2 * BLOCK_BYTES)
/* A million descriptors of 500 bytes, each kept twice; a larger size is a lie. */
#define STREAM_BYTES_MAX (UINT64_C(1) << 30)
#define ENTRY_HEADER_BYTES 20
#define ENTRY_ALIGNMENT 16
/* Windows numbers descriptors from 256 on; more than this is not plausible on one volume. */
#define SECURITY_ID_MAX (UINT32_C(1) << 24)

struct security_walk {
    int (*each)(void *self, uint32_t id, const uint8_t *bytes, size_t len, struct error *err);
    void *self;
    uint8_t *seen; /* one bit per id */
    uint64_t damaged;
};

static int read_blocks(struct mount_stream *stream, struct security_walk *walk, uint8_t *pair,
                       struct error *err);
static int read_pair(struct mount_stream *stream, uint64_t offset, uint8_t *pair,
                     struct error *err);
static int walk_block(struct security_walk *walk, uint64_t offset, const uint8_t *pair,
                      struct error *err);
static size_t entry_size(const uint8_t *entry, uint64_t offset, size_t room);
static bool is_whole(const uint8_t *entry, size_t size);
static int hand_over(struct security_walk *walk, const uint8_t *entry, size_t size,
                     struct error *err);

int volume_read_security(struct volume *volume,
                         int (*each)(void *self, uint32_t id, const uint8_t *bytes, size_t len,
                                     struct error *err),
                         void *self, uint64_t *ret_damaged, struct error *err)
{
    static const uint16_t name[] = {'$', 'S', 'D', 'S'};
    struct security_walk walk = {.each = each, .self = self};
    CLEANUP_FREE uint8_t *pair = malloc(PAIR_BYTES);
    CLEANUP_FREE uint8_t *seen = calloc(1, SECURITY_ID_MAX / 8);
    struct error unasked;

    err = err != NULL ? err : &unasked;
    *ret_damaged = 0;
    if (pair == NULL || seen == NULL) {
        return error_memory(err, "security descriptors");
    }
    if (volume->info.version_major < 3) {
        return 0; /* older volumes keep descriptors in the records */
    }
    walk.seen = seen;
    struct mount_stream *stream =
        mount_stream_open(volume->mount, RECORD_SECURE, name, ARRAY_LEN(name), err);
    if (stream == NULL) {
        return error_add(err, "$Secure:$SDS");
    }
    int result = read_blocks(stream, &walk, pair, err);
    mount_stream_close(stream);
    *ret_damaged = walk.damaged;
    return result;
}

static int read_blocks(struct mount_stream *stream, struct security_walk *walk, uint8_t *pair,
                       struct error *err)
{
    uint64_t size = mount_stream_size(stream);

    if (size > STREAM_BYTES_MAX) {
        size = STREAM_BYTES_MAX;
        walk->damaged++;
    }
    for (uint64_t offset = 0; offset < size; offset += PAIR_BYTES) {
        if (read_pair(stream, offset, pair, err) != 0 || walk_block(walk, offset, pair, err) != 0) {
            return -1;
        }
    }
    return 0;
}

/* What cannot be read stays zero; only an error of the whole disk is one. */
static int read_pair(struct mount_stream *stream, uint64_t offset, uint8_t *pair, struct error *err)
{
    memset(pair, 0, PAIR_BYTES);
    for (size_t half = 0; half < 2; half++) {
        uint8_t *to = pair + half * BLOCK_BYTES;
        for (size_t done = 0; done < BLOCK_BYTES;) {
            struct error cause = {0};
            uint64_t from = offset + half * BLOCK_BYTES + done;
            ssize_t count = mount_stream_read(stream, from, to + done, BLOCK_BYTES - done, &cause);
            if (count < 0 && cause.kind != ERROR_FAIL_ENTRY) {
                *err = cause;
                return -1;
            }
            if (count <= 0) {
                break;
            }
            done += (size_t)count;
        }
    }
    return 0;
}

static int walk_block(struct security_walk *walk, uint64_t offset, const uint8_t *pair,
                      struct error *err)
{
    static const uint8_t unused[ENTRY_HEADER_BYTES];
    size_t at = 0;

    while (at + ENTRY_HEADER_BYTES <= BLOCK_BYTES) {
        const uint8_t *entry = pair + at;
        const uint8_t *copy = entry + BLOCK_BYTES;
        size_t room = BLOCK_BYTES - at;
        size_t size = entry_size(entry, offset + at, room);
        size_t copy_size = entry_size(copy, offset + at, room);
        if (size == 0 && copy_size == 0) {
            if (memcmp(entry, unused, sizeof(unused)) != 0) {
                walk->damaged++;
            } else if (memcmp(copy, unused, sizeof(unused)) == 0) {
                break; /* the rest of the block was never used */
            }
            at += ENTRY_ALIGNMENT;
            /* Look for the next entry that knows its own place. */
            while (at + ENTRY_HEADER_BYTES <= BLOCK_BYTES &&
                   entry_size(pair + at, offset + at, BLOCK_BYTES - at) == 0 &&
                   entry_size(pair + BLOCK_BYTES + at, offset + at, BLOCK_BYTES - at) == 0) {
                at += ENTRY_ALIGNMENT;
            }
            continue;
        }
        bool good = size != 0 && is_whole(entry, size);
        bool copy_good = !good && copy_size != 0 && is_whole(copy, copy_size);
        if (copy_good || size == 0) {
            entry = copy;
            size = copy_size;
        }
        if (!good && !copy_good) {
            walk->damaged++;
        } else if (hand_over(walk, entry, size, err) != 0) {
            return -1;
        }
        at += (size + ENTRY_ALIGNMENT - 1) / ENTRY_ALIGNMENT * ENTRY_ALIGNMENT;
    }
    return 0;
}

/* The size that an entry states, or 0 when its header cannot be one for that place. */
static size_t entry_size(const uint8_t *entry, uint64_t offset, size_t room)
{
    size_t size = read_le32(entry + 16);

    if (read_le64(entry + 8) != offset || read_le32(entry + 4) == 0 || size <= ENTRY_HEADER_BYTES ||
        size > room) {
        return 0;
    }
    return size;
}

static bool is_whole(const uint8_t *entry, size_t size)
{
    uint32_t hash = 0;

    for (size_t at = ENTRY_HEADER_BYTES; at + 4 <= size; at += 4) {
        hash = (hash << 3 | hash >> 29) + read_le32(entry + at);
    }
    return hash == read_le32(entry);
}

static int hand_over(struct security_walk *walk, const uint8_t *entry, size_t size,
                     struct error *err)
{
    uint32_t id = read_le32(entry + 4);

    if (id >= SECURITY_ID_MAX) {
        walk->damaged++;
        return 0;
    }
    if ((walk->seen[id / 8] >> (id % 8) & 1) != 0) {
        return 0;
    }
    walk->seen[id / 8] = (uint8_t)(walk->seen[id / 8] | 1U << (id % 8));
    return walk->each(walk->self, id, entry + ENTRY_HEADER_BYTES, size - ENTRY_HEADER_BYTES, err);
}
