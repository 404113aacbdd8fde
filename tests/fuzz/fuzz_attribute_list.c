/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The value of an $ATTRIBUTE_LIST: entries inside it, and an end. */
#include "fuzz.h"

#include "volume/attribute_list.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct attribute_list_entry entry;
    size_t at = 0;
    size_t before = 0;

    while (attribute_list_next(data, size, &at, &entry) > 0) {
        FUZZ_ASSERT(at > before && at <= size);
        FUZZ_ASSERT(entry.name_len == 0 ||
                    (entry.name >= data && entry.name + 2 * (size_t)entry.name_len <= data + size));
        before = at;
    }
    return 0;
}
