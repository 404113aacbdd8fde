/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Lines of segments, from which a machine without state rebuilds its journal. */
#include "fuzz.h"

#include <string.h>

#include "run/segments.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct segment_line line;

    if (segments_parse_line((const char *)data, size, &line, NULL) == 0) {
        FUZZ_ASSERT(line.volume != NULL && line.name != NULL && line.generation != 0);
        FUZZ_ASSERT(line.size_bytes <= UINT64_C(1) << 53);
        FUZZ_ASSERT(strlen(line.name) <= size && strlen(line.volume) <= size);
    } else {
        FUZZ_ASSERT(line.json == NULL && line.name == NULL);
    }
    segments_clear_line(&line);
    return 0;
}
