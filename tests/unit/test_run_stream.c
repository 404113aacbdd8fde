/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Offset → extent → disk, against a model in memory. Disk and volume are the test's own: clusters
 * start at a place that is no multiple of their size, as in a real partition.
 */
#include "run_fixture.h"

#include "run/stream.h"

enum { CLUSTER = 512, VOLUME_AT = 700 };

struct disk {
    uint8_t *bytes;
    size_t len;
    uint64_t bad_from, bad_to; /* reads that touch this fail */
    unsigned reads;
};

struct volume {
    struct volume_info info;
    const char *resident; /* content of the one resident stream */
    struct error failure; /* when set, record reads fail with it */
    unsigned reader_opens, reader_calls;
};

uint64_t volume_cluster_position(const struct volume *volume, uint64_t cluster)
{
    return VOLUME_AT + cluster * volume->info.cluster_bytes;
}

const struct volume_info *volume_get_info(const struct volume *volume)
{
    return &volume->info;
}

int disk_read(struct disk *disk, uint64_t offset, void *buf, size_t len, struct error *err)
{
    disk->reads++;
    if (offset > disk->len || len > disk->len - offset ||
        (offset < disk->bad_to && offset + len > disk->bad_from)) {
        return error_entry(err, REASON_BAD_SECTOR, "no such place");
    }
    (void)memcpy(buf, disk->bytes + offset, len);
    return 0;
}

int volume_read_records(struct volume *volume, uint64_t first, size_t count, void *buf,
                        struct error *err)
{
    if (volume->failure.kind != ERROR_NONE) {
        *err = volume->failure;
        return -1;
    }
    assert_int_equal(first, 77);
    assert_int_equal(count, 1);
    (void)memset(buf, 'r', volume->info.record_bytes);
    return 0;
}

int volume_record_fix_up(const struct volume *volume, void *record, uint64_t number,
                         struct error *err)
{
    (void)volume;
    (void)err;
    (void)memset(record, 'f', 1);
    assert_int_equal(number, 77);
    return 0;
}

int volume_record_resident(const struct volume *volume, const void *record, const uint16_t *name,
                           uint8_t name_len, const uint8_t **ret_bytes, uint32_t *ret_len,
                           struct error *err)
{
    (void)err;
    (void)name;
    assert_int_equal(name_len, 0);
    assert_int_equal(*(const char *)record, 'f');
    *ret_bytes = (const uint8_t *)volume->resident;
    *ret_len = (uint32_t)strlen(volume->resident);
    return 0;
}

int volume_reader_open(struct volume_reader *reader, const struct volume_entry *entry,
                       size_t stream, struct error *err)
{
    struct volume *volume = (struct volume *)(void *)reader;
    (void)err;
    volume->reader_opens++;
    assert_true(entry->record == 77 && entry->sequence == 9);
    assert_int_equal(entry->streams[stream].name_len, 0);
    return 0;
}

ssize_t volume_reader_read(struct volume_reader *reader, uint64_t offset, void *buf, size_t len,
                           struct error *err)
{
    struct volume *volume = (struct volume *)(void *)reader;
    (void)err;
    assert_int_equal(volume->reader_opens, 1);
    volume->reader_calls++;
    (void)memset(buf, (int)(offset % 251), len);
    return (ssize_t)len;
}

/* ---- a stream made of parts ------------------------------------------------------------- */

static uint32_t seed = 20261129;

static uint32_t chance(uint32_t below)
{
    seed = seed * 1664525U + 1013904223U;
    return (uint32_t)(((uint64_t)(seed >> 8) * below) >> 24);
}

struct made {
    struct disk disk;
    struct volume volume;
    struct run *run;
    struct run_volume *run_volume;
    struct volume_extent *extents;
    struct volume_stream data;
    struct catalog_view view;
    struct plan_task task;
    struct stream stream;
    uint8_t *model; /* task.size_bytes of them */
};

static struct made *made_new(size_t extent_count, uint64_t disk_clusters)
{
    struct made *made = calloc(1, sizeof(*made));
    assert_non_null(made);
    made->run = calloc(1, sizeof(*made->run));
    made->extents = calloc(extent_count + 1, sizeof(*made->extents));
    made->disk.len = VOLUME_AT + disk_clusters * CLUSTER;
    made->disk.bytes = malloc(made->disk.len);
    assert_true(made->run != NULL && made->extents != NULL && made->disk.bytes != NULL);
    for (size_t i = 0; i < made->disk.len; i++) {
        made->disk.bytes[i] = (uint8_t)(1 + chance(255)); /* never zero: a hole is told apart */
    }
    made->volume.info.cluster_bytes = CLUSTER;
    made->volume.info.record_bytes = 1024;
    made->run_volume = &made->run->volumes[0];
    made->run->volume_count = 1;
    made->run->disk = &made->disk;
    made->run_volume->volume = &made->volume;
    made->view.entry = (struct volume_entry){
        .record = 77, .sequence = 9, .streams = &made->data, .stream_count = 1};
    made->data = (struct volume_stream){.form = VOLUME_SPARSE,
                                        .record = 77,
                                        .extents = made->extents,
                                        .extent_count = extent_count};
    return made;
}

