/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What becomes of entries whose clusters are claimed by others too: row by row. */
#include "plan_fixture.h"

enum { NOTHING = 0, RECORD_CROSSED = 1, VALUE_CROSSED = 2, MAIN_CROSSED = 4, NOTE_CROSSED = 8 };
enum kind { FILE_PLAIN, FILE_EFS, FILE_LOST, FOLDER, LINK, LINK_WITH_DATA };

static const struct {
    enum kind kind;
    unsigned crossed;
    enum plan_state entry, main, note; /* of the unnamed stream and of the alternate one */
    const char *reason, *main_reason;
} cases[] = {
    {FILE_PLAIN, NOTHING, PLAN_SEND, PLAN_SEND, PLAN_SEND, NULL, NULL},
    {FILE_PLAIN, MAIN_CROSSED, PLAN_FAILED, PLAN_FAILED, PLAN_SEND, REASON_CROSS_LINKED,
     REASON_CROSS_LINKED},
    {FILE_PLAIN, NOTE_CROSSED, PLAN_SEND, PLAN_SEND, PLAN_FAILED, NULL, NULL},
    {FILE_PLAIN, MAIN_CROSSED | NOTE_CROSSED, PLAN_FAILED, PLAN_FAILED, PLAN_FAILED,
     REASON_CROSS_LINKED, REASON_CROSS_LINKED},
    {FILE_PLAIN, VALUE_CROSSED, PLAN_FAILED, PLAN_SEND, PLAN_SEND, REASON_CROSS_LINKED, NULL},
    {FILE_PLAIN, VALUE_CROSSED | MAIN_CROSSED, PLAN_FAILED, PLAN_FAILED, PLAN_SEND,
     REASON_CROSS_LINKED, REASON_CROSS_LINKED},
    {FILE_PLAIN, RECORD_CROSSED, PLAN_FAILED, PLAN_FAILED, PLAN_FAILED, REASON_CROSS_LINKED,
     REASON_CROSS_LINKED},
    {FILE_EFS, MAIN_CROSSED, PLAN_FAILED, PLAN_FAILED, PLAN_SEND, REASON_EFS, REASON_EFS},
    {FILE_LOST, NOTE_CROSSED, PLAN_FAILED, PLAN_FAILED, PLAN_FAILED, REASON_BAD_RECORD,
     REASON_BAD_RECORD},
    {FOLDER, NOTE_CROSSED, PLAN_DIRECTORY, PLAN_DIRECTORY, PLAN_FAILED, NULL, NULL},
    {FOLDER, VALUE_CROSSED, PLAN_FAILED, PLAN_FAILED, PLAN_SEND, REASON_CROSS_LINKED,
     REASON_CROSS_LINKED},
    {FOLDER, RECORD_CROSSED, PLAN_FAILED, PLAN_FAILED, PLAN_FAILED, REASON_CROSS_LINKED,
     REASON_CROSS_LINKED},
    {LINK, VALUE_CROSSED, PLAN_FAILED, PLAN_FAILED, PLAN_SEND, REASON_CROSS_LINKED,
     REASON_CROSS_LINKED},
    {LINK, RECORD_CROSSED, PLAN_FAILED, PLAN_FAILED, PLAN_FAILED, REASON_CROSS_LINKED,
     REASON_CROSS_LINKED},
    {LINK_WITH_DATA, MAIN_CROSSED, PLAN_FAILED, PLAN_FAILED, PLAN_SEND, REASON_CROSS_LINKED,
     REASON_CROSS_LINKED},
    {LINK_WITH_DATA, VALUE_CROSSED, PLAN_FAILED, PLAN_SEND, PLAN_SEND, REASON_CROSS_LINKED, NULL},
};

enum { FIRST = 100, OWNER = 77 };

static void add_entry(struct catalog *catalog, uint64_t record, enum kind kind)
{
    struct made made;
    char name[16];

    (void)snprintf(name, sizeof(name), "case%u", (unsigned)record);
    made_start(&made, record, 1);
    made_name(&made, ROOT, name, SPACE_BOTH);
    made.entry.directory = kind == FOLDER;
    made.entry.reparse_tag = kind == LINK || kind == LINK_WITH_DATA ? 0xA000000C : 0;
    bool empty = kind == LINK || kind == FOLDER;
    struct volume_stream *stream =
        made_stream(&made, "", kind == FILE_EFS ? VOLUME_EFS : VOLUME_PLAIN, empty ? 0 : 50000);
    if (!empty) {
        made_extent(&made, 100, 13);
    }
    stream->problem = kind == FILE_LOST ? "a piece is missing" : NULL;
    stream->lost = kind == FILE_LOST;
    (void)made_stream(&made, "note", VOLUME_PLAIN, 9000);
    made_extent(&made, 200, 3);
    made_add(catalog, &made);
}

