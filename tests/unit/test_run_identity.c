/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Run ids, the JSON of an identity and its reading back, which run may be continued. */
#include "run_fixture.h"

#include "run/identity.h"

static struct identity plain_identity(void)
{
    struct identity identity = {.begun_utc_ns = 1796000000ULL * 1000000000ULL};
    SET_TEXT(identity.run, "20261129T220312Z-7f3a9c01");
    SET_TEXT(identity.destination, "gs://bucket/prefix");
    (void)memset(identity.fingerprint, 'a', 64);
    (void)memset(identity.options, '0', 64);
    SET_TEXT(identity.serials, "0123456789abcdef,fedcba9876543210");
    return identity;
}

static void test_legal_run_ids(void **state)
{
    (void)state;
    static const struct {
        const char *run;
        bool legal;
    } cases[] = {
        {"20261129T220312Z-7f3a9c01", true},
        {"00000000T000000Z-00000000", true},
        {"99999999T999999Z-ffffffff", true},
        {"", false},
        {".", false},
        {"..", false},
        {"../../../../../../etc/abc", false},
        {"20261129T220312Z-7f3a9c0", false},
        {"20261129T220312Z-7f3a9c012", false},
        {"20261129T220312Z-7F3A9C01", false},
        {"20261129T220312Z-7f3a9c0g", false},
        {"20261129t220312z-7f3a9c01", false},
        {"20261129T220312Z/7f3a9c01", false},
        {"20261129T220312Z_7f3a9c01", false},
        {"2026112aT220312Z-7f3a9c01", false},
        {" 0261129T220312Z-7f3a9c01", false},
        {"20261129T220312Z-7f3a9c01\n", false},
        {"20261129T220312Z-7f3a9c0\n", false},
        {"20261129T220312Z-7f3a9c\xc3\xa9", false},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        if (identity_run_is_legal(cases[i].run) != cases[i].legal) {
            fail_msg("%s", cases[i].run);
        }
    }
}

static void test_new_runs_are_legal_and_differ(void **state)
{
    (void)state;
    struct identity one = {0};
    struct identity two = {0};
    uint64_t before = clock_utc_ns();
    identity_new_run(&one);
    identity_new_run(&two);
    assert_true(identity_run_is_legal(one.run));
    assert_true(identity_run_is_legal(two.run));
    assert_string_not_equal(one.run, two.run);
    assert_true(one.begun_utc_ns >= before && one.begun_utc_ns <= clock_utc_ns());
    char stamp[32];
    clock_format_compact(one.begun_utc_ns, stamp);
    assert_memory_equal(one.run, stamp, 16);
}

static void assert_same(const struct identity *a, const struct identity *b)
{
    assert_string_equal(a->run, b->run);
    assert_string_equal(a->destination, b->destination);
    assert_string_equal(a->fingerprint, b->fingerprint);
    assert_string_equal(a->options, b->options);
    assert_string_equal(a->serials, b->serials);
}

static void test_round_trip(void **state)
{
    (void)state;
    static const char *const destinations[] = {
        "gs://bucket",
        "gs://bucket/a/b/c",
        "gs://b/\"quoted\" \\ back",
        "gs://b/tab\tline\n\r",
        "gs://b/\x01\x1f\x7f",
        "gs://b/\xc3\xa4\xe2\x82\xac",
        "gs://b/\xf0\x9f\x98\x80",
        "gs://b/\xe2\x80\xae-bidi",
        "",
    };
    for (size_t i = 0; i < ARRAY_LEN(destinations); i++) {
        CLEANUP_TEXT struct text json = TEXT_INIT(65536);
        struct identity identity = plain_identity();
        struct identity back;
        (void)snprintf(identity.destination, sizeof(identity.destination), "%s", destinations[i]);
        identity_write(&identity, &json);
        assert_false(json.failed);
        assert_null(memchr(json.data, '\n', json.len)); /* it is a line of a segment, too */
        assert_int_equal(identity_read(json.data, json.len, &back, NULL), 0);
        assert_same(&identity, &back);
        /* The begin is that of the run id: 2026-11-29T22:03:12Z. */
        assert_true(back.begun_utc_ns == 1795989792ULL * 1000000000ULL);
        assert_int_equal(identity_compare(&identity, &back), IDENTITY_SAME);
    }
}

