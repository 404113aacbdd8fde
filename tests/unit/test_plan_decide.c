/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What becomes of entries and streams: the table of reparse points row by row, and all the rest. */
#include "plan_fixture.h"

enum content {
    NO_STREAM,
    EMPTY,         /* resident, no bytes */
    RESIDENT,      /* resident, ten bytes */
    WHOLE,         /* extents without a hole */
    HOLES_ONLY,    /* right size, nothing behind it */
    PARTLY,        /* a hole in the middle */
    TAIL_HOLE,     /* a hole behind the valid length */
    NEVER_WRITTEN, /* extents, valid length 0 */
    SQUEEZED,      /* LZNT1 with the holes that it leaves */
    SQUEEZED_GAP,  /* LZNT1, one unit missing */
    DISTRUSTED,    /* extents with a problem */
    LOST,          /* pieces are missing */
    LOST_EMPTY,    /* even the size is not known */
};

enum { REPARSE_FLAG = 0x400, OFFLINE = 0x1000, RECALL = 0x400000 };

static void add_content(struct made *made, enum content content)
{
    struct volume_stream *stream;
    switch (content) {
    case NO_STREAM:
        return;
    case EMPTY:
        (void)made_stream(made, "", VOLUME_RESIDENT, 0);
        return;
    case RESIDENT:
        (void)made_stream(made, "", VOLUME_RESIDENT, 10);
        return;
    case WHOLE:
        (void)made_stream(made, "", VOLUME_PLAIN, 50000);
        made_extent(made, 100, 13);
        return;
    case HOLES_ONLY:
        (void)made_stream(made, "", VOLUME_SPARSE, 50000);
        made_extent(made, VOLUME_HOLE, 13);
        return;
    case PARTLY:
        (void)made_stream(made, "", VOLUME_SPARSE, 50000);
        made_extent(made, 100, 5);
        made_extent(made, VOLUME_HOLE, 1);
        made_extent(made, 105, 7);
        return;
    case TAIL_HOLE:
        stream = made_stream(made, "", VOLUME_SPARSE, 50000);
        stream->valid_bytes = 5 * CLUSTER;
        made_extent(made, 100, 5);
        made_extent(made, VOLUME_HOLE, 8);
        return;
    case NEVER_WRITTEN:
        stream = made_stream(made, "", VOLUME_PLAIN, 50000);
        stream->valid_bytes = 0;
        made_extent(made, 100, 13);
        return;
    case SQUEEZED:
    case SQUEEZED_GAP:
        (void)made_stream(made, "", VOLUME_LZNT1, 32 * CLUSTER);
        made_extent(made, 100, content == SQUEEZED ? 5 : 16);
        made_extent(made, VOLUME_HOLE, content == SQUEEZED ? 11 : 16);
        if (content == SQUEEZED) {
            made_extent(made, 200, 3);
            made_extent(made, VOLUME_HOLE, 13);
        }
        return;
    case DISTRUSTED:
        stream = made_stream(made, "", VOLUME_PLAIN, 50000);
        stream->problem = "its pieces overlap";
        made_extent(made, 100, 13);
        return;
    case LOST:
    case LOST_EMPTY:
        stream = made_stream(made, "", VOLUME_PLAIN, content == LOST ? 50000 : 0);
        stream->problem = "a piece is missing";
        stream->lost = content == LOST;
        return;
    }
}

