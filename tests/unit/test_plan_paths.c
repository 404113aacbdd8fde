/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The paths of --files-from: how they may be written, and what they take. */
#include "plan_fixture.h"

static struct plan_paths *paths_of(const char *const *lines, size_t count)
{
    struct plan_paths *paths = plan_paths_new();
    assert_non_null(paths);
    for (size_t i = 0; i < count; i++) {
        assert_int_equal(plan_paths_add(paths, lines[i], strlen(lines[i])), 0);
    }
    return paths;
}

static void test_forms(void **state)
{
    (void)state;
    static const struct {
        const char *line;
        const char *path; /* as the namer writes it */
        bool found;
    } cases[] = {
        {"a.txt", "a.txt", true},
        {"a.txt", "A.TXT", true},
        {"a.txt", "a.txt2", false},
        {"a.txt", "b/a.txt", false},
        {"/Data/x/", "data/X", true},
        {"D:\\Data\\x.txt", "Data/x.txt", true},
        {"d:/Data//x.txt", "Data/x.txt", true},
        {"Data\\x.txt", "Data/x.txt", true},
        {"Data/back\\slash", "Data/back\\slash", true},
        {"\xD0\xBF\xD1\x80/\xC3\xA9", "\xD0\x9F\xD0\xA0/\xC3\x89", true},
        {"report#1", "report%u00231", true},
        {"report#1", "report#1", true}, /* a folder's name is left as it is */
        {"report#1/b#2", "report#1/b%u00232", true},
        {"report%u00231", "report%u00231", true},
        {"%u0041", "%u0025u0041", true},
        {".winch/x", "%u002Ewinch/x", true},
        {".winch/orphans/9-1/x", ".winch/orphans/9-1/x", true},
        {"a:b", "a%u003Ab", false}, /* a drive letter */
        {"/a:b", "a%u003Ab", true},
        {"*.txt", "a.txt", false},
        {"# no comment", "# no comment", true},
        {" leading", " leading", true},
        {"trailing ", "trailing ", true},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct plan_paths *paths = paths_of(&cases[i].line, 1);
        if (plan_paths_look(paths, cases[i].path, strlen(cases[i].path)) != cases[i].found) {
            fail_msg("%s and %s", cases[i].line, cases[i].path);
        }
        size_t index = 0;
        const char *missing = plan_paths_missing(paths, &index);
        assert_int_equal(missing == NULL, cases[i].found);
        assert_true(missing == NULL || strcmp(missing, cases[i].line) == 0);
        plan_paths_free(paths);
    }
}

static void test_refused(void **state)
{
    (void)state;
    static const char *const lines[] = {"/", "C:", "C:\\", "\xFF", "a\xC3"};
    struct plan_paths *paths = plan_paths_new();
    for (size_t i = 0; i < ARRAY_LEN(lines); i++) {
        assert_int_equal(plan_paths_add(paths, lines[i], strlen(lines[i])), -2);
    }
    assert_int_equal(plan_paths_add(paths, "a\0b", 3), -2);
    assert_int_equal(plan_paths_count(paths), 0);
    plan_paths_free(paths);
}

static void test_many(void **state)
{
    (void)state;
    struct plan_paths *paths = plan_paths_new();
    char line[64];
    for (unsigned round = 0; round < 2; round++) {
        for (unsigned i = 0; i < 20000; i++) {
            int len = snprintf(line, sizeof(line), "folder %u\\file#%u", i % 7, i);
            assert_int_equal(plan_paths_add(paths, line, (size_t)len), 0);
        }
    }
    assert_int_equal(plan_paths_count(paths), 20000);
    for (unsigned i = 0; i < 20000; i += 2) {
        int len = snprintf(line, sizeof(line), "FOLDER %u/file%%u0023%u", i % 7, i);
        assert_true(plan_paths_look(paths, line, (size_t)len));
    }
    size_t index = 0;
    size_t missing = 0;
    while (plan_paths_missing(paths, &index) != NULL) {
        missing++;
    }
    assert_int_equal(missing, 10000);
    plan_paths_free(paths);
}

