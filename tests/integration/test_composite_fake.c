/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Composite objects against fake-gcs: many workers, every kind of interruption, damaged leftovers.
 */
#include "composite_world.h"
#include "upload/upload_internal.h"

static void test_workers(void **state)
{
    (void)state;
    static const struct {
        uint64_t size_bytes;
        uint64_t part_size;
        unsigned workers;
    } cases[] = {
        {1, PART, 2},         {PART, PART, 1}, {PART + 1, PART, 2},          {32 * PART, PART, 4},
        {33 * PART, PART, 8}, {DEEP, PART, 8}, {(40 << 20) + 3, 1 << 20, 8},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct upload upload = {.size_bytes = cases[i].size_bytes,
                                .part_size = cases[i].part_size,
                                .session.settings.connections = 6};
        char name[32];
        (void)snprintf(name, sizeof(name), "workers/%zu", i);
        journal.count = 0;
        upload_open(&upload, name);
        assert_int_equal(upload_start(&upload), 0);
        upload_all(&upload, cases[i].workers);
        assert_complete(&upload);
        assert_false(upload.result.already_present);
        struct gcs_object object;
        assert_int_equal(
            gcs_get(uploader_client(upload.session.uploader), name, &object, &upload.session.err),
            GCS_DONE);
        assert_string_equal(object.winch_run, RUN);
        upload_close(&upload);
    }
}

/* Interrupted after some parts, resumed with and without a journal, with and without listing. */
static void test_interrupted(void **state)
{
    (void)state;
    static const uint32_t stops[] = {1, 40, 1030};
    for (size_t i = 0; i < ARRAY_LEN(stops) * 4; i++) {
        uint32_t stop = stops[i / 4];
        bool has_journal = i % 2 == 1;
        char name[48];
        (void)snprintf(name, sizeof(name), "interrupted/%zu", i);
        struct upload first = {0};
        journal.count = 0;
        upload_open(&first, name);
        assert_int_equal(upload_start(&first), 0);
        upload_parts(&first, stop);
        upload_close(&first);

        struct upload second = {.session.settings.rights =
                                    i % 4 < 2 ? ALL_RIGHTS : ALL_RIGHTS & ~GCS_RIGHT_LIST};
        upload_open(&second, name);
        assert_int_equal(upload_start(&second), 0);
        for (size_t k = 0; has_journal && k < journal.count; k++) {
            upload_composite_hint(second.composite, journal.nodes[k].level, journal.nodes[k].index,
                                  journal.nodes[k].generation, journal.nodes[k].crc32c);
        }
        if (upload_composite_survey(second.session.uploader, second.composite,
                                    &second.session.err) != 0) {
            fail_msg("%s", second.session.err.message);
        }
        upload_all(&second, 4);
        assert_complete(&second);
        /* With a journal only the rest is read; without one all is, but only the rest is sent. */
        uint64_t done = stop * PART;
        uint64_t read = atomic_load(&second.pattern.read_bytes);
        assert_int_equal(read, has_journal ? DEEP - done : DEEP);
        assert_true(counters_of(&second.session).bytes_acknowledged == DEEP - done);
        assert_false(second.result.already_present);
        upload_close(&second);
    }
}

/* Everything was done, but the run did not live to note it. */
static void test_finished_before(void **state)
{
    (void)state;
    for (int i = 0; i < 3; i++) {
        char name[32];
        (void)snprintf(name, sizeof(name), "finished/%d", i);
        struct upload first = {0};
        journal.count = 0;
        upload_open(&first, name);
        assert_int_equal(upload_start(&first), 0);
        upload_all(&first, 4);
        assert_complete(&first);
        upload_close(&first);

        struct upload second = {0};
        upload_open(&second, name);
        assert_int_equal(upload_start(&second), 0);
        const struct kept *top = &journal.nodes[journal.count - 1];
        assert_int_equal(top->level, DEEP_TOP);
        if (i == 1) {
            upload_composite_hint(second.composite, top->level, top->index, top->generation,
                                  top->crc32c);
        }
        if (i < 2) {
            assert_int_equal(upload_composite_survey(second.session.uploader, second.composite,
                                                     &second.session.err),
                             0);
        }
        upload_all(&second, 1);
        assert_complete(&second);
        /* Without a survey the parts are sent, and the last compose meets the object. */
        assert_int_equal(second.result.already_present, i < 2);
        assert_int_equal(atomic_load(&second.pattern.read_bytes), i == 1 ? 0 : DEEP);
        assert_int_equal(counters_of(&second.session).bytes_acknowledged, i < 2 ? 0 : DEEP);
        upload_close(&second);
    }
}

