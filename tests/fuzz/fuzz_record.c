/* SPDX-License-Identifier: GPL-3.0-or-later */
/* One $MFT record: fix-ups, header, attributes, all of them inside the record. */
#include "fuzz.h"

#include <string.h>

#include "volume/record.h"

static void check_inside(const uint8_t *record, size_t record_bytes, const uint8_t *at, size_t len)
{
    FUZZ_ASSERT(at >= record && at <= record + record_bytes);
    FUZZ_ASSERT(len <= (size_t)(record + record_bytes - at));
}

static void check_attribute(const uint8_t *record, size_t record_bytes,
                            const struct record_attribute *attribute)
{
    check_inside(record, record_bytes, attribute->name, 2 * (size_t)attribute->name_len);
    if (attribute->resident) {
        check_inside(record, record_bytes, attribute->value, attribute->value_len);
    } else {
        check_inside(record, record_bytes, attribute->pairs, attribute->pairs_len);
        FUZZ_ASSERT(attribute->clusters <= INT64_MAX && attribute->lowest_vcn <= INT64_MAX);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const uint32_t sizes[] = {512, 1024, 4096, 65536};
    if (size == 0) {
        return 0;
    }
    uint32_t record_bytes = sizes[data[0] % 4];
    uint8_t *record = calloc(1, record_bytes);
    struct record_header header;
    struct record_attribute attribute;
    const char *problem = NULL;
    uint32_t steps = 0;

    FUZZ_ASSERT(record != NULL);
    memcpy(record, data + 1, size - 1 < record_bytes ? size - 1 : record_bytes);
    /* Every second input is looked at past a broken fix-up, so that the rest is met, too. */
    if (record_fix_up(record, record_bytes) == NULL || (data[0] & 4) != 0) {
        problem = record_parse_header(record, record_bytes, &header);
        if (problem == NULL) {
            uint32_t at = header.first_attribute;
            FUZZ_ASSERT(header.used_bytes <= record_bytes && at <= header.used_bytes);
            while (record_next_attribute(record, &header, &at, &attribute, &problem) > 0) {
                check_attribute(record, record_bytes, &attribute);
                FUZZ_ASSERT(++steps <= record_bytes / 16);
            }
        }
    }
    free(record);
    return 0;
}
