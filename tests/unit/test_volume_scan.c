/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Scans of volumes made of nothing but $MFT: plain records, attribute lists that hold and that lie,
 * records that are no good. What the scan hands over is written down as text and compared.
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "record_maker.h"

/* Where the first record of a test lies; those before are free. */
#define FIRST 24
#define RECORDS (FIRST + 8)
#define REF(record, sequence) ((uint64_t)(sequence) << 48 | (uint64_t)(record))

static const uint8_t pairs_a[] = {0x11, 5, 10, 0}; /* 5 clusters at 10 */
static const uint8_t pairs_b[] = {0x11, 3, 50, 0}; /* 3 clusters at 50 */
static const uint8_t pairs_hole[] = {0x11, 1, 9, 0x01, 4, 0};

static void add_units(struct text *text, const uint16_t *units, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        text_add_char(text, (char)units[i]);
    }
}

static int see_entry(void *self, const struct volume_entry *entry, struct error *err)
{
    static const char *const forms[] = {"resident", "plain", "sparse", "lznt1", "efs"};
    struct text *text = self;

    (void)err;
    text_printf(text, "%llu", (unsigned long long)entry->record);
    for (size_t i = 0; i < entry->name_count; i++) {
        text_add_char(text, ' ');
        add_units(text, entry->names[i].units, entry->names[i].len);
    }
    text_printf(text, "%s%s\n", entry->problem != NULL ? " !" : "",
                entry->problem != NULL ? entry->problem : "");
    for (size_t i = 0; i < entry->stream_count; i++) {
        const struct volume_stream *stream = &entry->streams[i];
        text_add(text, "  :");
        add_units(text, stream->name, stream->name_len);
        text_printf(text, " %s %llu", forms[stream->form], (unsigned long long)stream->size_bytes);
        for (size_t j = 0; stream->problem == NULL && j < stream->extent_count; j++) {
            if (stream->extents[j].cluster == VOLUME_HOLE) {
                text_add(text, " h");
            } else {
                text_printf(text, " %llu", (unsigned long long)stream->extents[j].cluster);
            }
            text_printf(text, "+%llu", (unsigned long long)stream->extents[j].clusters);
        }
        text_printf(text, "%s%s%s\n", stream->problem != NULL ? " !" : "",
                    stream->problem != NULL ? stream->problem : "", stream->lost ? " LOST" : "");
    }
    return 0;
}

static int see_stray(void *self, uint64_t record, uint16_t sequence, uint64_t base, const char *why,
                     struct error *err)
{
    (void)sequence;
    (void)err;
    text_printf(self, "stray %llu of %llu: %s\n", (unsigned long long)record,
                (unsigned long long)VOLUME_REF_RECORD(base), why);
    return 0;
}

/* Scan and compare; the totals must add up. */
static void expect(const uint8_t *records, const char *expected)
{
    struct volume *volume = maker_volume(records, RECORDS);
    struct text text = TEXT_INIT(100000);
    struct volume_visitor visitor = {.entry = see_entry, .stray = see_stray, .self = &text};
    struct volume_scan_totals totals = {0};
    struct error err = {0};

    assert_int_equal(volume_scan(volume, &visitor, &totals, &err), 0);
    assert_string_equal(text_str(&text), expected);
    assert_int_equal(totals.records, RECORDS);
    assert_int_equal(totals.records_in_use, totals.bases + totals.extensions + totals.stray);
    assert_int_equal(totals.mft_crc32c,
                     crc32c_update(0, records, RECORDS * (size_t)MAKER_RECORD_BYTES));
    text_free(&text);
    maker_volume_free(volume);
}

static uint8_t *at(uint8_t *records, unsigned number)
{
    return records + (size_t)number * MAKER_RECORD_BYTES;
}

static uint8_t *new_records(void)
{
    uint8_t *records = calloc(RECORDS, MAKER_RECORD_BYTES);

    assert_non_null(records);
    return records;
}

