/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Objects by name, and what is decided about them. */
#include "upload/upload_internal.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <string.h>

static void test_many(void **state)
{
    (void)state;
    enum { COUNT = 50000 };
    struct upload_existing *existing = upload_existing_new();
    assert_non_null(existing);
    char name[32];
    struct upload_seen seen;
    assert_false(upload_existing_find(existing, "x", &seen));
    assert_false(upload_existing_find(NULL, "x", &seen));
    for (uint32_t i = 0; i < COUNT; i++) {
        (void)snprintf(name, sizeof(name), "dir/%u", i);
        struct upload_seen one = {.generation = i + 1,
                                  .size_bytes = i * 3ULL,
                                  .crc32c = ~i,
                                  .run_mark = i & 0xffff,
                                  .has_crc32c = i % 2 == 0,
                                  .is_superseded = i % 3 == 0};
        assert_int_equal(upload_existing_add(existing, name, &one), 0);
    }
    for (uint32_t i = 0; i < COUNT; i++) {
        (void)snprintf(name, sizeof(name), "dir/%u", i);
        assert_true(upload_existing_find(existing, name, &seen));
        assert_int_equal(seen.generation, i + 1);
        assert_int_equal(seen.size_bytes, i * 3ULL);
        assert_int_equal(seen.crc32c, ~i);
        assert_int_equal(seen.run_mark, i & 0xffff);
        assert_int_equal(seen.has_crc32c, i % 2 == 0);
        assert_int_equal(seen.is_superseded, i % 3 == 0);
        (void)snprintf(name, sizeof(name), "Dir/%u", i);
        assert_false(upload_existing_find(existing, name, &seen));
    }
    /* The later entry of a name counts. */
    assert_int_equal(upload_existing_add(existing, "dir/7", &(struct upload_seen){.generation = 9}),
                     0);
    assert_true(upload_existing_find(existing, "dir/7", &seen));
    assert_int_equal(seen.generation, 9);
    upload_existing_free(existing);
}

enum { SAME = 100, OTHER = 101 };

struct resolve_case {
    const char *what;
    enum upload_if_exists if_exists;
    struct upload_seen seen;
    bool has_crc32c; /* the wanted one is known and 5 */
    bool replace_always;
    bool maybe_ours;
    uint64_t refused_generation;
    enum upload_resolution resolution;
    const char *reason;
};

#define FAIL UPLOAD_IF_EXISTS_FAIL
#define SKIP UPLOAD_IF_EXISTS_SKIP
#define REPL UPLOAD_IF_EXISTS_REPLACE

static void test_resolve(void **state)
{
    (void)state;
    uint32_t own = upload_run_mark("own");
    uint32_t old = upload_run_mark("old");
    const struct resolve_case cases[] = {
        {"equal", FAIL, {1, SAME, 5, 0, true, false}, true, false, false, 0, UPLOAD_EQUAL, NULL},
        {"equal, skip", SKIP, {1, SAME, 5, 0, true, false}, true, 0, 0, 0, UPLOAD_EQUAL, NULL},
        {"crc", FAIL, {1, SAME, 6, 0, true, false}, true, 0, 0, 0, UPLOAD_NO, "conflict"},
        {"size", FAIL, {1, OTHER, 5, 0, true, false}, true, 0, 0, 0, UPLOAD_NO, "conflict"},
        {"size unread", FAIL, {1, OTHER, 5, 0, true, 0}, false, 0, 0, 0, UPLOAD_NO, "conflict"},
        {"unread", FAIL, {1, SAME, 5, 0, true, false}, false, 0, 0, 0, UPLOAD_UNREAD, NULL},
        {"no crc", FAIL, {1, SAME, 0, 0, 0, 0}, true, 0, 0, 0, UPLOAD_NO, "present-unverified"},
        {"no crc, replace", REPL, {1, SAME, 0, 0, 0, 0}, true, 0, 0, 0, UPLOAD_REPLACE, NULL},
        {"skip unread", SKIP, {1, SAME, 5, old, true, 0}, false, 0, 0, 0, UPLOAD_NO, "conflict"},
        {"skip own", SKIP, {1, SAME, 5, own, true, 0}, false, 0, 0, 0, UPLOAD_UNREAD, NULL},
        {"skip lost", SKIP, {1, SAME, 5, 0, true, 0}, false, 0, true, 0, UPLOAD_UNREAD, NULL},
        {"replace", REPL, {1, OTHER, 5, 0, true, false}, true, 0, 0, 0, UPLOAD_REPLACE, NULL},
        {"superseded", FAIL, {1, OTHER, 5, old, true, true}, true, 0, 0, 0, UPLOAD_REPLACE, NULL},
        {"control", FAIL, {1, OTHER, 5, 0, true, false}, true, true, 0, 0, UPLOAD_REPLACE, NULL},
        {"no right", REPL, {7, OTHER, 5, 0, true, false}, true, 0, 0, 7, UPLOAD_NO, "conflict"},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        const struct resolve_case *one = &cases[i];
        struct upload_engine engine = {
            .settings = {.if_exists = one->if_exists, .gcs = {.bucket = "b"}}};
        struct uploader uploader = {.engine = &engine};
        struct upload_object object = {.name = "n", .metadata_json = "{\"winch-run\":\"own\"}"};
        struct upload_wanted wanted = {.object = &object,
                                       .size_bytes = SAME,
                                       .has_crc32c = one->has_crc32c,
                                       .crc32c = 5,
                                       .replace_always = one->replace_always,
                                       .maybe_ours = one->maybe_ours,
                                       .refused_generation = one->refused_generation};
        struct error err = {0};
        enum upload_resolution resolution =
            upload_resolve_seen(&uploader, &wanted, &one->seen, &err);
        if (resolution != one->resolution ||
            (one->reason != NULL &&
             (err.kind != ERROR_FAIL_ENTRY || strcmp(err.reason, one->reason) != 0))) {
            fail_msg("%s: %d %s", one->what, (int)resolution, err.message);
        }
    }
}

static void test_superseded(void **state)
{
    (void)state;
    const char *const runs[] = {"r1", "r2"};
    struct upload_engine engine = {
        .settings = {.superseded_runs = runs, .superseded_run_count = 2}};
    struct gcs_object object = {.generation = 1, .winch_run = "r2"};
    assert_true(upload_seen_from(&engine, &object).is_superseded);
    (void)snprintf(object.winch_run, sizeof(object.winch_run), "r3");
    assert_false(upload_seen_from(&engine, &object).is_superseded);
    object.winch_run[0] = '\0';
    assert_false(upload_seen_from(&engine, &object).is_superseded);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_many),
        cmocka_unit_test(test_resolve),
        cmocka_unit_test(test_superseded),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
