/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Deduplicated files on a disk in a file, against a model in memory: maps of many windows and of
 * several parts, reads at all offsets, and flipped bits anywhere in the store, which may cost a
 * failure but never a byte.
 */
#include <openssl/evp.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>

#include "volume/dedup.h"

enum {
    CLUSTER = 512,
    CLUSTERS = 1 << 15,
    FILE_BYTES = 2000003,
    CHUNK_MOST = 1500,
    PARTS = 3,
    CONTAINERS = 3, /* the first holds maps */
    ROOM = 4 << 20,
};

struct made {
    int fd;
    struct disk *disk;
    struct volume volume;
    struct dedup_decoder *decoder;
    uint8_t *plain;
    uint8_t *containers[CONTAINERS];
    size_t lens[CONTAINERS];
    uint64_t clusters[CONTAINERS]; /* where each begins on the disk */
    uint8_t reparse[1024];
    struct volume_stream stream;
    struct volume_extent hole;
    struct volume_entry entry;
};

static uint64_t pick_state = 20261205;

static unsigned pick_below(unsigned bound)
{
    pick_state = pick_state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (unsigned)(pick_state >> 33) % bound;
}

static void put32(uint8_t *at, uint32_t value)
{
    for (unsigned i = 0; i < 4; i++) {
        at[i] = (uint8_t)(value >> 8 * i);
    }
}

/* A record "Ckhr" with its payload; where it stands. */
static uint32_t add_record(struct made *made, unsigned container, const uint8_t *header,
                           size_t header_len, const uint8_t *payload, size_t len)
{
    size_t at = made->lens[container];
    assert_true(at + header_len + len < ROOM);
    memcpy(made->containers[container] + at, header, header_len);
    memcpy(made->containers[container] + at + header_len, payload, len);
    made->lens[container] = (at + header_len + len + 7) / 8 * 8;
    return (uint32_t)at;
}

static void add_chunk(struct made *made, uint64_t begin, uint64_t end, uint8_t entry[64])
{
    uint8_t header[88] = "Ckhr";
    uint8_t hash[EVP_MAX_MD_SIZE];
    unsigned container = 1 + pick_below(CONTAINERS - 1);
    assert_int_equal(EVP_Digest(made->plain + begin, end - begin, hash, NULL, EVP_sha512(), NULL),
                     1);
    put32(header + 12, (uint32_t)(end - begin));
    memcpy(header + 40, hash, DEDUP_HASH_BYTES);
    memset(entry, 0, 64);
    put32(entry + 4, container);
    put32(entry + 8,
          add_record(made, container, header, sizeof(header), made->plain + begin, end - begin));
    put32(entry + 12, 1);
    put32(entry + 16, (uint32_t)end);
    memcpy(entry + 24, hash, DEDUP_HASH_BYTES);
    put32(entry + 56, (uint32_t)(end - begin));
}

static void add_part(struct made *made, uint64_t begin, uint64_t end, uint8_t part[64])
{
    uint8_t *map = calloc(1, 8 + (end - begin + 1) * 64);
    uint8_t header[104] = "Ckhr";
    size_t len = 8;
    assert_non_null(map);
    memcpy(map, "Smap", 4);
    for (uint64_t at = begin; at < end;) {
        uint64_t size = 1 + pick_below(pick_below(10) == 0 ? CHUNK_MOST : 300);
        size = size < end - at ? size : end - at;
        add_chunk(made, at, at + size, map + len);
        at += size;
        len += 64;
    }
    put32(header + 12, (uint32_t)len);
    memset(header + 56, 0x31, 16);
    memset(part, 0, 64);
    put32(part + 4, 0);
    put32(part + 8, add_record(made, 0, header, sizeof(header), map, len));
    put32(part + 24, (uint32_t)len);
    memset(part + 32, 0x31, 16);
    put32(part + 48, (uint32_t)end);
    put32(part + 56, (uint32_t)begin);
    free(map);
}

