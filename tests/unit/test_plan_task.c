/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Ways, order, groups, numbers and the checksum. */
#include "plan_fixture.h"

static void add_file(struct catalog *catalog, uint64_t record, const char *stream_name,
                     enum volume_form form, uint64_t size_bytes, uint64_t cluster)
{
    struct made made;
    char name[32];
    (void)snprintf(name, sizeof(name), "f%u", (unsigned)record);
    made_start(&made, record, 1);
    made_name(&made, ROOT, name, SPACE_BOTH);
    if (stream_name[0] != '\0') {
        made.entry.directory = true;
    }
    (void)made_stream(&made, stream_name, form, size_bytes);
    if (form != VOLUME_RESIDENT && size_bytes > 0) {
        made_extent(&made, cluster, (size_bytes - 1) / CLUSTER + 1);
    }
    made_add(catalog, &made);
}

static void test_ways(void **state)
{
    (void)state;
    enum { FIRST = 30 };
    static const struct {
        const char *stream;
        uint64_t size_bytes;
        enum plan_streams streams;
        bool composites;
        int way; /* -1: no task */
    } cases[] = {
        {"", 0, PLAN_STREAMS_AUTO, true, PLAN_BATCH},
        {"", PLAN_SMALL_MAX, PLAN_STREAMS_AUTO, true, PLAN_BATCH},
        {"", PLAN_SMALL_MAX + 1, PLAN_STREAMS_AUTO, true, PLAN_WHOLE},
        {"", PLAN_WHOLE_MAX, PLAN_STREAMS_AUTO, true, PLAN_WHOLE},
        {"", PLAN_WHOLE_MAX + 1, PLAN_STREAMS_AUTO, true, PLAN_PARTS},
        {"", PLAN_WHOLE_MAX + 1, PLAN_STREAMS_AUTO, false, PLAN_WHOLE},
        {"", 10, PLAN_STREAMS_NONE, true, PLAN_BATCH},
        {"s", 0, PLAN_STREAMS_AUTO, true, PLAN_INLINE},
        {"s", PLAN_INLINE_MAX, PLAN_STREAMS_AUTO, true, PLAN_INLINE},
        {"s", PLAN_INLINE_MAX + 1, PLAN_STREAMS_AUTO, true, PLAN_BATCH},
        {"s", PLAN_INLINE_MAX, PLAN_STREAMS_OBJECTS, true, PLAN_BATCH},
        {"s", PLAN_WHOLE_MAX + 1, PLAN_STREAMS_OBJECTS, true, PLAN_PARTS},
        {"s", PLAN_INLINE_MAX, PLAN_STREAMS_NONE, true, -1},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct catalog *catalog = made_catalog();
        add_file(catalog, FIRST, cases[i].stream, VOLUME_PLAIN, cases[i].size_bytes, 100);
        made_finish(catalog, 100);
        struct plan_settings settings = plain_settings;
        settings.streams = cases[i].streams;
        settings.composites = cases[i].composites;
        struct plan *plan = made_plan(catalog, &settings);
        const struct plan_task *task = made_task(plan, FIRST, 0);
        assert_int_equal(task == NULL ? -1 : (int)task->way, cases[i].way);
        if (task == NULL) {
            assert_reason(made_stream_decision(plan, FIRST, 0), PLAN_EXCLUDED, REASON_EXCLUDED);
        } else {
            assert_int_equal(plan_get_totals(plan)->bytes, cases[i].size_bytes);
        }
        plan_free(plan);
        catalog_free(catalog);
    }
}

