/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Directory indexes: names inside the value or the block, and an end. */
#include "fuzz.h"

#include <string.h>

#include "volume/index.h"

struct window {
    const uint8_t *from;
    size_t len;
    size_t names;
};

static void see_name(void *self, const struct index_name *name)
{
    struct window *window = self;
    FUZZ_ASSERT(name->len > 0);
    FUZZ_ASSERT(name->units_le >= window->from);
    FUZZ_ASSERT(name->units_le + 2 * (size_t)name->len <= window->from + window->len);
    window->names++;
    /* An entry with a name takes at least 84 bytes. */
    FUZZ_ASSERT(window->names <= window->len / 84);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const uint32_t sizes[] = {512, 1024, 4096, 65536};
    if (size == 0) {
        return 0;
    }
    struct window value = {.from = data + 1, .len = size - 1};
    uint32_t stated = index_block_bytes(value.from, value.len);
    FUZZ_ASSERT(stated == 0 ||
                (stated >= INDEX_BLOCK_BYTES_MIN && stated <= INDEX_BLOCK_BYTES_MAX));
    (void)index_parse_root(value.from, value.len, see_name, &value);
    uint32_t block_bytes = sizes[data[0] % 4];
    uint8_t *block = calloc(1, block_bytes);
    FUZZ_ASSERT(block != NULL);
    memcpy(block, data + 1, size - 1 < block_bytes ? size - 1 : block_bytes);
    if ((data[0] & 4) != 0) {
        /* Its fix-ups in order, so that what is inside is met. */
        memcpy(block, "INDX\x28\0", 6);
        block[6] = (uint8_t)(block_bytes / 512 + 1);
        block[7] = 0;
        for (uint32_t i = 1; i <= block_bytes / 512 && 42 + 2 * i < 512; i++) {
            memcpy(block + 40 + 2 * i, block + 512 * i - 2, 2);
            memcpy(block + 512 * i - 2, block + 40, 2);
        }
    }
    struct window inside = {.from = block, .len = block_bytes};
    (void)index_parse_block(block, block_bytes, block_bytes, read_le64(block + 16), see_name,
                            &inside);
    free(block);
    return 0;
}