static void made_free(struct made *made)
{
    stream_clear(&made->stream);
    free(made->run);
    free(made->extents);
    free(made->disk.bytes);
    free(made->model);
    free(made);
}

static void made_sizes(struct made *made, uint64_t valid, uint64_t size)
{
    made->data.valid_bytes = valid;
    made->data.size_bytes = size;
    made->task.size_bytes = size;
    free(made->model);
    made->model = calloc(1, size + 1);
    assert_non_null(made->model);
    uint64_t at = 0;
    for (size_t i = 0; i < made->data.extent_count && at < valid; i++) {
        uint64_t len = made->extents[i].clusters * CLUSTER;
        len = len < valid - at ? len : valid - at;
        if (made->extents[i].cluster != VOLUME_HOLE) {
            (void)memcpy(made->model + at,
                         made->disk.bytes + VOLUME_AT + made->extents[i].cluster * CLUSTER, len);
        }
        at += len;
    }
}

static int made_open(struct made *made, struct error *err)
{
    return stream_open(&made->stream, made->run, made->run_volume, &made->task, &made->view,
                       (struct volume_reader *)(void *)&made->volume, err);
}

/* One read of `len` bytes in a buffer of exactly that size. */
static void expect_read(struct made *made, uint64_t offset, size_t len)
{
    struct error err = {0};
    struct upload_source source = stream_source(&made->stream);
    uint8_t *buf = malloc(len);
    assert_true(buf != NULL || len == 0);
    (void)memset(buf, 0xee, len);
    ssize_t got = source.read(source.self, offset, buf, len, &err);
    uint64_t left = offset < source.size_bytes ? source.size_bytes - offset : 0;
    if (left == 0 || len == 0) {
        assert_int_equal(got, 0);
    } else {
        assert_true(got >= 1 && (size_t)got <= len && (uint64_t)got <= left);
        assert_memory_equal(buf, made->model + offset, (size_t)got);
    }
    free(buf);
}

static void expect_all(struct made *made, size_t step)
{
    struct error err = {0};
    struct upload_source source = stream_source(&made->stream);
    assert_true(source.size_bytes == made->task.size_bytes);
    uint8_t *buf = malloc(step);
    assert_non_null(buf);
    uint64_t at = 0;
    while (at < source.size_bytes) {
        ssize_t got = source.read(source.self, at, buf, step, &err);
        assert_true(got >= 1 && (size_t)got <= step);
        assert_memory_equal(buf, made->model + at, (size_t)got);
        at += (uint64_t)got;
    }
    assert_true(at == source.size_bytes);
    free(buf);
}

static void made_chance_extents(struct made *made, uint64_t disk_clusters, unsigned longest)
{
    for (size_t i = 0; i < made->data.extent_count; i++) {
        uint64_t clusters = 1 + chance(longest);
        uint64_t cluster = chance((uint32_t)(disk_clusters - clusters));
        made->extents[i] = (struct volume_extent){chance(3) == 0 ? VOLUME_HOLE : cluster, clusters};
    }
}

static uint64_t made_total(const struct made *made)
{
    uint64_t total = 0;
    for (size_t i = 0; i < made->data.extent_count; i++) {
        total += made->extents[i].clusters * CLUSTER;
    }
    return total;
}

static void test_against_model(void **state)
{
    (void)state;
    enum { ROUNDS = 60, READS = 300, CLUSTERS = 400 };
    for (unsigned round = 0; round < ROUNDS; round++) {
        struct error err = {0};
        struct made *made = made_new(1 + chance(40), CLUSTERS);
        made_chance_extents(made, CLUSTERS, 9);
        uint64_t total = made_total(made);
        uint64_t valid = chance((uint32_t)total + 1);
        uint64_t size =
            valid + chance(3) * (uint64_t)chance((uint32_t)total); /* also behind the end */
        if (round % 4 == 0) {
            valid = total - chance(CLUSTER); /* the common case: all valid, a ragged end */
            size = valid;
        }
        made_sizes(made, valid, size);
        assert_int_equal(made_open(made, &err), 0);
        expect_all(made, 1 + chance(5000));
        for (unsigned i = 0; i < READS; i++) {
            expect_read(made, chance((uint32_t)size + 10), chance(6000));
        }
        made_free(made);
    }
}

