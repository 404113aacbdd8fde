/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Times and the other facts of a manifest line. The times were computed by Python's datetime, those
 * behind the year 9999 by whole cycles of 400 years. */
#include "catalog_fixture.h"

#include "run/manifest.h"

/* The members of one entry, which goes through a catalog first. */
static void facts_of(const struct made *made, struct text *line)
{
    struct error err = {0};
    CLEANUP_VIEW struct catalog_view view = {0};
    struct catalog *catalog = made_catalog();
    made_add(catalog, made);
    made_finish(catalog, 100);
    struct run_volume *volume = calloc(1, sizeof(*volume));
    assert_non_null(volume);
    volume->catalog = catalog;
    assert_int_equal(catalog_get(catalog, 0, &view, &err), 0);
    text_reset(line);
    manifest_add_facts(volume, &view, line);
    assert_false(line->failed);
    free(volume);
    catalog_view_clear(&view);
    catalog_free(catalog);
}

static void test_times(void **state)
{
    (void)state;
    static const struct {
        uint64_t ticks;
        const char *text;
    } cases[] = {
        {0ULL, "1601-01-01T00:00:00.0000000Z"},
        {1ULL, "1601-01-01T00:00:00.0000001Z"},
        {315359999999999ULL, "1601-12-31T23:59:59.9999999Z"},
        {997488000000000ULL, "1604-02-29T12:00:00.0000000Z"},
        {31292351999999999ULL, "1700-02-28T23:59:59.9999999Z"},
        {31292352000000000ULL, "1700-03-01T00:00:00.0000000Z"},
        {116444735999999999ULL, "1969-12-31T23:59:59.9999999Z"},
        {116444736000000000ULL, "1970-01-01T00:00:00.0000000Z"},
        {125911583990000000ULL, "1999-12-31T23:59:59.0000000Z"},
        {125962560000000000ULL, "2000-02-29T00:00:00.0000000Z"},
        {125963424000000000ULL, "2000-03-01T00:00:00.0000000Z"},
        {126226944000000005ULL, "2000-12-31T00:00:00.0000005Z"},
        {126227808000000000ULL, "2001-01-01T00:00:00.0000000Z"},
        {133536604281234567ULL, "2024-02-29T06:07:08.1234567Z"},
        {134404631321234567ULL, "2026-11-29T21:58:52.1234567Z"},
        {137919572480000000ULL, "2038-01-19T03:14:08.0000000Z"},
        {157520159990000000ULL, "2100-02-28T23:59:59.0000000Z"},
        {157520160000000000ULL, "2100-03-01T00:00:00.0000000Z"},
        {252190368000000000ULL, "2400-02-29T00:00:00.0000000Z"},
        {2650467743999999999ULL, "9999-12-31T23:59:59.9999999Z"},
        {2650467744000000000ULL, "10000-01-01T00:00:00.0000000Z"},
        {9223372036854775807ULL, "30828-09-14T02:48:05.4775807Z"},
        {18446666976000000000ULL, "60056-02-29T00:00:00.0000000Z"},
        {18446744073709551615ULL, "60056-05-28T05:36:10.9551615Z"},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        CLEANUP_TEXT struct text line = TEXT_INIT(4096);
        CLEANUP_TEXT struct text wanted = TEXT_INIT(4096);
        struct made made;
        made_start(&made, 30, 1);
        made.entry.modified = cases[i].ticks;
        made.entry.created = 116444736000000000ULL;
        made.entry.changed = cases[i].ticks;
        made.entry.accessed = cases[i].ticks;
        facts_of(&made, &line);
        text_printf(&wanted,
                    ",\"mtime\":\"%s\",\"created\":\"1970-01-01T00:00:00.0000000Z\","
                    "\"changed\":\"%s\",\"atime\":\"%s\",\"attributes\":0",
                    cases[i].text, cases[i].text, cases[i].text);
        assert_string_equal(text_str(&line), text_str(&wanted));
    }
}

static void test_all_facts(void **state)
{
    (void)state;
    static const uint8_t reparse[] = {0x0c, 0x00, 0x00, 0xa0, 0xff};
    static const uint8_t object_id[16] = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 0xff};
    struct made made;
    CLEANUP_TEXT struct text line = TEXT_INIT(4096);
    made_start(&made, 30, 1);
    made_name(&made, ROOT, "a long name", SPACE_WIN32);
    made_name(&made, ROOT, "A\"LONG~1", SPACE_DOS);
    made.entry.has_standard = false;
    made.entry.case_sensitive = true;
    made.entry.reparse_tag = 0xa000000c;
    made.entry.reparse = reparse;
    made.entry.reparse_len = sizeof(reparse);
    made.entry.object_id = object_id;
    made.entry.ea = reparse;
    made.entry.ea_len = 1;
    made.entry.security = reparse;
    made.entry.security_len = 2;
    made.entry.efs = reparse;
    made.entry.efs_len = 3;
    facts_of(&made, &line);
    assert_string_equal(text_str(&line), ",\"case_sensitive\":true,\"short_name\":\"A\\\"LONG~1\","
                                         "\"reparse_tag\":\"0xa000000c\",\"reparse\":\"DAAAoP8=\","
                                         "\"object_id\":\"000102030405060708090a0b0c0d0eff\","
                                         "\"ea\":\"DA==\",\"security\":\"DAA=\",\"efs\":\"DAAA\"");
}

static void test_standard_information(void **state)
{
    (void)state;
    struct made made;
    CLEANUP_TEXT struct text line = TEXT_INIT(4096);
    made_start(&made, 30, 1);
    made.entry.file_attributes = 0xffffffff;
    made.entry.security_id = 0xfffffffe;
    made.entry.owner_id = 7;
    made.entry.usn = UINT64_MAX;
    facts_of(&made, &line);
    const char *tail = strstr(text_str(&line), ",\"attributes\"");
    assert_non_null(tail);
    assert_string_equal(tail, ",\"attributes\":4294967295,\"sd\":\"4294967294\","
                              "\"owner_id\":\"7\",\"usn\":\"18446744073709551615\"");
}

/* A name that serves as long and short one is no 8.3 name of its own. */
static void test_short_names(void **state)
{
    (void)state;
    static const struct {
        const char *name;
        uint8_t space;
        const char *twin; /* or NULL */
        const char *wanted;
    } cases[] = {
        {"both.txt", SPACE_BOTH, NULL, ""},
        {"posix", SPACE_POSIX, NULL, ""},
        {"long name", SPACE_WIN32, "LONGNA~1", ",\"short_name\":\"LONGNA~1\""},
        {"\xc3\xa4 long name", SPACE_WIN32, "\xc3\x84LONG~1", ",\"short_name\":\"\xc3\x84LONG~1\""},
        {"ALONE", SPACE_DOS, NULL, ",\"short_name\":\"ALONE\""},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        CLEANUP_TEXT struct text line = TEXT_INIT(4096);
        struct made made;
        made_start(&made, 30, 1);
        made.entry.has_standard = false;
        made_name(&made, ROOT, cases[i].name, cases[i].space);
        if (cases[i].twin != NULL) {
            made_name(&made, ROOT, cases[i].twin, SPACE_DOS);
        }
        facts_of(&made, &line);
        assert_string_equal(text_str(&line), cases[i].wanted);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_times),
        cmocka_unit_test(test_all_facts),
        cmocka_unit_test(test_standard_information),
        cmocka_unit_test(test_short_names),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