/* Reparse data of version 2.1. */
static void add_reparse(struct made *made)
{
    uint8_t *value = made->reparse;
    size_t data_len = 148 + PARTS * 64 + 4;
    uint64_t begin = 0;
    put32(value, VOLUME_DEDUP_TAG);
    put32(value + 4, (uint32_t)data_len);
    put32(value + 8, 0x0102U | (uint32_t)data_len << 16);
    put32(value + 84, PARTS * 64 | 148U << 16);
    memset(value + 124, 0x5A, VOLUME_DEDUP_STORE_BYTES);
    for (unsigned i = 0; i < PARTS; i++) {
        uint64_t end = i + 1 == PARTS ? FILE_BYTES : begin + 100 + pick_below(FILE_BYTES / PARTS);
        add_part(made, begin, end, value + 156 + 64 * (size_t)i);
        begin = end;
    }
    uint32_t crc = UINT32_MAX;
    for (size_t i = 0; i < (data_len - 4) * 8; i++) {
        uint32_t bit = (crc ^ value[8 + i / 8] >> i % 8) & 1;
        crc = crc >> 1 ^ (bit != 0 ? UINT32_C(0xEDB88320) : 0);
    }
    put32(value + 8 + data_len - 4, ~crc);
    made->entry.reparse = value;
    made->entry.reparse_len = 8 + data_len;
}

/* Each container in extents of odd lengths, the pieces of all of them shuffled over the disk. */
static void add_containers(struct made *made, struct volume_dedup *dedup)
{
    uint8_t store[VOLUME_DEDUP_STORE_BYTES];
    struct error err = {0};
    uint64_t next = 7;
    memset(store, 0x5A, sizeof(store));
    assert_int_equal(volume_dedup_add_store(dedup, store, &err), 0);
    for (unsigned i = 0; i < CONTAINERS; i++) {
        static struct volume_extent extents[4096];
        struct volume_stream stream = {.form = VOLUME_PLAIN,
                                       .extents = extents,
                                       .size_bytes = made->lens[i],
                                       .valid_bytes = made->lens[i]};
        struct volume_entry entry = {.record = 40 + i, .streams = &stream, .stream_count = 1};
        made->clusters[i] = next;
        for (size_t at = 0; at < made->lens[i]; stream.extent_count++) {
            uint64_t clusters = 1 + pick_below(40);
            extents[stream.extent_count] = (struct volume_extent){next, clusters};
            size_t take = made->lens[i] - at < clusters * CLUSTER ? made->lens[i] - at
                                                                  : (size_t)clusters * CLUSTER;
            assert_int_equal(
                pwrite(made->fd, made->containers[i] + at, take, (off_t)next * CLUSTER), take);
            next += clusters + pick_below(2);
            at += take;
            assert_true(next < CLUSTERS && stream.extent_count < ARRAY_LEN(extents));
        }
        assert_int_equal(volume_dedup_add(dedup, &made->volume, store,
                                          i == 0 ? VOLUME_DEDUP_STREAM : VOLUME_DEDUP_DATA, i, 1,
                                          &entry, &err),
                         0);
    }
}

static struct made *made_new(void)
{
    struct error err = {0};
    char path[] = "/tmp/winch-dedup-XXXXXX";
    struct made *made = calloc(1, sizeof(*made));
    assert_non_null(made);
    made->fd = mkstemp(path);
    assert_int_equal(ftruncate(made->fd, (off_t)CLUSTERS * CLUSTER), 0);
    made->disk = disk_open(path, &err);
    assert_non_null(made->disk);
    (void)unlink(path);
    made->volume.disk = made->disk;
    made->volume.boot.cluster_bytes = CLUSTER;
    made->volume.boot.cluster_count = CLUSTERS;
    made->plain = malloc(FILE_BYTES);
    assert_non_null(made->plain);
    for (size_t i = 0; i < FILE_BYTES; i++) {
        made->plain[i] = (uint8_t)pick_below(256);
    }
    for (unsigned i = 0; i < CONTAINERS; i++) {
        made->containers[i] = calloc(1, ROOM);
        assert_non_null(made->containers[i]);
        made->lens[i] = 64;
    }
    made->hole = (struct volume_extent){VOLUME_HOLE, FILE_BYTES / CLUSTER + 1};
    made->stream = (struct volume_stream){
        .form = VOLUME_SPARSE, .size_bytes = FILE_BYTES, .extents = &made->hole, .extent_count = 1};
    made->entry = (struct volume_entry){
        .record = 99, .reparse_tag = VOLUME_DEDUP_TAG, .streams = &made->stream, .stream_count = 1};
    add_reparse(made);
    struct volume_dedup *dedup = volume_dedup_new(&err);
    assert_non_null(dedup);
    add_containers(made, dedup);
    volume_set_dedup(&made->volume, dedup);
    made->decoder = dedup_decoder_new(&made->volume, &err);
    assert_non_null(made->decoder);
    return made;
}

