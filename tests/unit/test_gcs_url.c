/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Where the API is, bucket URLs, and object names. */
#include "gcs/gcs.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <string.h>

static void test_url_parse(void **state)
{
    (void)state;
    static const struct {
        const char *url;
        const char *bucket; /* NULL: refused */
        const char *prefix;
    } cases[] = {
        {"gs://abc", "abc", ""},
        {"gs://abc/", "abc", ""},
        {"gs://abc//", "abc", ""},
        {"gs://abc/a", "abc", "a"},
        {"gs://abc//a/b//", "abc", "a/b"},
        {"gs://a-b_c.d9/x y", "a-b_c.d9", "x y"},
        {"gs://abc/\xc3\xa4", "abc", "\xc3\xa4"},
        {"gs://ab", NULL, NULL},
        {"gs://", NULL, NULL},
        {"gs:///x", NULL, NULL},
        {"gs://Abc", NULL, NULL},
        {"gs://-abc", NULL, NULL},
        {"gs://abc.", NULL, NULL},
        {"gs://a b", NULL, NULL},
        {"gs://abc/\xff", NULL, NULL},
        {"gs://abc/a\nb", NULL, NULL},
        {"gs://abc/..", NULL, NULL},
        {"s3://abc", NULL, NULL},
        {"abc", NULL, NULL},
        {"", NULL, NULL},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct gcs_url url;
        struct error err = {0};
        int status = gcs_url_parse(cases[i].url, &url, &err);
        if ((status == 0) != (cases[i].bucket != NULL)) {
            fail_msg("%s: %d %s", cases[i].url, status, err.message);
        }
        if (status == 0) {
            assert_string_equal(url.bucket, cases[i].bucket);
            assert_string_equal(url.prefix, cases[i].prefix);
        } else {
            assert_int_equal(err.exit_status, EXIT_STATUS_USAGE);
            assert_true(err.message[0] != '\0');
        }
    }
}

static void test_url_limits(void **state)
{
    (void)state;
    char url[2000];
    struct gcs_url parsed;
    struct error err = {0};
    (void)snprintf(url, sizeof(url), "gs://%0222d", 1);
    assert_int_equal(gcs_url_parse(url, &parsed, &err), 0);
    (void)snprintf(url, sizeof(url), "gs://%0223d", 1);
    assert_int_equal(gcs_url_parse(url, &parsed, &err), -1);
    (void)snprintf(url, sizeof(url), "gs://abc/%01024d", 1);
    assert_int_equal(gcs_url_parse(url, &parsed, &err), 0);
    (void)snprintf(url, sizeof(url), "gs://abc/%01025d", 1);
    assert_int_equal(gcs_url_parse(url, &parsed, &err), -1);
}

static void test_names(void **state)
{
    (void)state;
    static const struct {
        const char *name;
        bool legal;
    } cases[] = {
        {"a", true},
        {"", false},
        {".", false},
        {"..", false},
        {"...", true},
        {"a/../b", true},
        {"a\rb", false},
        {"a\nb", false},
        {"a\tb", true},
        {".well-known/acme-challenge/", false},
        {".well-known/acme-challenge/x", false},
        {".well-known/acme-challenges", true},
        {".well-known/", true},
        {"\xed\xa0\x80", false},
        {"\xc0\xaf", false},
        {"\xf0\x9f\x98\x80", true},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        if (gcs_name_is_legal(cases[i].name, strlen(cases[i].name)) != cases[i].legal) {
            fail_msg("\"%s\"", cases[i].name);
        }
    }
    char longest[GCS_NAME_MAX + 1];
    memset(longest, 'x', sizeof(longest));
    assert_true(gcs_name_is_legal(longest, GCS_NAME_MAX));
    assert_false(gcs_name_is_legal(longest, GCS_NAME_MAX + 1));
}

static void test_endpoint(void **state)
{
    (void)state;
    static const struct {
        const char *emulator;
        const char *override;
        const char *url; /* NULL: refused */
        bool is_emulator;
    } cases[] = {
        {NULL, NULL, "https://storage.googleapis.com", false},
        {"", "", "https://storage.googleapis.com", false},
        {"localhost:9023", NULL, "http://localhost:9023", true},
        {"http://127.0.0.1:1/", NULL, "http://127.0.0.1:1", true},
        {"https://fake.example/x/y", NULL, "https://fake.example", true},
        {"localhost:1", "https://other", "http://localhost:1", true},
        {NULL, "https://storage.example:8443/storage/v1/", "https://storage.example:8443", false},
        {NULL, "http://localhost:80/", "http://localhost:80", false},
        {NULL, "http://127.0.0.1:80", "http://127.0.0.1:80", false},
        {NULL, "http://[::1]:80", "http://[::1]:80", false},
        {NULL, "http://storage.example", NULL, false},
        {NULL, "http://127.0.0.1.example.com", NULL, false},
        {NULL, "http://localhost.example.com", NULL, false},
        {NULL, "storage.example", NULL, false},
        {NULL, "https://user@host", NULL, false},
        {NULL, "https://", NULL, false},
        {"http://:80", NULL, NULL, false},
        {"ftp://host", NULL, NULL, false},
        {"a b", NULL, NULL, false},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        (void)unsetenv("STORAGE_EMULATOR_HOST");
        (void)unsetenv("CLOUDSDK_API_ENDPOINT_OVERRIDES_STORAGE");
        if (cases[i].emulator != NULL) {
            (void)setenv("STORAGE_EMULATOR_HOST", cases[i].emulator, 1);
        }
        if (cases[i].override != NULL) {
            (void)setenv("CLOUDSDK_API_ENDPOINT_OVERRIDES_STORAGE", cases[i].override, 1);
        }
        struct gcs_endpoint endpoint;
        struct error err = {0};
        int status = gcs_endpoint_from_environment(&endpoint, &err);
        if ((status == 0) != (cases[i].url != NULL)) {
            fail_msg("case %zu: %d %s", i, status, err.message);
        }
        if (status == 0) {
            assert_string_equal(endpoint.url, cases[i].url);
            assert_int_equal(endpoint.is_emulator, cases[i].is_emulator);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_url_parse),
        cmocka_unit_test(test_url_limits),
        cmocka_unit_test(test_names),
        cmocka_unit_test(test_endpoint),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
