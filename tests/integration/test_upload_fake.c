/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Small, whole and control objects against fake-gcs: what is there, what is lost, what is wrong. */
#include "upload_world.h"

#define MIB (1ULL << 20)

static int small(struct session *session, const char *name, const char *bytes,
                 struct upload_result *result)
{
    struct upload_object object = {
        .name = name, .content_type = "text/plain", .metadata_json = OWN_METADATA};
    session->err = (struct error){0};
    return upload_small(session->uploader, &object, bytes, strlen(bytes), result, &session->err);
}

static int whole(struct session *session, const char *name, struct pattern *pattern,
                 uint64_t size_bytes, struct upload_result *result)
{
    struct upload_object object = {.name = name, .metadata_json = OWN_METADATA};
    struct upload_source source = pattern_source(pattern, size_bytes);
    session->err = (struct error){0};
    return upload_whole(session->uploader, &object, &source, result, &session->err);
}

static void assert_reason(const struct session *session, const char *reason)
{
    if (session->err.kind != ERROR_FAIL_ENTRY || session->err.reason == NULL ||
        strcmp(session->err.reason, reason) != 0) {
        fail_msg("%s expected: kind %d, %s", reason, (int)session->err.kind, session->err.message);
    }
}

static void test_small(void **state)
{
    (void)state;
    struct session session = {0};
    session_open(&session);
    struct upload_result first;
    struct upload_result again;
    static const char name[] = "small/a b/\xc3\xa4#?%2F+\"\\.txt";
    assert_int_equal(small(&session, name, "hello", &first), 0);
    assert_false(first.already_present);
    assert_false(first.replaced);
    assert_int_equal(first.crc32c, crc32c_update(0, "hello", 5));
    assert_content(&session, name, 5, first.crc32c);
    struct gcs_object object;
    assert_int_equal(gcs_get(uploader_client(session.uploader), name, &object, &session.err),
                     GCS_DONE);
    assert_string_equal(object.winch_run, RUN);

    assert_int_equal(small(&session, name, "hello", &again), 0);
    assert_true(again.already_present);
    assert_int_equal(again.generation, first.generation);

    assert_int_equal(small(&session, name, "other", &again), -1);
    assert_reason(&session, "conflict");
    assert_int_equal(small(&session, "small/empty", "", &again), 0);
    assert_int_equal(again.size_bytes, 0);
    assert_true(counters_of(&session).bytes_acknowledged >= 5);
    session_close(&session);
}

static void test_without_get(void **state)
{
    (void)state;
    struct session session = {.settings.rights = GCS_RIGHT_CREATE};
    session_open(&session);
    struct upload_result result;
    assert_int_equal(small(&session, "noget", "hello", &result), 0);
    assert_int_equal(small(&session, "noget", "hello", &result), -1);
    assert_reason(&session, "present-unverified");
    session_close(&session);
}

static void test_replace(void **state)
{
    (void)state;
    struct session session = {.settings.if_exists = UPLOAD_IF_EXISTS_REPLACE};
    session_open(&session);
    struct upload_result result;
    struct pattern pattern = {.seed = 2};
    (void)plant(&session, "replace/small", NULL, 1, 0, 10);
    (void)plant(&session, "replace/whole", NULL, 1, 0, 2 * MIB);
    assert_int_equal(small(&session, "replace/small", "new", &result), 0);
    assert_true(result.replaced);
    assert_content(&session, "replace/small", 3, result.crc32c);
    assert_int_equal(whole(&session, "replace/whole", &pattern, 2 * MIB, &result), 0);
    assert_true(result.replaced);
    assert_content(&session, "replace/whole", 2 * MIB, pattern_crc(2, 0, 2 * MIB));
    session_close(&session);
}

static void test_superseded(void **state)
{
    (void)state;
    const char *const runs[] = {"20261128T220312Z-00000001"};
    struct session session = {.settings = {.superseded_runs = runs, .superseded_run_count = 1}};
    session_open(&session);
    struct upload_result result;
    (void)plant(&session, "super/old", OLD_METADATA, 1, 0, 10);
    (void)plant(&session, "super/other", "{\"winch-run\":\"another\"}", 1, 0, 10);
    assert_int_equal(small(&session, "super/old", "new", &result), 0);
    assert_true(result.replaced);
    assert_int_equal(small(&session, "super/other", "new", &result), -1);
    assert_reason(&session, "conflict");
    session_close(&session);
}

