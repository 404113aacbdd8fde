/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What each status and reason means, row by row. */
#include "gcs/gcs_internal.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <string.h>

#define STOP ERROR_STOP_RUN
#define ENTRY ERROR_FAIL_ENTRY
#define RETRY ERROR_RETRY

struct answer_case {
    enum gcs_call call;
    int status;
    const char *reason; /* NULL: the body is `message` as it stands */
    const char *message;
    enum gcs_answer answer;
    enum error_kind kind;
    int detail; /* exit status of STOP */
};

static const struct answer_case cases[] = {
    {GCS_CALL_INSERT, 412, "conditionNotMet", "At least one", GCS_EXISTS, ENTRY, 0},
    {GCS_CALL_COMPOSE, 412, NULL, "", GCS_EXISTS, ENTRY, 0},
    {GCS_CALL_INSERT, 412, "conditionNotMet", "Constraint constraints/storage.x violated",
     GCS_ERROR, STOP, EXIT_STATUS_DESTINATION},
    {GCS_CALL_INSERT, 403, "forbidden",
     "x does not have storage.objects.delete access to the Google Cloud Storage object.",
     GCS_EXISTS, ENTRY, 0},
    {GCS_CALL_COMPOSE, 403, "forbidden", "no storage.objects.delete access", GCS_EXISTS, ENTRY, 0},
    {GCS_CALL_DELETE, 403, "forbidden", "no storage.objects.delete access", GCS_DENIED, STOP,
     EXIT_STATUS_RIGHTS},
    {GCS_CALL_INSERT, 403, "forbidden", "no storage.objects.create access", GCS_ERROR, STOP,
     EXIT_STATUS_RIGHTS},
    {GCS_CALL_INSERT, 403, "insufficientPermissions", "Provided scope(s) are not authorized",
     GCS_ERROR, STOP, EXIT_STATUS_RIGHTS},
    {GCS_CALL_INSERT, 403, NULL, "<html>no</html>", GCS_ERROR, STOP, EXIT_STATUS_RIGHTS},
    {GCS_CALL_GET, 403, "forbidden", "no get", GCS_DENIED, STOP, EXIT_STATUS_RIGHTS},
    {GCS_CALL_READ, 403, "forbidden", "no get", GCS_DENIED, STOP, EXIT_STATUS_RIGHTS},
    {GCS_CALL_LIST, 403, "forbidden", "no list", GCS_DENIED, STOP, EXIT_STATUS_RIGHTS},
    {GCS_CALL_BUCKET, 403, "forbidden", "no", GCS_DENIED, STOP, EXIT_STATUS_RIGHTS},
    {GCS_CALL_RIGHTS, 403, "forbidden", "no", GCS_DENIED, STOP, EXIT_STATUS_RIGHTS},
    {GCS_CALL_INSERT, 403, "retentionPolicyNotMet", "x", GCS_REFUSED, ENTRY, 0},
    {GCS_CALL_DELETE, 403, "retentionPolicyNotMet", "x", GCS_REFUSED, ENTRY, 0},
    {GCS_CALL_DELETE, 403, "objectUnderActiveHold", "x", GCS_REFUSED, ENTRY, 0},
    {GCS_CALL_INSERT, 403, "rateLimitExceeded", "x", GCS_ERROR, RETRY, 0},
    {GCS_CALL_INSERT, 403, "userRateLimitExceeded", "x", GCS_ERROR, RETRY, 0},
    {GCS_CALL_INSERT, 403, "quotaExceeded", "x", GCS_ERROR, STOP, EXIT_STATUS_DESTINATION},
    {GCS_CALL_INSERT, 403, "accountDisabled", "x", GCS_ERROR, STOP, EXIT_STATUS_DESTINATION},
    {GCS_CALL_INSERT, 400, "userProjectMissing", "x", GCS_ERROR, STOP, EXIT_STATUS_DESTINATION},
    {GCS_CALL_GET, 400, "required", "Bucket is a requester pays bucket but no user project",
     GCS_ERROR, STOP, EXIT_STATUS_DESTINATION},
    {GCS_CALL_INSERT, 400, "cloudKmsBadKey", "x", GCS_ERROR, STOP, EXIT_STATUS_DESTINATION},
    {GCS_CALL_COMPOSE, 403, "cloudKmsPermissionDenied", "x", GCS_ERROR, STOP,
     EXIT_STATUS_DESTINATION},
    {GCS_CALL_INSERT, 401, "authError", "Invalid Credentials", GCS_ERROR, STOP, EXIT_STATUS_RIGHTS},
    {GCS_CALL_INSERT, 404, "notFound", "The specified bucket does not exist.", GCS_ERROR, STOP,
     EXIT_STATUS_DESTINATION},
    {GCS_CALL_INSERT, 404, NULL, "", GCS_ERROR, STOP, EXIT_STATUS_DESTINATION},
    {GCS_CALL_GET, 404, "notFound", "No such object: b/n", GCS_NOT_FOUND, ENTRY, 0},
    {GCS_CALL_GET, 404, NULL, "<html>", GCS_NOT_FOUND, ENTRY, 0},
    {GCS_CALL_GET, 404, "notFound", "The specified bucket does not exist.", GCS_ERROR, STOP,
     EXIT_STATUS_DESTINATION},
    {GCS_CALL_READ, 404, NULL, "No such object: b/n", GCS_NOT_FOUND, ENTRY, 0},
    {GCS_CALL_COMPOSE, 404, "notFound", "No such object: b/part", GCS_NOT_FOUND, ENTRY, 0},
    {GCS_CALL_DELETE, 404, "notFound", "No such object: b/n", GCS_NOT_FOUND, ENTRY, 0},
    {GCS_CALL_DELETE, 404, NULL, "<Error><Code>NoSuchBucket</Code></Error>", GCS_ERROR, STOP,
     EXIT_STATUS_DESTINATION},
    {GCS_CALL_LIST, 404, "notFound", "x", GCS_ERROR, STOP, EXIT_STATUS_DESTINATION},
    /* Not every server knows the call for rights; a bucket that is missing is another thing. */
    {GCS_CALL_RIGHTS, 404, NULL, "404 page not found", GCS_UNSUPPORTED, RETRY, 0},
    {GCS_CALL_RIGHTS, 404, NULL, "", GCS_UNSUPPORTED, RETRY, 0},
    {GCS_CALL_RIGHTS, 400, "invalid", "x", GCS_UNSUPPORTED, RETRY, 0},
    {GCS_CALL_RIGHTS, 405, NULL, "", GCS_UNSUPPORTED, RETRY, 0},
    {GCS_CALL_RIGHTS, 501, NULL, "", GCS_UNSUPPORTED, RETRY, 0},
    {GCS_CALL_BUCKET, 501, NULL, "", GCS_UNSUPPORTED, RETRY, 0},
    {GCS_CALL_RIGHTS, 503, NULL, "", GCS_ERROR, RETRY, 0},
    {GCS_CALL_RIGHTS, 400, "userProjectMissing", "x", GCS_ERROR, STOP, EXIT_STATUS_DESTINATION},
    {GCS_CALL_RIGHTS, 404, "notFound", "The specified bucket does not exist.", GCS_ERROR, STOP,
     EXIT_STATUS_DESTINATION},
    {GCS_CALL_RIGHTS, 404, NULL, "<Error><Code>NoSuchBucket</Code></Error>", GCS_ERROR, STOP,
     EXIT_STATUS_DESTINATION},
    {GCS_CALL_BUCKET, 404, NULL, "", GCS_ERROR, STOP, EXIT_STATUS_DESTINATION},
    {GCS_CALL_INSERT, 400, "invalid",
     "Provided CRC32C \"AAAAAA==\" doesn't match calculated CRC32C \"BBBBBB==\".", GCS_CHECKSUM,
     ENTRY, 0},
    {GCS_CALL_INSERT, 400, "invalid", "Provided MD5 hash \"x\" doesn't match calculated MD5 hash",
     GCS_CHECKSUM, ENTRY, 0},
    {GCS_CALL_INSERT, 400, NULL, "<?xml?><Error><Code>BadDigest</Code><Message>m</Message></Error>",
     GCS_CHECKSUM, ENTRY, 0},
    {GCS_CALL_INSERT, 400, NULL, "<Error><Code>BadDigest</Code></Error>", GCS_CHECKSUM, ENTRY, 0},
    {GCS_CALL_INSERT, 400, NULL, "<Error><Code>InvalidDigest</Code></Error>", GCS_CHECKSUM, ENTRY,
     0},
    {GCS_CALL_INSERT, 400, "CrcMismatch", "", GCS_CHECKSUM, ENTRY, 0},
    {GCS_CALL_INSERT, 400, "invalid", "Metadata is too large", GCS_REFUSED, ENTRY, 0},
    {GCS_CALL_COMPOSE, 400, "invalid",
     "The number of source components provided (33) exceeds the maximum (32)", GCS_REFUSED, ENTRY,
     0},
    {GCS_CALL_INSERT, 411, NULL, "", GCS_REFUSED, ENTRY, 0},
    {GCS_CALL_INSERT, 413, "uploadTooLarge", "x", GCS_REFUSED, ENTRY, 0},
    {GCS_CALL_LIST, 400, "invalid", "x", GCS_ERROR, STOP, EXIT_STATUS_DESTINATION},
    {GCS_CALL_INSERT, 408, NULL, "", GCS_ERROR, RETRY, 0},
    {GCS_CALL_INSERT, 429, "rateLimitExceeded", "x", GCS_ERROR, RETRY, 0},
    {GCS_CALL_INSERT, 500, NULL, "<html>", GCS_ERROR, RETRY, 0},
    {GCS_CALL_COMPOSE, 503, "backendError", "x", GCS_ERROR, RETRY, 0},
    {GCS_CALL_INSERT, 409, "conflict", "x", GCS_ERROR, RETRY, 0},
    {GCS_CALL_GET, 302, NULL, "", GCS_ERROR, RETRY, 0},
};

