/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Deduplication: XPRESS within its buffers, and reparse data whose parts tile the file. The input
 * is also given its right checksum, so that what stands behind it is reached.
 */
#include "fuzz.h"

#include <string.h>

#include "volume/dedup.h"
#include "volume/xpress.h"

enum { VALUE_MAX = 16384, HEADER = 8 };

static void check_xpress(const uint8_t *data, size_t size, size_t plain)
{
    uint8_t *one = calloc(1, plain + 1);
    uint8_t *two = malloc(plain + 1);

    FUZZ_ASSERT(one != NULL && two != NULL);
    memset(two, 0xA5, plain + 1);
    const char *problem = xpress_decode(data, size, one, plain);
    FUZZ_ASSERT(xpress_decode(data, size, two, plain) == problem);
    FUZZ_ASSERT(problem != NULL || memcmp(one, two, plain) == 0);
    FUZZ_ASSERT(one[plain] == 0 && two[plain] == 0xA5);
    free(one);
    free(two);
}

static void check_reparse(const uint8_t *value, size_t len)
{
    static struct dedup_reference reference;
    uint64_t sizes[] = {1, 4096, 60000, 0, 0};
    uint64_t at = 0;

    if (len >= 0x88) {
        sizes[3] = read_le64(value + 0x80); /* where version 3.1 usually has it */
        sizes[4] = read_le64(value + 16);       /* and 1.2 */
    }
    for (size_t i = 0; i < ARRAY_LEN(sizes); i++) {
        at = 0;
        if (dedup_parse_reparse(value, len, sizes[i], &reference) != NULL) {
            continue;
        }
        FUZZ_ASSERT(reference.part_count >= 1 && reference.part_count <= DEDUP_PARTS_MAX);
        for (unsigned n = 0; n < reference.part_count; n++) {
            FUZZ_ASSERT(reference.parts[n].begin == at && reference.parts[n].end > at);
            FUZZ_ASSERT(reference.parts[n].map_bytes >= 8 + DEDUP_MAP_ENTRY_BYTES);
            at = reference.parts[n].end;
        }
        FUZZ_ASSERT(at == sizes[i]);
    }
}

static uint32_t crc32_of(const uint8_t *bytes, size_t len)
{
    uint32_t crc = UINT32_MAX;

    for (size_t i = 0; i < len * 8; i++) {
        uint32_t bit = (crc ^ bytes[i / 8] >> i % 8) & 1;
        crc = crc >> 1 ^ (bit != 0 ? UINT32_C(0xEDB88320) : 0);
    }
    return ~crc;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    check_xpress(data, size, size * 2);
    check_xpress(data, size, DEDUP_CHUNK_BYTES_MAX);
    check_reparse(data, size);
    if (size < HEADER + 8 || size > VALUE_MAX) {
        return 0;
    }
    uint8_t *value = malloc(size);
    FUZZ_ASSERT(value != NULL);
    memcpy(value, data, size);
    size_t data_len = size - HEADER;
    uint32_t tag = VOLUME_DEDUP_TAG;
    uint16_t len16 = (uint16_t)data_len;
    memcpy(value, &tag, sizeof(tag));
    memcpy(value + 4, &len16, sizeof(len16));
    memcpy(value + HEADER + 2, &len16, sizeof(len16));
    uint32_t crc = crc32_of(value + HEADER, data_len - 4);
    memcpy(value + size - 4, &crc, sizeof(crc));
    check_reparse(value, size);
    free(value);
    return 0;
}
