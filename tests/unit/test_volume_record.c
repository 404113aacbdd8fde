/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Records with fix-ups, lengths that lie, and attribute lists as bytes.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "record_maker.h"
#include "volume/attribute_list.h"

static void make_plain(uint8_t *record)
{
    maker_open(record, 7, 0);
    maker_standard(record);
    maker_name(record, 5, "a.txt");
    (void)maker_resident(record, ATTRIBUTE_DATA, "", "hello", 5);
    maker_close(record);
}

static void test_fix_up(void **state)
{
    (void)state;
    uint8_t record[MAKER_RECORD_BYTES];

    make_plain(record);
    assert_null(record_fix_up(record, sizeof(record)));
    assert_int_equal(read_le16(record + 510), 0);
    make_plain(record);
    record[1022] ^= 1;
    assert_non_null(strstr(record_fix_up(record, sizeof(record)), "torn"));
    make_plain(record);
    memcpy(record, "BAAD", 4);
    assert_non_null(strstr(record_fix_up(record, sizeof(record)), "BAAD"));
    make_plain(record);
    memcpy(record, "INDX", 4);
    assert_non_null(strstr(record_fix_up(record, sizeof(record)), "FILE"));
}

static void test_fix_up_bounds(void **state)
{
    (void)state;
    static const uint16_t bad[][2] = {{0, 3},     {40, 3}, {49, 3}, {506, 3},   {510, 3},
                                      {65534, 3}, {48, 0}, {48, 2}, {48, 65535}};

    for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
        uint8_t record[MAKER_RECORD_BYTES];
        make_plain(record);
        put16(record + 4, bad[i][0]);
        put16(record + 6, bad[i][1]);
        assert_non_null(strstr(record_fix_up(record, sizeof(record)), "malformed"));
    }
}

static void test_attributes(void **state)
{
    (void)state;
    static const uint16_t other[] = {'x'};
    uint8_t record[MAKER_RECORD_BYTES];
    struct record_header header;
    struct record_attribute attribute;
    const char *problem = NULL;
    uint32_t types[3] = {0};

    make_plain(record);
    assert_null(record_fix_up(record, sizeof(record)));
    assert_null(record_parse_header(record, sizeof(record), &header));
    assert_int_equal(header.sequence, 7);
    uint32_t at = header.first_attribute;
    for (size_t i = 0; i < ARRAY_LEN(types); i++) {
        assert_int_equal(record_next_attribute(record, &header, &at, &attribute, &problem), 1);
        types[i] = attribute.type;
    }
    assert_int_equal(types[0], ATTRIBUTE_STANDARD);
    assert_int_equal(types[1], ATTRIBUTE_NAME);
    assert_int_equal(types[2], ATTRIBUTE_DATA);
    assert_int_equal(attribute.value_len, 5);
    assert_memory_equal(attribute.value, "hello", 5);
    assert_true(record_name_is(&attribute, NULL, 0));
    assert_false(record_name_is(&attribute, other, 1));
    assert_int_equal(record_next_attribute(record, &header, &at, &attribute, &problem), 0);
}

struct damage {
    const char *name;
    uint32_t at; /* from the first attribute, or from the record when `whole` */
    uint32_t value;
    unsigned bytes;
    bool whole;
};

static const struct damage damages[] = {
    {"attribute length 0", 4, 0, 4, false},
    {"attribute length 8", 4, 8, 4, false},
    {"attribute length large", 4, 0xFFFFFFF0, 4, false},
    {"value behind the attribute", 16, 0x1000, 4, false},
    {"value length all ones", 16, 0xFFFFFFFF, 4, false},
    {"value offset large", 20, 0xFFFF, 2, false},
    {"name behind the attribute", 9, 0xFF, 1, false},
    {"first attribute at the end", 20, 1020, 2, true},
    {"first attribute in the header", 20, 8, 2, true},
    {"used more than the record", 24, 2000, 4, true},
    {"used nothing", 24, 0, 4, true},
    {"used all ones", 24, 0xFFFFFFFF, 4, true},
    {"used cut in an attribute", 24, MAKER_ATTRIBUTES_AT + 30, 4, true},
    {"used cut before the end mark", 24, MAKER_ATTRIBUTES_AT + 96, 4, true},
    {"another record size", 28, 4096, 4, true},
};