static void test_control(void **state)
{
    (void)state;
    struct session session = {0};
    session_open(&session);
    struct upload_object object = {.name = "control/run.json", .content_type = "application/json"};
    struct upload_result result;
    assert_int_equal(upload_control(session.uploader, &object, "{}", 2, &result, &session.err), 0);
    assert_int_equal(upload_control(session.uploader, &object, "{1}", 3, &result, &session.err), 0);
    assert_true(result.replaced);
    assert_content(&session, object.name, 3, crc32c_update(0, "{1}", 3));
    assert_int_equal(upload_control(session.uploader, &object, "{1}", 3, &result, &session.err), 0);
    assert_true(result.already_present);
    session_close(&session);
}

static void test_whole(void **state)
{
    (void)state;
    struct session session = {0};
    session_open(&session);
    struct upload_result result;
    struct pattern pattern = {.seed = 1};
    uint32_t crc = pattern_crc(1, 0, 3 * MIB + 5);
    assert_int_equal(whole(&session, "whole/a", &pattern, 3 * MIB + 5, &result), 0);
    assert_int_equal(result.crc32c, crc);
    assert_content(&session, "whole/a", 3 * MIB + 5, crc);
    assert_int_equal(whole(&session, "whole/a", &pattern, 3 * MIB + 5, &result), 0);
    assert_true(result.already_present);
    assert_int_equal(whole(&session, "whole/empty", &pattern, 0, &result), 0);

    struct pattern other = {.seed = 2};
    assert_int_equal(whole(&session, "whole/a", &other, 3 * MIB + 5, &result), -1);
    assert_reason(&session, "conflict");
    struct pattern broken = {.seed = 2, .fail_at = MIB};
    assert_int_equal(whole(&session, "whole/broken", &broken, 3 * MIB, &result), -1);
    assert_reason(&session, "bad-sector");
    assert_int_equal(count_objects(&session, "whole/broken"), 0);
    session_close(&session);
}

static void test_listing(void **state)
{
    (void)state;
    struct session session = {0};
    session_open(&session);
    for (int i = 0; i < 1500; i++) {
        char name[40];
        (void)snprintf(name, sizeof(name), "listing/%04d", i);
        (void)plant(&session, name, NULL, 1, 0, (uint64_t)(i % 7));
    }
    (void)plant(&session, "listing/equal", NULL, 1, 0, 1000);
    (void)plant(&session, "listing/.winch/x", NULL, 1, 0, 1000);
    uint64_t count = 0;
    assert_int_equal(
        upload_list_existing(session.uploader, "listing/", "listing/.winch/", &count, &session.err),
        GCS_DONE);
    assert_int_equal(count, 1501);

    struct upload_result result;
    uint64_t requests = counters_of(&session).requests;
    struct pattern pattern = {.seed = 1};
    assert_int_equal(whole(&session, "listing/equal", &pattern, 1000, &result), 0);
    assert_true(result.already_present);
    assert_int_equal(atomic_load(&pattern.read_bytes), 1000);
    assert_int_equal(whole(&session, "listing/equal", &pattern, 1001, &result), -1);
    assert_reason(&session, "conflict");
    assert_int_equal(atomic_load(&pattern.read_bytes), 1000);
    assert_int_equal(small(&session, "listing/0000", "", &result), 0);
    assert_true(result.already_present);
    assert_int_equal(counters_of(&session).requests, requests);
    assert_int_equal(small(&session, "listing/new", "x", &result), 0);
    assert_false(result.already_present);

    uint64_t deleted = 0;
    uint64_t left = 0;
    assert_int_equal(upload_remove_all(session.uploader, "listing/", &deleted, &left, &session.err),
                     GCS_DONE);
    assert_int_equal(deleted, 1503);
    assert_int_equal(left, 0);
    assert_int_equal(count_objects(&session, "listing/"), 0);
    session_close(&session);
}