static void test_edges(void **state)
{
    (void)state;
    static const struct volume_extent extents[] = {
        {VOLUME_HOLE, 2}, {3, 1}, {0, 2}, {VOLUME_HOLE, 1}, {9, 1}, {VOLUME_HOLE, 3},
    };
    static const struct {
        uint64_t valid, size;
    } cases[] = {
        {5120, 5120}, {5120, 9000}, {0, 5120},    {0, 1},       {1, 1},       {1024, 1024},
        {1025, 5000}, {1536, 1537}, {1535, 1536}, {3583, 3584}, {5119, 5119},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct error err = {0};
        struct made *made = made_new(ARRAY_LEN(extents), 10);
        (void)memcpy(made->extents, extents, sizeof(extents));
        made_sizes(made, cases[i].valid, cases[i].size);
        assert_int_equal(made_open(made, &err), 0);
        for (uint64_t offset = 0; offset <= cases[i].size + 1; offset += 1 + offset % 7) {
            expect_read(made, offset, 1);
            expect_read(made, offset, CLUSTER);
            expect_read(made, offset, 10000);
        }
        expect_read(made, UINT64_MAX, 100);
        expect_read(made, 0, 0);
        made_free(made);
    }
}

/* Bytes behind the valid length, and holes, are never asked of the disk. */
static void test_no_needless_reads(void **state)
{
    (void)state;
    struct error err = {0};
    uint8_t buf[8 * CLUSTER];
    struct made *made = made_new(2, 10);
    made->extents[0] = (struct volume_extent){VOLUME_HOLE, 4};
    made->extents[1] = (struct volume_extent){2, 4};
    made_sizes(made, 5 * CLUSTER, 8 * CLUSTER);
    assert_int_equal(made_open(made, &err), 0);
    assert_int_equal(stream_read(&made->stream, 0, buf, 4 * CLUSTER, &err), 4 * CLUSTER);
    assert_int_equal(stream_read(&made->stream, 5 * CLUSTER, buf, 3 * CLUSTER, &err), 3 * CLUSTER);
    assert_int_equal(made->disk.reads, 0);
    made->disk.bad_from = VOLUME_AT + 3 * CLUSTER; /* allocated, but behind the valid bytes */
    made->disk.bad_to = VOLUME_AT + 6 * CLUSTER;
    assert_int_equal(stream_read(&made->stream, 0, buf, sizeof(buf), &err), sizeof(buf));
    assert_memory_equal(buf, made->model, sizeof(buf));
    assert_int_equal(made->disk.reads, 1);
    made->disk.bad_from = VOLUME_AT + 3 * CLUSTER - 1;
    assert_int_equal(stream_read(&made->stream, 0, buf, sizeof(buf), &err), -1);
    assert_int_equal(err.kind, ERROR_FAIL_ENTRY);
    assert_string_equal(err.reason, REASON_BAD_SECTOR);
    made_free(made);
}

static void test_many_extents(void **state)
{
    (void)state;
    enum { EXTENTS = 30000, CLUSTERS = 20000, READS = 3000 };
    struct error err = {0};
    struct made *made = made_new(EXTENTS, CLUSTERS);
    made_chance_extents(made, CLUSTERS, 2);
    uint64_t total = made_total(made);
    made_sizes(made, total - 3, total - 3);
    assert_int_equal(made_open(made, &err), 0);
    expect_all(made, 65536);
    for (unsigned i = 0; i < READS; i++) {
        expect_read(made, chance((uint32_t)total), 1 + chance(20000));
    }
    /* The same stream, smaller then larger: what it keeps between tasks is no trap. */
    made->data.extent_count = 5;
    made_sizes(made, made_total(made), made_total(made));
    assert_int_equal(made_open(made, &err), 0);
    expect_all(made, 1000);
    made->data.extent_count = EXTENTS;
    made_sizes(made, total, total);
    assert_int_equal(made_open(made, &err), 0);
    expect_all(made, 65536);
    made_free(made);
}

static void test_empty_and_extentless(void **state)
{
    (void)state;
    static const uint64_t sizes[] = {0, 1, 100000};
    for (size_t i = 0; i < ARRAY_LEN(sizes); i++) {
        struct error err = {0};
        struct made *made = made_new(0, 1);
        made_sizes(made, 0, sizes[i]);
        assert_int_equal(made_open(made, &err), 0);
        expect_all(made, 4096);
        expect_read(made, 0, 10);
        made_free(made);
    }
}