static void test_positions_and_readers(void **state)
{
    (void)state;
    struct catalog *catalog = made_catalog();
    struct made made;
    made_start(&made, 30, 1);
    made_name(&made, ROOT, "sparse", SPACE_BOTH);
    (void)made_stream(&made, "", VOLUME_SPARSE, 10 * CLUSTER);
    made_extent(&made, VOLUME_HOLE, 4);
    made_extent(&made, 77, 6);
    struct volume_stream *resident = made_stream(&made, "res", VOLUME_RESIDENT, 20);
    resident->record = 60; /* in an extension record */
    struct volume_stream *torn = made_stream(&made, "torn", VOLUME_PLAIN, 9000);
    torn->problem = "a piece is missing";
    (void)made_stream(&made, "compressed", VOLUME_LZNT1, 9000);
    made_extent(&made, 50, 2);
    (void)made_stream(&made, "no extent", VOLUME_SPARSE, 9000);
    made_add(catalog, &made);
    made_finish(catalog, 100);
    struct plan *plan = made_plan(catalog, &plain_settings);
    static const struct {
        uint64_t position;
        bool through_reader, resident;
    } expected[] = {
        {77ULL * CLUSTER, false, false},
        {MFT_POSITION + 60 * RECORD, false, true},
        {MFT_POSITION + 30 * RECORD, true, false},
        {50ULL * CLUSTER, true, false},
        {MFT_POSITION + 30 * RECORD, false, false},
    };
    for (uint16_t i = 0; i < ARRAY_LEN(expected); i++) {
        const struct plan_task *task = made_task(plan, 30, i);
        assert_non_null(task);
        assert_true(task->position == expected[i].position);
        assert_int_equal(task->through_reader, expected[i].through_reader);
        assert_int_equal(task->resident, expected[i].resident);
        assert_false(task->contiguous);
        assert_true(plan_group(plan, i) == 1 || plan_get_task(plan, i)->resident);
    }
    plan_free(plan);
    catalog_free(catalog);
}

/* Groups in the order of the disk, as numbers of tasks. */
static void expect_groups(const struct catalog *catalog, const size_t *groups, size_t count)
{
    struct plan *plan = made_plan(catalog, &plain_settings);
    uint64_t first = 0;
    for (size_t i = 0; i < count; i++) {
        assert_true(first < plan_task_count(plan));
        assert_int_equal(plan_group(plan, first), groups[i]);
        first += groups[i];
    }
    assert_int_equal(first, plan_task_count(plan));
    for (uint64_t i = 1; i < plan_task_count(plan); i++) {
        assert_true(plan_get_task(plan, i - 1)->position <= plan_get_task(plan, i)->position);
    }
    plan_free(plan);
}

static void test_groups_of_extents(void **state)
{
    (void)state;
    struct catalog *catalog = made_catalog();
    add_file(catalog, 30, "", VOLUME_PLAIN, 4096, 1000);
    add_file(catalog, 31, "", VOLUME_PLAIN, 5000, 1001);
    add_file(catalog, 32, "", VOLUME_PLAIN, 4096, 1255);          /* ends where the span does */
    add_file(catalog, 33, "", VOLUME_PLAIN, 4097, 1300);          /* behind it */
    add_file(catalog, 34, "", VOLUME_LZNT1, 4096, 1303);          /* not plain */
    add_file(catalog, 35, "s", VOLUME_PLAIN, 4096, 1310);         /* inline */
    add_file(catalog, 36, "", VOLUME_PLAIN, 1 << 20, 1320);       /* too far with its end */
    add_file(catalog, 37, "", VOLUME_PLAIN, (1 << 20) + 1, 1600); /* not small */
    add_file(catalog, 38, "", VOLUME_PLAIN, 100, 1601);
    made_finish(catalog, 100);
    static const size_t groups[] = {3, 1, 1, 1, 1, 1, 1};
    expect_groups(catalog, groups, ARRAY_LEN(groups));
    catalog_free(catalog);
}

static void test_groups_of_records(void **state)
{
    (void)state;
    struct catalog *catalog = made_catalog();
    enum { LAST_IN_SPAN = 1023 };
    for (uint64_t i = 0; i < 70; i++) {
        add_file(catalog, 100 + i, "", VOLUME_RESIDENT, i, 0);
    }
    add_file(catalog, 2000, "", VOLUME_RESIDENT, 5, 0);
    add_file(catalog, 2000 + LAST_IN_SPAN, "", VOLUME_RESIDENT, 5, 0);
    add_file(catalog, 2001 + LAST_IN_SPAN, "", VOLUME_RESIDENT, 5, 0);
    made_finish(catalog, 4000);
    static const size_t groups[] = {PLAN_GROUP_MAX, 6, 2, 1};
    expect_groups(catalog, groups, ARRAY_LEN(groups));
    catalog_free(catalog);
}

