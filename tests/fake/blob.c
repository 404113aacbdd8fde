/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * blob: bytes as a list of reference-counted segments, or as one file. Composing shares segments,
 * so that a composed object in memory costs no copy.
 */
#include "blob.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <string.h>
#include <sys/stat.h>

#define SEGMENT_MIN 4096
#define SEGMENT_MAX ((size_t)1 << 20)
#define COPY_BYTES ((size_t)1 << 16)

struct segment {
    atomic_uint references;
    size_t len;
    size_t cap;
    char bytes[];
};

struct piece {
    struct segment *segment;
    uint64_t end; /* offset in the blob of the first byte after this piece */
};

struct blob {
    atomic_uint references;
    atomic_bool keep;
    uint64_t size_bytes;
    bool sealed;
    char *path; /* NULL: in memory */
    int fd;     /* while it is written */
    struct piece *pieces;
    size_t piece_count;
    size_t piece_cap;
};

static struct segment *segment_new(size_t cap)
{
    struct segment *segment = malloc(sizeof(*segment) + cap);
    if (segment != NULL) {
        atomic_init(&segment->references, 1);
        segment->len = 0;
        segment->cap = cap;
    }
    return segment;
}

static void segment_release(struct segment *segment)
{
    if (atomic_fetch_sub(&segment->references, 1) == 1) {
        free(segment);
    }
}

static struct blob *blob_alloc(void)
{
    struct blob *blob = calloc(1, sizeof(*blob));
    if (blob != NULL) {
        atomic_init(&blob->references, 1);
        blob->fd = -1;
    }
    return blob;
}

static char *new_path(struct blob_storage *storage, const char *bucket, const char *name)
{
    struct text key CLEANUP_TEXT = TEXT_INIT(SEGMENT_MIN);
    text_add(&key, bucket);
    text_add_char(&key, '/');
    text_add(&key, name);
    uint8_t hash[32];
    sha256_bytes(text_str(&key), key.len, hash);

    struct text path CLEANUP_TEXT = TEXT_INIT(SEGMENT_MIN);
    text_add(&path, storage->data_folder);
    text_add_char(&path, '/');
    text_add_hex(&path, hash, 16);
    text_printf(&path, "-%" PRIu64, atomic_fetch_add(&storage->next_file, 1));
    return key.failed || path.failed ? NULL : TAKE(path.data);
}

int blob_new(struct blob_storage *storage, const char *bucket, const char *name, struct blob **ret)
{
    *ret = NULL;
    if (storage->discard) {
        return 0;
    }
    struct blob *blob = blob_alloc();
    if (blob == NULL) {
        return -1;
    }
    if (storage->data_folder != NULL) {
        blob->path = new_path(storage, bucket, name);
        if (blob->path != NULL) {
            blob->fd = open(blob->path, O_CREAT | O_EXCL | O_RDWR | O_CLOEXEC, 0644);
        }
        if (blob->fd < 0) {
            free(TAKE(blob->path)); /* not our file: it must stay */
            blob_release(blob);
            return -1;
        }
    }
    *ret = blob;
    return 0;
}

struct blob *blob_open_existing(struct blob_storage *storage, const char *file, uint64_t size_bytes)
{
    struct text path CLEANUP_TEXT = TEXT_INIT(SEGMENT_MIN);
    text_printf(&path, "%s/%s", storage->data_folder, file);
    struct stat status;
    if (path.failed || strchr(file, '/') != NULL || stat(text_str(&path), &status) != 0 ||
        !S_ISREG(status.st_mode) || (uint64_t)status.st_size != size_bytes) {
        return NULL;
    }
    struct blob *blob = blob_alloc();
    if (blob != NULL) {
        blob->path = TAKE(path.data);
        blob->size_bytes = size_bytes;
        blob->sealed = true;
        atomic_store(&blob->keep, true);
    }
    return blob;
}

static int add_piece(struct blob *blob, struct segment *segment, uint64_t end)
{
    if (blob->piece_count == blob->piece_cap) {
        size_t cap = blob->piece_cap == 0 ? 1 : blob->piece_cap * 2;
        struct piece *pieces = reallocarray(blob->pieces, cap, sizeof(*pieces));
        if (pieces == NULL) {
            return -1;
        }
        blob->pieces = pieces;
        blob->piece_cap = cap;
    }
    blob->pieces[blob->piece_count++] = (struct piece){.segment = segment, .end = end};
    return 0;
}

static int append_to_file(struct blob *blob, const char *bytes, size_t len)
{
    while (len > 0) {
        ssize_t count = write(blob->fd, bytes, len);
        if (count < 0 && errno == EINTR) {
            continue;
        }
        if (count <= 0) {
            return -1;
        }
        bytes += count;
        len -= (size_t)count;
        blob->size_bytes += (uint64_t)count;
    }
    return 0;
}