static const struct {
    uint32_t tag;
    uint32_t attributes;
    enum content content;
    enum plan_reparse kind;
    enum plan_state state;
    const char *reason;
    bool directory;
} reparse_cases[] = {
    {0, 0, WHOLE, PLAN_REPARSE_NONE, PLAN_SEND, NULL, false},
    {0, 0, HOLES_ONLY, PLAN_REPARSE_NONE, PLAN_SEND, NULL, false},
    {0, OFFLINE, PARTLY, PLAN_REPARSE_NONE, PLAN_SEND, NULL, false},
    {0, 0, EMPTY, PLAN_REPARSE_NONE, PLAN_SEND, NULL, false},
    {0, 0, DISTRUSTED, PLAN_REPARSE_NONE, PLAN_SEND, NULL, false},
    {0, 0, LOST, PLAN_REPARSE_NONE, PLAN_FAILED, REASON_BAD_RECORD, false},
    {0, 0, LOST_EMPTY, PLAN_REPARSE_NONE, PLAN_FAILED, REASON_BAD_RECORD, false},
    {0, REPARSE_FLAG, WHOLE, PLAN_REPARSE_NONE, PLAN_SEND, NULL, false},
    {0, REPARSE_FLAG, HOLES_ONLY, PLAN_REPARSE_NONE, PLAN_FAILED, REASON_BAD_RECORD, false},
    {0, REPARSE_FLAG, NO_STREAM, PLAN_REPARSE_NONE, PLAN_DIRECTORY, NULL, true},
    {0xA000000C, 0, LOST_EMPTY, PLAN_REPARSE_LINK, PLAN_FAILED, REASON_BAD_RECORD, false},
    {0, 0, NO_STREAM, PLAN_REPARSE_NONE, PLAN_FAILED, REASON_BAD_RECORD, false},
    {0xA000000C, 0, EMPTY, PLAN_REPARSE_LINK, PLAN_LINK, NULL, false},
    {0xA000000C, 0, NO_STREAM, PLAN_REPARSE_LINK, PLAN_LINK, NULL, false},
    {0xA000000C, 0, NO_STREAM, PLAN_REPARSE_LINK, PLAN_LINK, NULL, true},
    {0xA000000C, 0, HOLES_ONLY, PLAN_REPARSE_LINK, PLAN_LINK, NULL, false},
    {0xA000000C, 0, WHOLE, PLAN_REPARSE_LINK, PLAN_SEND, NULL, false},
    {0xA0000003, 0, NO_STREAM, PLAN_REPARSE_LINK, PLAN_LINK, NULL, true},
    {0xA000001D, 0, EMPTY, PLAN_REPARSE_LINK, PLAN_LINK, NULL, false},
    {0x20000BAD, 0, EMPTY, PLAN_REPARSE_LINK, PLAN_LINK, NULL, false},
    {0x80000023, 0, EMPTY, PLAN_REPARSE_LINK, PLAN_LINK, NULL, false},
    {0x80000024, 0, EMPTY, PLAN_REPARSE_LINK, PLAN_LINK, NULL, false},
    {0x80000025, 0, EMPTY, PLAN_REPARSE_LINK, PLAN_LINK, NULL, false},
    {0x80000026, 0, EMPTY, PLAN_REPARSE_LINK, PLAN_LINK, NULL, false},
    /* Without the data that name a provider and an algorithm. */
    {0x80000017, 0, HOLES_ONLY, PLAN_REPARSE_WOF, PLAN_FAILED, REASON_REPARSE, false},
    {0x80000017, 0, WHOLE, PLAN_REPARSE_WOF, PLAN_FAILED, REASON_REPARSE, false},
    {0x80000017, 0, NO_STREAM, PLAN_REPARSE_WOF, PLAN_DIRECTORY, NULL, true},
    {0x80000013, 0, HOLES_ONLY, PLAN_REPARSE_DEDUP, PLAN_SEND, NULL, false},
    {0x80000013, 0, WHOLE, PLAN_REPARSE_DEDUP, PLAN_SEND, NULL, false}, /* the reader says no */
    {0x80000013, 0, RESIDENT, PLAN_REPARSE_DEDUP, PLAN_FAILED, REASON_DEDUP, false},
    {0x80000013, 0, EMPTY, PLAN_REPARSE_DEDUP, PLAN_FAILED, REASON_DEDUP, false},
    {0x80000013, 0, LOST, PLAN_REPARSE_DEDUP, PLAN_FAILED, REASON_BAD_RECORD, false},
    {0x80000013, 0, NO_STREAM, PLAN_REPARSE_DEDUP, PLAN_FAILED, REASON_BAD_RECORD, false},
    {0x80000013, 0, NO_STREAM, PLAN_REPARSE_DEDUP, PLAN_DIRECTORY, NULL, true},
    {0x80000007, 0, WHOLE, PLAN_REPARSE_OTHER, PLAN_FAILED, REASON_REPARSE, false},
    {0x80000007, 0, HOLES_ONLY, PLAN_REPARSE_OTHER, PLAN_FAILED, REASON_REPARSE, false},
    {0x9000601A, 0, HOLES_ONLY, PLAN_REPARSE_CLOUD, PLAN_FAILED, REASON_CLOUD, false},
    {0x9000601A, 0, WHOLE, PLAN_REPARSE_CLOUD, PLAN_SEND, NULL, false},
    {0x9000601A, OFFLINE, WHOLE, PLAN_REPARSE_CLOUD, PLAN_FAILED, REASON_CLOUD, false},
    {0x9000601A, RECALL, WHOLE, PLAN_REPARSE_CLOUD, PLAN_FAILED, REASON_CLOUD, false},
    {0x9000601A, RECALL, RESIDENT, PLAN_REPARSE_CLOUD, PLAN_FAILED, REASON_CLOUD, false},
    {0x9000601A, 0, PARTLY, PLAN_REPARSE_CLOUD, PLAN_FAILED, REASON_CLOUD, false},
    {0x9000601A, 0, TAIL_HOLE, PLAN_REPARSE_CLOUD, PLAN_SEND, NULL, false},
    {0x9000601A, 0, NEVER_WRITTEN, PLAN_REPARSE_CLOUD, PLAN_FAILED, REASON_CLOUD, false},
    {0x9000601A, 0, DISTRUSTED, PLAN_REPARSE_CLOUD, PLAN_FAILED, REASON_CLOUD, false},
    {0x9000601A, 0, SQUEEZED, PLAN_REPARSE_CLOUD, PLAN_SEND, NULL, false},
    {0x9000601A, 0, SQUEEZED_GAP, PLAN_REPARSE_CLOUD, PLAN_FAILED, REASON_CLOUD, false},
    {0x9000701A, 0, RESIDENT, PLAN_REPARSE_CLOUD, PLAN_SEND, NULL, false},
    {0x9000701A, 0, EMPTY, PLAN_REPARSE_CLOUD, PLAN_FAILED, REASON_CLOUD, false},
    {0x9000701A, 0, NO_STREAM, PLAN_REPARSE_CLOUD, PLAN_FAILED, REASON_CLOUD, false},
    {0x9000701A, 0, NO_STREAM, PLAN_REPARSE_CLOUD, PLAN_DIRECTORY, NULL, true},
    {0x9000001A, 0, RESIDENT, PLAN_REPARSE_CLOUD, PLAN_SEND, NULL, false},
    {0x9000F01A, 0, RESIDENT, PLAN_REPARSE_CLOUD, PLAN_SEND, NULL, false},
    {0x80000021, 0, HOLES_ONLY, PLAN_REPARSE_CLOUD, PLAN_FAILED, REASON_CLOUD, false},
    {0xC0000004, 0, WHOLE, PLAN_REPARSE_OTHER, PLAN_SEND, NULL, false},
    {0xC0000004, 0, HOLES_ONLY, PLAN_REPARSE_OTHER, PLAN_FAILED, REASON_REPARSE, false},
    {0x80000006, 0, HOLES_ONLY, PLAN_REPARSE_OTHER, PLAN_FAILED, REASON_REPARSE, false},
    {0x80000018, 0, EMPTY, PLAN_REPARSE_OTHER, PLAN_FAILED, REASON_REPARSE, false},
    {0x90001018, 0, PARTLY, PLAN_REPARSE_OTHER, PLAN_FAILED, REASON_REPARSE, false},
    {0x8000001B, 0, EMPTY, PLAN_REPARSE_OTHER, PLAN_FAILED, REASON_REPARSE, false},
    {0x80000008, 0, RESIDENT, PLAN_REPARSE_OTHER, PLAN_SEND, NULL, false},
    {0xBAD, 0, HOLES_ONLY, PLAN_REPARSE_OTHER, PLAN_FAILED, REASON_REPARSE, false},
    {0xBAD, 0, WHOLE, PLAN_REPARSE_OTHER, PLAN_SEND, NULL, false},
    {0xBAD, 0, NO_STREAM, PLAN_REPARSE_OTHER, PLAN_DIRECTORY, NULL, true},
};

