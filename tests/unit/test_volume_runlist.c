/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Mapping pairs, good and bad.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "volume/runlist.h"

#define CLUSTERS_ON_VOLUME 1000

struct runlist_case {
    const char *name;
    size_t len;
    uint8_t pairs[32];
    uint64_t clusters;
    const char *problem; /* part of it; NULL: good */
    const char *runs;    /* "start+length …", hole as h */
};

static const struct runlist_case cases[] = {
    {"empty", 1, {0}, 0, NULL, ""},
    {"one", 4, {0x11, 5, 10, 0}, 5, NULL, "10+5"},
    {"back", 7, {0x11, 5, 100, 0x11, 3, 0xF6, 0}, 8, NULL, "100+5 90+3"},
    {"hole", 6, {0x01, 5, 0x11, 3, 7, 0}, 8, NULL, "h+5 7+3"},
    {"hole keeps the place", 9, {0x11, 2, 50, 0x01, 4, 0x11, 1, 9, 0}, 7, NULL, "50+2 h+4 59+1"},
    {"neighbours join", 7, {0x11, 5, 10, 0x11, 3, 5, 0}, 8, NULL, "10+8"},
    {"holes join", 5, {0x01, 5, 0x01, 3, 0}, 8, NULL, "h+8"},
    {"two-byte numbers", 6, {0x22, 0x2C, 0x01, 0x90, 0x01, 0}, 300, NULL, "400+300"},
    {"eight-byte length", 11, {0x18, 2, 0, 0, 0, 0, 0, 0, 0, 4, 0}, 2, NULL, "4+2"},
    {"last cluster", 6, {0x21, 1, 0xE7, 0x03, 0, 0}, 1, NULL, "999+1"},
    {"no end", 3, {0x11, 5, 10}, 5, "no end", NULL},
    {"nothing", 0, {0}, 0, "no end", NULL},
    {"cut", 2, {0x11, 5}, 5, "malformed", NULL},
    {"no length", 3, {0x10, 5, 0}, 5, "malformed", NULL},
    {"nine-byte length", 12, {0x09, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0}, 1, "malformed", NULL},
    {"length 0", 4, {0x11, 0, 10, 0}, 0, "add up", NULL},
    {"length negative", 4, {0x11, 0xFF, 10, 0}, 255, "add up", NULL},
    {"too much", 4, {0x11, 6, 10, 0}, 5, "add up", NULL},
    {"too little", 4, {0x11, 4, 10, 0}, 5, "add up", NULL},
    {"before the volume", 4, {0x11, 5, 0xFF, 0}, 5, "outside", NULL},
    {"behind the volume", 5, {0x21, 5, 0xE7, 0x03, 0}, 5, "outside", NULL},
    {"overflow",
     15,
     {0x81, 1, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0x7F, 0x11, 1, 1, 0, 0},
     2,
     "outside",
     NULL},
    {"length that overflows",
     11,
     {0x18, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0x7F, 1, 0},
     UINT64_C(0x7FFFFFFFFFFFFFFF),
     "outside",
     NULL},
};

static void print_runs(const struct extent_list *list, char *to, size_t size)
{
    size_t len = 0;

    to[0] = '\0';
    for (size_t i = 0; i < list->count; i++) {
        const char *gap = i > 0 ? " " : "";
        const struct volume_extent *extent = &list->items[i];
        if (extent->cluster == VOLUME_HOLE) {
            len += (size_t)snprintf(to + len, size - len, "%sh+%llu", gap,
                                    (unsigned long long)extent->clusters);
        } else {
            len += (size_t)snprintf(to + len, size - len, "%s%llu+%llu", gap,
                                    (unsigned long long)extent->cluster,
                                    (unsigned long long)extent->clusters);
        }
    }
}

static void test_cases(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct extent_list list = {0};
        bool no_memory = false;
        uint8_t *pairs = malloc(cases[i].len + 1); /* exact, so that a sanitizer sees over-reads */
        assert_non_null(pairs);
        uint8_t *exact = pairs + 1;
        memcpy(exact, cases[i].pairs, cases[i].len);
        const char *problem = runlist_decode(exact, cases[i].len, CLUSTERS_ON_VOLUME,
                                             cases[i].clusters, 0, &list, &no_memory);
        assert_false(no_memory);
        if (cases[i].problem == NULL) {
            char runs[256];
            if (problem != NULL) {
                fail_msg("%s: %s", cases[i].name, problem);
            }
            print_runs(&list, runs, sizeof(runs));
            assert_string_equal(runs, cases[i].runs);
        } else if (problem == NULL || strstr(problem, cases[i].problem) == NULL) {
            fail_msg("%s: %s", cases[i].name, problem != NULL ? problem : "accepted");
        }
        extent_list_free(&list);
        free(pairs);
    }
}

/* A piece is not joined with an extent of another stream before it. */
static void test_first(void **state)
{
    (void)state;
    static const uint8_t one[] = {0x11, 5, 10, 0};
    static const uint8_t two[] = {0x11, 5, 15, 0};
    struct extent_list list = {0};
    bool no_memory = false;

    assert_null(runlist_decode(one, sizeof(one), CLUSTERS_ON_VOLUME, 5, 0, &list, &no_memory));
    assert_null(runlist_decode(two, sizeof(two), CLUSTERS_ON_VOLUME, 5, 1, &list, &no_memory));
    assert_int_equal(list.count, 2);
    extent_list_free(&list);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_cases),
        cmocka_unit_test(test_first),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