/* Composed, but the sources were still there when the run died; and pieces of another part size. */
static void test_leftovers(void **state)
{
    (void)state;
    struct upload first = {0};
    upload_open(&first, "leftovers");
    assert_int_equal(upload_start(&first), 0);
    upload_parts(&first, 1030);
    char name[200];
    for (unsigned i = 3; i < 9; i++) {
        (void)snprintf(name, sizeof(name), "%s%llu-%llu", first.prefix, i * PART, PART);
        (void)plant(&first.session, name, NULL, SEED, i * PART, PART);
    }
    (void)snprintf(name, sizeof(name), "%s0-8192", first.prefix);
    (void)plant(&first.session, name, NULL, SEED, 0, 8192);
    (void)snprintf(name, sizeof(name), "%s0-131072.c5", first.prefix);
    (void)plant(&first.session, name, NULL, SEED, 0, 10);
    upload_close(&first);

    struct upload second = {0};
    upload_open(&second, "leftovers");
    assert_int_equal(upload_start(&second), 0);
    assert_int_equal(
        upload_composite_survey(second.session.uploader, second.composite, &second.session.err), 0);
    upload_all(&second, 4);
    assert_complete(&second);
    upload_close(&second);
}

/* What an earlier session left is not what the stream says. */
static void test_damaged(void **state)
{
    (void)state;
    struct upload first = {0};
    upload_open(&first, "damaged");
    char name[200];
    (void)snprintf(name, sizeof(name), "%s0-%llu.c1", first.prefix, 32 * PART);
    (void)plant(&first.session, name, NULL, 99, 0, 32 * PART);
    (void)snprintf(name, sizeof(name), "%s%llu-%llu.c1", first.prefix, 32 * PART, 32 * PART);
    (void)plant(&first.session, name, NULL, SEED, 32 * PART, 32 * PART);
    (void)snprintf(name, sizeof(name), "%s%llu-%llu", first.prefix, 70 * PART, PART);
    (void)plant(&first.session, name, NULL, 99, 0, PART);
    session_close(&first.session);

    for (int survey = 0; survey < 2; survey++) {
        struct upload second = {0};
        upload_open(&second, "damaged");
        assert_int_equal(upload_start(&second), 0);
        assert_int_equal(survey == 1
                             ? 0
                             : upload_composite_survey(second.session.uploader, second.composite,
                                                       &second.session.err),
                         0);
        upload_all(&second, 4);
        assert_complete(&second);
        upload_close(&second);
    }
}

/* Parts under their names already, no survey: each insert is refused, looked at, and settled. */
static void test_taken_names(void **state)
{
    (void)state;
    struct upload upload = {.size_bytes = 40 * PART};
    upload_open(&upload, "taken");
    char name[200];
    for (unsigned i = 0; i < 4; i++) {
        (void)snprintf(name, sizeof(name), "%s%llu-%llu", upload.prefix, i * PART, PART);
        (void)plant(&upload.session, name, NULL, i % 2 == 0 ? SEED : 99, i * PART,
                    i == 3 ? 100 : PART);
    }
    (void)snprintf(name, sizeof(name), "%s0-%llu.c1", upload.prefix, 32 * PART);
    (void)plant(&upload.session, name, NULL, 99, 0, 32 * PART);
    assert_int_equal(upload_start(&upload), 0);
    upload_all(&upload, 4);
    assert_complete(&upload);
    upload_close(&upload);
}

