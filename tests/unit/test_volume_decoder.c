/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Compressed streams on a disk in a file, against a model in memory: units in every form on
 * scattered clusters, and CompactOS files whose chunk table is longer than a window of it.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>

#include "volume/decoder.h"

enum { CLUSTER = 512, UNIT = 16 * CLUSTER, CLUSTERS = 1 << 16, EXTENTS_MAX = 4096 };

struct made {
    char path[64];
    int fd;
    struct disk *disk;
    struct volume volume;
    struct decoder *decoder;
    uint64_t next_cluster;
    struct volume_extent extents[EXTENTS_MAX];
    struct volume_stream streams[2];
    struct volume_entry entry;
    uint8_t reparse[24];
};

static uint64_t pick_state = 20261201;

static unsigned pick_below(unsigned bound)
{
    pick_state = pick_state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (unsigned)(pick_state >> 33) % bound;
}

static struct made *made_new(void)
{
    struct error err = {0};
    struct made *made = calloc(1, sizeof(*made));
    assert_non_null(made);
    (void)snprintf(made->path, sizeof(made->path), "/tmp/winch-decoder-XXXXXX");
    made->fd = mkstemp(made->path);
    assert_true(made->fd >= 0);
    assert_int_equal(ftruncate(made->fd, (off_t)CLUSTERS * CLUSTER), 0);
    made->disk = disk_open(made->path, &err);
    assert_non_null(made->disk);
    (void)unlink(made->path);
    made->volume.disk = made->disk;
    made->volume.boot.cluster_bytes = CLUSTER;
    made->volume.boot.cluster_count = CLUSTERS;
    made->decoder = decoder_new(&made->volume, &err);
    assert_non_null(made->decoder);
    made->next_cluster = 16;
    made->entry.record = 77;
    made->entry.streams = made->streams;
    made->entry.stream_count = 1;
    made->streams[0].extents = made->extents;
    return made;
}

static void made_free(struct made *made)
{
    decoder_free(made->decoder);
    disk_free(made->disk);
    (void)close(made->fd);
    free(made);
}

static void add_extent(struct volume_stream *stream, struct made *made, uint64_t cluster,
                       uint64_t clusters)
{
    size_t i = stream->extent_count;
    if (i > 0 && ((cluster == VOLUME_HOLE && made->extents[i - 1].cluster == VOLUME_HOLE) ||
                  (cluster != VOLUME_HOLE && made->extents[i - 1].cluster != VOLUME_HOLE &&
                   made->extents[i - 1].cluster + made->extents[i - 1].clusters == cluster))) {
        made->extents[i - 1].clusters += clusters;
        return;
    }
    assert_true(i < EXTENTS_MAX);
    made->extents[i] = (struct volume_extent){cluster, clusters};
    stream->extent_count++;
}

/* Bytes on fresh clusters, now and then somewhere else on the disk. */
static void put(struct made *made, struct volume_stream *stream, const uint8_t *bytes, size_t len)
{
    for (size_t at = 0; at < len; at += CLUSTER) {
        if (pick_below(7) == 0) {
            made->next_cluster += 1 + pick_below(5);
        }
        size_t take = len - at < CLUSTER ? len - at : CLUSTER;
        assert_int_equal(pwrite(made->fd, bytes + at, take, (off_t)made->next_cluster * CLUSTER),
                         take);
        add_extent(stream, made, made->next_cluster++, 1);
        assert_true(made->next_cluster < CLUSTERS - 8);
    }
}

static void expect(struct made *made, const uint8_t *model, uint64_t offset, size_t len)
{
    struct error err = {0};
    uint64_t size = made->streams[0].size_bytes;
    uint8_t *buf = malloc(len + 1);
    assert_non_null(buf);
    size_t done = 0;
    while (done < len && offset + done < size) {
        buf[len] = 0xA5;
        ssize_t count = decoder_read(made->decoder, offset + done, buf + done, len - done, &err);
        if (count <= 0) {
            fail_msg("%zd at %llu: %s", count, (unsigned long long)(offset + done), err.message);
        }
        done += (size_t)count;
        assert_true(done <= len);
        assert_int_equal(buf[len], 0xA5);
    }
    assert_memory_equal(buf, model + offset, done);
    free(buf);
}

static void expect_everywhere(struct made *made, const uint8_t *model, unsigned chunk)
{
    uint64_t size = made->streams[0].size_bytes;
    struct error err = {0};
    uint8_t byte;
    expect(made, model, 0, (size_t)size);
    for (unsigned i = 0; i < 300; i++) {
        uint64_t offset = pick_below((unsigned)size);
        offset = pick_below(3) == 0 ? offset / chunk * chunk : offset;
        unsigned most = pick_below(2) != 0 ? 3 * chunk : (unsigned)size;
        expect(made, model, offset, 1 + pick_below(most));
    }
    assert_int_equal(decoder_read(made->decoder, size, &byte, 1, &err), 0);
}

