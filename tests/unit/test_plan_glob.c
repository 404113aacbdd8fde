/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Patterns against paths. */
#include "catalog_fixture.h"

#include "plan/glob.h"

static bool matches(const char *pattern, const char *path, bool directory)
{
    struct plan_glob glob = {0};
    assert_int_equal(plan_glob_compile(&glob, pattern), 0);
    const char *slash = strrchr(path, '/');
    size_t component = slash == NULL ? 0 : (size_t)(slash - path) + 1;
    bool result = plan_glob_match(&glob, path, strlen(path), component, directory);
    plan_glob_clear(&glob);
    return result;
}

static void test_matches(void **state)
{
    (void)state;
    static const struct {
        const char *pattern;
        const char *path;
        bool expected;
    } cases[] = {
        {"*.tmp", "a.tmp", true},
        {"*.tmp", "dir/sub/A.TMP", true},
        {"*.tmp", "dir.tmp/a.txt", false}, /* the directory was asked before */
        {"*.tmp", "a.tmpx", false},
        {"*", "dir/anything", true},
        {"?", "a", true},
        {"?", "\xC3\xA9", true},
        {"?", "ab", false},
        {"??", "\xE2\x82\xAC", false},
        {"**??", "\xE2\x82\xAC", false},
        {"thumbs.db", "x/Thumbs.DB", true},
        {"/pagefile.sys", "pagefile.sys", true},
        {"/pagefile.sys", "dir/pagefile.sys", false},
        {"dir/*.txt", "dir/a.txt", true},
        {"dir/*.txt", "dir/sub/a.txt", false},
        {"dir/*.txt", "x/dir/a.txt", false},
        {"/dir/*.txt", "dir/a.txt", true},
        {"dir/**", "dir/a", true},
        {"dir/**", "dir/sub/deep/a", true},
        {"dir/**", "dir", false},
        {"dir/**", "dirx/a", false},
        {"**/cache", "cache", true},
        {"**/cache", "a/b/cache", true},
        {"**/cache", "a/bcache", false},
        {"**/cache/*", "a/cache/x", true},
        {"**/cache/*", "a/cache/x/y", false},
        {"a/**/z", "a/z", true},
        {"a/**/z", "a/b/c/z", true},
        {"a/**/z", "a/bz", false},
        {"a/**/m/**/z", "a/m/z", true},
        {"a/**/m/**/z", "a/x/m/y/m/z", true},
        {"a/**/m/*/z", "a/m/m/q/z", true},
        {"a/**/m/*/z", "a/m/q/r/z", false},
        {"a**z", "a/b/z", false}, /* without a slash it looks at one component */
        {"x/a**z", "x/a/b/z", true},
        {"x/*a*b", "x/aab", true},
        {"x/*a*b", "x/ca/b", false},
        {"[abc].txt", "b.txt", true},
        {"[abc].txt", "d.txt", false},
        {"[a-c].txt", "B.txt", true},
        {"[!a-c].txt", "b.txt", false},
        {"[!a-c].txt", "d.txt", true},
        {"[^a-c].txt", "d.txt", true},
        {"[]]x", "]x", true},
        {"[!]]x", "]x", false},
        {"[*]x", "*x", true},
        {"[*]x", "ax", false},
        {"[x", "[x", true},
        {"[a-]", "-", true},
        {"dir/[!a]", "dir/b", true},
        {"dir[!a]b/x", "dir/b/x", false},
        {"back\\slash", "back\\slash", true},
        {"\xC3\x84*", "\xC3\xA4pfel", true},
        {"\xCE\xA9", "\xCF\x89", true},
        {"100%", "100%", true},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        if (matches(cases[i].pattern, cases[i].path, false) != cases[i].expected) {
            fail_msg("%s against %s", cases[i].pattern, cases[i].path);
        }
    }
}

static void test_directories_only(void **state)
{
    (void)state;
    assert_true(matches("obj/", "a/obj", true));
    assert_false(matches("obj/", "a/obj", false));
    assert_true(matches("/a/obj/", "a/obj", true));
    assert_false(matches("/obj/", "a/obj", true));
    assert_true(matches("obj", "a/obj", true));
}

static void test_refused(void **state)
{
    (void)state;
    static const char *const cases[] = {"", "/", "//", "a\xFF", "\xED\xA0\x80"};
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct plan_glob glob = {0};
        assert_int_equal(plan_glob_compile(&glob, cases[i]), -2);
        plan_glob_clear(&glob);
    }
}

/* What takes forever where every star is tried with every other one. */
static void test_no_blow_up(void **state)
{
    (void)state;
    char text[2001];
    memset(text, 'a', sizeof(text) - 1);
    text[sizeof(text) - 1] = '\0';
    for (size_t i = 1; i < sizeof(text) - 1; i += 5) {
        text[i] = '/';
    }
    uint64_t start = clock_monotonic_ms();
    assert_false(matches("/**a**a**a**a**a**a**a**a**b", text, false));
    assert_false(matches("/**/*a*a*a*/**/*a*a*a*/**/b", text, false));
    memset(text, 'a', 255);
    text[255] = '\0';
    assert_false(matches("*a*a*a*a*a*a*a*a*a*a*a*a*b", text, false));
    assert_true(clock_monotonic_ms() - start < 2000);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_matches),
        cmocka_unit_test(test_directories_only),
        cmocka_unit_test(test_refused),
        cmocka_unit_test(test_no_blow_up),
    };
    return cmocka_run_group_tests_name("plan globs", tests, NULL, NULL);
}