struct destination_case {
    const char *what;
    enum upload_if_exists if_exists;
    const char *metadata; /* of what is there */
    uint64_t seed;
    uint64_t size_bytes;
    bool survey;
    bool listing;
    bool complete; /* else: conflict */
};

#define SIZE (40 * PART)

static void test_destination(void **state)
{
    (void)state;
    static const struct destination_case cases[] = {
        {"other size", UPLOAD_IF_EXISTS_FAIL, NULL, 9, SIZE + 1, true, false, false},
        {"other size, listed", UPLOAD_IF_EXISTS_FAIL, NULL, 9, SIZE + 1, false, true, false},
        {"other size, unseen", UPLOAD_IF_EXISTS_FAIL, NULL, 9, SIZE + 1, false, false, false},
        {"other content", UPLOAD_IF_EXISTS_FAIL, NULL, 9, SIZE, true, false, false},
        {"other content, listed", UPLOAD_IF_EXISTS_FAIL, NULL, 9, SIZE, false, true, false},
        {"other content, unseen", UPLOAD_IF_EXISTS_FAIL, NULL, 9, SIZE, false, false, false},
        {"equal", UPLOAD_IF_EXISTS_FAIL, NULL, SEED, SIZE, true, false, true},
        {"equal, listed", UPLOAD_IF_EXISTS_FAIL, NULL, SEED, SIZE, false, true, true},
        {"replace", UPLOAD_IF_EXISTS_REPLACE, NULL, 9, SIZE, true, false, true},
        {"replace size", UPLOAD_IF_EXISTS_REPLACE, NULL, 9, 5, true, false, true},
        {"replace, listed", UPLOAD_IF_EXISTS_REPLACE, NULL, 9, SIZE, false, true, true},
        {"replace, unseen", UPLOAD_IF_EXISTS_REPLACE, NULL, 9, SIZE, false, false, true},
        {"superseded", UPLOAD_IF_EXISTS_FAIL, OLD_METADATA, 9, SIZE, true, false, true},
        {"superseded size", UPLOAD_IF_EXISTS_FAIL, OLD_METADATA, 9, 5, false, true, true},
        {"skip", UPLOAD_IF_EXISTS_SKIP, NULL, SEED, SIZE, true, false, false},
        {"skip own", UPLOAD_IF_EXISTS_SKIP, OWN_METADATA, SEED, SIZE, true, false, true},
    };
    static const char *const runs[] = {"20261128T220312Z-00000001"};
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        const struct destination_case *one = &cases[i];
        struct upload upload = {.size_bytes = SIZE,
                                .session.settings = {.if_exists = one->if_exists,
                                                     .superseded_runs = runs,
                                                     .superseded_run_count = 1}};
        char name[48];
        (void)snprintf(name, sizeof(name), "destination/%zu", i);
        upload_open(&upload, name);
        struct error *err = &upload.session.err;
        (void)plant(&upload.session, name, one->metadata, one->seed, 0, one->size_bytes);
        uint64_t count = 0;
        if (one->listing) {
            assert_int_equal(upload_list_existing(upload.session.uploader, name, NULL, &count, err),
                             GCS_DONE);
        }
        int status = upload_start(&upload);
        if (status == 0 && one->survey) {
            status = upload_composite_survey(upload.session.uploader, upload.composite, err);
        }
        if (status == 0) {
            upload_all(&upload, 3);
        } else {
            upload.progress = UPLOAD_FAILED;
        }
        if (one->complete && upload.progress == UPLOAD_COMPLETE) {
            assert_complete(&upload);
            assert_int_equal(upload.result.replaced, one->seed != SEED);
            assert_int_equal(upload.result.already_present, one->seed == SEED);
        } else if (one->complete || err->kind != ERROR_FAIL_ENTRY ||
                   strcmp(err->reason, "conflict") != 0) {
            fail_msg("%s: %d %s", one->what, (int)upload.progress, err->message);
        }
        assert_int_equal(count_objects(&upload.session, upload.prefix), 0);
        upload_close(&upload);
    }
}