/* The segment that takes the next byte: the last one if it is ours alone and has room. */
static struct segment *open_segment(struct blob *blob, size_t len)
{
    size_t last_cap = 0;
    if (blob->piece_count > 0) {
        struct segment *last = blob->pieces[blob->piece_count - 1].segment;
        if (last->len < last->cap && atomic_load(&last->references) == 1) {
            return last;
        }
        last_cap = last->cap;
    }
    /* The first segment fits small objects exactly; later ones grow. */
    size_t cap = blob->piece_count == 0 ? len : last_cap * 2;
    cap = cap < len ? len : cap;
    cap = cap > SEGMENT_MAX ? SEGMENT_MAX : cap;
    struct segment *segment = segment_new(cap);
    if (segment != NULL && add_piece(blob, segment, blob->size_bytes) != 0) {
        segment_release(segment);
        return NULL;
    }
    return segment;
}

int blob_append(struct blob *blob, const void *bytes, size_t len)
{
    if (blob == NULL || len == 0) {
        return 0;
    }
    assert(!blob->sealed);
    if (blob->path != NULL) {
        return append_to_file(blob, bytes, len);
    }
    const char *next = bytes;
    while (len > 0) {
        struct segment *segment = open_segment(blob, len);
        if (segment == NULL) {
            return -1;
        }
        size_t room = segment->cap - segment->len;
        size_t count = len < room ? len : room;
        memcpy(segment->bytes + segment->len, next, count);
        segment->len += count;
        blob->size_bytes += count;
        blob->pieces[blob->piece_count - 1].end = blob->size_bytes;
        next += count;
        len -= count;
    }
    return 0;
}

static int append_file(struct blob *blob, const struct blob *source)
{
    int source_fd CLEANUP_CLOSE = blob_open_fd(source);
    char *buf CLEANUP_FREE = malloc(COPY_BYTES);
    if (source_fd < 0 || buf == NULL) {
        return -1;
    }
    for (;;) {
        ssize_t count = read(source_fd, buf, COPY_BYTES);
        if (count <= 0) {
            return count == 0 ? 0 : -1;
        }
        if (append_to_file(blob, buf, (size_t)count) != 0) {
            return -1;
        }
    }
}

int blob_append_blob(struct blob *blob, const struct blob *source)
{
    if (blob == NULL || source == NULL) {
        return 0;
    }
    if (blob->path != NULL) {
        return append_file(blob, source);
    }
    for (size_t i = 0; i < source->piece_count; i++) {
        struct segment *segment = source->pieces[i].segment;
        if (add_piece(blob, segment, blob->size_bytes + segment->len) != 0) {
            return -1;
        }
        atomic_fetch_add(&segment->references, 1);
        blob->size_bytes += segment->len;
    }
    return 0;
}

void blob_seal(struct blob *blob)
{
    if (blob != NULL) {
        blob->sealed = true;
        cleanup_close(&blob->fd);
        blob->fd = -1;
    }
}

uint64_t blob_size(const struct blob *blob)
{
    return blob->size_bytes;
}

ssize_t blob_read(const struct blob *blob, uint64_t offset, void *buf, size_t len)
{
    if (blob == NULL || blob->path != NULL) {
        return -1;
    }
    if (offset >= blob->size_bytes) {
        return 0;
    }
    size_t low = 0;
    size_t high = blob->piece_count - 1;
    while (low < high) { /* the first piece that ends after the offset */
        size_t middle = (low + high) / 2;
        if (blob->pieces[middle].end > offset) {
            high = middle;
        } else {
            low = middle + 1;
        }
    }
    const struct piece *piece = &blob->pieces[low];
    uint64_t left = piece->end - offset;
    size_t count = left < len ? (size_t)left : len;
    memcpy(buf, piece->segment->bytes + (piece->segment->len - left), count);
    return (ssize_t)count;
}

int blob_open_fd(const struct blob *blob)
{
    return blob_path(blob) == NULL ? -1 : open(blob->path, O_RDONLY | O_CLOEXEC);
}

const char *blob_file(const struct blob *blob)
{
    return blob == NULL || blob->path == NULL ? NULL : strrchr(blob->path, '/') + 1;
}

const char *blob_path(const struct blob *blob)
{
    return blob == NULL ? NULL : blob->path;
}

void blob_set_keep(struct blob *blob, bool keep)
{
    if (blob != NULL) {
        atomic_store(&blob->keep, keep);
    }
}

struct blob *blob_retain(struct blob *blob)
{
    if (blob != NULL) {
        atomic_fetch_add(&blob->references, 1);
    }
    return blob;
}

void blob_release(struct blob *blob)
{
    if (blob == NULL || atomic_fetch_sub(&blob->references, 1) != 1) {
        return;
    }
    cleanup_close(&blob->fd);
    if (blob->path != NULL && !atomic_load(&blob->keep)) {
        (void)unlink(blob->path); /* what stays behind is removed at the next start */
    }
    for (size_t i = 0; i < blob->piece_count; i++) {
        segment_release(blob->pieces[i].segment);
    }
    free(blob->pieces);
    free(blob->path);
    free(blob);
}

void blob_cleanup(struct blob **blob)
{
    blob_release(*blob);
}