static void test_reparse_table(void **state)
{
    (void)state;
    enum { FIRST = 100 };
    struct catalog *catalog = made_catalog();
    for (size_t i = 0; i < ARRAY_LEN(reparse_cases); i++) {
        assert_int_equal(plan_classify_reparse(reparse_cases[i].tag), reparse_cases[i].kind);
        struct made made;
        char name[16];
        (void)snprintf(name, sizeof(name), "case%zu", i);
        made_start(&made, FIRST + i, 1);
        made_name(&made, ROOT, name, SPACE_BOTH);
        made.entry.directory = reparse_cases[i].directory;
        made.entry.reparse_tag = reparse_cases[i].tag;
        made.entry.file_attributes = reparse_cases[i].attributes;
        add_content(&made, reparse_cases[i].content);
        (void)made_stream(&made, "note", VOLUME_RESIDENT, 5);
        made_add(catalog, &made);
    }
    made_finish(catalog, FIRST + ARRAY_LEN(reparse_cases));
    struct plan *plan = made_plan(catalog, &plain_settings);
    for (size_t i = 0; i < ARRAY_LEN(reparse_cases); i++) {
        assert_reason(made_entry_decision(plan, FIRST + i), reparse_cases[i].state,
                      reparse_cases[i].reason);
        bool unnamed = reparse_cases[i].content != NO_STREAM;
        assert_int_equal(made_task(plan, FIRST + i, 0) != NULL,
                         reparse_cases[i].state == PLAN_SEND || !unnamed);
        /* The alternate stream goes its own way. */
        assert_reason(made_stream_decision(plan, FIRST + i, unnamed ? 1 : 0), PLAN_SEND, NULL);
        if (unnamed) {
            assert_reason(made_stream_decision(plan, FIRST + i, 0), reparse_cases[i].state,
                          reparse_cases[i].reason);
        }
    }
    plan_free(plan);
    catalog_free(catalog);
}

