/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What is left out: the file system's own, defaults, patterns, sizes. */
#include "plan_fixture.h"

/* Records of the tree that all tests here share. */
enum {
    PAGEFILE = 30,
    RECYCLE,
    THROWN_AWAY,
    SVI,
    STORE,
    USERS,
    ANN,
    NOTES,
    PAGEFILE_BELOW,
    LINK,
    TWO_NAMES,
    LOST,
    EMPTY_FOLDER,
};

static struct catalog *tree(void)
{
    struct catalog *catalog = made_catalog();
    made_add_root(catalog);
    made_add_file(catalog, 0, 1, ROOT, "$MFT");
    made_add_directory(catalog, 11, 11, ROOT, "$Extend");
    made_add_directory(catalog, 25, 1, REF(11, 11), "$Deleted");
    made_add_file(catalog, 26, 1, REF(25, 1), "0001");
    made_add_file(catalog, PAGEFILE, 1, ROOT, "PageFile.sys");
    made_add_directory(catalog, RECYCLE, 1, ROOT, "$Recycle.Bin");
    made_add_file(catalog, THROWN_AWAY, 1, REF(RECYCLE, 1), "$R1.txt");
    made_add_directory(catalog, SVI, 1, ROOT, "System Volume Information");
    made_add_file(catalog, STORE, 1, REF(SVI, 1), "tracking.log");
    made_add_directory(catalog, USERS, 1, ROOT, "Users");
    made_add_directory(catalog, ANN, 1, REF(USERS, 1), "ann");
    made_add_file(catalog, NOTES, 1, REF(ANN, 1), "notes.txt");
    made_add_file(catalog, PAGEFILE_BELOW, 1, REF(ANN, 1), "pagefile.sys");
    struct made made;
    made_start(&made, LINK, 1);
    made_name(&made, REF(ANN, 1), "link", SPACE_BOTH);
    made.entry.directory = true;
    made.entry.reparse_tag = 0xA0000003;
    (void)made_stream(&made, "s", VOLUME_RESIDENT, 5);
    made_add(catalog, &made);
    made_start(&made, TWO_NAMES, 1);
    made_name(&made, REF(RECYCLE, 1), "$R2.txt", SPACE_BOTH);
    made_name(&made, REF(ANN, 1), "kept.txt", SPACE_BOTH);
    (void)made_stream(&made, "", VOLUME_RESIDENT, 500);
    made_add(catalog, &made);
    made_add_file(catalog, LOST, 1, REF(999, 1), "lost.txt");
    made_start(&made, EMPTY_FOLDER, 1);
    made_name(&made, ROOT, "folder", SPACE_BOTH);
    made.entry.directory = true;
    (void)made_stream(&made, "s", VOLUME_RESIDENT, 5);
    made_add(catalog, &made);
    made_finish(catalog, 100);
    return catalog;
}

static void test_system_and_defaults(void **state)
{
    (void)state;
    struct catalog *catalog = tree();
    struct plan *plan = made_plan(catalog, &plain_settings);
    static const uint64_t system[] = {0, 5, 11, 25, 26};
    for (size_t i = 0; i < ARRAY_LEN(system); i++) {
        assert_reason(made_entry_decision(plan, system[i]), PLAN_EXCLUDED, REASON_SYSTEM);
    }
    static const uint64_t left[] = {PAGEFILE, RECYCLE, THROWN_AWAY, SVI, STORE};
    for (size_t i = 0; i < ARRAY_LEN(left); i++) {
        assert_reason(made_entry_decision(plan, left[i]), PLAN_EXCLUDED, REASON_EXCLUDED);
    }
    assert_reason(made_stream_decision(plan, THROWN_AWAY, 0), PLAN_EXCLUDED, REASON_EXCLUDED);
    static const uint64_t sent[] = {NOTES, PAGEFILE_BELOW, TWO_NAMES, LOST};
    for (size_t i = 0; i < ARRAY_LEN(sent); i++) {
        assert_reason(made_entry_decision(plan, sent[i]), PLAN_SEND, NULL);
    }
    const struct plan_totals *totals = plan_get_totals(plan);
    assert_int_equal(totals->entries_excluded, 10);
    assert_int_equal(totals->entries_directory, 3);
    assert_int_equal(totals->entries_link, 1);
    assert_int_equal(totals->entries_send, 4);
    assert_int_equal(totals->names, 1);
    assert_int_equal(totals->orphans, 1);
    plan_free(plan);
    struct plan_settings all = plain_settings;
    all.default_excludes = false;
    plan = made_plan(catalog, &all);
    assert_reason(made_entry_decision(plan, PAGEFILE), PLAN_SEND, NULL);
    assert_reason(made_entry_decision(plan, THROWN_AWAY), PLAN_SEND, NULL);
    assert_reason(made_entry_decision(plan, 26), PLAN_EXCLUDED, REASON_SYSTEM);
    plan_free(plan);
    catalog_free(catalog);
}