static void test_contiguous(void **state)
{
    (void)state;
    static const struct {
        uint64_t size_bytes, valid_bytes;
        uint64_t first, second; /* clusters; the second run lies elsewhere, or is a hole */
        bool contiguous;
    } cases[] = {
        {9000, 9000, 3, 0, true}, {9000, 8999, 3, 0, false}, {9000, 9000, 2, 1, false},
        {8192, 8192, 2, 1, true}, {0, 0, 0, 0, false},       {9000, 9000, 100, 0, true},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct catalog *catalog = made_catalog();
        struct made made;
        made_start(&made, 30, 1);
        made_name(&made, ROOT, "f", SPACE_BOTH);
        struct volume_stream *stream = made_stream(&made, "", VOLUME_SPARSE, cases[i].size_bytes);
        stream->valid_bytes = cases[i].valid_bytes;
        made_extent(&made, 100, cases[i].first);
        made_extent(&made, VOLUME_HOLE, cases[i].second);
        made_add(catalog, &made);
        made_finish(catalog, 100);
        struct plan *plan = made_plan(catalog, &plain_settings);
        assert_int_equal(made_task(plan, 30, 0)->contiguous, cases[i].contiguous);
        plan_free(plan);
        catalog_free(catalog);
    }
}

static uint32_t checksum_of(const char *prefix, uint64_t cluster, const char *name, uint64_t size)
{
    struct catalog *catalog = made_catalog();
    struct made made;
    made_start(&made, 30, 1);
    made_name(&made, ROOT, name, SPACE_BOTH);
    (void)made_stream(&made, "", VOLUME_PLAIN, size);
    made_extent(&made, cluster, 100);
    made_add(catalog, &made);
    made_finish(catalog, 100);
    struct plan_settings settings = plain_settings;
    settings.prefix = prefix;
    struct plan *plan = made_plan(catalog, &settings);
    uint32_t checksum = plan_checksum(plan);
    plan_free(plan);
    catalog_free(catalog);
    return checksum;
}

static void test_checksum(void **state)
{
    (void)state;
    uint32_t checksum = checksum_of("p", 10, "name", 5000);
    assert_int_equal(checksum, checksum_of("p", 10, "name", 5000));
    assert_int_not_equal(checksum, checksum_of("q", 10, "name", 5000));
    assert_int_not_equal(checksum, checksum_of("p", 11, "name", 5000));
    assert_int_not_equal(checksum, checksum_of("p", 10, "Name", 5000));
    assert_int_not_equal(checksum, checksum_of("p", 10, "name", 5001));
}

static void test_requests(void **state)
{
    (void)state;
    static const struct {
        uint64_t size_bytes;
        enum plan_way way;
        uint64_t requests;
    } cases[] = {
        {10, PLAN_INLINE, 0},
        {10, PLAN_BATCH, 1},
        {1ULL << 40, PLAN_WHOLE, 1},
        {65ULL << 20, PLAN_PARTS, 3 * 2 + 1},
        {33 * (32ULL << 20), PLAN_PARTS, 33 * 2 + 2 * 2 + 1},
        {5ULL << 40, PLAN_PARTS, 5120 * 2 + 160 * 2 + 5 * 2 + 1},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct plan_task task = {.size_bytes = cases[i].size_bytes, .way = (uint8_t)cases[i].way};
        assert_int_equal(plan_task_requests(&task), cases[i].requests);
    }
    assert_int_equal(sizeof(struct plan_task), 32);
}

static void test_content_types(void **state)
{
    (void)state;
    static const struct {
        const char *name;
        const char *type;
    } cases[] = {
        {"a.txt", "text/plain"},
        {"dir.zip/A.JPG", "image/jpeg"},
        {"x.7z", "application/x-7z-compressed"},
        {"x.zst", "application/zstd"},
        {"x.tar.gz", "application/gzip"},
        {"x.docx", "application/vnd.openxmlformats-officedocument.wordprocessingml.document"},
        {"noext", "application/octet-stream"},
        {"dir.txt/noext", "application/octet-stream"},
        {".txt", "application/octet-stream"},
        {"dir/.txt", "application/octet-stream"},
        {"a.", "application/octet-stream"},
        {"a.averyveryverylongextension", "application/octet-stream"},
        {"", "application/octet-stream"},
        {".", "application/octet-stream"},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        assert_string_equal(plan_content_type(cases[i].name, strlen(cases[i].name)), cases[i].type);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_ways),
        cmocka_unit_test(test_positions_and_readers),
        cmocka_unit_test(test_groups_of_extents),
        cmocka_unit_test(test_groups_of_records),
        cmocka_unit_test(test_contiguous),
        cmocka_unit_test(test_checksum),
        cmocka_unit_test(test_requests),
        cmocka_unit_test(test_content_types),
    };
    return cmocka_run_group_tests_name("plan tasks", tests, NULL, NULL);
}