/* Through the reader, whatever the extents say; or, when so told, not at all. */
static void test_dedup_choice(void **state)
{
    (void)state;
    for (enum plan_dedup choice = PLAN_DEDUP_AUTO; choice <= PLAN_DEDUP_RAW; choice++) {
        struct catalog *catalog = made_catalog();
        struct made made;
        made_start(&made, 100, 1);
        made_name(&made, ROOT, "file", SPACE_BOTH);
        made.entry.reparse_tag = 0x80000013;
        add_content(&made, HOLES_ONLY);
        made_add(catalog, &made);
        made_finish(catalog, 101);
        struct plan_settings settings = plain_settings;
        settings.dedup = choice;
        struct plan *plan = made_plan(catalog, &settings);
        bool read = choice == PLAN_DEDUP_AUTO;
        assert_reason(made_entry_decision(plan, 100), read ? PLAN_SEND : PLAN_FAILED,
                      read ? NULL : REASON_DEDUP);
        assert_int_equal(plan_get_totals(plan)->rehydrated, read ? 1 : 0);
        assert_int_equal(plan_get_totals(plan)->streams_failed, read ? 0 : 1);
        const struct plan_task *task = made_task(plan, 100, 0);
        assert_int_equal(task != NULL, read);
        if (read) {
            assert_true(task->through_reader && !task->resident && !task->contiguous);
        }
        plan_free(plan);
        catalog_free(catalog);
    }
}

