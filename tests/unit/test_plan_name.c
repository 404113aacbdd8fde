/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Paths and object names: folders, orphans, streams, long names, names that meet. */
#include "plan_fixture.h"

enum { SUFFIX = 17 };

static void test_paths_and_objects(void **state)
{
    (void)state;
    static const struct {
        const char *prefix, *volume;
        const char *path, *object, *stream, *orphan, *orphan_path;
    } cases[] = {
        {"", "", "dir/sub/a.txt", "dir/sub/a.txt", ".winch/streams/dir/sub/a.txt/b%u003Ac",
         ".winch/orphans/999-7/lost/x", ".winch/orphans/999-7/lost/x"},
        {"pre/fix", "", "dir/sub/a.txt", "pre/fix/dir/sub/a.txt",
         "pre/fix/.winch/streams/dir/sub/a.txt/b%u003Ac", "pre/fix/.winch/orphans/999-7/lost/x",
         ".winch/orphans/999-7/lost/x"},
        {"p", "C", "C/dir/sub/a.txt", "p/C/dir/sub/a.txt",
         "p/.winch/streams/C/dir/sub/a.txt/b%u003Ac", "p/C/.winch/orphans/999-7/lost/x",
         "C/.winch/orphans/999-7/lost/x"},
    };
    struct catalog *catalog = made_catalog();
    made_add_root(catalog);
    made_add_directory(catalog, 30, 1, ROOT, "dir");
    made_add_directory(catalog, 31, 1, REF(30, 1), "sub");
    struct made made;
    made_start(&made, 32, 1);
    made_name(&made, REF(31, 1), "a.txt", SPACE_BOTH);
    made_name(&made, ROOT, "second", SPACE_BOTH);
    (void)made_stream(&made, "", VOLUME_RESIDENT, 10);
    (void)made_stream(&made, "b:c", VOLUME_SPARSE, 5000);
    made_add(catalog, &made);
    made_add_directory(catalog, 33, 1, REF(999, 7), "lost");
    made_add_file(catalog, 34, 1, REF(33, 1), "x");
    made_start(&made, 35, 9);
    (void)made_stream(&made, "", VOLUME_RESIDENT, 10);
    made_add(catalog, &made);
    made_finish(catalog, 100);
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct plan_settings settings = plain_settings;
        settings.prefix = cases[i].prefix;
        settings.volume_name = cases[i].volume;
        struct plan *plan = made_plan(catalog, &settings);
        assert_path(plan, 32, 0, cases[i].path, true);
        assert_object(plan, 32, 0, cases[i].object);
        assert_object(plan, 32, 1, cases[i].stream);
        assert_object(plan, 34, 0, cases[i].orphan);
        assert_path(plan, 34, 0, cases[i].orphan_path, true);
        assert_int_equal(plan_get_totals(plan)->renamed, 1);
        plan_free(plan);
    }
    struct plan *plan = made_plan(catalog, &plain_settings);
    assert_path(plan, 32, 1, "second", true);
    assert_path(plan, 35, 0, ".winch/orphans/unnamed/35-9", false);
    assert_path(plan, 5, 0, ".", true);
    plan_free(plan);
    catalog_free(catalog);
}

static void test_reserved_places(void **state)
{
    (void)state;
    static const struct {
        uint64_t record;
        const char *path;
    } cases[] = {
        {30, "%u002EWinch"},
        {31, "%u002EWinch/.winch"},
        {32, ".well-known"},
        {33, "%u002Ewell-known/acme-challenge"},
        {34, "%u002Ewell-known/acme-challenge/token"},
        {35, ".well-known/other"},
        {36, ".well-known/acme-challenges"},
        {37, "x"},
        {38, "x/.well-known"},
        {39, "x/.well-known/acme-challenge"},
        {40, "x/%u002E"},
        {41, "x/%u002E."},
    };
    struct catalog *catalog = made_catalog();
    made_add_root(catalog);
    made_add_directory(catalog, 30, 1, ROOT, ".Winch");
    made_add_file(catalog, 31, 1, REF(30, 1), ".winch");
    made_add_directory(catalog, 32, 1, ROOT, ".well-known");
    made_add_directory(catalog, 33, 1, REF(32, 1), "acme-challenge");
    made_add_file(catalog, 34, 1, REF(33, 1), "token");
    made_add_file(catalog, 35, 1, REF(32, 1), "other");
    made_add_file(catalog, 36, 1, REF(32, 1), "acme-challenges");
    made_add_directory(catalog, 37, 1, ROOT, "x");
    made_add_directory(catalog, 38, 1, REF(37, 1), ".well-known");
    made_add_file(catalog, 39, 1, REF(38, 1), "acme-challenge");
    made_add_file(catalog, 40, 1, REF(37, 1), ".");
    made_add_file(catalog, 41, 1, REF(37, 1), "..");
    made_finish(catalog, 100);
    struct plan *plan = made_plan(catalog, &plain_settings);
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        assert_path(plan, cases[i].record, 0, cases[i].path, true);
    }
    /* One namer for all, in an order that fills its cache in every way. */
    struct plan_namer *namer = plan_namer_new(plan);
    for (size_t i = 0; i < 500; i++) {
        size_t which = i * 7 % ARRAY_LEN(cases);
        size_t len;
        bool exact;
        uint32_t index = made_index(catalog, cases[which].record);
        assert_string_equal(plan_path(namer, index, 0, &len, &exact), cases[which].path);
    }
    plan_namer_free(namer);
    plan_free(plan);
    catalog_free(catalog);
}