static void test_plain(void **state)
{
    (void)state;
    CLEANUP_FREE uint8_t *records = new_records();
    uint8_t *record = at(records, FIRST);

    maker_open(record, 1, 0);
    maker_standard(record);
    maker_name(record, 5, "a");
    maker_name(record, 5, "a");
    maker_name(record, 6, "b");
    (void)maker_nonresident(record, ATTRIBUTE_DATA, "", 0, 5, pairs_a, sizeof(pairs_a));
    (void)maker_resident(record, ATTRIBUTE_DATA, "s", "xy", 2);
    (void)maker_nonresident(record, ATTRIBUTE_DATA, "t", 0, 5, pairs_hole, sizeof(pairs_hole));
    maker_close(record);
    maker_open(at(records, FIRST + 1), 1, 0);
    maker_close(at(records, FIRST + 1));
    expect(records,
           "24 a b\n  : plain 20480 10+5\n  :s resident 2\n  :t sparse 20480 9+1 h+4\n25\n");
}

/* One change to a non-resident stream of 5 clusters, and what is said about it. */
static const struct {
    uint32_t at;
    uint64_t value;
    const char *expected;
} stream_cases[] = {
    {56, UINT64_MAX, "24\n  : plain 20480 !its size cannot be LOST\n"},
    {56, 20481, "24\n  : plain 20480 !its valid length is larger than its size\n"},
    {48, 20481, "24\n  : plain 20481 !its clusters end before its data LOST\n"},
    {48, UINT64_MAX, "24\n  : plain 18446744073709551615 !its size cannot be LOST\n"},
    {40, 24576,
     "24\n  : plain 20480 !its allocated size does not match its clusters: a piece is "
     "missing or too much\n"},
    {24, 6, "24\n  : plain 20480 !its extents do not add up to its clusters\n"},
    {24, 3, "24\n  : plain 20480 !its extents do not add up to its clusters LOST\n"},
    {16, 1, "24\n  : plain 0 !a piece is missing: its first one LOST\n"},
    {12, 0x0001, "24\n  : lznt1 20480 !its compression unit is not known\n"},
    {12, 0x0002, "24\n  : lznt1 20480 !its compression method is not known\n"},
    {12, 0x4000, "24\n  : efs 20480 10+5\n"},
    {12, 0x8000, "24\n  : plain 20480 10+5\n"},
    {48, 20000, "24\n  : plain 20000 !its valid length is larger than its size\n"},
    {56, 0, "24\n  : plain 20480 10+5\n"},
};

static void test_streams(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(stream_cases); i++) {
        CLEANUP_FREE uint8_t *records = new_records();
        uint8_t *record = at(records, FIRST);
        maker_open(record, 1, 0);
        uint8_t *stream =
            maker_nonresident(record, ATTRIBUTE_DATA, "", 0, 5, pairs_a, sizeof(pairs_a));
        if (stream_cases[i].at == 12) {
            put16(stream + 12, stream_cases[i].value);
        } else {
            put64(stream + stream_cases[i].at, stream_cases[i].value);
        }
        maker_close(record);
        expect(records, stream_cases[i].expected);
    }
}

static void test_duplicate_stream(void **state)
{
    (void)state;
    CLEANUP_FREE uint8_t *records = new_records();
    uint8_t *record = at(records, FIRST);

    maker_open(record, 1, 0);
    (void)maker_resident(record, ATTRIBUTE_DATA, "", "one", 3);
    (void)maker_resident(record, ATTRIBUTE_DATA, "", "other", 5);
    maker_close(record);
    expect(records, "24\n  : resident 3 !two attributes of this type and name exist LOST\n");
}

static void test_values(void **state)
{
    (void)state;
    CLEANUP_FREE uint8_t *records = new_records();

    maker_open(at(records, FIRST), 1, 0);
    (void)maker_resident(at(records, FIRST), ATTRIBUTE_REPARSE, "", "1234", 4);
    maker_close(at(records, FIRST));
    maker_open(at(records, FIRST + 1), 1, 0);
    (void)maker_resident(at(records, FIRST + 1), ATTRIBUTE_STANDARD, "", "1234", 4);
    maker_close(at(records, FIRST + 1));
    maker_open(at(records, FIRST + 2), 1, 0);
    (void)maker_resident(at(records, FIRST + 2), ATTRIBUTE_NAME, "", "1234", 4);
    maker_close(at(records, FIRST + 2));
    expect(records, "24 !its reparse data is damaged\n25 !its standard information is damaged\n"
                    "26 !one of its names is damaged\n");
}