/* Its files come last or as all others, and only those that are left out by default. */
static void test_store(void **state)
{
    (void)state;
    enum { SVI = 30, DEDUP, FILE, DAMAGED, OTHER, PLAIN };
    static const struct {
        enum plan_dedup choice;
        bool default_excludes;
        const char *exclude; /* or NULL */
        const char *object;  /* of FILE, or NULL */
        bool spare;
    } cases[] = {
        {PLAN_DEDUP_AUTO, true, NULL, ".winch/dedup/v/System Volume Information/Dedup/file", true},
        {PLAN_DEDUP_RAW, true, NULL, ".winch/dedup/v/System Volume Information/Dedup/file", false},
        {PLAN_DEDUP_FAIL, true, NULL, NULL, false},
        {PLAN_DEDUP_AUTO, false, NULL, "v/System Volume Information/Dedup/file", false},
        {PLAN_DEDUP_RAW, true, "System*", NULL, false},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct catalog *catalog = made_catalog();
        made_add_directory(catalog, SVI, 1, ROOT, "System Volume Information");
        made_add_directory(catalog, DEDUP, 1, REF(SVI, 1), "Dedup");
        made_add_file(catalog, FILE, 1, REF(DEDUP, 1), "file");
        struct made made;
        made_start(&made, DAMAGED, 1);
        made_name(&made, REF(DEDUP, 1), "damaged", SPACE_BOTH);
        made.entry.problem = "torn";
        made_add(catalog, &made);
        made_add_file(catalog, OTHER, 1, REF(SVI, 1), "tracking.log");
        made_add_file(catalog, PLAIN, 1, ROOT, "zzz");
        made_finish(catalog, 100);
        struct plan_settings settings = plain_settings;
        settings.volume_name = "v";
        settings.dedup = cases[i].choice;
        settings.default_excludes = cases[i].default_excludes;
        settings.excludes = &cases[i].exclude;
        settings.exclude_count = cases[i].exclude != NULL ? 1 : 0;
        struct plan *plan = made_plan(catalog, &settings);
        const struct plan_task *task = made_task(plan, FILE, 0);
        assert_int_equal(task != NULL, cases[i].object != NULL);
        assert_int_equal(plan_get_totals(plan)->spares, cases[i].spare ? 1 : 0);
        if (task != NULL) {
            assert_object(plan, FILE, 0, cases[i].object);
            assert_int_equal(task->spare, cases[i].spare);
        }
        if (cases[i].spare) {
            assert_true(task == plan_get_task(plan, plan_task_count(plan) - 1));
        }
        bool all = !cases[i].default_excludes;
        assert_int_equal(made_entry_decision(plan, OTHER).state, all ? PLAN_SEND : PLAN_EXCLUDED);
        bool raw = cases[i].choice == PLAN_DEDUP_RAW && cases[i].exclude == NULL;
        assert_int_equal(made_entry_decision(plan, DAMAGED).state,
                         all || raw ? PLAN_FAILED : PLAN_EXCLUDED);
        assert_non_null(made_task(plan, PLAIN, 0));
        plan_free(plan);
        catalog_free(catalog);
    }
}

