/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Composite objects with holes against fake-gcs: zeros that are sent once. */
#include "composite_world.h"

#define GROUP (32 * PART)

static bool is_hole(void *self, uint64_t offset, uint64_t length)
{
    const struct pattern *pattern = self;
    for (size_t i = 0; i < pattern->hole_count; i++) {
        if (offset >= pattern->holes[i][0] && offset + length <= pattern->holes[i][1]) {
            return true;
        }
    }
    return false;
}

/* Where the holes are, and how many parts are enough. */
static const struct zeros_case {
    uint64_t size_bytes;
    uint64_t holes[2][2];
    uint32_t sent;
} zeros_cases[] = {
    {DEEP, {{PART, 2 * PART}}, 1100},                               /* one part stands for itself */
    {DEEP, {{PART, 3 * PART}}, 1099},                               /* one for two */
    {DEEP, {{PART + 1, 3 * PART}}, 1100},                           /* not aligned */
    {DEEP, {{GROUP - PART, GROUP + PART}}, 1100},                   /* in different groups */
    {DEEP, {{GROUP, 3 * GROUP}}, 1100 - 63},                        /* a group for a group */
    {DEEP, {{GROUP / 2, 3 * GROUP}}, 1100 - 15 - 63},               /* and a part of one before */
    {DEEP, {{0, DEEP}}, 1 + 1 + 1 + 1},                             /* all; the tail is shorter */
    {DEEP, {{0, DEEP - PART}}, 1 + 1 + 1 + 1 + 1},                  /* all but the end */
    {DEEP, {{PART, 10 * PART}, {20 * PART, 30 * PART}}, 1100 - 18}, /* two holes, one model */
    {2048 * PART, {{0, 2048 * PART}}, 1}, /* all, and nothing but whole groups */
    {3 * PART, {{0, 3 * PART}}, 1},
};

static void zeros_open(struct upload *upload, const struct zeros_case *one, const char *name)
{
    upload->size_bytes = one->size_bytes;
    upload->pattern.holes = one->holes;
    upload->pattern.hole_count = one->holes[1][1] > 0 ? 2 : 1;
    upload_open(upload, name);
    assert_int_equal(upload_start(upload), 0);
    uint64_t left_out = upload_composite_zeros(upload->composite, is_hole, &upload->pattern);
    assert_int_equal(left_out % PART, 0);
}

static void test_zeros(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(zeros_cases); i++) {
        const struct zeros_case *one = &zeros_cases[i];
        char name[32];
        (void)snprintf(name, sizeof(name), "zeros/%zu", i);
        struct upload upload = {0};
        zeros_open(&upload, one, name);
        upload_all(&upload, 1 + i % 4);
        assert_complete(&upload);
        uint64_t read = atomic_load(&upload.pattern.read_bytes);
        uint64_t tail = one->size_bytes % PART;
        uint64_t sent = one->sent * PART - (tail > 0 ? PART - tail : 0);
        if (read != sent) {
            fail_msg("case %zu: %llu bytes read, %llu expected", i, (unsigned long long)read,
                     (unsigned long long)sent);
        }
        upload_close(&upload);
    }
}

/* Interrupted anywhere, with and without a journal; or by a session that left nothing out. */
static void test_zeros_interrupted(void **state)
{
    (void)state;
    static const uint32_t stops[] = {2, 40, 500};
    for (size_t i = 0; i < ARRAY_LEN(zeros_cases) * ARRAY_LEN(stops) * 2; i++) {
        const struct zeros_case *one = &zeros_cases[i / 2 / ARRAY_LEN(stops)];
        bool leaves_out = i % 3 != 0;
        char name[48];
        (void)snprintf(name, sizeof(name), "zeros/interrupted/%zu", i);
        struct upload first = {0};
        journal.count = 0;
        if (leaves_out) {
            zeros_open(&first, one, name);
        } else {
            first.size_bytes = one->size_bytes;
            first.pattern.holes = one->holes;
            first.pattern.hole_count = one->holes[1][1] > 0 ? 2 : 1;
            upload_open(&first, name);
            assert_int_equal(upload_start(&first), 0);
        }
        upload_parts(&first, stops[i / 2 % ARRAY_LEN(stops)]);
        upload_close(&first);

        struct upload second = {.session.settings.rights =
                                    i % 4 < 2 ? ALL_RIGHTS : ALL_RIGHTS & ~GCS_RIGHT_LIST};
        zeros_open(&second, one, name);
        for (size_t k = 0; i % 2 == 1 && k < journal.count; k++) {
            upload_composite_hint(second.composite, journal.nodes[k].level, journal.nodes[k].index,
                                  journal.nodes[k].generation, journal.nodes[k].crc32c);
        }
        if (upload_composite_survey(second.session.uploader, second.composite,
                                    &second.session.err) != 0) {
            fail_msg("%s", second.session.err.message);
        }
        upload_all(&second, 3);
        if (leaves_out || i % 4 < 2) {
            assert_complete(&second);
        } else {
            /* Without the right to list, parts that are not wanted now are not looked for. */
            assert_int_equal(second.progress, UPLOAD_COMPLETE);
        }
        upload_close(&second);
    }
}

/* A model that vanishes before it is composed. */
static void test_zeros_vanish(void **state)
{
    (void)state;
    struct upload upload = {0};
    zeros_open(&upload, &zeros_cases[5], "zeros/vanish");
    upload_parts(&upload, 18);
    char name[200];
    struct gcs_object object;
    struct gcs_client *client = uploader_client(upload.session.uploader);
    (void)snprintf(name, sizeof(name), "%s%llu-%llu", upload.prefix, 1 * PART, PART);
    if (gcs_get(client, name, &object, &upload.session.err) == GCS_DONE) {
        assert_int_equal(gcs_delete(client, name, object.generation, &upload.session.err),
                         GCS_DONE);
    }
    upload_all(&upload, 2);
    assert_complete(&upload);
    upload_close(&upload);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_zeros),
        cmocka_unit_test(test_zeros_interrupted),
        cmocka_unit_test(test_zeros_vanish),
    };
    return cmocka_run_group_tests(tests, world_open, world_close);
}