static void test_bad_records(void **state)
{
    (void)state;
    CLEANUP_FREE uint8_t *records = new_records();
    static const uint64_t bases[] = {0, 0, REF(FIRST + 2, 1), REF(5, 5), REF(UINT32_MAX, 1)};

    for (unsigned i = 0; i < ARRAY_LEN(bases); i++) {
        maker_open(at(records, FIRST + i), 1, bases[i]);
        maker_close(at(records, FIRST + i));
    }
    at(records, FIRST)[510] ^= 1;
    put32(at(records, FIRST + 1) + 28, 4096);
    expect(records, "stray 24 of 0: the record is torn: it was not written to its end\n"
                    "25 !the record states another size than the volume's records have\n"
                    "stray 26 of 26: an extension record that no attribute list names\n"
                    "stray 27 of 5: an extension record that no attribute list names\n"
                    "stray 28 of 4294967295: an extension record that no attribute list names\n");
}

/* A base record whose list names its standard information, one name and two pieces of data, the
 * pieces in the records behind it. The cases change one thing. */
enum list_change {
    LIST_GOOD,
    LIST_NO_SECOND,
    LIST_WRONG_SEQUENCE,
    LIST_WRONG_VCN,
    LIST_GAP,
    LIST_OVERLAP,
    LIST_NOT_NAMED,
    LIST_OTHER_BASE,
    LIST_FREE,
    LIST_MALFORMED,
    LIST_NAME_MISSING,
    LIST_TWICE,
};

static uint8_t *make_listed(enum list_change change)
{
    uint8_t list[512];
    uint32_t len = 0;
    uint8_t *records = new_records();
    uint8_t *base = at(records, FIRST);
    uint64_t second_vcn = change == LIST_GAP ? 6 : change == LIST_OVERLAP ? 4 : 5;
    uint64_t named_vcn = change == LIST_WRONG_VCN ? 7 : second_vcn;

    len += maker_list_entry(list + len, ATTRIBUTE_STANDARD, "", 0, REF(FIRST, 1));
    len += maker_list_entry(list + len, ATTRIBUTE_NAME, "", 0, REF(FIRST, 1));
    if (change == LIST_NAME_MISSING) {
        len += maker_list_entry(list + len, ATTRIBUTE_NAME, "", 0, REF(FIRST, 1));
    }
    len += maker_list_entry(list + len, ATTRIBUTE_DATA, "", 0, REF(FIRST + 1, 1));
    if (change == LIST_TWICE) {
        len += maker_list_entry(list + len, ATTRIBUTE_DATA, "", 0, REF(FIRST + 1, 1));
    }
    if (change != LIST_NOT_NAMED) {
        len += maker_list_entry(list + len, ATTRIBUTE_DATA, "", named_vcn,
                                REF(FIRST + 2, change == LIST_WRONG_SEQUENCE ? 9 : 1));
    }
    if (change == LIST_MALFORMED) {
        put16(list + len, 3);
        len += 8;
    }
    maker_open(base, 1, 0);
    maker_standard(base);
    (void)maker_resident(base, ATTRIBUTE_LIST, "", list, len);
    maker_name(base, 5, "f");
    maker_close(base);

    maker_open(at(records, FIRST + 1), 1, REF(FIRST, 1));
    uint8_t *first = maker_nonresident(at(records, FIRST + 1), ATTRIBUTE_DATA, "", 0, 5, pairs_a,
                                       sizeof(pairs_a));
    put64(first + 40, 8 * MAKER_CLUSTER_BYTES);
    put64(first + 48, 8 * MAKER_CLUSTER_BYTES);
    put64(first + 56, 8 * MAKER_CLUSTER_BYTES);
    /* Not named by the list: must be ignored. */
    (void)maker_resident(at(records, FIRST + 1), ATTRIBUTE_DATA, "extra", "x", 1);
    maker_close(at(records, FIRST + 1));

    uint8_t *second = at(records, FIRST + 2);
    maker_open(second, 1, change == LIST_OTHER_BASE ? REF(FIRST, 2) : REF(FIRST, 1));
    if (change == LIST_NO_SECOND) {
        (void)maker_resident(second, ATTRIBUTE_DATA, "other", "x", 1);
    } else {
        (void)maker_nonresident(second, ATTRIBUTE_DATA, "", second_vcn, 3, pairs_b,
                                sizeof(pairs_b));
    }
    if (change == LIST_FREE) {
        put16(second + 22, 0);
    }
    maker_close(second);
    return records;
}

