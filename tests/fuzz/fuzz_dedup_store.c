/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * A deduplicated file on a disk of its own: reparse data, one container of maps and one of chunks
 * come from outside. Whatever they are, what is read in small pieces is what is read in large ones.
 * Input: length of the reparse data (2 bytes), clusters of the first container (2), size of the
 * file (4), then the three, the containers from cluster 1 on.
 */
#include "fuzz.h"

#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "volume/dedup.h"

enum { CLUSTER = 512, CLUSTERS = 2048, HEAD = 8, FILE_MAX = 1 << 20, HEADER = 8, PIECE = 1777 };

static int disk_fd = -1;
static struct disk *disk;

static void open_disk(void)
{
    char path[64];
    struct error err = {0};

    disk_fd = memfd_create("disk", 0);
    FUZZ_ASSERT(disk_fd >= 0 && ftruncate(disk_fd, (off_t)CLUSTERS * CLUSTER) == 0);
    (void)snprintf(path, sizeof(path), "/proc/self/fd/%d", disk_fd);
    disk = disk_open(path, &err);
    FUZZ_ASSERT(disk != NULL);
}

/* With the checksum that they must have. */
static void seal(uint8_t *value, size_t len)
{
    uint32_t crc = UINT32_MAX;
    uint16_t data_len = (uint16_t)(len - HEADER);

    memcpy(value + 4, &data_len, sizeof(data_len));
    memcpy(value + HEADER + 2, &data_len, sizeof(data_len));
    for (size_t i = 0; i < (len - HEADER - 4) * 8; i++) {
        uint32_t bit = (crc ^ value[HEADER + i / 8] >> i % 8) & 1;
        crc = crc >> 1 ^ (bit != 0 ? UINT32_C(0xEDB88320) : 0);
    }
    crc = ~crc;
    memcpy(value + len - 4, &crc, sizeof(crc));
}

static void add_container(struct volume_dedup *dedup, const struct volume *volume,
                          const uint8_t *store, enum volume_dedup_kind kind, uint64_t cluster,
                          uint64_t clusters)
{
    struct error err = {0};
    struct volume_extent extents[] = {{cluster + clusters / 2, clusters - clusters / 2},
                                      {cluster, clusters / 2}};
    struct volume_stream stream = {.form = VOLUME_PLAIN,
                                   .size_bytes = clusters * CLUSTER,
                                   .valid_bytes = clusters * CLUSTER,
                                   .extents = extents,
                                   .extent_count = 2};
    struct volume_entry entry = {.record = 40, .streams = &stream, .stream_count = 1};

    FUZZ_ASSERT(volume_dedup_add(dedup, volume, store, kind, 1, 1, &entry, &err) == 0);
}

static void read_file(struct volume *volume, const struct volume_entry *entry, uint64_t size)
{
    struct error err = {0};
    struct dedup_decoder *decoder = dedup_decoder_new(volume, &err);
    uint8_t *whole = malloc(size);
    uint8_t piece[PIECE];

    FUZZ_ASSERT(decoder != NULL && whole != NULL);
    if (dedup_decoder_open(decoder, entry, 0, &err) == 0) {
        ssize_t all = dedup_decoder_read(decoder, 0, whole, size, &err);
        FUZZ_ASSERT(all == -1 || all == (ssize_t)size);
        bool sound = true;
        for (uint64_t at = 0; at < size && sound; at += sizeof(piece)) {
            ssize_t got = dedup_decoder_read(decoder, at, piece, sizeof(piece), &err);
            size_t want = size - at < sizeof(piece) ? (size_t)(size - at) : sizeof(piece);
            sound = got >= 0;
            FUZZ_ASSERT(!sound || (size_t)got == want);
            FUZZ_ASSERT(all < 0 || (sound && memcmp(piece, whole + at, want) == 0));
        }
        FUZZ_ASSERT(sound == (all >= 0));
    }
    free(whole);
    dedup_decoder_free(decoder);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (disk == NULL) {
        open_disk();
    }
    if (size < HEAD + HEADER + 8) {
        return 0;
    }
    size_t reparse_len = read_le16(data);
    uint64_t split = read_le16(data + 2);
    uint64_t file_bytes = read_le32(data + 4) % FILE_MAX;
    size_t rest = size - HEAD;
    if (reparse_len < HEADER + 8 || reparse_len > rest || file_bytes == 0) {
        return 0;
    }
    rest -= reparse_len;
    uint64_t clusters = rest / CLUSTER;
    if (split < 2 || split + 2 > clusters || clusters > CLUSTERS - 1) {
        return 0;
    }
    FUZZ_ASSERT(pwrite(disk_fd, data + HEAD + reparse_len, rest, CLUSTER) == (ssize_t)rest);
    uint8_t *reparse = malloc(reparse_len);
    FUZZ_ASSERT(reparse != NULL);
    memcpy(reparse, data + HEAD, reparse_len);
    seal(reparse, reparse_len);
    struct volume volume = {.disk = disk};
    struct error err = {0};
    struct dedup_reference *reference = calloc(1, sizeof(*reference));
    volume.boot.cluster_bytes = CLUSTER;
    volume.boot.cluster_count = CLUSTERS;
    struct volume_dedup *dedup = volume_dedup_new(&err);
    FUZZ_ASSERT(dedup != NULL && reference != NULL);
    (void)dedup_parse_reparse(reparse, reparse_len, file_bytes, reference); /* or zeros */
    FUZZ_ASSERT(volume_dedup_add_store(dedup, reference->store, &err) == 0);
    add_container(dedup, &volume, reference->store, VOLUME_DEDUP_STREAM, 1, split);
    add_container(dedup, &volume, reference->store, VOLUME_DEDUP_DATA, 1 + split, clusters - split);
    volume_set_dedup(&volume, dedup);
    struct volume_extent hole = {VOLUME_HOLE, FILE_MAX / CLUSTER};
    struct volume_stream stream = {
        .form = VOLUME_SPARSE, .size_bytes = file_bytes, .extents = &hole, .extent_count = 1};
    struct volume_entry entry = {.record = 50,
                                 .reparse_tag = VOLUME_DEDUP_TAG,
                                 .reparse = reparse,
                                 .reparse_len = reparse_len,
                                 .streams = &stream,
                                 .stream_count = 1};
    read_file(&volume, &entry, file_bytes);
    volume_set_dedup(&volume, NULL);
    free(reference);
    free(reparse);
    return 0;
}
