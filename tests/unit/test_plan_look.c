/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Content types by a look at the bytes. */
#include "plan/plan.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

struct look_case {
    const char *bytes;
    size_t len;
    const char *want; /* NULL: nothing can be said */
};

#define CASE(bytes, want)                                                                          \
    {                                                                                              \
        bytes, sizeof(bytes) - 1, want                                                             \
    }

static const struct look_case cases[] = {
    CASE("", NULL),
    CASE("%PDF-1.7\n%\xe2\xe3", "application/pdf"),
    CASE("%PDF", "text/plain"),
    CASE("PK\003\004\024\0\0\0", "application/zip"),
    CASE("\x89PNG\r\n\x1a\n\0", "image/png"),
    CASE("\x89PNG\r\n", NULL),
    CASE("\xff\xd8\xff\xe0", "image/jpeg"),
    CASE("RIFF\1\2\3\4WEBPVP8 ", "image/webp"),
    CASE("RIFF\1\2\3\4WAVEfmt ", "audio/wav"),
    CASE("\0\0\0\x20"
         "ftypisom",
         "video/mp4"),
    CASE("\0\0\0\x14"
         "ftypqt  ",
         "video/quicktime"),
    CASE("\x1f\x8b\010\0", "application/gzip"),
    CASE("\xfd"
         "7zXZ\0\0\4",
         "application/x-xz"),
    CASE("\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1\0\0", "application/x-ole-storage"),
    CASE("\0\1\0\0Standard ACE DB\0", "application/vnd.ms-access"),
    CASE("SQLite format 3\0\020\0", "application/vnd.sqlite3"),
    CASE("{\\rtf1\\ansi", "application/rtf"),
    CASE("<?xml version='1.0'?>", "application/xml"),
    CASE("\xef\xbb\xbf<?xml version='1.0'?>", "application/xml"),
    CASE("\xef\xbb\xbf\r\n<!DOCTYPE html>\n<p>", "text/html"),
    CASE("  <HTML>", "text/html"),
    CASE("hello\r\nworld\t\f\n", "text/plain"),
    CASE("\xef\xbb\xbfhello", "text/plain"),
    CASE("gr\xc3\xbc\xc3\x9f dich", "text/plain"),
    CASE("ends in a character \xe2\x82", NULL),
    CASE("not so \xe2\x82 here", NULL),
    CASE("latin gr\xfc\xdf", NULL),
    CASE("\x80\x80\x80\x80\x80", NULL),
    CASE("\xe2\x82", NULL),
    CASE("nul\0inside", NULL),
    CASE("escape \033[31m", NULL),
    CASE("MZ is how this text begins, and it goes on for more than sixty-four bytes in all",
         "text/plain"),
    CASE("MZ", "text/plain"),
};

static void check(const uint8_t *bytes, size_t len, const char *want)
{
    /* In a block of its own length, so that a sanitizer sees what is read behind it. */
    uint8_t *copy = malloc(len > 0 ? len : 1);
    assert_non_null(copy);
    memcpy(copy, bytes, len);
    const char *found = plan_content_look(copy, len);
    free(copy);
    if ((found == NULL) != (want == NULL) || (found != NULL && strcmp(found, want) != 0)) {
        fail_msg("%.*s: %s, wanted %s", (int)len, (const char *)bytes,
                 found != NULL ? found : "nothing", want != NULL ? want : "nothing");
    }
}

static void test_table(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        check((const uint8_t *)cases[i].bytes, cases[i].len, cases[i].want);
    }
}

/* Every beginning of every case: nothing is read behind the end. */
static void test_cut(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        for (size_t len = 0; len < cases[i].len; len++) {
            uint8_t *copy = malloc(len > 0 ? len : 1);
            assert_non_null(copy);
            memcpy(copy, cases[i].bytes, len);
            (void)plan_content_look(copy, len); /* for the sanitizer */
            free(copy);
        }
    }
}

static void test_programs(void **state)
{
    (void)state;
    static const char program[] = "application/vnd.microsoft.portable-executable";
    uint8_t bytes[512] = {'M', 'Z', 0x90};
    check(bytes, sizeof(bytes), NULL);
    memcpy(bytes + 0x80, "PE\0\0", 4);
    bytes[60] = 0x80;
    check(bytes, sizeof(bytes), program);
    check(bytes, 0x84, program);
    check(bytes, 0x83, NULL);
    static const uint32_t wild[] = {0, 508, 509, 0x1000, 0x7fffffff, 0xfffffffc, 0xffffffff};
    for (size_t i = 0; i < ARRAY_LEN(wild); i++) {
        memcpy(bytes + 60, &wild[i], sizeof(wild[i]));
        check(bytes, sizeof(bytes), NULL);
    }
}

static void test_cut_in_a_character(void **state)
{
    (void)state;
    static const struct {
        const char *end;
        const char *want;
    } ends[] = {
        {"\xc3", "text/plain"},
        {"\xe2\x82", "text/plain"},
        {"\xf0\x9f\x98", "text/plain"},
        {"\xe2\x82\xac", "text/plain"},
        {"\xfc\xdf", NULL},
        {"\x80\x80\x80\x80\x80", NULL},
        {"\xc3"
         "x",
         NULL},
    };
    for (size_t i = 0; i < ARRAY_LEN(ends); i++) {
        uint8_t bytes[PLAN_LOOK_BYTES];
        size_t len = strlen(ends[i].end);
        memset(bytes, 'a', sizeof(bytes));
        memcpy(bytes + sizeof(bytes) - len, ends[i].end, len);
        check(bytes, sizeof(bytes), ends[i].want);
    }
}

static void test_tar(void **state)
{
    (void)state;
    uint8_t bytes[512] = {'n', 'a', 'm', 'e'};
    memcpy(bytes + 257, "ustar", 5);
    check(bytes, sizeof(bytes), "application/x-tar");
    check(bytes, 262, "application/x-tar");
    check(bytes, 261, NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_table),    cmocka_unit_test(test_cut),
        cmocka_unit_test(test_programs), cmocka_unit_test(test_cut_in_a_character),
        cmocka_unit_test(test_tar),
    };
    return cmocka_run_group_tests_name("a look at the content", tests, NULL, NULL);
}