static void test_written_form(void **state)
{
    (void)state;
    CLEANUP_TEXT struct text json = TEXT_INIT(65536);
    struct identity identity = plain_identity();
    SET_TEXT(identity.fingerprint, "f0");
    SET_TEXT(identity.options, "0b");
    identity_write(&identity, &json);
    assert_string_equal(text_str(&json),
                        "{\"schema\":\"winch-manifest/1\",\"run\":\"20261129T220312Z-7f3a9c01\","
                        "\"destination\":\"gs://bucket/prefix\",\"fingerprint\":\"f0\","
                        "\"options\":\"0b\",\"serials\":\"0123456789abcdef,fedcba9876543210\","
                        "\"begun\":\"2026-11-30T00:53:20Z\"}");
}

static void test_longest_fields(void **state)
{
    (void)state;
    struct identity identity = plain_identity();
    struct identity back;
    CLEANUP_TEXT struct text json = TEXT_INIT(65536);
    (void)memset(identity.destination, 'd', sizeof(identity.destination) - 1);
    identity.destination[sizeof(identity.destination) - 1] = '\0';
    (void)memset(identity.serials, 'e', sizeof(identity.serials) - 1);
    identity.serials[sizeof(identity.serials) - 1] = '\0';
    identity_write(&identity, &json);
    assert_int_equal(identity_read(json.data, json.len, &back, NULL), 0);
    assert_same(&identity, &back);
}

#define RUN "\"run\":\"20261129T220312Z-7f3a9c01\""
#define SCHEMA "\"schema\":\"winch-manifest/1\""
#define REST                                                                                       \
    "\"destination\":\"gs://b\",\"fingerprint\":\"f0\",\"options\":\"0e\",\"serials\":\"5,a\""

static void test_hostile_json(void **state)
{
    (void)state;
    static const struct {
        const char *json;
        int result;
    } cases[] = {
        {"{" SCHEMA "," RUN "," REST "}", 0},
        {"{" REST "," RUN "," SCHEMA ",\"more\":[{},1]}", 0},
        {"", -1},
        {"null", -1},
        {"[]", -1},
        {"[{" SCHEMA "," RUN "," REST "}]", -1},
        {"\"run\"", -1},
        {"{}", -1},
        {"{" SCHEMA "," RUN "}", -1},
        {"{" SCHEMA "," REST "}", -1},
        {"{" RUN "," REST "}", -1},
        {"{\"schema\":\"winch-manifest/2\"," RUN "," REST "}", -1},
        {"{\"schema\":1," RUN "," REST "}", -1},
        {"{" SCHEMA ",\"RUN\":\"20261129T220312Z-7f3a9c01\"," REST "}", -1},
        {"{" SCHEMA ",\"run\":\"../../../../../../etc/abc\"," REST "}", -1},
        {"{" SCHEMA ",\"run\":\"\"," REST "}", -1},
        {"{" SCHEMA ",\"run\":20261129," REST "}", -1},
        {"{" SCHEMA ",\"run\":null," REST "}", -1},
        {"{" SCHEMA ",\"run\":[\"20261129T220312Z-7f3a9c01\"]," REST "}", -1},
        {"{" SCHEMA ",\"run\":\"20261129T220312Z-7f3a9c01\\u0000x\"," REST "x", -1},
        {"{" SCHEMA ",\"run\":\"\xff\xfe\"," REST "}", -1},
        {"{" SCHEMA "," RUN
         ",\"destination\":\"gs://b\xff\",\"fingerprint\":\"f\",\"options\":\"0\","
         "\"serials\":\"5\"}",
         -1},
        /* What would end the string that it is written into. */
        {"{" SCHEMA "," RUN
         ",\"destination\":\"gs://b\",\"fingerprint\":\"f\\\"\",\"options\":\"0\","
         "\"serials\":\"5\"}",
         -1},
        {"{" SCHEMA "," RUN ",\"destination\":\"gs://b\",\"fingerprint\":\"f\",\"options\":\"0,\","
         "\"serials\":\"5\"}",
         -1},
        {"{" SCHEMA "," RUN ",\"destination\":\"gs://b\",\"fingerprint\":\"f\",\"options\":\"0\","
         "\"serials\":\"5\\n\"}",
         -1},
        {"{" SCHEMA "," RUN ",\"destination\":{},\"fingerprint\":\"f\",\"options\":\"o\","
         "\"serials\":\"s\"}",
         -1},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct identity identity;
        (void)memset(&identity, 0x5a, sizeof(identity));
        int result = identity_read(cases[i].json, strlen(cases[i].json), &identity, NULL);
        if (result != cases[i].result) {
            fail_msg("%s: %d", cases[i].json, result);
        }
        if (result != 0) {
            assert_int_equal(identity.run[0], 0x5a); /* untouched */
        }
    }
}