static void make_body(const struct answer_case *one, struct text *body)
{
    if (one->reason == NULL) {
        text_add(body, one->message);
        return;
    }
    text_printf(body, "{\"error\":{\"code\":%d,\"message\":", one->status);
    text_add_json(body, one->message, strlen(one->message));
    text_printf(body, ",\"errors\":[{\"domain\":\"global\",\"reason\":\"%s\"}]}}", one->reason);
}

static void test_rows(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        const struct answer_case *one = &cases[i];
        CLEANUP_TEXT struct text body = TEXT_INIT(4096);
        make_body(one, &body);
        struct error err = {0};
        const char *name = one->call >= GCS_CALL_LIST ? NULL : "n";
        enum gcs_answer answer =
            gcs_answer_classify(one->call, "bucket", name, one->status, &body, &err);
        bool is_exit_right = one->kind != STOP || (int)err.exit_status == one->detail;
        if (answer != one->answer || err.kind != one->kind || !is_exit_right) {
            fail_msg("row %zu (%d %s): answer %d kind %d exit %d: %s", i, one->status,
                     one->reason != NULL ? one->reason : "-", (int)answer, (int)err.kind,
                     (int)err.exit_status, err.message);
        }
        assert_true(err.message[0] != '\0');
        if (one->kind == ENTRY) {
            assert_string_equal(err.reason, answer == GCS_EXISTS ? "conflict" : "upload-refused");
        }
    }
}