static void test_lost_reply(void **state)
{
    (void)state;
    struct session session = {0};
    session_open(&session);
    struct upload_result result;
    struct pattern pattern = {.seed = 1};
    faults_set("{\"method\":\"POST\",\"name_contains\":\"lost/\",\"action\":\"lost_reply\","
               "\"nth\":1,\"count\":1}");
    assert_int_equal(small(&session, "lost/small", "hello", &result), 0);
    assert_false(result.already_present);
    faults_clear();
    faults_set("{\"method\":\"POST\",\"name_contains\":\"lost/\",\"action\":\"lost_reply\","
               "\"nth\":1,\"count\":1}");
    assert_int_equal(whole(&session, "lost/whole", &pattern, 2 * MIB, &result), 0);
    assert_false(result.already_present);
    assert_content(&session, "lost/whole", 2 * MIB, pattern_crc(1, 0, 2 * MIB));
    faults_clear();
    faults_set("{\"method\":\"POST\",\"name_contains\":\"lost/\",\"action\":\"cut_reply\","
               "\"nth\":1,\"count\":1}");
    assert_int_equal(small(&session, "lost/cut", "hello", &result), 0);
    faults_clear();
    faults_set("{\"method\":\"POST\",\"name_contains\":\"lost/\",\"action\":\"reset_after_bytes\","
               "\"bytes\":100000,\"nth\":1,\"count\":1}");
    assert_int_equal(whole(&session, "lost/reset", &pattern, 2 * MIB, &result), 0);
    assert_content(&session, "lost/reset", 2 * MIB, pattern_crc(1, 0, 2 * MIB));
    faults_clear();
    session_close(&session);
}

static void test_unreadable_reply(void **state)
{
    (void)state;
    struct session session = {0};
    session_open(&session);
    struct upload_result result;
    struct pattern pattern = {.seed = 2};
    (void)plant(&session, "html/there", NULL, 1, 0, 5);
    faults_set("{\"method\":\"POST\",\"name_contains\":\"html/\",\"action\":\"status\","
               "\"status\":200,\"body\":\"<html>\",\"count\":9}");
    /* A proxy says 200, and nothing was stored: never done. */
    assert_int_equal(small(&session, "html/nothing", "hello", &result), -1);
    assert_int_equal(session.err.kind, ERROR_RETRY);
    /* What is there is somebody else's: never taken for a wrongly stored object and deleted. */
    assert_int_equal(small(&session, "html/there", "hello", &result), -1);
    assert_reason(&session, "conflict");
    assert_int_equal(whole(&session, "html/there", &pattern, MIB, &result), -1);
    assert_reason(&session, "conflict");
    faults_clear();
    assert_content(&session, "html/there", 5, pattern_crc(1, 0, 5));
    /* It may also be this call's own. */
    assert_int_equal(small(&session, "html/own", "hello", &result), 0);
    faults_set("{\"method\":\"POST\",\"name_contains\":\"html/\",\"action\":\"status\","
               "\"status\":200,\"body\":\"<html>\",\"count\":9}");
    assert_int_equal(small(&session, "html/own", "hello", &result), 0);
    session_close(&session);
    /* Nothing was written, so the old object is no conflict either. */
    session = (struct session){.settings.if_exists = UPLOAD_IF_EXISTS_REPLACE};
    session_open(&session);
    uint64_t count = 0;
    assert_int_equal(upload_list_existing(session.uploader, "html/", NULL, &count, &session.err),
                     GCS_DONE);
    assert_int_equal(small(&session, "html/there", "hello", &result), -1);
    assert_int_equal(session.err.kind, ERROR_RETRY);
    faults_clear();
    assert_content(&session, "html/there", 5, pattern_crc(1, 0, 5));
    assert_int_equal(small(&session, "html/there", "hello", &result), 0);
    assert_true(result.replaced);
    session_close(&session);
}

static void test_wrong_checksum(void **state)
{
    (void)state;
    struct session session = {0};
    session_open(&session);
    struct upload_result result;
    struct pattern pattern = {.seed = 1};
    faults_set("{\"method\":\"POST\",\"name_contains\":\"wrong/\",\"action\":\"wrong_crc\","
               "\"nth\":1,\"count\":2}");
    assert_int_equal(whole(&session, "wrong/twice", &pattern, MIB, &result), 0);
    assert_int_equal(atomic_load(&pattern.read_bytes), 3 * MIB);
    assert_content(&session, "wrong/twice", MIB, pattern_crc(1, 0, MIB));
    faults_clear();
    faults_set("{\"method\":\"POST\",\"name_contains\":\"wrong/\",\"action\":\"wrong_crc\","
               "\"nth\":1,\"count\":99}");
    assert_int_equal(whole(&session, "wrong/always", &pattern, MIB, &result), -1);
    assert_reason(&session, "upload-refused");
    assert_int_equal(small(&session, "wrong/small", "hello", &result), -1);
    assert_reason(&session, "upload-refused");
    faults_clear();
    assert_int_equal(count_objects(&session, "wrong/always"), 0);
    assert_int_equal(count_objects(&session, "wrong/small"), 0);
    session_close(&session);
}