/* A string of one more byte than there is room for, in each field. */
static void test_too_long(void **state)
{
    (void)state;
    static const struct {
        const char *key;
        size_t size;
    } fields[] = {
        {"run", RUN_ID_MAX},
        {"destination", sizeof(((struct identity *)0)->destination)},
        {"fingerprint", sizeof(((struct identity *)0)->fingerprint)},
        {"options", sizeof(((struct identity *)0)->options)},
        {"serials", sizeof(((struct identity *)0)->serials)},
    };
    for (size_t i = 0; i < ARRAY_LEN(fields); i++) {
        CLEANUP_TEXT struct text json = TEXT_INIT(1 << 20);
        struct identity identity;
        text_printf(&json, "{" SCHEMA ",\"%s\":\"", fields[i].key);
        for (size_t n = 0; n < fields[i].size; n++) {
            text_add_char(&json, 'a');
        }
        text_add(&json, "\"," RUN "," REST "}"); /* of equal keys the first counts */
        assert_int_equal(identity_read(json.data, json.len, &identity, NULL), -1);
    }
}

static void test_cut_and_deep(void **state)
{
    (void)state;
    CLEANUP_TEXT struct text json = TEXT_INIT(1 << 20);
    struct identity identity = plain_identity();
    struct identity back;
    identity_write(&identity, &json);
    for (size_t len = 0; len < json.len; len++) {
        char *exact = malloc(len + 1); /* so that a read behind its end is seen */
        assert_non_null(exact);
        (void)memcpy(exact, json.data, len);
        assert_int_equal(identity_read(exact, len, &back, NULL), -1);
        free(exact);
    }
    text_reset(&json);
    for (size_t i = 0; i < 200000; i++) {
        text_add(&json, i % 2 == 0 ? "{\"run\":" : "[");
    }
    assert_int_equal(identity_read(json.data, json.len, &back, NULL), -1);
}

static void test_compare(void **state)
{
    (void)state;
    static const struct {
        const char *destination, *fingerprint, *options, *serials;
        enum identity_relation relation;
    } cases[] = {
        {"gs://b/p", "f", "o", "s", IDENTITY_SAME},
        {"gs://b/p", "f", "x", "s", IDENTITY_OTHER},
        {"gs://b/p", "x", "o", "s", IDENTITY_SUPERSEDED},
        {"gs://b/p", "x", "x", "s", IDENTITY_SUPERSEDED},
        {"gs://b/q", "f", "o", "s", IDENTITY_OTHER},
        {"gs://b/", "f", "o", "s", IDENTITY_OTHER},
        {"gs://b/q", "x", "o", "s", IDENTITY_OTHER},
        {"gs://b/p", "f", "o", "x", IDENTITY_OTHER},
        {"gs://b/p", "x", "o", "s,s", IDENTITY_OTHER},
    };
    struct identity mine = {
        .destination = "gs://b/p", .fingerprint = "f", .options = "o", .serials = "s"};
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct identity other = {.run = "20261129T220312Z-7f3a9c01"};
        SET_TEXT(other.destination, cases[i].destination);
        SET_TEXT(other.fingerprint, cases[i].fingerprint);
        SET_TEXT(other.options, cases[i].options);
        SET_TEXT(other.serials, cases[i].serials);
        assert_int_equal(identity_compare(&mine, &other), cases[i].relation);
        assert_int_equal(identity_compare(&other, &mine), cases[i].relation);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_legal_run_ids),  cmocka_unit_test(test_new_runs_are_legal_and_differ),
        cmocka_unit_test(test_round_trip),     cmocka_unit_test(test_written_form),
        cmocka_unit_test(test_longest_fields), cmocka_unit_test(test_hostile_json),
        cmocka_unit_test(test_too_long),       cmocka_unit_test(test_cut_and_deep),
        cmocka_unit_test(test_compare),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
