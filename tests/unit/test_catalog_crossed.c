/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Who is cross-linked, with whom, and what is said of it: from records to the catalog's view. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "claims_fixture.h"
#include "catalog/catalog_internal.h"

#define DATA ATTRIBUTE_DATA
#define TAIL                                                                                       \
    ", so that it may hold what belongs to somebody else: run chkdsk on the source and take a "    \
    "new "                                                                                         \
    "snapshot (of a running system an application-consistent one)"

static const struct claims_case cases[] = {
    {.name = "healthy", .attributes = {{24, DATA, NULL, {{100, 5}}, 0}}, .expected = ""},
    {.name = "two files",
     .attributes = {{24, DATA, NULL, {{100, 5}}, 0}, {25, DATA, "s", {{104, 5}}, 0}},
     .expected = "24: cluster 104 of its data is claimed by record 25 too\n"
                 "25:s: cluster 104 of its data is claimed by record 24 too\n"},
    {.name = "three files",
     .attributes = {{24, DATA, NULL, {{100, 5}}, 0},
                    {25, DATA, NULL, {{104, 5}}, 0},
                    {26, DATA, NULL, {{104, 2}}, 0}},
     .expected = "24: cluster 104 of its data is claimed by record 25 too\n"
                 "25: cluster 104 of its data is claimed by record 24 too\n"
                 "26: cluster 104 of its data is claimed by record 24 too\n"},
    {.name = "two streams of one file, and a clean one",
     .attributes = {{24, DATA, NULL, {{100, 5}}, 0},
                    {24, DATA, "s", {{104, 5}}, 0},
                    {24, DATA, "t", {{300, 5}}, 0}},
     .expected = "24: cluster 104 of its data is claimed by another attribute of the same file "
                 "too\n24:s: cluster 104 of its data is claimed by another attribute of the same "
                 "file too\n"},
    {.name = "within itself",
     .attributes = {{24, DATA, NULL, {{100, 5}, {102, 1}, {103, 2}}, 0},
                    {25, DATA, NULL, {{104, 1}}, 0}},
     .expected = "24: cluster 102 of its data stands there twice\n"
                 "25: cluster 104 of its data is claimed by record 24 too\n"},
    {.name = "free",
     .attributes = {{24, DATA, NULL, {{100, 5}}, 0}},
     .free = {103},
     .expected = "24: cluster 103 of its data is free, as $Bitmap says\n"},
    {.name = "a file on $MFT",
     .attributes = {{24, DATA, NULL, {{7, 1}}, 0}},
     .expected = "0: cluster 7 of its data is claimed by record 24 too\n"
                 "24: cluster 7 of its data is claimed by record 0 too\n"},
    {.name = "a file on $MFT whose record is gone",
     .attributes = {{24, DATA, NULL, {{7, 1}}, 0}},
     .no_mft = true,
     .expected = "24: cluster 7 of its data is claimed by record 0 too\n"},
    {.name = "a damaged list of extents",
     .attributes = {{24, DATA, NULL, {{100, 5}}, 0},
                    {25, DATA, NULL, {{104, 5}}, CLAIMS_BAD_PAIRS}},
     .expected = "25: cluster 104 of its data is claimed by record 24 too\n"},
    {.name = "a directory's index does no harm to the directory",
     .attributes = {{24, DATA, NULL, {{100, 5}}, 0},
                    {25, ATTRIBUTE_INDEX_ALLOCATION, "$I30", {{104, 5}}, 0}},
     .expected = "24: cluster 104 of its data is claimed by record 25 too\n"},
    {.name = "values",
     .attributes = {{24, ATTRIBUTE_EA, NULL, {{1, 1}}, 0},
                    {25, DATA, NULL, {{900, 9}}, 0},
                    {25, ATTRIBUTE_SECURITY, NULL, {{300, 1}, {CLAIMS_HOLE, 1}, {2, 1}, {3, 1}}, 0},
                    {26, 0xD0, NULL, {{4, 1}}, 0}},
     .free = {300},
     .expected = "0: cluster 1 of its data is claimed by record 24 too\n"
                 "24 value: cluster 1 of its extended attributes, security or EFS data is claimed "
                 "by record 0 too\n"
                 "25 value: cluster 300 of its extended attributes, security or EFS data is free, "
                 "as $Bitmap says\n"},
};

static const struct {
    size_t row;
    const char *warning;
} warnings[] = {
    {0, ""},
    {1, "cross-linked: 1 clusters are claimed more than once and 0 are claimed though $Bitmap says "
        "that they are free; 2 streams are concerned, and 0 other attributes: run chkdsk on the "
        "source and take a new snapshot (of a running system an application-consistent one)\n"},
    {6, "cross-linked: 1 clusters are claimed more than once and 0 are claimed though $Bitmap says "
        "that they are free; 1 streams are concerned, and 0 other attributes: run chkdsk on the "
        "source and take a new snapshot (of a running system an application-consistent one)\n"
        "cross-linked: files of NTFS itself are concerned too (1 times, first record 0, cluster "
        "7)\n"},
    {9, "cross-linked: 1 clusters are claimed more than once and 0 are claimed though $Bitmap says "
        "that they are free; 1 streams are concerned, and 1 other attributes: run chkdsk on the "
        "source and take a new snapshot (of a running system an application-consistent one)\n"
        "cross-linked: directory indexes and the like are concerned too (1 times, first record "
        "25, cluster 104); nothing is read from them\n"},
};

