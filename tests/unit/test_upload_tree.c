/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The tree of a composite upload: sizes, names, what is handed out and what becomes ready. */
#include "upload/composite.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <string.h>

#define MIB (1ULL << 20)
#define GIB (1ULL << 30)

static struct upload_engine engine = {.settings = {.gcs = {.bucket = "b"}}};

static struct upload_composite *make(uint64_t size_bytes, uint64_t part_size)
{
    struct upload_object object = {.name = "dir/big", .metadata_json = "{}"};
    struct error err = {0};
    return upload_composite_new(&engine, &object, size_bytes, part_size, "p/", 1, &err);
}

static void test_part_size(void **state)
{
    (void)state;
    static const struct {
        uint64_t size_bytes;
        uint64_t part_size;
    } cases[] = {
        {0, 32 * MIB},
        {1, 32 * MIB},
        {32 * GIB, 32 * MIB},
        {32 * GIB + 1, 32 * MIB},
        {32 * GIB + 1024, 33 * MIB},
        {100 * GIB, 100 * MIB},
        {1024 * GIB, GIB},
        {5120 * GIB, GIB},
        {UINT64_MAX, GIB},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        if (upload_part_size(cases[i].size_bytes) != cases[i].part_size) {
            fail_msg("%llu: %llu", (unsigned long long)cases[i].size_bytes,
                     (unsigned long long)upload_part_size(cases[i].size_bytes));
        }
    }
}

static void test_levels(void **state)
{
    (void)state;
    static const struct {
        uint64_t size_bytes;
        uint32_t parts;
        unsigned top;
    } cases[] = {
        {0, 1, 1},
        {1, 1, 1},
        {MIB, 1, 1},
        {MIB + 1, 2, 1},
        {32 * MIB, 32, 1},
        {32 * MIB + 1, 33, 2},
        {1024 * MIB, 1024, 2},
        {1025 * MIB, 1025, 3},
        {40 * GIB, 40960, 4},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct upload_composite *composite = make(cases[i].size_bytes, MIB);
        assert_non_null(composite);
        assert_int_equal(composite->counts[0], cases[i].parts);
        assert_int_equal(composite->top, cases[i].top);
        assert_int_equal(composite->counts[composite->top], 1);
        /* Every level covers every byte once. */
        for (unsigned level = 0; level <= composite->top; level++) {
            uint64_t at = 0;
            for (uint32_t index = 0; index < composite->counts[level]; index++) {
                struct upload_span span = composite_span(composite, level, index);
                assert_int_equal(span.offset, at);
                at += span.length;
            }
            assert_int_equal(at, cases[i].size_bytes);
        }
        upload_composite_free(composite);
    }
}

static void test_names(void **state)
{
    (void)state;
    struct upload_composite *composite = make(1030 * MIB + 5, MIB);
    static const struct {
        unsigned level;
        uint32_t index;
        const char *name;
    } cases[] = {
        {0, 0, "p/0-1048576"},
        {0, 1, "p/1048576-1048576"},
        {0, 1030, "p/1080033280-5"},
        {1, 0, "p/0-33554432.c1"},
        {1, 32, "p/1073741824-6291461.c1"},
        {2, 1, "p/1073741824-6291461.c2"},
        {3, 0, "dir/big"},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        char name[GCS_NAME_MAX + 1];
        composite_name(composite, cases[i].level, cases[i].index, name);
        assert_string_equal(name, cases[i].name);
    }
    upload_composite_free(composite);
}

static void test_refusals(void **state)
{
    (void)state;
    struct error err = {0};
    struct upload_object object = {.name = "n"};
    char prefix[1100];
    memset(prefix, 'x', sizeof(prefix) - 1);
    prefix[sizeof(prefix) - 1] = '\0';
    assert_null(upload_composite_new(&engine, &object, GCS_OBJECT_MAX + 1, GIB, "p/", 0, &err));
    assert_string_equal(err.reason, "too-large");
    assert_null(upload_composite_new(&engine, &object, GIB, 0, "p/", 0, &err));
    assert_null(upload_composite_new(&engine, &object, 1024 * GIB, 1, "p/", 0, &err));
    assert_null(upload_composite_new(&engine, &object, GIB, MIB, prefix, 0, &err));
    assert_string_equal(err.reason, "name");
}

/* All parts of a random tree done in random order: each inner node becomes ready once. */
static void test_ready_once(void **state)
{
    (void)state;
    struct upload_composite *composite = make(1100 * MIB, MIB);
    uint32_t joined = 0;
    uint32_t index;
    uint32_t order[1100];
    for (uint32_t i = 0; i < 1100; i++) {
        assert_true(upload_composite_claim(composite, &index));
        assert_int_equal(index, i);
        order[i] = i;
    }
    assert_false(upload_composite_claim(composite, &index));
    for (uint32_t i = 1099; i > 0; i--) {
        uint32_t j = (uint32_t)random_below(i + 1);
        uint32_t swap = order[i];
        order[i] = order[j];
        order[j] = swap;
    }
    for (uint32_t i = 0; i < 1100; i++) {
        unsigned level;
        composite_mark_done_locked(composite, 0, order[i], 1, 0);
        while (composite_take_ready_locked(composite, &level, &index)) {
            assert_true(level > 0);
            assert_int_not_equal(composite_node(composite, level, index)->state, NODE_DONE);
            composite_mark_done_locked(composite, level, index, 1, 0);
            joined++;
        }
    }
    assert_int_equal(joined, composite->counts[1] + composite->counts[2] + 1);
    assert_int_equal(composite_node(composite, 3, 0)->state, NODE_DONE);
    upload_composite_free(composite);
}

static void test_reset(void **state)
{
    (void)state;
    struct upload_composite *composite = make(1100 * MIB, MIB);
    uint32_t index;
    unsigned level;
    while (upload_composite_claim(composite, &index)) {
        composite_mark_done_locked(composite, 0, index, 1, 0);
    }
    while (composite_take_ready_locked(composite, &level, &index) && level < 2) {
        composite_mark_done_locked(composite, level, index, 1, 0);
    }
    composite_reset_locked(composite, 1, 33);
    assert_int_equal(composite_node(composite, 1, 33)->pending, 32);
    assert_int_equal(composite->again_count, 32);
    for (uint32_t i = 0; i < 31; i++) {
        assert_true(composite_take_again_locked(composite, &index));
        assert_int_equal(index, 33 * 32 + i);
    }
    assert_true(upload_composite_claim(composite, &index));
    assert_int_equal(index, 33 * 32 + 31);
    assert_false(composite_take_again_locked(composite, &index));
    assert_false(upload_composite_claim(composite, &index));
    upload_composite_free(composite);
}

static void test_ticket(void **state)
{
    (void)state;
    struct upload_composite *composite = make(3 * MIB, MIB);
    for (uint32_t i = 0; i < 3; i++) {
        composite_node(composite, 0, i)->state = NODE_DONE;
    }
    composite_recount_locked(composite);
    uint32_t index = 7;
    assert_true(upload_composite_claim(composite, &index));
    assert_int_equal(index, 0);
    assert_false(upload_composite_claim(composite, &index));
    unsigned level;
    assert_true(composite_take_ready_locked(composite, &level, &index));
    assert_int_equal(level, 1);
    upload_composite_free(composite);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_part_size),  cmocka_unit_test(test_levels),
        cmocka_unit_test(test_names),      cmocka_unit_test(test_refusals),
        cmocka_unit_test(test_ready_once), cmocka_unit_test(test_reset),
        cmocka_unit_test(test_ticket),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