/* Two chunks of one byte each, in eight stored bytes each: a header, then the byte and copies. */
static size_t squeeze(uint8_t *stored, uint8_t *plain)
{
    size_t len = 0;
    for (size_t at = 0; at < UNIT; at += 4096) {
        uint8_t byte = (uint8_t)(1 + pick_below(255));
        const uint8_t chunk[] = {0x03, 0xB0, 0x02, byte, 0xFC, 0x0F};
        memcpy(stored + len, chunk, sizeof(chunk));
        memset(plain + at, byte, 4096);
        len += sizeof(chunk);
    }
    return len;
}

static void test_lznt1(void **state)
{
    (void)state;
    enum { UNITS = 120 };
    static uint8_t model[UNITS * UNIT], stored[UNIT];
    for (unsigned round = 0; round < 6; round++) {
        struct error err = {0};
        struct made *made = made_new();
        struct volume_stream *stream = &made->streams[0];
        stream->form = VOLUME_LZNT1;
        memset(model, 0, sizeof(model));
        for (unsigned unit = 0; unit < UNITS; unit++) {
            uint8_t *plain = model + (size_t)unit * UNIT;
            unsigned form = pick_below(3);
            size_t clusters = 0;
            if (form == 1) {
                (void)memset(stored, 0, sizeof(stored));
                size_t len = squeeze(stored, plain);
                clusters = (len + CLUSTER - 1) / CLUSTER + pick_below(4);
                put(made, stream, stored, clusters * CLUSTER);
            } else if (form == 2) {
                for (size_t i = 0; i < UNIT; i++) {
                    plain[i] = (uint8_t)pick_below(256);
                }
                put(made, stream, plain, UNIT);
                clusters = 16;
            }
            if (clusters < 16) {
                add_extent(stream, made, VOLUME_HOLE, 16 - clusters);
            }
        }
        stream->size_bytes = (uint64_t)UNITS * UNIT - (round == 0 ? 0 : pick_below(2 * UNIT));
        stream->valid_bytes = round < 3 ? stream->size_bytes : pick_below(UNITS * UNIT);
        if (stream->valid_bytes > stream->size_bytes) {
            stream->valid_bytes = stream->size_bytes;
        }
        memset(model + stream->valid_bytes, 0, sizeof(model) - stream->valid_bytes);
        assert_int_equal(decoder_open(made->decoder, &made->entry, 0, &err), 0);
        expect_everywhere(made, model, UNIT);
        made_free(made);
    }
}

static void test_lznt1_refused(void **state)
{
    (void)state;
    static const uint8_t garbage[CLUSTER] = {0x01, 0x70, 1, 2, 3};
    struct error err = {0};
    uint8_t buf[100];
    struct made *made = made_new();
    struct volume_stream *stream = &made->streams[0];
    stream->form = VOLUME_LZNT1;
    stream->size_bytes = stream->valid_bytes = 2 * UNIT;
    put(made, stream, garbage, sizeof(garbage));
    add_extent(stream, made, VOLUME_HOLE, 16);
    put(made, stream, garbage, sizeof(garbage));
    add_extent(stream, made, VOLUME_HOLE, 14);
    assert_int_equal(decoder_open(made->decoder, &made->entry, 0, &err), 0);
    for (unsigned unit = 0; unit < 2; unit++) {
        assert_int_equal(decoder_read(made->decoder, (uint64_t)unit * UNIT, buf, 100, &err), -1);
        assert_int_equal(err.kind, ERROR_FAIL_ENTRY);
        assert_string_equal(err.reason, "bad-record");
        assert_non_null(strstr(err.message, unit == 0 ? "malformed" : "begins with a hole"));
    }
    stream->valid_bytes = stream->size_bytes = 100 * UNIT; /* more than the extents */
    assert_int_equal(decoder_open(made->decoder, &made->entry, 0, &err), -1);
    assert_string_equal(err.reason, "bad-record");
    made_free(made);
}

/* ---- CompactOS --------------------------------------------------------------------------- */

static const uint16_t wof_name[] = {'W', 'o', 'f', 'C', 'o', 'm', 'p', 'r', 'e',
                                    's', 's', 'e', 'd', 'D', 'a', 't', 'a'};