/* A CompactOS file: whole, and in all the ways in which it cannot be read. */
static const struct compactos_case {
    const char *name;
    uint8_t provider, algorithm;
    uint8_t reparse_len;
    bool stored, stored_problem, unnamed, lost;
    enum plan_state state;
    const char *reason;
} compactos_cases[] = {
    {"xpress4k", 2, 0, 24, true, false, true, false, PLAN_SEND, NULL},
    {"xpress16k", 2, 3, 24, true, false, true, false, PLAN_SEND, NULL},
    {"algorithm 4", 2, 4, 24, true, false, true, false, PLAN_FAILED, REASON_REPARSE},
    {"wim", 1, 0, 24, true, false, true, false, PLAN_FAILED, REASON_REPARSE},
    {"cut", 2, 0, 20, true, false, true, false, PLAN_FAILED, REASON_REPARSE},
    {"none stored", 2, 0, 24, false, false, true, false, PLAN_FAILED, REASON_WOF},
    {"stored badly", 2, 0, 24, true, true, true, false, PLAN_FAILED, REASON_WOF},
    {"no data", 2, 0, 24, true, false, false, false, PLAN_FAILED, REASON_BAD_RECORD},
    {"lost", 2, 0, 24, true, false, true, true, PLAN_FAILED, REASON_BAD_RECORD},
};

static void test_compactos(void **state)
{
    (void)state;
    enum { FIRST = 30 };
    struct catalog *catalog = made_catalog();
    for (size_t i = 0; i < ARRAY_LEN(compactos_cases); i++) {
        const struct compactos_case *one = &compactos_cases[i];
        uint8_t reparse[24] = {
            0x17, 0, 0, 0x80,          16, 0, 0, 0, 1, 0, 0, 0, one->provider, 0, 0, 0, 1,
            0,    0, 0, one->algorithm};
        struct made made;
        made_start(&made, FIRST + i, 1);
        made_name(&made, ROOT, one->name, SPACE_BOTH);
        made.entry.reparse_tag = 0x80000017;
        made.entry.reparse = reparse;
        made.entry.reparse_len = one->reparse_len;
        if (one->unnamed) {
            add_content(&made, one->lost ? LOST : HOLES_ONLY);
        }
        if (one->stored) {
            struct volume_stream *stored =
                made_stream(&made, "WofCompressedData", VOLUME_PLAIN, 30000);
            made_extent(&made, 500, 8);
            stored->problem = one->stored_problem ? "a piece is missing" : NULL;
        }
        (void)made_stream(&made, "Zone.Identifier", VOLUME_RESIDENT, 26);
        made_add(catalog, &made);
    }
    made_finish(catalog, 64);
    struct plan *plan = made_plan(catalog, &plain_settings);
    for (size_t i = 0; i < ARRAY_LEN(compactos_cases); i++) {
        const struct compactos_case *one = &compactos_cases[i];
        uint16_t stored = one->unnamed ? 1 : 0;
        assert_reason(made_entry_decision(plan, FIRST + i), one->state, one->reason);
        if (one->stored) {
            /* Nothing of its own when it is the content; else it shares the fate. */
            assert_null(made_task(plan, FIRST + i, stored));
            assert_reason(made_stream_decision(plan, FIRST + i, stored),
                          one->state == PLAN_SEND ? PLAN_EXCLUDED : PLAN_FAILED, one->reason);
        }
        const struct plan_task *task = made_task(plan, FIRST + i, 0);
        if (one->state == PLAN_SEND) {
            assert_non_null(task);
            assert_true(task->through_reader && !task->resident && !task->contiguous);
            assert_true(task->position == 500ULL * CLUSTER);
        }
    }
    CLEANUP_VIEW struct catalog_view view = {0};
    made_view(plan, FIRST, &view);
    assert_string_equal(plan_form_name(&view, 0), "wof");
    assert_string_equal(plan_form_name(&view, 1), "plain");
    plan_free(plan);
    catalog_free(catalog);
}

/* Without the tag the name means nothing. */
static void test_compactos_name_alone(void **state)
{
    (void)state;
    struct catalog *catalog = made_catalog();
    struct made made;
    made_start(&made, 31, 1);
    made_name(&made, ROOT, "no tag", SPACE_BOTH);
    add_content(&made, RESIDENT);
    (void)made_stream(&made, "WofCompressedData", VOLUME_RESIDENT, 30);
    made_add(catalog, &made);
    made_finish(catalog, 64);
    struct plan *plan = made_plan(catalog, &plain_settings);
    assert_reason(made_stream_decision(plan, 31, 0), PLAN_SEND, NULL);
    assert_reason(made_stream_decision(plan, 31, 1), PLAN_SEND, NULL);
    plan_free(plan);
    catalog_free(catalog);
}