static void made_free(struct made *made)
{
    dedup_decoder_free(made->decoder);
    volume_set_dedup(&made->volume, NULL);
    disk_free(made->disk);
    (void)close(made->fd);
    for (unsigned i = 0; i < CONTAINERS; i++) {
        free(made->containers[i]);
    }
    free(made->plain);
    free(made);
}

/* Whatever is given is right; false when it fails as dedup. */
static bool read_at(struct made *made, uint64_t offset, size_t len)
{
    struct error err = {0};
    uint8_t *buf = malloc(len);
    assert_non_null(buf);
    ssize_t got = dedup_decoder_read(made->decoder, offset, buf, len, &err);
    if (got < 0) {
        assert_string_equal(err.reason, "dedup");
    } else {
        size_t want = FILE_BYTES - offset < len ? (size_t)(FILE_BYTES - offset) : len;
        assert_int_equal(got, want);
        assert_memory_equal(buf, made->plain + offset, want);
    }
    free(buf);
    return got >= 0;
}

static void test_reads(void **state)
{
    struct made *made = *state;
    struct error err = {0};
    assert_int_equal(dedup_decoder_open(made->decoder, &made->entry, 0, &err), 0);
    for (uint64_t at = 0; at < FILE_BYTES; at += 65536) {
        assert_true(read_at(made, at, 65536));
    }
    for (unsigned i = 0; i < 3000; i++) {
        assert_true(read_at(made, pick_below(FILE_BYTES), 1 + pick_below(5000)));
    }
    assert_true(read_at(made, 0, FILE_BYTES));
    assert_true(read_at(made, FILE_BYTES - 1, 10));
}

static void test_flips(void **state)
{
    struct made *made = *state;
    struct error err = {0};
    unsigned failed = 0;
    uint64_t used = (uint64_t)(CLUSTERS - 7) * CLUSTER;
    for (unsigned i = 0; i < 400; i++) {
        off_t at = 7 * CLUSTER + (off_t)(((uint64_t)pick_below(1U << 30) * 7919) % used);
        uint8_t byte = 0;
        assert_int_equal(pread(made->fd, &byte, 1, at), 1);
        uint8_t flipped = (uint8_t)(byte ^ 1U << pick_below(8));
        assert_int_equal(pwrite(made->fd, &flipped, 1, at), 1);
        bool whole = dedup_decoder_open(made->decoder, &made->entry, 0, &err) == 0;
        for (unsigned n = 0; n < 64 && whole; n++) {
            whole = read_at(made, (uint64_t)n * 31250, 31251);
        }
        failed += whole ? 0 : 1;
        assert_int_equal(pwrite(made->fd, &byte, 1, at), 1);
        err = (struct error){0};
    }
    assert_in_range(failed, 10, 390);
}

static void test_refused(void **state)
{
    struct made *made = *state;
    struct error err = {0};
    struct volume_stream sound = made->stream;
    made->stream.size_bytes++;
    assert_int_equal(dedup_decoder_open(made->decoder, &made->entry, 0, &err), -1);
    assert_string_equal(err.reason, "dedup");
    made->stream = sound;
    made->hole.cluster = 9; /* written to since */
    assert_int_equal(dedup_decoder_open(made->decoder, &made->entry, 0, &err), -1);
    made->hole.cluster = VOLUME_HOLE;
    made->stream.form = VOLUME_RESIDENT;
    assert_int_equal(dedup_decoder_open(made->decoder, &made->entry, 0, &err), -1);
    made->stream = sound;
    made->stream.problem = "torn";
    assert_int_equal(dedup_decoder_open(made->decoder, &made->entry, 0, &err), -1);
    made->stream = sound;
    made->entry.reparse_len = 100;
    assert_int_equal(dedup_decoder_open(made->decoder, &made->entry, 0, &err), -1);
    struct volume bare = made->volume;
    bare.dedup = NULL;
    struct dedup_decoder *decoder = dedup_decoder_new(&bare, &err);
    assert_non_null(decoder);
    assert_int_equal(dedup_decoder_open(decoder, &made->entry, 0, &err), -1);
    dedup_decoder_free(decoder);
}

static int set_up(void **state)
{
    *state = made_new();
    return 0;
}

static int tear_down(void **state)
{
    made_free(*state);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_reads),
        cmocka_unit_test(test_flips),
        cmocka_unit_test(test_refused),
    };
    return cmocka_run_group_tests_name("deduplicated files", tests, set_up, tear_down);
}
