/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Mapping pairs: what is accepted lies on the volume and adds up. */
#include "fuzz.h"

#include "volume/runlist.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size < 10) {
        return 0;
    }
    uint64_t cluster_count = 1 + (read_le64(data) >> (data[8] % 64));
    uint64_t clusters = read_le16(data + 8);
    struct extent_list list = {0};
    bool no_memory = false;

    const char *problem =
        runlist_decode(data + 10, size - 10, cluster_count, clusters, 0, &list, &no_memory);
    FUZZ_ASSERT(!no_memory);
    uint64_t sum = 0;
    for (size_t i = 0; i < list.count; i++) {
        const struct volume_extent *extent = &list.items[i];
        FUZZ_ASSERT(extent->clusters > 0);
        FUZZ_ASSERT(extent->cluster == VOLUME_HOLE ||
                    (extent->cluster < cluster_count &&
                     extent->clusters <= cluster_count - extent->cluster));
        sum += extent->clusters;
    }
    FUZZ_ASSERT(problem != NULL || sum == clusters);
    extent_list_free(&list);
    return 0;
}