/* Twelve folders of 150 bytes and more, with characters of one to four bytes at the cut. */
static void test_long_names(void **state)
{
    (void)state;
    static const char *const letters[] = {"q", "\xC3\xA9", "\xE2\x82\xAC", "\xF0\x9F\x98\x80"};
    for (size_t l = 0; l < ARRAY_LEN(letters); l++) {
        struct catalog *catalog = made_catalog();
        made_add_root(catalog);
        uint64_t parent = ROOT;
        CLEANUP_TEXT struct text full = TEXT_INIT(100000);
        for (uint64_t depth = 1; depth <= 12; depth++) {
            CLEANUP_TEXT struct text name = TEXT_INIT(1000);
            text_printf(&name, "p%02u", (unsigned)depth);
            for (unsigned i = 0; i < 100; i++) {
                text_add(&name, letters[l]);
            }
            made_add_directory(catalog, 29 + depth, 1, parent, text_str(&name));
            text_printf(&full, "%s/", text_str(&name));
            parent = REF(29 + depth, 1);
        }
        made_add_file(catalog, 50, 1, parent, "leaf.txt");
        made_add_file(catalog, 51, 1, parent, "leaf2.txt");
        made_finish(catalog, 100);
        text_add(&full, "leaf.txt");
        struct plan *plan = made_plan(catalog, &plain_settings);
        assert_path(plan, 50, 0, text_str(&full), true);
        assert_int_equal(plan_get_totals(plan)->renamed, 2);
        CLEANUP_VIEW struct catalog_view view = {0};
        made_view(plan, 50, &view);
        struct plan_namer *namer = plan_namer_new(plan);
        size_t len;
        const char *object = plan_object_name(namer, made_task(plan, 50, 0), &view, &len);
        assert_in_range(len, PLAN_OBJECT_NAME_MAX - 3, PLAN_OBJECT_NAME_MAX);
        assert_true(utf_valid_utf8(object, len));
        assert_memory_equal(object, full.data, len - SUFFIX);
        uint8_t hash[32];
        sha256_bytes(full.data, full.len, hash);
        CLEANUP_TEXT struct text suffix = TEXT_INIT(64);
        text_add_char(&suffix, '~');
        text_add_hex(&suffix, hash, 8);
        assert_string_equal(object + len - SUFFIX, text_str(&suffix));
        plan_namer_free(namer);
        plan_free(plan);
        catalog_free(catalog);
    }
}

static void expect_renamed(const struct plan *plan, uint64_t record, const char *path,
                           const char *identity, size_t identity_len)
{
    CLEANUP_TEXT struct text text = TEXT_INIT(1000);
    text_add(&text, path);
    text_add_char(&text, '\0');
    text_add_bytes(&text, identity, identity_len);
    uint8_t hash[32];
    sha256_bytes(text.data, text.len, hash);
    text_reset(&text);
    text_printf(&text, "p/%s~", path);
    text_add_hex(&text, hash, 8);
    assert_object(plan, record, 0, text_str(&text));
}

static void test_names_that_meet(void **state)
{
    (void)state;
    struct catalog *catalog = made_catalog();
    made_add_root(catalog);
    made_add_file(catalog, 30, 1, ROOT, "same");
    made_add_file(catalog, 31, 4, ROOT, "same");
    made_add_file(catalog, 32, 1, ROOT, "Same");
    made_add_file(catalog, 33, 1, ROOT, "same");
    made_finish(catalog, 100);
    struct plan_settings settings = plain_settings;
    settings.prefix = "p";
    struct plan *plan = made_plan(catalog, &settings);
    assert_object(plan, 30, 0, "p/same");
    assert_object(plan, 32, 0, "p/Same");
    expect_renamed(plan, 31, "same", "31-4-0", 6);
    expect_renamed(plan, 33, "same", "33-1-0", 6);
    assert_false(made_task(plan, 30, 0)->renamed);
    assert_true(made_task(plan, 31, 0)->renamed);
    assert_path(plan, 31, 0, "same", true);
    assert_int_equal(plan_get_totals(plan)->renamed, 2);
    plan_free(plan);
    catalog_free(catalog);
}

