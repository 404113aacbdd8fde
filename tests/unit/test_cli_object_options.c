/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What may be said of all objects: keys, Cache-Control, custom metadata. */
#include "cli/object_options.h"
#include "gcs/gcs.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

/* `want` stands in the one mistake; NULL: none. */
static void check(struct option_mistakes *mistakes, const char *value, const char *want)
{
    if (mistakes->count != (want != NULL ? 1 : 0) ||
        (want != NULL && strstr(text_str(&mistakes->text), want) == NULL)) {
        fail_msg("\"%s\": %s", value, text_str(&mistakes->text));
    }
    option_mistakes_clear(mistakes);
}

static void test_keys(void **state)
{
    (void)state;
    static const struct {
        const char *key;
        const char *mistake;
    } cases[] = {
        {NULL, NULL},
        {"projects/p/locations/eu/keyRings/r/cryptoKeys/k", NULL},
        {"projects/example.com:p-1/locations/eu/keyRings/r_2/cryptoKeys/k", NULL},
        {"projects/p/locations/eu/keyRings/r/cryptoKeys/k/cryptoKeyVersions/3", "without its ver"},
        {"projects/p/locations/eu/keyRings/r/cryptoKeys/", "is not the name"},
        {"projects/p/locations/eu/keyRings/r/cryptoKeys/k/", "is not the name"},
        {"projects//locations/eu/keyRings/r/cryptoKeys/k", "is not the name"},
        {"projects/p/locations/eu/keyRings/r/cryptoKeys/k k", "is not the name"},
        {"projects/p/locations/eu/keyRings/r/cryptoKeys/k&x=1", "is not the name"},
        {"k", "is not the name"},
        {"", "is not the name"},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct option_mistakes mistakes = OPTION_MISTAKES_INIT;
        object_options_check_key(cases[i].key, &mistakes);
        check(&mistakes, cases[i].key, cases[i].mistake);
    }
    char longest[GCS_KMS_KEY_MAX + 2];
    memset(longest, 'k', sizeof(longest));
    memcpy(longest, cases[1].key, strlen(cases[1].key));
    longest[GCS_KMS_KEY_MAX] = '\0';
    assert_true(gcs_kms_key_is_legal(longest));
    longest[GCS_KMS_KEY_MAX] = 'k';
    longest[GCS_KMS_KEY_MAX + 1] = '\0';
    assert_false(gcs_kms_key_is_legal(longest));
}

static void test_cache_control(void **state)
{
    (void)state;
    static const struct {
        const char *value;
        const char *mistake;
    } cases[] = {
        {NULL, NULL},
        {"no-store", NULL},
        {"private, max-age=3600", NULL},
        {"a\r\nX-Other: b", "printable ASCII"},
        {"caf\xC3\xA9", "printable ASCII"},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct option_mistakes mistakes = OPTION_MISTAKES_INIT;
        object_options_check_cache_control(cases[i].value, &mistakes);
        check(&mistakes, cases[i].value, cases[i].mistake);
    }
    char longest[514];
    memset(longest, 'a', sizeof(longest));
    longest[513] = '\0';
    struct option_mistakes mistakes = OPTION_MISTAKES_INIT;
    object_options_check_cache_control(longest + 1, &mistakes);
    check(&mistakes, longest + 1, NULL);
    mistakes = OPTION_MISTAKES_INIT;
    object_options_check_cache_control(longest, &mistakes);
    check(&mistakes, longest, "has 513 bytes; at most 512");
}

static void read_metadata(const char *const *items, struct text *json,
                          struct option_mistakes *mistakes)
{
    struct option_list list = {0};
    for (size_t i = 0; items[i] != NULL; i++) {
        assert_int_equal(option_list_add(&list, items[i], strlen(items[i])), 0);
    }
    object_options_read_metadata(&list, json, mistakes);
    option_list_clear(&list);
}

static void test_metadata(void **state)
{
    (void)state;
    static const struct {
        const char *items[3];
        const char *json;
        const char *mistake;
    } cases[] = {
        {{NULL}, "", NULL},
        {{"a=1", "B-c.d_e=x=y"}, "\"a\":\"1\",\"B-c.d_e\":\"x=y\",", NULL},
        {{"a=", "aa="}, "\"a\":\"\",\"aa\":\"\",", NULL},
        {{"q=say \"hi\" \\ \xC3\xA9"}, "\"q\":\"say \\\"hi\\\" \\\\ \xC3\xA9\",", NULL},
        {{"a"}, "", "write KEY=VALUE"},
        {{"=1"}, "", "a key has only"},
        {{"a b=1"}, "", "a key has only"},
        {{"caf\xC3\xA9=1"}, "", "a key has only"},
        {{"goog-reserved-file-mtime=1"}, "", "are taken"},
        {{"Winch-Run=1"}, "", "are taken"},
        {{"a=1", "A=2"}, "\"a\":\"1\",", "given twice"},
        {{"a=x\ny"}, "", "without control characters"},
        {{"a=\xff"}, "", "without control characters"},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct option_mistakes mistakes = OPTION_MISTAKES_INIT;
        CLEANUP_TEXT struct text json = TEXT_INIT(1000);
        read_metadata(cases[i].items, &json, &mistakes);
        assert_string_equal(text_str(&json), cases[i].json);
        check(&mistakes, cases[i].items[0], cases[i].mistake);
    }
}

static void test_metadata_limit(void **state)
{
    (void)state;
    enum { MOST = GCS_METADATA_MAX - 256 };
    char *item = malloc(MOST + 3);
    assert_non_null(item);
    memset(item, 'v', MOST + 2);
    item[1] = '=';
    for (size_t extra = 0; extra < 2; extra++) {
        struct option_mistakes mistakes = OPTION_MISTAKES_INIT;
        CLEANUP_TEXT struct text json = TEXT_INIT(1 << 20);
        item[MOST + 1 + extra] = '\0';
        const char *items[] = {item, NULL};
        read_metadata(items, &json, &mistakes);
        check(&mistakes, "a long one", extra == 0 ? NULL : "have 7937 bytes; 7936 fit");
        item[MOST + 1] = 'v';
    }
    free(item);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_keys),
        cmocka_unit_test(test_cache_control),
        cmocka_unit_test(test_metadata),
        cmocka_unit_test(test_metadata_limit),
    };
    return cmocka_run_group_tests_name("options about objects", tests, NULL, NULL);
}