static void test_messages(void **state)
{
    (void)state;
    struct error err = {0};
    CLEANUP_TEXT struct text body = TEXT_INIT(4096);
    text_add(&body, "{\"error\":{\"message\":\"no \\u001b[31m access\",\"errors\":["
                    "{\"reason\":\"forbidden\"}]}}");
    (void)gcs_answer_classify(GCS_CALL_DELETE, "bucket", "a\nb", 403, &body, &err);
    assert_non_null(strstr(err.message, "storage.objects.delete"));
    assert_non_null(strstr(err.message, "gs://bucket/a"));
    assert_null(strchr(err.message, '\n'));
    assert_null(strchr(err.message, '\x1b'));
}

/* Bodies that are no error resource at all. */
static void test_hostile_bodies(void **state)
{
    (void)state;
    static const char *const bodies[] = {
        "[]",
        "null",
        "{\"error\":7}",
        "{\"error\":{\"errors\":{}}}",
        "{\"error\":\"text\"}",
        "{\"error\":{\"message\":{},\"errors\":[[]]}}",
        "{",
        "<",
        "<Code>",
        "\x01\x02",
        "\"\"",
    };
    for (size_t i = 0; i < ARRAY_LEN(bodies); i++) {
        CLEANUP_TEXT struct text body = TEXT_INIT(4096);
        text_add(&body, bodies[i]);
        struct error err = {0};
        assert_int_equal(gcs_answer_classify(GCS_CALL_INSERT, "b", "n", 412, &body, &err),
                         GCS_EXISTS);
        assert_int_equal(gcs_answer_judge(403, &body), HTTP_FINAL);
    }
    assert_int_equal(gcs_answer_classify(GCS_CALL_GET, "b", "n", 404, NULL, NULL), GCS_NOT_FOUND);
}

