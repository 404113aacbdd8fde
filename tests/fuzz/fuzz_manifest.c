/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What a run reads back: gzip of segments and manifests, and run.json's identity. With an even
 * first byte the input is the JSON, with an odd one the packed bytes.
 */
#include "fuzz.h"

#include <string.h>

#include "run/gzip.h"
#include "run/identity.h"

static void look_at_json(const char *json, size_t len)
{
    struct identity one;
    struct identity two;
    CLEANUP_TEXT struct text text = TEXT_INIT(1 << 20);

    if (identity_read(json, len, &one, NULL) != 0) {
        return;
    }
    FUZZ_ASSERT(identity_run_is_legal(one.run));
    identity_write(&one, &text);
    FUZZ_ASSERT(identity_read(text_str(&text), text.len, &two, NULL) == 0);
    FUZZ_ASSERT(strcmp(one.run, two.run) == 0 && strcmp(one.fingerprint, two.fingerprint) == 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    enum { UNPACKED_MAX = 4 << 20 };
    struct error err = {0};

    if (size == 0) {
        return 0;
    }
    if (data[0] % 2 == 0) {
        look_at_json((const char *)data + 1, size - 1);
        return 0;
    }
    CLEANUP_TEXT struct text unpacked = TEXT_INIT(UNPACKED_MAX);
    if (gzip_unpack(data + 1, size - 1, &unpacked, &err) == 0) {
        FUZZ_ASSERT(unpacked.len <= UNPACKED_MAX);
        look_at_json(text_str(&unpacked), unpacked.len);
    }
    return 0;
}
