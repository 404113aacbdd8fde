/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The restart pages of $LogFile. */
#include "fuzz.h"

#include <string.h>

#include "volume/log_file.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct log_file_state state = {0};
    size = size < LOG_FILE_HEAD_BYTES ? size : LOG_FILE_HEAD_BYTES;
    uint8_t *head = malloc(size + 1);

    FUZZ_ASSERT(head != NULL);
    memcpy(head, data, size);
    log_file_parse(head, size, &state);
    FUZZ_ASSERT(state.found || (state.lsn == 0 && !state.cached));
    free(head);
    return 0;
}