static void *refuse(size_t size)
{
    (void)size;
    errno = ENOMEM;
    return NULL;
}

/* What cannot be read for lack of memory is not read as less: without its words this 403 would be
 * one about rights, and stop the run for good. */
static void test_no_memory(void **state)
{
    (void)state;
    CLEANUP_TEXT struct text body = TEXT_INIT(4096);
    text_add(&body, "{\"error\":{\"message\":\"no storage.objects.delete access\",\"errors\":["
                    "{\"reason\":\"forbidden\"}]}}");
    struct error err = {0};
    struct gcs_bucket bucket;
    unsigned rights = 0;
    cJSON_Hooks hooks = {.malloc_fn = refuse, .free_fn = free};
    cJSON_InitHooks(&hooks);
    enum gcs_answer answer = gcs_answer_classify(GCS_CALL_INSERT, "b", "n", 403, &body, &err);
    struct error bucket_err = {0}, rights_err = {0};
    int bucket_read = gcs_bucket_scan("{}", 2, &bucket, &bucket_err);
    int rights_read = gcs_rights_scan("{}", 2, &rights, &rights_err);
    cJSON_InitHooks(NULL);
    assert_int_equal(answer, GCS_ERROR);
    assert_int_equal(err.kind, ERROR_STOP_RUN);
    assert_int_equal(err.exit_status, EXIT_STATUS_TEMPORARY);
    assert_int_equal(bucket_read, -1);
    assert_int_equal(bucket_err.exit_status, EXIT_STATUS_TEMPORARY);
    assert_int_equal(bucket_err.kind, ERROR_STOP_RUN);
    assert_int_equal(rights_read, -1);
    assert_int_equal(rights_err.kind, ERROR_STOP_RUN);
}

static void test_judge(void **state)
{
    (void)state;
    CLEANUP_TEXT struct text body = TEXT_INIT(4096);
    text_add(&body, "{\"error\":{\"errors\":[{\"reason\":\"rateLimitExceeded\"}]}}");
    assert_int_equal(gcs_answer_judge(403, &body), HTTP_RETRY);
    assert_int_equal(gcs_answer_judge(400, &body), HTTP_FINAL);
    text_reset(&body);
    text_add(&body, "{\"error\":{\"errors\":[{\"reason\":\"forbidden\"}]}}");
    assert_int_equal(gcs_answer_judge(403, &body), HTTP_FINAL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_rows),           cmocka_unit_test(test_messages),
        cmocka_unit_test(test_hostile_bodies), cmocka_unit_test(test_judge),
        cmocka_unit_test(test_no_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
