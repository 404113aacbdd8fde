/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Reparse data: their kind, and what a CompactOS file says about itself. */
#include "fuzz.h"

#include <string.h>

#include "plan/plan.h"
#include "volume/wof.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    enum wof_algorithm algorithm = WOF_LZX;
    struct volume_entry entry = {.reparse = data, .reparse_len = size};

    if (size >= 8) {
        enum plan_reparse kind = plan_classify_reparse(read_le32(data));
        FUZZ_ASSERT((read_le32(data) == 0) == (kind == PLAN_REPARSE_NONE));
    }
    const char *problem = wof_parse_reparse(data, size, &algorithm);
    FUZZ_ASSERT((problem == NULL) == volume_wof_is_known(&entry));
    if (problem == NULL) {
        FUZZ_ASSERT((unsigned)algorithm < WOF_ALGORITHM_COUNT && size >= 24);
        uint32_t chunk = wof_chunk_bytes(algorithm);
        /* The rest is a chunk of that kind. */
        struct wof_codec codec = {0};
        bool no_memory = false;
        uint8_t *plain = malloc(chunk);
        FUZZ_ASSERT(plain != NULL && chunk <= WOF_CHUNK_BYTES_MAX);
        (void)wof_decode(&codec, algorithm, data + 24, size - 24, plain, chunk, &no_memory);
        FUZZ_ASSERT(!no_memory);
        wof_codec_clear(&codec);
        free(plain);
    }
    return 0;
}
