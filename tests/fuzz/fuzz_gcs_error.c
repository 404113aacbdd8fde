/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Error replies: JSON, XML, HTML, or nothing that makes sense; all become a sentence. */
#include "fuzz.h"

#include <string.h>

#include "gcs/gcs_internal.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const int statuses[] = {308, 400, 401, 403, 404, 408, 409, 410,
                                   411, 412, 413, 416, 429, 500, 503, 777};
    if (size < 2) {
        return 0;
    }
    int status = statuses[data[0] % 16];
    enum gcs_call call = (enum gcs_call)(1U << data[1] % 8);
    struct error err = {0};
    CLEANUP_TEXT struct text body = TEXT_INIT(1 << 20);

    text_add_bytes(&body, data + 2, size - 2);
    (void)gcs_answer_judge(status, &body);
    enum gcs_answer answer = gcs_answer_classify(call, "bucket", "name", status, &body, &err);
    FUZZ_ASSERT(answer != GCS_DONE);
    FUZZ_ASSERT(err.kind != ERROR_NONE && err.message[0] != '\0');
    /* What a server says cannot move a cursor. */
    FUZZ_ASSERT(utf_valid_utf8(err.message, strlen(err.message)));
    for (const char *c = err.message; *c != '\0'; c++) {
        FUZZ_ASSERT((unsigned char)*c >= 0x20 && *c != 0x7F);
    }
    return 0;
}