static void make_wof(struct made *made, enum wof_algorithm algorithm, uint64_t size)
{
    const uint8_t reparse[24] = {
        0x17, 0, 0, 0x80, 16, 0, 0, 0, 1, 0, 0, 0, 2, 0, 0, 0, 1, 0, 0, 0, (uint8_t)algorithm};
    memcpy(made->reparse, reparse, sizeof(reparse));
    made->entry.reparse_tag = WOF_REPARSE_TAG;
    made->entry.reparse = made->reparse;
    made->entry.reparse_len = sizeof(reparse);
    made->entry.stream_count = 2;
    made->streams[0] = (struct volume_stream){.form = VOLUME_SPARSE, .size_bytes = size};
    made->streams[1] = (struct volume_stream){.form = VOLUME_PLAIN,
                                              .name = wof_name,
                                              .name_len = ARRAY_LEN(wof_name),
                                              .extents = made->extents};
}

static void finish_wof(struct made *made, const uint8_t *stored, size_t len)
{
    struct error err = {0};
    made->streams[1].extent_count = 0;
    put(made, &made->streams[1], stored, len);
    made->streams[1].size_bytes = made->streams[1].valid_bytes = len;
    if (decoder_open(made->decoder, &made->entry, 0, &err) != 0) {
        fail_msg("%s", err.message);
    }
}

/* Chunks that did not shrink, so that no encoder is needed; libwim's decoders meet real data in
 * tests/integration. */
static void test_wof_table(void **state)
{
    (void)state;
    enum { CHUNKS = 1500, BYTES = CHUNKS * 4096 - 1000 };
    uint8_t *stored = malloc(BYTES + CHUNKS * 4);
    assert_non_null(stored);
    struct made *made = made_new();
    make_wof(made, WOF_XPRESS4K, BYTES);
    for (uint32_t i = 0; i + 1 < CHUNKS; i++) {
        uint32_t end = (i + 1) * 4096;
        const uint8_t entry[] = {(uint8_t)end, (uint8_t)(end >> 8), (uint8_t)(end >> 16),
                                 (uint8_t)(end >> 24)};
        memcpy(stored + i * 4, entry, 4);
    }
    uint8_t *plain = stored + (CHUNKS - 1) * 4;
    for (size_t i = 0; i < BYTES; i++) {
        plain[i] = (uint8_t)pick_below(256);
    }
    finish_wof(made, stored, BYTES + (CHUNKS - 1) * 4);
    expect_everywhere(made, plain, 4096);
    made_free(made);
    free(stored);
}

/* Behind 4 GiB the table has entries of eight bytes. */
static void test_wof_long_entries(void **state)
{
    (void)state;
    const uint64_t size = UINT64_C(0x100000000) + 5;
    const uint64_t table = (size - 1) / 32768 * 8;
    struct error err = {0};
    struct made *made = made_new();
    make_wof(made, WOF_LZX, size);
    uint8_t *stored = calloc(1, table + 32768 + 5);
    assert_non_null(stored);
    const uint64_t last = table / 8 - 1;
    /* The last but one begins at 0, as if those before it were empty: they are not read. */
    const uint64_t end = 32768;
    memcpy(stored + last * 8, &end, 8);
    memset(stored + table, 'a', 32768);
    memcpy(stored + table + 32768, "12345", 5);
    finish_wof(made, stored, table + 32768 + 5);
    uint8_t buf[16];
    assert_int_equal(decoder_read(made->decoder, size - 5, buf, sizeof(buf), &err), 5);
    assert_memory_equal(buf, "12345", 5);
    assert_int_equal(decoder_read(made->decoder, size - 15, buf, sizeof(buf), &err), 10);
    assert_memory_equal(buf, "aaaaaaaaaa", 10);
    assert_int_equal(decoder_read(made->decoder, 0, buf, sizeof(buf), &err), -1);
    assert_string_equal(err.reason, "wof-bad-chunk");
    made_free(made);
    free(stored);
}

static void test_wof_edges(void **state)
{
    (void)state;
    struct error err = {0};
    uint8_t buf[16];
    struct made *made = made_new();
    make_wof(made, WOF_XPRESS8K, 0); /* an empty file */
    made->streams[1].extents = NULL;
    assert_int_equal(decoder_open(made->decoder, &made->entry, 0, &err), 0);
    assert_int_equal(decoder_read(made->decoder, 0, buf, sizeof(buf), &err), 0);
    made->streams[1].valid_bytes = 0;
    made->streams[1].size_bytes = 9; /* never written */
    made->streams[0].size_bytes = 9;
    assert_int_equal(decoder_open(made->decoder, &made->entry, 0, &err), -1);
    assert_string_equal(err.reason, "wof-bad-chunk");
    made->entry.stream_count = 1;
    assert_int_equal(decoder_open(made->decoder, &made->entry, 0, &err), -1);
    made_free(made);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_lznt1),     cmocka_unit_test(test_lznt1_refused),
        cmocka_unit_test(test_wof_table), cmocka_unit_test(test_wof_long_entries),
        cmocka_unit_test(test_wof_edges),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