static void test_bad_extents(void **state)
{
    (void)state;
    static const struct {
        struct volume_extent extents[3];
        uint64_t valid;
        int result;
    } cases[] = {
        {{{1, 1}, {2, 1}, {3, 1}}, 3 * CLUSTER, 0},
        {{{1, 1}, {2, 1}, {3, 1}}, 3 * CLUSTER + 1, -1},
        {{{1, 1}, {2, 0}, {3, 1}}, 2 * CLUSTER, 0}, /* an empty one in between holds nothing */
        {{{1, 0}, {2, 0}, {3, 0}}, 0, 0},
        {{{1, 0}, {2, 0}, {3, 0}}, 1, -1},
        {{{VOLUME_HOLE, UINT64_MAX}, {2, 1}, {3, 1}}, 100, -1},
        {{{VOLUME_HOLE, UINT64_MAX / CLUSTER}, {2, 1}, {3, 1}}, 100, -1},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct error err = {0};
        struct made *made = made_new(3, 10);
        (void)memcpy(made->extents, cases[i].extents, sizeof(cases[i].extents));
        if (cases[i].result == 0) {
            made_sizes(made, cases[i].valid, cases[i].valid);
            assert_int_equal(made_open(made, &err), 0);
            expect_all(made, 100);
            for (uint64_t offset = 0; offset < cases[i].valid; offset += 37) {
                expect_read(made, cases[i].valid - 1 - offset, 600);
            }
        } else {
            made->data.valid_bytes = cases[i].valid;
            made->task.size_bytes = cases[i].valid;
            assert_int_equal(made_open(made, &err), -1);
            assert_int_equal(err.kind, ERROR_FAIL_ENTRY);
            assert_string_equal(err.reason, REASON_BAD_RECORD);
            assert_contains(err.message, "77");
        }
        made_free(made);
    }
}

static void test_resident(void **state)
{
    (void)state;
    struct error err = {0};
    char buf[100];
    struct made *made = made_new(0, 1);
    made->volume.resident = "twenty-six bytes of letter";
    made->data.form = VOLUME_RESIDENT;
    made->task.resident = true;
    made_sizes(made, 0, 26);
    (void)memcpy(made->model, made->volume.resident, 26);
    assert_int_equal(made_open(made, &err), 0);
    expect_all(made, 100);
    expect_all(made, 7);
    expect_read(made, 25, 50);
    made->volume.resident = "changed"; /* another size than the scan saw */
    assert_int_equal(stream_read(&made->stream, 0, buf, sizeof(buf), &err), -1);
    assert_int_equal(err.kind, ERROR_FAIL_ENTRY);
    assert_string_equal(err.reason, REASON_BAD_RECORD);
    (void)error_entry(&made->volume.failure, REASON_BAD_SECTOR, "bad");
    assert_int_equal(stream_read(&made->stream, 0, buf, sizeof(buf), &err), -1);
    assert_string_equal(err.reason, REASON_BAD_SECTOR);
    made_free(made);
}

static void test_through_reader(void **state)
{
    (void)state;
    struct error err = {0};
    uint8_t buf[100];
    struct made *made = made_new(1, 1); /* extents that must not be looked at */
    made->extents[0] = (struct volume_extent){UINT64_MAX - 1, UINT64_MAX};
    made->data.form = VOLUME_LZNT1;
    made->data.problem = "doubtful";
    made->task.through_reader = true;
    made->data.size_bytes = 1000;
    made->data.valid_bytes = 1000;
    made->task.size_bytes = 1000;
    assert_int_equal(made_open(made, &err), 0);
    assert_int_equal(stream_read(&made->stream, 950, buf, sizeof(buf), &err), 50);
    assert_int_equal(buf[0], 950 % 251);
    assert_int_equal(stream_read(&made->stream, 1000, buf, sizeof(buf), &err), 0);
    assert_int_equal(made->volume.reader_calls, 1);
    assert_int_equal(made->disk.reads, 0);
    made_free(made);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_against_model),
        cmocka_unit_test(test_edges),
        cmocka_unit_test(test_no_needless_reads),
        cmocka_unit_test(test_many_extents),
        cmocka_unit_test(test_empty_and_extentless),
        cmocka_unit_test(test_bad_extents),
        cmocka_unit_test(test_resident),
        cmocka_unit_test(test_through_reader),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