static void test_encrypted_large_damaged(void **state)
{
    (void)state;
    struct catalog *catalog = made_catalog();
    struct made made;
    made_start(&made, 30, 1);
    made_name(&made, ROOT, "efs", SPACE_BOTH);
    (void)made_stream(&made, "", VOLUME_EFS, 5000);
    (void)made_stream(&made, "secret", VOLUME_EFS, 50);
    made_add(catalog, &made);
    made_start(&made, 31, 1);
    made_name(&made, ROOT, "vast", SPACE_BOTH);
    (void)made_stream(&made, "", VOLUME_SPARSE, PLAN_OBJECT_MAX + 1);
    (void)made_stream(&made, "fits", VOLUME_SPARSE, PLAN_OBJECT_MAX);
    made_add(catalog, &made);
    made_start(&made, 32, 1);
    made_name(&made, ROOT, "damaged", SPACE_BOTH);
    (void)made_stream(&made, "", VOLUME_RESIDENT, 10);
    (void)made_stream(&made, "other", VOLUME_RESIDENT, 10);
    made.entry.problem = "attributes overlap";
    made_add(catalog, &made);
    made_start(&made, 33, 1);
    made_name(&made, ROOT, "folder with data", SPACE_BOTH);
    made.entry.unnamed_directory_index_bytes = 4096;
    (void)made_stream(&made, "", VOLUME_RESIDENT, 10);
    made_add(catalog, &made);
    made_start(&made, 34, 1);
    made.entry.has_standard = false;
    (void)made_stream(&made, "", VOLUME_RESIDENT, 10);
    made_add(catalog, &made);
    made_start(&made, 35, 1);
    made_name(&made, ROOT, "folder with lost data", SPACE_BOTH);
    made.entry.directory = true;
    add_content(&made, LOST_EMPTY);
    made_add(catalog, &made);
    made_finish(catalog, 64);
    /* What is lost has no size that a limit could be held against. */
    struct plan_settings settings = plain_settings;
    settings.min_size_bytes = 1;
    struct plan *plan = made_plan(catalog, &settings);
    assert_reason(made_stream_decision(plan, 35, 0), PLAN_FAILED, REASON_BAD_RECORD);
    assert_reason(made_entry_decision(plan, 30), PLAN_FAILED, REASON_EFS);
    assert_reason(made_stream_decision(plan, 30, 1), PLAN_FAILED, REASON_EFS);
    assert_reason(made_entry_decision(plan, 31), PLAN_FAILED, REASON_TOO_LARGE);
    assert_reason(made_stream_decision(plan, 31, 1), PLAN_SEND, NULL);
    assert_reason(made_entry_decision(plan, 32), PLAN_FAILED, REASON_BAD_RECORD);
    assert_reason(made_stream_decision(plan, 32, 1), PLAN_FAILED, REASON_BAD_RECORD);
    assert_reason(made_entry_decision(plan, 33), PLAN_DIRECTORY, NULL);
    assert_reason(made_stream_decision(plan, 33, 0), PLAN_FAILED, REASON_BAD_RECORD);
    assert_reason(made_entry_decision(plan, 34), PLAN_SEND, NULL);
    assert_int_equal(plan_get_totals(plan)->streams_failed, 7);
    assert_int_equal(plan_get_totals(plan)->orphans, 1);
    plan_free(plan);
    catalog_free(catalog);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_reparse_table),
        cmocka_unit_test(test_dedup_choice),
        cmocka_unit_test(test_store),
        cmocka_unit_test(test_compactos),
        cmocka_unit_test(test_compactos_name_alone),
        cmocka_unit_test(test_encrypted_large_damaged),
    };
    return cmocka_run_group_tests_name("plan decisions", tests, NULL, NULL);
}