static void test_lists(void **state)
{
    (void)state;
    static const char good[] = "24 f\n  : plain 32768 10+5 50+3\n";
    static const char missing[] = "24 f\n  : plain 32768 !a piece is missing: the attribute list "
                                  "names one that is not there LOST\n";
    static const struct {
        enum list_change change;
        const char *expected;
        const char *stray;
    } cases[] = {
        {LIST_GOOD, good, ""},
        {LIST_TWICE, good, ""},
        {LIST_NO_SECOND, missing, ""},
        {LIST_WRONG_SEQUENCE, missing,
         "stray 26 of 24: an extension record that no attribute list names\n"},
        {LIST_WRONG_VCN, missing, ""},
        {LIST_GAP, "24 f\n  : plain 32768 !a piece is missing: its extents have a gap LOST\n", ""},
        {LIST_OVERLAP, "24 f\n  : plain 32768 !its extents overlap each other LOST\n", ""},
        {LIST_NOT_NAMED,
         "24 f\n  : plain 32768 !its allocated size does not match its clusters: a piece is "
         "missing "
         "or too much LOST\n",
         "stray 26 of 24: an extension record that no attribute list names\n"},
        {LIST_OTHER_BASE, missing,
         "stray 26 of 24: an extension record that no attribute list names\n"},
        {LIST_FREE, missing, ""},
        {LIST_MALFORMED, "24 f !its attribute list is malformed\n  : plain 32768 10+5 50+3\n", ""},
        {LIST_NAME_MISSING,
         "24 f !a name is missing that the attribute list names\n  : plain 32768 10+5 50+3\n", ""},
    };

    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        CLEANUP_FREE uint8_t *records = make_listed(cases[i].change);
        struct text text = TEXT_INIT(1000);
        text_printf(&text, "%s%s", cases[i].expected, cases[i].stray);
        expect(records, text_str(&text));
        text_free(&text);
    }
}

static void test_unlisted_in_base(void **state)
{
    (void)state;
    CLEANUP_FREE uint8_t *records = new_records();
    uint8_t list[64];
    uint32_t len = maker_list_entry(list, ATTRIBUTE_NAME, "", 0, REF(FIRST, 1));

    maker_open(at(records, FIRST), 1, 0);
    (void)maker_resident(at(records, FIRST), ATTRIBUTE_LIST, "", list, len);
    maker_name(at(records, FIRST), 5, "f");
    (void)maker_resident(at(records, FIRST), ATTRIBUTE_DATA, "", "x", 1);
    maker_close(at(records, FIRST));
    expect(records, "24 f\n  : resident 1 !the attribute list does not name it LOST\n");
}

static void test_list_outside(void **state)
{
    (void)state;
    CLEANUP_FREE uint8_t *records = new_records();
    static const uint8_t outside[] = {0x31, 1, 0xFF, 0xFF, 0x7F, 0};

    maker_open(at(records, FIRST), 1, 0);
    (void)maker_nonresident(at(records, FIRST), ATTRIBUTE_LIST, "", 0, 1, outside, sizeof(outside));
    (void)maker_resident(at(records, FIRST), ATTRIBUTE_DATA, "", "x", 1);
    maker_close(at(records, FIRST));
    expect(records, "24 !the extents of its attribute list are damaged\n"
                    "  : resident 1 !the extents of its attribute list are damaged LOST\n");
}