/* As catalog_cross() would have found it. */
static void cross(struct catalog *catalog, uint64_t record, uint16_t stream, uint8_t part)
{
    struct error err = {0};
    struct catalog_crossing crossing = {
        .cluster = 4711,
        .other = OWNER,
        .entry = (uint32_t)catalog_find(catalog, record),
        .stream = stream,
        .part = part,
    };
    uint8_t *to = area_reserve(&catalog->crossings, sizeof(crossing), &err);
    assert_non_null(to);
    memcpy(to, &crossing, sizeof(crossing));
    catalog->crossings.len += sizeof(crossing);
    catalog->crossing_count++;
}

static struct catalog *crossed_catalog(void)
{
    struct error err = {0};
    struct catalog *catalog = made_catalog();

    made_add_root(catalog);
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        add_entry(catalog, FIRST + i, cases[i].kind);
    }
    made_finish(catalog, FIRST + ARRAY_LEN(cases));
    assert_int_equal(area_open(&catalog->crossings, "the catalog", catalog->folder, &err), 0);
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        const struct {
            unsigned flag;
            uint16_t stream;
            uint8_t part;
        } parts[] = {{MAIN_CROSSED, 0, CATALOG_CROSSED_STREAM},
                     {NOTE_CROSSED, 1, CATALOG_CROSSED_STREAM},
                     {VALUE_CROSSED, UINT16_MAX, CATALOG_CROSSED_VALUE},
                     {RECORD_CROSSED, UINT16_MAX, CATALOG_CROSSED_RECORD}};
        for (size_t n = 0; n < ARRAY_LEN(parts); n++) {
            if ((cases[i].crossed & parts[n].flag) != 0) {
                cross(catalog, FIRST + i, parts[n].stream, parts[n].part);
            }
        }
    }
    return catalog;
}

static void assert_decision(struct plan_decision decision, enum plan_state state,
                            const char *reason)
{
    assert_reason(decision, state, reason);
    if (reason != NULL && strcmp(reason, REASON_CROSS_LINKED) == 0) {
        assert_non_null(strstr(decision.sentence, "cluster 4711 of its "));
        assert_non_null(strstr(decision.sentence, "record 77"));
        assert_non_null(strstr(decision.sentence, "chkdsk"));
    }
}

static void test_crossed(void **state)
{
    (void)state;
    struct catalog *catalog = crossed_catalog();
    struct plan *plan = made_plan(catalog, &plain_settings);
    CLEANUP_VIEW struct catalog_view view = {0};
    uint64_t failed = 0;

    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        uint64_t record = FIRST + i;
        made_view(plan, record, &view);
        assert_reason(made_entry_decision(plan, record), cases[i].entry, cases[i].reason);
        assert_decision(plan_view_decision(plan, &view), cases[i].entry, cases[i].reason);
        assert_decision(plan_stream_decision(plan, &view, 0), cases[i].main, cases[i].main_reason);
        assert_int_equal(plan_stream_decision(plan, &view, 1).state, cases[i].note);
        assert_int_equal(made_task(plan, record, 0) != NULL, cases[i].main == PLAN_SEND);
        assert_int_equal(made_task(plan, record, 1) != NULL, cases[i].note == PLAN_SEND);
        failed += (cases[i].main == PLAN_FAILED) + (uint64_t)(cases[i].note == PLAN_FAILED);
    }
    assert_int_equal(plan_get_totals(plan)->streams_failed, failed);
    plan_free(plan);
    catalog_free(catalog);
}

/* What is left out is not judged. */
static void test_excluded(void **state)
{
    (void)state;
    static const char *const excludes[] = {"case*"};
    struct plan_settings settings = plain_settings;
    struct catalog *catalog = crossed_catalog();

    settings.excludes = excludes;
    settings.exclude_count = 1;
    struct plan *plan = made_plan(catalog, &settings);
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        assert_reason(made_entry_decision(plan, FIRST + i), PLAN_EXCLUDED, REASON_EXCLUDED);
    }
    assert_int_equal(plan_get_totals(plan)->streams_failed, 0);
    plan_free(plan);
    catalog_free(catalog);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_crossed),
        cmocka_unit_test(test_excluded),
    };
    return cmocka_run_group_tests_name("cross-linked plans", tests, NULL, NULL);
}