static void test_refusals(void **state)
{
    (void)state;
    static const struct {
        const char *fault;
        enum error_kind kind;
        int exit_status;
    } cases[] = {
        {"\"status\":400,\"body\":\"{}\"", ERROR_FAIL_ENTRY, -1},
        {"\"status\":413,\"body\":\"\"", ERROR_FAIL_ENTRY, -1},
        {"\"status\":403,\"body\":\"<html>\"", ERROR_STOP_RUN, EXIT_STATUS_RIGHTS},
        {"\"status\":404,\"body\":\"\"", ERROR_STOP_RUN, EXIT_STATUS_DESTINATION},
    };
    struct session session = {0};
    session_open(&session);
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        char line[300];
        (void)snprintf(line, sizeof(line),
                       "{\"method\":\"POST\",\"name_contains\":\"refused\",\"action\":\"status\","
                       "\"count\":9,%s}",
                       cases[i].fault);
        faults_set(line);
        struct upload_result result;
        assert_int_equal(small(&session, "refused", "hello", &result), -1);
        assert_int_equal(session.err.kind, cases[i].kind);
        if (cases[i].exit_status >= 0) {
            assert_int_equal(session.err.exit_status, cases[i].exit_status);
        }
        faults_clear();
    }
    session_close(&session);
}

static void test_throttle(void **state)
{
    (void)state;
    struct session session = {0};
    session_open(&session);
    struct upload_result result;
    faults_set("{\"method\":\"POST\",\"name_contains\":\"throttle\",\"action\":\"status\","
               "\"status\":429,\"nth\":1,\"count\":1}");
    assert_int_equal(small(&session, "throttle", "hello", &result), 0);
    faults_clear();
    struct upload_counters counters = counters_of(&session);
    assert_int_equal(counters.throttled, 1);
    assert_int_equal(counters.window, 8);
    assert_int_equal(counters.retries, 1);
    session_close(&session);
}

static void test_missing_bucket(void **state)
{
    (void)state;
    char bucket[sizeof(world.bucket)];
    memcpy(bucket, world.bucket, sizeof(bucket));
    (void)snprintf(world.bucket, sizeof(world.bucket), "missing-x");
    struct session session = {0};
    session_open(&session);
    struct upload_result result;
    assert_int_equal(small(&session, "a", "hello", &result), -1);
    assert_int_equal(session.err.kind, ERROR_STOP_RUN);
    assert_int_equal(session.err.exit_status, EXIT_STATUS_DESTINATION);
    session_close(&session);
    memcpy(world.bucket, bucket, sizeof(bucket));
}

static void test_facts(void **state)
{
    (void)state;
    struct session session = {0};
    session_open(&session);
    unsigned rights = 0;
    struct gcs_bucket bucket;
    struct gcs_client *client = uploader_client(session.uploader);
    assert_int_equal(gcs_test_rights(client, &rights, &session.err), GCS_DONE);
    assert_int_equal(rights, ALL_RIGHTS);
    assert_int_equal(gcs_get_bucket(client, &bucket, &session.err), GCS_DONE);
    assert_string_equal(bucket.storage_class, "STANDARD");
    (void)plant(&session, "facts/a", NULL, 1, 0, 100);
    uint32_t crc = 0;
    assert_int_equal(
        gcs_read(client, "facts/a", 0, 10, 20, take_crc, restart_crc, &crc, &session.err),
        GCS_DONE);
    assert_int_equal(crc, pattern_crc(1, 10, 20));
    assert_int_equal(gcs_delete(client, "facts/a", 1, &session.err), GCS_NOT_FOUND);
    session_close(&session);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_small),
        cmocka_unit_test(test_without_get),
        cmocka_unit_test(test_replace),
        cmocka_unit_test(test_superseded),
        cmocka_unit_test(test_control),
        cmocka_unit_test(test_whole),
        cmocka_unit_test(test_listing),
        cmocka_unit_test(test_lost_reply),
        cmocka_unit_test(test_unreadable_reply),
        cmocka_unit_test(test_wrong_checksum),
        cmocka_unit_test(test_refusals),
        cmocka_unit_test(test_throttle),
        cmocka_unit_test(test_missing_bucket),
        cmocka_unit_test(test_facts),
    };
    cmocka_set_test_filter(getenv("TEST_FILTER")); /* NULL: all */
    return cmocka_run_group_tests(tests, world_open, world_close);
}