/* Without the end, which all sentences share. */
static void print_sentence(struct text *text, uint64_t record, const char *what,
                           const char *sentence)
{
    size_t len = strlen(sentence);

    assert_true(len > strlen(TAIL) && strcmp(sentence + len - strlen(TAIL), TAIL) == 0);
    text_printf(text, "%llu%s: %.*s\n", (unsigned long long)record, what, (int)(len - strlen(TAIL)),
                sentence);
}

static void print_entry(struct text *text, const struct volume_entry *entry)
{
    for (size_t i = 0; i < entry->stream_count; i++) {
        const struct volume_stream *stream = &entry->streams[i];
        char name[3] = {stream->name_len > 0 ? ':' : '\0', 0, '\0'};
        if (stream->name_len > 0) {
            name[1] = (char)stream->name[0];
        }
        if (stream->crossed != NULL) {
            print_sentence(text, entry->record, name, stream->crossed);
        }
    }
    if (entry->crossed_value != NULL) {
        print_sentence(text, entry->record, " value", entry->crossed_value);
    }
    if (entry->crossed_record != NULL) {
        print_sentence(text, entry->record, " record", entry->crossed_record);
    }
}

static struct catalog *build(struct volume *volume)
{
    struct error err = {0};
    struct catalog *catalog = catalog_build(volume, "/tmp", NULL, NULL, &err);

    assert_non_null(catalog);
    return catalog;
}

static void test_sentences(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct volume *volume = claims_volume(&cases[i]);
        struct catalog *catalog = build(volume);
        struct text text = TEXT_INIT(10000);
        CLEANUP_VIEW struct catalog_view view = {0};
        struct error err = {0};
        for (uint32_t n = 0; n < catalog_count(catalog); n++) {
            assert_int_equal(catalog_get(catalog, n, &view, &err), 0);
            print_entry(&text, &view.entry);
        }
        if (strcmp(text_str(&text), cases[i].expected) != 0) {
            print_error("%s:\n%s", cases[i].name, text_str(&text));
            fail();
        }
        text_free(&text);
        catalog_free(catalog);
        maker_volume_free(volume);
    }
}

static void test_warnings(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(warnings); i++) {
        struct volume *volume = claims_volume(&cases[warnings[i].row]);
        struct catalog *catalog = build(volume);
        struct text text = TEXT_INIT(10000);
        const char *warning;
        for (size_t n = 0; (warning = catalog_warning(catalog, n)) != NULL; n++) {
            text_printf(&text, "%s\n", warning);
        }
        assert_string_equal(text_str(&text), warnings[i].warning);
        text_free(&text);
        catalog_free(catalog);
        maker_volume_free(volume);
    }
}

static void open_file(uint8_t *record)
{
    maker_open(record, 1, 0);
    maker_name(record, 5, "hostile");
}

/* Every entry crosses every other: 4,000 files, each with runs that go again and again over the
 * same clusters. Ends in a moment, and each knows one other. */
static void test_hostile(void **state)
{
    (void)state;
    enum { FILES = 4000, RUNS = 80, CLUSTERS = 300000 };
    CLEANUP_FREE uint8_t *bytes = calloc(FILES, MAKER_RECORD_BYTES);
    assert_non_null(bytes);
    for (unsigned i = 24; i < FILES; i++) {
        uint8_t *record = bytes + (size_t)i * MAKER_RECORD_BYTES;
        uint8_t pairs[RUNS * 9 + 1];
        uint32_t len = 0;
        open_file(record);
        for (unsigned run = 0; run < RUNS; run++) {
            pairs[len++] = 0x43;
            put32(pairs + len, CLUSTERS);
            put32(pairs + len + 3, run == 0 ? 500000 - i : run % 2 == 0 ? 1 : UINT32_MAX);
            len += 7;
        }
        pairs[len++] = 0;
        (void)maker_nonresident(record, ATTRIBUTE_DATA, "", 0, (uint64_t)RUNS * CLUSTERS, pairs,
                                len);
        maker_close(record);
    }
    struct volume *volume = maker_volume(bytes, FILES);
    uint64_t begin_ms = clock_monotonic_ms();
    struct catalog *catalog = build(volume);
    CLEANUP_VIEW struct catalog_view view = {0};
    struct error err = {0};
    assert_in_range(clock_monotonic_ms() - begin_ms, 0, 60000);
    assert_int_equal(catalog->crossing_count, FILES - 24);
    for (uint32_t n = 0; n < catalog_count(catalog); n++) {
        assert_int_equal(catalog_get(catalog, n, &view, &err), 0);
        assert_non_null(view.entry.streams[0].crossed);
    }
    catalog_free(catalog);
    maker_volume_free(volume);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_sentences),
        cmocka_unit_test(test_warnings),
        cmocka_unit_test(test_hostile),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