static void test_damages(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(damages); i++) {
        uint8_t record[MAKER_RECORD_BYTES];
        struct record_header header;
        struct record_attribute attribute;
        make_plain(record);
        assert_null(record_fix_up(record, sizeof(record)));
        uint8_t *at = record + damages[i].at + (damages[i].whole ? 0 : MAKER_ATTRIBUTES_AT);
        for (unsigned byte = 0; byte < damages[i].bytes; byte++) {
            at[byte] = (uint8_t)(damages[i].value >> (8 * byte));
        }
        const char *problem = record_parse_header(record, sizeof(record), &header);
        uint32_t position = header.first_attribute;
        while (problem == NULL &&
               record_next_attribute(record, &header, &position, &attribute, &problem) > 0) {
        }
        if (problem == NULL) {
            fail_msg("%s: accepted", damages[i].name);
        }
    }
}

static void test_nonresident(void **state)
{
    (void)state;
    static const uint8_t pairs[] = {0x11, 5, 10, 0};
    static const struct {
        uint32_t at;
        uint64_t value;
    } bad[] = {{16, UINT64_MAX}, {24, UINT64_MAX - 1}, {32, 0xFFFF}, {32, 3}, {4, 40}};

    for (size_t i = 0; i <= ARRAY_LEN(bad); i++) {
        uint8_t record[MAKER_RECORD_BYTES];
        struct record_header header;
        struct record_attribute attribute;
        const char *problem = NULL;
        maker_open(record, 1, 0);
        uint8_t *made = maker_nonresident(record, ATTRIBUTE_DATA, "", 0, 5, pairs, sizeof(pairs));
        if (i < ARRAY_LEN(bad)) {
            if (bad[i].at == 4) {
                put32(made + 4, bad[i].value);
            } else if (bad[i].at == 32) {
                put16(made + 32, bad[i].value);
            } else {
                put64(made + bad[i].at, bad[i].value);
            }
        }
        maker_close(record);
        assert_null(record_fix_up(record, sizeof(record)));
        assert_null(record_parse_header(record, sizeof(record), &header));
        uint32_t at = header.first_attribute;
        int more = record_next_attribute(record, &header, &at, &attribute, &problem);
        assert_int_equal(more, i < ARRAY_LEN(bad) ? -1 : 1);
        if (more == 1) {
            assert_int_equal(attribute.clusters, 5);
            assert_int_equal(attribute.size_bytes, 5 * MAKER_CLUSTER_BYTES);
        }
    }
}

static void test_attribute_list(void **state)
{
    (void)state;
    uint8_t list[256];
    struct attribute_list_entry entry;
    size_t at = 0;
    size_t len = maker_list_entry(list, ATTRIBUTE_STANDARD, "", 0, 5);
    len += maker_list_entry(list + len, ATTRIBUTE_DATA, "one", 77, UINT64_C(9) << 48 | 30);

    assert_int_equal(attribute_list_next(list, len, &at, &entry), 1);
    assert_int_equal(entry.type, ATTRIBUTE_STANDARD);
    assert_int_equal(attribute_list_next(list, len, &at, &entry), 1);
    assert_int_equal(entry.type, ATTRIBUTE_DATA);
    assert_int_equal(entry.lowest_vcn, 77);
    assert_int_equal(entry.name_len, 3);
    assert_int_equal(VOLUME_REF_RECORD(entry.ref), 30);
    assert_int_equal(VOLUME_REF_SEQUENCE(entry.ref), 9);
    assert_int_equal(attribute_list_next(list, len, &at, &entry), 0);

    static const uint16_t lengths[] = {0, 8, 25, 33, 0xFFFF};
    for (size_t i = 0; i < ARRAY_LEN(lengths); i++) {
        len = maker_list_entry(list, ATTRIBUTE_DATA, "", 0, 5);
        put16(list + 4, lengths[i]);
        at = 0;
        assert_int_equal(attribute_list_next(list, len, &at, &entry), -1);
    }
    len = maker_list_entry(list, ATTRIBUTE_DATA, "", 0, 5);
    list[6] = 200;
    at = 0;
    assert_int_equal(attribute_list_next(list, len, &at, &entry), -1);
    at = 0;
    assert_int_equal(attribute_list_next(list, 10, &at, &entry), -1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_fix_up),      cmocka_unit_test(test_fix_up_bounds),
        cmocka_unit_test(test_attributes),  cmocka_unit_test(test_damages),
        cmocka_unit_test(test_nonresident), cmocka_unit_test(test_attribute_list),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