static void test_faults(void **state)
{
    (void)state;
    static const char *const lines[] = {
        /* The reply to the last compose, to a group's, to a part's is lost. */
        "{\"method\":\"POST\",\"path_contains\":\"faults%2F0/compose\",\"action\":\"lost_reply\","
        "\"nth\":1,\"count\":1}",
        "{\"method\":\"POST\",\"path_contains\":\".c1/compose\",\"action\":\"lost_reply\","
        "\"nth\":1,\"count\":1}",
        "{\"method\":\"POST\",\"path_contains\":\"uploadType=media\",\"action\":\"lost_reply\","
        "\"nth\":5,\"count\":1}",
        /* The server computes nonsense. */
        "{\"method\":\"POST\",\"path_contains\":\"faults%2F3/compose\",\"action\":\"wrong_crc\","
        "\"nth\":1,\"count\":2}",
        "{\"method\":\"POST\",\"path_contains\":\".c1/compose\",\"action\":\"wrong_crc\","
        "\"nth\":1,\"count\":2}",
        "{\"method\":\"POST\",\"path_contains\":\"uploadType=media\",\"action\":\"wrong_crc\","
        "\"nth\":3,\"count\":2}",
        /* A compose says that a source is gone, though it is not. */
        "{\"method\":\"POST\",\"path_contains\":\".c1/compose\",\"action\":\"status\","
        "\"status\":404,\"nth\":1,\"count\":1}",
    };
    for (size_t i = 0; i < ARRAY_LEN(lines); i++) {
        struct upload upload = {.size_bytes = 40 * PART};
        char name[32];
        (void)snprintf(name, sizeof(name), "faults/%zu", i);
        upload_open(&upload, name);
        faults_set(lines[i]);
        assert_int_equal(upload_start(&upload), 0);
        upload_all(&upload, 3);
        faults_clear();
        assert_complete(&upload);
        assert_false(upload.result.already_present);
        upload_close(&upload);
    }
}

/* A proxy says 200 to the last compose, and somebody else's object stands there. */
static void test_unreadable_reply(void **state)
{
    (void)state;
    struct upload upload = {.size_bytes = 3 * PART};
    upload_open(&upload, "unreadable");
    assert_int_equal(upload_start(&upload), 0);
    (void)plant(&upload.session, "unreadable", NULL, 9, 0, 5);
    faults_set("{\"method\":\"POST\",\"path_contains\":\"/compose\",\"action\":\"status\","
               "\"status\":200,\"body\":\"<html>\"}");
    upload_all(&upload, 3);
    faults_clear();
    assert_failed(&upload, ERROR_FAIL_ENTRY, "conflict");
    assert_content(&upload.session, "unreadable", 5, pattern_crc(9, 0, 5));
    assert_int_equal(count_objects(&upload.session, upload.prefix), 0);
    upload_close(&upload);
}

/* Somebody deletes parts and groups before they are composed. */
static void test_sources_vanish(void **state)
{
    (void)state;
    struct upload upload = {0};
    upload_open(&upload, "vanish");
    assert_int_equal(upload_start(&upload), 0);
    upload_parts(&upload, 1040);
    struct gcs_client *client = uploader_client(upload.session.uploader);
    char name[200];
    static const unsigned long long pieces[][3] = {
        {1030 * PART, PART, 0}, {1035 * PART, PART, 0}, {0, 32 * PART * 32, 2}};
    for (size_t i = 0; i < ARRAY_LEN(pieces); i++) {
        struct gcs_object object;
        int len =
            snprintf(name, sizeof(name), "%s%llu-%llu", upload.prefix, pieces[i][0], pieces[i][1]);
        if (pieces[i][2] != 0) {
            (void)snprintf(name + len, sizeof(name) - (size_t)len, ".c%llu", pieces[i][2]);
        }
        assert_int_equal(gcs_get(client, name, &object, &upload.session.err), GCS_DONE);
        assert_int_equal(gcs_delete(client, name, object.generation, &upload.session.err),
                         GCS_DONE);
    }
    upload_all(&upload, 4);
    assert_complete(&upload);
    upload_close(&upload);
}

