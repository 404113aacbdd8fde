/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The boot sector: what is accepted has sizes that everything else divides by and multiplies. */
#include "fuzz.h"

#include <string.h>

#include "volume/boot.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    uint8_t sector[BOOT_BYTES] = {0};
    struct boot boot;
    struct error err = {0};

    memcpy(sector, data, size < sizeof(sector) ? size : sizeof(sector));
    if (boot_parse(sector, &boot, &err) != 0) {
        FUZZ_ASSERT(err.kind == ERROR_STOP_RUN && err.exit_status == EXIT_STATUS_SOURCE);
        FUZZ_ASSERT(err.message[0] != '\0');
        return 0;
    }
    FUZZ_ASSERT(boot.sector_bytes >= 256 && boot.sector_bytes <= 4096);
    FUZZ_ASSERT((boot.sector_bytes & (boot.sector_bytes - 1)) == 0);
    FUZZ_ASSERT(boot.cluster_bytes >= boot.sector_bytes && boot.cluster_bytes <= (2U << 20));
    FUZZ_ASSERT((boot.cluster_bytes & (boot.cluster_bytes - 1)) == 0);
    FUZZ_ASSERT(boot.record_bytes >= 512 && boot.record_bytes <= (64U << 10));
    FUZZ_ASSERT((boot.record_bytes & (boot.record_bytes - 1)) == 0);
    FUZZ_ASSERT(boot.cluster_count <= boot.size_bytes / boot.cluster_bytes);
    FUZZ_ASSERT(boot.size_bytes <= INT64_MAX);
    FUZZ_ASSERT(boot.mft_cluster < boot.cluster_count);
    return 0;
}