static void test_digest(void **state)
{
    (void)state;
    static const char *const lists[][3] = {
        {"a/b", "c", "d"}, {"C", "d", "a\\b"}, {"a/b", "c", "e"}, {"a/b", "c", "c"}};
    uint8_t digests[ARRAY_LEN(lists)][32];
    for (size_t i = 0; i < ARRAY_LEN(lists); i++) {
        struct plan_paths *paths = paths_of(lists[i], 3);
        assert_int_equal(plan_paths_digest(paths, digests[i]), 0);
        plan_paths_free(paths);
    }
    assert_memory_equal(digests[0], digests[1], 32);
    assert_memory_not_equal(digests[0], digests[2], 32);
    assert_memory_not_equal(digests[0], digests[3], 32);
}

enum { USERS = 30, ANN, NOTES, OTHER, TWO_NAMES, HASH, LEFT };

static struct catalog *tree(void)
{
    struct catalog *catalog = made_catalog();
    made_add_root(catalog);
    made_add_directory(catalog, USERS, 1, ROOT, "Users");
    made_add_directory(catalog, ANN, 1, REF(USERS, 1), "ann");
    made_add_file(catalog, NOTES, 1, REF(ANN, 1), "notes.txt");
    made_add_file(catalog, OTHER, 1, REF(USERS, 1), "other.txt");
    struct made made;
    made_start(&made, TWO_NAMES, 1);
    made_name(&made, REF(ANN, 1), "one.txt", SPACE_BOTH);
    made_name(&made, REF(USERS, 1), "two.txt", SPACE_BOTH);
    (void)made_stream(&made, "", VOLUME_RESIDENT, 500);
    made_add(catalog, &made);
    made_add_file(catalog, HASH, 1, ROOT, "report#1");
    made_add_file(catalog, LEFT, 1, ROOT, "pagefile.sys");
    made_finish(catalog, 100);
    return catalog;
}

static void test_plan(void **state)
{
    (void)state;
    static const struct {
        const char *lines[3];
        enum plan_state notes, other, two_names, hash, left;
        size_t missing;
    } cases[] = {
        {{"users/ann"}, PLAN_SEND, PLAN_EXCLUDED, PLAN_SEND, PLAN_EXCLUDED, PLAN_EXCLUDED, 0},
        /* What lies below a folder that is listed is met, too. */
        {{"users", "users/ann/notes.txt", "users/no"},
         PLAN_SEND,
         PLAN_SEND,
         PLAN_SEND,
         PLAN_EXCLUDED,
         PLAN_EXCLUDED,
         1},
        /* Each name of a file counts, also when another has taken it already. */
        {{"users/ann/one.txt", "users/two.txt"},
         PLAN_EXCLUDED,
         PLAN_EXCLUDED,
         PLAN_SEND,
         PLAN_EXCLUDED,
         PLAN_EXCLUDED,
         0},
        {{"C:\\report#1", "pagefile.sys"},
         PLAN_EXCLUDED,
         PLAN_EXCLUDED,
         PLAN_EXCLUDED,
         PLAN_SEND,
         PLAN_EXCLUDED,
         0},
    };
    struct catalog *catalog = tree();
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        size_t count = 0;
        while (count < 3 && cases[i].lines[count] != NULL) {
            count++;
        }
        struct plan_settings settings = plain_settings;
        settings.paths = paths_of(cases[i].lines, count);
        struct plan *plan = made_plan(catalog, &settings);
        assert_int_equal(made_entry_decision(plan, NOTES).state, cases[i].notes);
        assert_int_equal(made_entry_decision(plan, OTHER).state, cases[i].other);
        assert_int_equal(made_entry_decision(plan, TWO_NAMES).state, cases[i].two_names);
        assert_int_equal(made_entry_decision(plan, HASH).state, cases[i].hash);
        assert_int_equal(made_entry_decision(plan, LEFT).state, cases[i].left);
        size_t index = 0;
        size_t missing = 0;
        while (plan_paths_missing(settings.paths, &index) != NULL) {
            missing++;
        }
        assert_int_equal(missing, cases[i].missing);
        plan_free(plan);
        plan_paths_free(settings.paths);
    }
    catalog_free(catalog);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_forms),  cmocka_unit_test(test_refused), cmocka_unit_test(test_many),
        cmocka_unit_test(test_digest), cmocka_unit_test(test_plan),
    };
    return cmocka_run_group_tests_name("plan paths", tests, NULL, NULL);
}