static void test_resident(void **state)
{
    (void)state;
    CLEANUP_FREE uint8_t *records = new_records();
    uint8_t record[MAKER_RECORD_BYTES];
    const uint8_t *bytes = NULL;
    uint32_t len = 0;
    static const uint16_t name[] = {'s'};
    struct error err = {0};

    maker_open(at(records, FIRST), 1, 0);
    (void)maker_resident(at(records, FIRST), ATTRIBUTE_DATA, "s", "xyz", 3);
    maker_close(at(records, FIRST));
    struct volume *volume = maker_volume(records, RECORDS);
    assert_int_equal(volume_read_records(volume, FIRST, 1, record, &err), 0);
    assert_int_equal(volume_record_fix_up(volume, record, FIRST, &err), 0);
    assert_int_equal(volume_record_resident(volume, record, name, 1, &bytes, &len, &err), 0);
    assert_int_equal(len, 3);
    assert_memory_equal(bytes, "xyz", 3);
    assert_int_equal(volume_record_resident(volume, record, NULL, 0, &bytes, &len, &err), -1);
    assert_string_equal(err.reason, "bad-record");
    assert_int_equal(volume_read_records(volume, RECORDS, 1, record, &err), -1);
    assert_int_equal(volume_read_records(volume, RECORDS - 1, 2, record, &err), -1);
    assert_int_equal(volume_read_records(volume, UINT64_MAX, 1, record, &err), -1);
    maker_volume_free(volume);
}

static int fail_first_records(void *self, uint64_t offset, size_t len)
{
    (void)self;
    return offset + len > FIRST * MAKER_RECORD_BYTES && offset < (FIRST + 1) * MAKER_RECORD_BYTES
               ? EIO
               : 0;
}

static int vanish(void *self, uint64_t offset, size_t len)
{
    (void)self;
    (void)offset;
    (void)len;
    return ENODEV;
}

static void test_bad_sector(void **state)
{
    (void)state;
    CLEANUP_FREE uint8_t *records = new_records();
    struct volume_scan_totals totals = {0};
    struct text text = TEXT_INIT(1000);
    struct volume_visitor visitor = {.entry = see_entry, .stray = see_stray, .self = &text};
    struct error err = {0};

    maker_open(at(records, FIRST), 1, 0);
    maker_close(at(records, FIRST));
    maker_open(at(records, FIRST + 1), 1, 0);
    maker_close(at(records, FIRST + 1));
    struct volume *volume = maker_volume(records, RECORDS);
    disk_set_fault(volume->disk, fail_first_records, NULL);
    assert_int_equal(volume_scan(volume, &visitor, &totals, &err), 0);
    /* Neither the record nor its place in the bitmap can be read: a file may be there. */
    assert_string_equal(text_str(&text), "stray 24 of 0: in use in $MFT:$BITMAP or not known to "
                                         "be free, but it cannot be read\n25\n");
    assert_int_equal(totals.records_in_use, 2);
    disk_set_fault(volume->disk, vanish, NULL);
    assert_int_equal(volume_scan(volume, &visitor, &totals, &err), -1);
    assert_int_equal(err.kind, ERROR_STOP_RUN);
    assert_int_equal(err.exit_status, EXIT_STATUS_SOURCE);
    text_free(&text);
    maker_volume_free(volume);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_plain),
        cmocka_unit_test(test_streams),
        cmocka_unit_test(test_duplicate_stream),
        cmocka_unit_test(test_values),
        cmocka_unit_test(test_bad_records),
        cmocka_unit_test(test_lists),
        cmocka_unit_test(test_unlisted_in_base),
        cmocka_unit_test(test_list_outside),
        cmocka_unit_test(test_resident),
        cmocka_unit_test(test_bad_sector),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