static void test_failures(void **state)
{
    (void)state;
    /* A bad sector fails the entry, and parts are removed. */
    struct upload upload = {.size_bytes = 40 * PART, .pattern = {.fail_at = 39 * PART}};
    upload_open(&upload, "failures/sector");
    assert_int_equal(upload_start(&upload), 0);
    upload_all(&upload, 4);
    assert_failed(&upload, ERROR_FAIL_ENTRY, "bad-sector");
    assert_int_equal(count_objects(&upload.session, upload.prefix), 0);
    upload_close(&upload);

    /* A server that always computes nonsense. */
    upload = (struct upload){.size_bytes = 40 * PART};
    upload_open(&upload, "failures/nonsense");
    faults_set("{\"method\":\"POST\",\"path_contains\":\".c1/compose\",\"action\":\"wrong_crc\","
               "\"count\":1000}");
    assert_int_equal(upload_start(&upload), 0);
    upload_all(&upload, 2);
    faults_clear();
    assert_failed(&upload, ERROR_FAIL_ENTRY, "upload-refused");
    assert_int_equal(count_objects(&upload.session, upload.prefix), 0);
    upload_close(&upload);

    /* Deleting is denied: the run stops. */
    upload = (struct upload){.size_bytes = 40 * PART};
    upload_open(&upload, "failures/denied");
    atomic_store(&upload.session.engine->source_deletion, UPLOAD_DELETION_IGNORED);
    faults_set("{\"method\":\"DELETE\",\"path_contains\":\"denied\",\"action\":\"status\","
               "\"status\":403,\"count\":1000}");
    assert_int_equal(upload_start(&upload), 0);
    upload_all(&upload, 2);
    faults_clear();
    assert_failed(&upload, ERROR_STOP_RUN, NULL);
    assert_int_equal(upload.session.err.exit_status, EXIT_STATUS_RIGHTS);
    assert_non_null(strstr(upload.session.err.message, "storage.objects.delete"));
    upload_close(&upload);
}

/* Cancelled half-way: parts stay, and the next session takes them up. */
static void test_cancel(void **state)
{
    (void)state;
    static _Atomic bool cancel;
    struct upload upload = {.session.settings.gcs.http.cancel = &cancel};
    upload_open(&upload, "cancel");
    assert_int_equal(upload_start(&upload), 0);
    upload_parts(&upload, 50);
    atomic_store(&cancel, true);
    upload_all(&upload, 4);
    assert_failed(&upload, ERROR_CANCELLED, NULL);
    upload_close(&upload);

    struct upload second = {0};
    upload_open(&second, "cancel");
    assert_true(count_objects(&second.session, second.prefix) >= 18);
    assert_int_equal(upload_start(&second), 0);
    assert_int_equal(
        upload_composite_survey(second.session.uploader, second.composite, &second.session.err), 0);
    upload_all(&second, 4);
    assert_complete(&second);
    upload_close(&second);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_workers),          cmocka_unit_test(test_interrupted),
        cmocka_unit_test(test_finished_before),  cmocka_unit_test(test_leftovers),
        cmocka_unit_test(test_damaged),          cmocka_unit_test(test_taken_names),
        cmocka_unit_test(test_destination),      cmocka_unit_test(test_faults),
        cmocka_unit_test(test_unreadable_reply), cmocka_unit_test(test_sources_vanish),
        cmocka_unit_test(test_failures),         cmocka_unit_test(test_cancel),
    };
    cmocka_set_test_filter(getenv("TEST_FILTER")); /* NULL: all */
    return cmocka_run_group_tests(tests, world_open, world_close);
}