static void test_patterns(void **state)
{
    (void)state;
    static const struct {
        const char *include;
        const char *exclude;
        enum plan_state notes, kept, lost, users, link;
    } cases[] = {
        {NULL, "*.txt", PLAN_EXCLUDED, PLAN_EXCLUDED, PLAN_EXCLUDED, PLAN_DIRECTORY, PLAN_LINK},
        {NULL, "users", PLAN_EXCLUDED, PLAN_SEND, PLAN_SEND, PLAN_EXCLUDED, PLAN_EXCLUDED},
        {NULL, "users/**", PLAN_EXCLUDED, PLAN_SEND, PLAN_SEND, PLAN_DIRECTORY, PLAN_EXCLUDED},
        {NULL, "users/*/kept.txt", PLAN_SEND, PLAN_SEND, PLAN_SEND, PLAN_DIRECTORY, PLAN_LINK},
        {"notes.*", NULL, PLAN_SEND, PLAN_EXCLUDED, PLAN_EXCLUDED, PLAN_DIRECTORY, PLAN_EXCLUDED},
        {"Users/ann", NULL, PLAN_SEND, PLAN_SEND, PLAN_EXCLUDED, PLAN_DIRECTORY, PLAN_LINK},
        {"**/ann/**", "n*", PLAN_EXCLUDED, PLAN_SEND, PLAN_EXCLUDED, PLAN_DIRECTORY, PLAN_LINK},
        {"nothing", NULL, PLAN_EXCLUDED, PLAN_EXCLUDED, PLAN_EXCLUDED, PLAN_DIRECTORY,
         PLAN_EXCLUDED},
    };
    struct catalog *catalog = tree();
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct plan_settings settings = plain_settings;
        settings.default_excludes = false;
        settings.includes = &cases[i].include;
        settings.include_count = cases[i].include == NULL ? 0 : 1;
        settings.excludes = &cases[i].exclude;
        settings.exclude_count = cases[i].exclude == NULL ? 0 : 1;
        struct plan *plan = made_plan(catalog, &settings);
        assert_int_equal(made_entry_decision(plan, NOTES).state, cases[i].notes);
        assert_int_equal(made_entry_decision(plan, LOST).state, cases[i].lost);
        assert_int_equal(made_entry_decision(plan, USERS).state, cases[i].users);
        assert_int_equal(made_entry_decision(plan, LINK).state, cases[i].link);
        /* Left out only where its name in the recycle bin is left out as well. */
        assert_int_equal(made_entry_decision(plan, TWO_NAMES).state, cases[i].kept);
        bool streams = settings.include_count == 0;
        assert_reason(made_stream_decision(plan, EMPTY_FOLDER, 0),
                      streams ? PLAN_SEND : PLAN_EXCLUDED, streams ? NULL : REASON_EXCLUDED);
        plan_free(plan);
    }
    catalog_free(catalog);
}

static void test_sizes(void **state)
{
    (void)state;
    struct catalog *catalog = tree();
    struct plan_settings settings = plain_settings;
    settings.min_size_bytes = 11;
    struct plan *plan = made_plan(catalog, &settings);
    assert_reason(made_entry_decision(plan, NOTES), PLAN_EXCLUDED, REASON_EXCLUDED);
    assert_reason(made_entry_decision(plan, TWO_NAMES), PLAN_SEND, NULL);
    assert_reason(made_entry_decision(plan, LINK), PLAN_LINK, NULL);
    plan_free(plan);
    settings.min_size_bytes = 0;
    settings.max_size_bytes = 499;
    plan = made_plan(catalog, &settings);
    assert_reason(made_entry_decision(plan, NOTES), PLAN_SEND, NULL);
    assert_reason(made_entry_decision(plan, TWO_NAMES), PLAN_EXCLUDED, REASON_EXCLUDED);
    plan_free(plan);
    catalog_free(catalog);
}

static void test_bad_settings(void **state)
{
    (void)state;
    struct catalog *catalog = tree();
    const char *pattern = "";
    struct plan_settings settings = plain_settings;
    settings.excludes = &pattern;
    settings.exclude_count = 1;
    struct error err = {0};
    assert_null(plan_build(catalog, NULL, &settings, &err));
    assert_int_equal(err.exit_status, EXIT_STATUS_USAGE);
    char prefix[PLAN_BASE_MAX + 2];
    memset(prefix, 'p', sizeof(prefix) - 1);
    prefix[sizeof(prefix) - 1] = '\0';
    settings = plain_settings;
    settings.prefix = prefix;
    assert_null(plan_build(catalog, NULL, &settings, &err));
    assert_int_equal(err.exit_status, EXIT_STATUS_USAGE);
    catalog_free(catalog);
    plan_free(NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_system_and_defaults),
        cmocka_unit_test(test_patterns),
        cmocka_unit_test(test_sizes),
        cmocka_unit_test(test_bad_settings),
    };
    return cmocka_run_group_tests_name("plan rules", tests, NULL, NULL);
}