/* A name that was made so that it is what another one's suffix leads to. */
static void test_names_that_meet_twice(void **state)
{
    (void)state;
    uint8_t hash[32];
    sha256_bytes("same\00031-1-0", 11, hash);
    CLEANUP_TEXT struct text trap = TEXT_INIT(100);
    text_add(&trap, "same~");
    text_add_hex(&trap, hash, 8);
    struct catalog *catalog = made_catalog();
    made_add_root(catalog);
    made_add_file(catalog, 29, 1, ROOT, text_str(&trap));
    made_add_file(catalog, 30, 1, ROOT, "same");
    made_add_file(catalog, 31, 1, ROOT, "same");
    made_finish(catalog, 100);
    struct plan_settings settings = plain_settings;
    settings.prefix = "p";
    struct plan *plan = made_plan(catalog, &settings);
    assert_int_equal(made_task(plan, 31, 0)->rename_round, 2);
    expect_renamed(plan, 31, "same", "31-1-0\0002", 8);
    plan_free(plan);
    catalog_free(catalog);
}

static void test_parts_and_metadata(void **state)
{
    (void)state;
    struct catalog *catalog = made_catalog();
    struct made made;
    made_start(&made, 64, 2);
    made_name(&made, ROOT, "big", SPACE_BOTH);
    (void)made_stream(&made, "", VOLUME_RESIDENT, 10);
    made.entry.modified = 116444736000000000ULL + 15;
    made_add(catalog, &made);
    made_start(&made, 65, 2);
    made_name(&made, ROOT, "old", SPACE_BOTH);
    (void)made_stream(&made, "", VOLUME_RESIDENT, 10);
    made.entry.modified = 0;
    made_add(catalog, &made);
    made_finish(catalog, 100);
    struct plan_settings settings = plain_settings;
    settings.run = "R1";
    settings.prefix = "p";
    struct plan *plan = made_plan(catalog, &settings);
    CLEANUP_VIEW struct catalog_view view = {0};
    made_view(plan, 64, &view);
    CLEANUP_TEXT struct text text = TEXT_INIT(8192);
    plan_parts_prefix(plan, made_task(plan, 64, 0), &view, &text);
    assert_string_equal(text_str(&text), "p/.winch/parts/R1/64-2-0/");
    text_reset(&text);
    plan_metadata(plan, made_task(plan, 64, 0), &view, &text);
    assert_string_equal(
        text_str(&text),
        "{\"goog-reserved-file-mtime\":\"0\",\"winch-mtime\":\"116444736000000015\","
        "\"winch-record\":\"64-2\",\"winch-run\":\"R1\"}");
    text_reset(&text);
    made_view(plan, 65, &view);
    plan_metadata(plan, made_task(plan, 65, 0), &view, &text);
    assert_non_null(strstr(text_str(&text), "mtime\":\"-11644473600\""));
    text_reset(&text);
    assert_false(plan_custom_time(&view, &text));
    view.entry.modified = 2650467744000000000ULL; /* the year 10000 */
    assert_false(plan_custom_time(&view, &text));
    assert_int_equal(text.len, 0);
    view.entry.modified--;
    assert_true(plan_custom_time(&view, &text));
    assert_string_equal(text_str(&text), "9999-12-31T23:59:59.9999999Z");
    plan_free(plan);
    settings.volume_name = "D";
    plan = made_plan(catalog, &settings);
    text_reset(&text);
    plan_parts_prefix(plan, made_task(plan, 65, 0), &view, &text);
    assert_string_equal(text_str(&text), "p/.winch/parts/R1/D/65-2-0/");
    plan_free(plan);
    catalog_free(catalog);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_paths_and_objects),
        cmocka_unit_test(test_reserved_places),
        cmocka_unit_test(test_long_names),
        cmocka_unit_test(test_names_that_meet),
        cmocka_unit_test(test_names_that_meet_twice),
        cmocka_unit_test(test_parts_and_metadata),
    };
    return cmocka_run_group_tests_name("plan names", tests, NULL, NULL);
}
