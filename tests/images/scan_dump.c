/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Scans a volume and prints what it finds, one line of tab-separated fields per stream or
 * stream-less entry, with the SHA-256 of the contents: for comparing with other readers. With --mft
 * it reads a bare dump of $MFT, of which no content can be read.
 */
#include <inttypes.h>
#include <openssl/evp.h>
#include <string.h>

#include "volume/volume.h"
#include "volume/volume_internal.h"

#define READ_BYTES (UINT32_C(1) << 20)
#define FIRST_USER_RECORD 24
#define HASH_BYTES_MAX_DEFAULT (UINT64_C(1) << 30)
#define MFT_DUMP_CLUSTERS (UINT64_C(1) << 40)

struct dump {
    struct volume *volume;
    struct disk *disk;
    struct volume_reader *reader;
    uint8_t *buffer;
    uint8_t *record;
    EVP_MD_CTX *hash;
    uint64_t hash_bytes_max; /* larger streams are not read */
    bool is_quiet;
    uint64_t streams, problems, unread, descriptors;
};

struct options {
    const char *path;
    uint64_t offset, size, record_bytes, cluster_bytes, hash_bytes_max;
    bool is_mft, is_quiet;
};

static int parse_options(int argc, char **argv, struct options *options);
static struct volume *open_mft_dump(struct disk *disk, const struct options *options,
                                    struct error *err);
static int run(struct dump *dump, struct error *err);
static void print_info(const struct volume_info *info);
static int print_entry(void *self, const struct volume_entry *entry, struct error *err);
static int print_stray(void *self, uint64_t record, uint16_t sequence, uint64_t base,
                       const char *why, struct error *err);
static int count_descriptor(void *self, uint32_t id, const uint8_t *bytes, size_t len,
                            struct error *err);
static void print_units(const uint16_t *units, size_t count);
static void print_stream(struct dump *dump, const struct volume_entry *entry,
                         const struct volume_stream *stream);
static int hash_stream(struct dump *dump, const struct volume_entry *entry,
                       const struct volume_stream *stream, struct error *err);
static int hash_resident(struct dump *dump, const struct volume_stream *stream, struct error *err);
static int hash_extents(struct dump *dump, const struct volume_stream *stream, struct error *err);
static int hash_by_reader(struct dump *dump, const struct volume_entry *entry,
                          const struct volume_stream *stream, struct error *err);
static int hash_add(struct dump *dump, const void *bytes, size_t len, struct error *err);

int main(int argc, char **argv)
{
    struct options options = {.size = UINT64_MAX, .hash_bytes_max = HASH_BYTES_MAX_DEFAULT};
    struct error err = {0};
    struct dump dump = {0};
    int status = 1;

    if (parse_options(argc, argv, &options) != 0) {
        (void)fprintf(stderr,
                      "usage: scan-dump [--quiet] [--hash-max BYTES] IMAGE [OFFSET [SIZE]]\n"
                      "       scan-dump [--quiet] --mft DUMP RECORD-BYTES CLUSTER-BYTES\n");
        return 2;
    }
    dump.is_quiet = options.is_quiet;
    dump.hash_bytes_max = options.is_mft ? 0 : options.hash_bytes_max;
    dump.disk = disk_open(options.path, &err);
    if (dump.disk != NULL) {
        dump.volume = options.is_mft ? open_mft_dump(dump.disk, &options, &err)
                                     : volume_open(dump.disk, options.offset, options.size, &err);
    }
    if (dump.volume != NULL && run(&dump, &err) == 0) {
        status = 0;
    } else {
        (void)fprintf(stderr, "scan-dump: %s\n", err.message);
    }
    volume_reader_free(dump.reader);
    volume_free(dump.volume);
    disk_free(dump.disk);
    EVP_MD_CTX_free(dump.hash);
    free(dump.buffer);
    free(dump.record);
    return status;
}

static int parse_options(int argc, char **argv, struct options *options)
{
    uint64_t *numbers[] = {&options->offset, &options->size};
    uint64_t *mft_numbers[] = {&options->record_bytes, &options->cluster_bytes};
    size_t count = 0;

    for (int i = 1; i < argc; i++) {
        if (strcmp(argv[i], "--quiet") == 0) {
            options->is_quiet = true;
        } else if (strcmp(argv[i], "--mft") == 0) {
            options->is_mft = true;
        } else if (strcmp(argv[i], "--hash-max") == 0 && i + 1 < argc) {
            if (parse_u64(argv[++i], &options->hash_bytes_max) != 0) {
                return -1;
            }
        } else if (options->path == NULL) {
            options->path = argv[i];
        } else if (count >= ARRAY_LEN(numbers) ||
                   parse_u64(argv[i], options->is_mft ? mft_numbers[count] : numbers[count]) != 0) {
            return -1;
        } else {
            count++;
        }
    }
    return options->path == NULL || (options->is_mft && count != 2) ? -1 : 0;
}

/* A volume that has nothing but $MFT: no mount, no bitmap, clusters anywhere. */
static struct volume *open_mft_dump(struct disk *disk, const struct options *options,
                                    struct error *err)
{
    struct volume *volume = calloc(1, sizeof(*volume));
    uint64_t size = disk_size_bytes(disk);

    if (volume == NULL || options->cluster_bytes == 0 || options->record_bytes < 512) {
        (void)error_stop(err, EXIT_STATUS_USAGE, "record or cluster size cannot be");
        free(volume);
        return NULL;
    }
    struct volume_extent all = {.cluster = 0, .clusters = size / options->cluster_bytes};
    struct extent_list list = {.items = &all, .count = 1};
    volume->disk = disk;
    volume->size_bytes = size;
    volume->boot = (struct boot){.cluster_bytes = (uint32_t)options->cluster_bytes,
                                 .record_bytes = (uint32_t)options->record_bytes,
                                 .size_bytes = size,
                                 .cluster_count = MFT_DUMP_CLUSTERS};
    if (mft_set_extents(volume, &list, size, size, err) != 0) {
        volume_free(volume);
        return NULL;
    }
    return volume;
}

static int run(struct dump *dump, struct error *err)
{
    struct volume_visitor visitor = {.entry = print_entry, .stray = print_stray, .self = dump};
    struct volume_scan_totals totals = {0};
    uint64_t damaged = 0;

    dump->buffer = malloc(READ_BYTES);
    dump->record = malloc(dump->volume->boot.record_bytes);
    dump->hash = EVP_MD_CTX_new();
    dump->reader = volume_reader_new(dump->volume, err);
    if (dump->buffer == NULL || dump->record == NULL || dump->hash == NULL ||
        dump->reader == NULL) {
        return error_memory(err, "scan-dump");
    }
    print_info(volume_get_info(dump->volume));
    uint64_t start_ns = clock_monotonic_ns();
    if (volume_scan(dump->volume, &visitor, &totals, err) != 0) {
        return -1;
    }
    uint64_t elapsed_ns = clock_monotonic_ns() - start_ns;
    if (dump->volume->mount != NULL &&
        volume_read_security(dump->volume, count_descriptor, dump, &damaged, err) != 0) {
        return -1;
    }
    printf(
        "#totals\trecords=%" PRIu64 "\tin_use=%" PRIu64 "\tbases=%" PRIu64 "\textensions=%" PRIu64
        "\tstray=%" PRIu64 "\tcrc32c=%08x\tstreams=%" PRIu64 "\tproblems=%" PRIu64
        "\tunread=%" PRIu64 "\tdescriptors=%" PRIu64 "\tdamaged=%" PRIu64 "\n",
        totals.records, totals.records_in_use, totals.bases, totals.extensions, totals.stray,
        totals.mft_crc32c, dump->streams, dump->problems, dump->unread, dump->descriptors, damaged);
    (void)fprintf(stderr, "%.3f s, %.0f records/s\n", (double)elapsed_ns / 1e9,
                  (double)totals.records * 1e9 / (double)(elapsed_ns + 1));
    return totals.bases + totals.extensions + totals.stray == totals.records_in_use
               ? 0
               : error_stop(err, EXIT_STATUS_INTERNAL, "the numbers do not add up");
}

static void print_info(const struct volume_info *info)
{
    printf("#volume\tserial=%016" PRIX64
           "\tlabel=%s\tsector=%u\tcluster=%u\trecord=%u\trecords=%" PRIu64
           "\tversion=%u.%u\tdirty=%d\thibernated=%d\tlog_clean=%d\tlog_cached=%d"
           "\tmirror_differs=%d\tlsn=%" PRIu64 "\n",
           info->serial, info->label, info->sector_bytes, info->cluster_bytes, info->record_bytes,
           info->mft_records, info->version_major, info->version_minor, info->dirty,
           info->hibernated, info->log_clean, info->log_cached, info->mirror_differs,
           info->log_lsn);
}

static int print_entry(void *self, const struct volume_entry *entry, struct error *err)
{
    struct dump *dump = self;

    (void)err; /* a stream that cannot be read is printed, not an end */
    dump->problems += entry->problem != NULL;
    if (!dump->is_quiet) {
        printf(
            "entry\t%" PRIu64 "\t%u\t%s\tattributes=%x\tlinks=%u\tindex=%" PRIu64
            "\tsecurity=%u\treparse=%08x,%zu\tea=%zu\tefs=%zu\tsd=%zu\tid=%d\tproblem=%s\tnames=",
            entry->record, entry->sequence, entry->directory ? "dir" : "file",
            entry->file_attributes, entry->link_count, entry->unnamed_directory_index_bytes,
            entry->security_id, entry->reparse_tag, entry->reparse_len, entry->ea_len,
            entry->efs_len, entry->security_len, entry->object_id != NULL,
            entry->problem != NULL ? entry->problem : "");
        for (size_t i = 0; i < entry->name_count; i++) {
            printf("%s%" PRIu64 "-%u/%u/", i > 0 ? "|" : "",
                   (uint64_t)VOLUME_REF_RECORD(entry->names[i].parent_ref),
                   VOLUME_REF_SEQUENCE(entry->names[i].parent_ref), entry->names[i].space);
            print_units(entry->names[i].units, entry->names[i].len);
        }
        printf("\n");
    }
    for (size_t i = 0; i < entry->stream_count; i++) {
        dump->streams++;
        dump->problems += entry->streams[i].problem != NULL;
        if (!dump->is_quiet) {
            print_stream(dump, entry, &entry->streams[i]);
        }
    }
    return 0;
}

static int print_stray(void *self, uint64_t record, uint16_t sequence, uint64_t base,
                       const char *why, struct error *err)
{
    (void)self;
    (void)err;
    printf("stray\t%" PRIu64 "\t%u\tbase=%" PRIu64 "\t%s\n", record, sequence,
           (uint64_t)VOLUME_REF_RECORD(base), why);
    return 0;
}

static int count_descriptor(void *self, uint32_t id, const uint8_t *bytes, size_t len,
                            struct error *err)
{
    struct dump *dump = self;

    (void)id;
    (void)bytes;
    (void)len;
    (void)err;
    dump->descriptors++;
    return 0;
}

static void print_units(const uint16_t *units, size_t count)
{
    for (size_t i = 0; i < count;) {
        char utf8[4];
        uint32_t code_point = utf_next_utf16(units, count, &i);
        size_t len = utf_put_utf8(code_point, utf8);
        if (len == 0 || code_point < 0x20 || code_point == 0x7F) {
            printf("\\u%04X", code_point);
        } else {
            (void)fwrite(utf8, 1, len, stdout); /* checked with the pipe, if anybody minds */
        }
    }
}

static void print_stream(struct dump *dump, const struct volume_entry *entry,
                         const struct volume_stream *stream)
{
    static const char *const forms[] = {"resident", "plain", "sparse", "lznt1", "efs"};
    uint8_t digest[EVP_MAX_MD_SIZE];
    unsigned digest_len = 0;
    struct error cause = {0};

    printf("stream\t%" PRIu64 "\t%u\t", entry->record, entry->sequence);
    print_units(stream->name, stream->name_len);
    printf("\t%" PRIu64 "\t%" PRIu64 "\t%" PRIu64 "\t%s\t%x\t", stream->size_bytes,
           stream->valid_bytes, stream->allocated_bytes, forms[stream->form],
           stream->attribute_flags);
    for (size_t i = 0; i < stream->extent_count; i++) {
        const struct volume_extent *extent = &stream->extents[i];
        if (extent->cluster == VOLUME_HOLE) {
            printf("%shole+%" PRIu64, i > 0 ? " " : "", extent->clusters);
        } else {
            printf("%s%" PRIu64 "+%" PRIu64, i > 0 ? " " : "", extent->cluster, extent->clusters);
        }
    }
    printf("\t");
    if (stream->size_bytes > dump->hash_bytes_max || entry->record < FIRST_USER_RECORD) {
        printf("-");
    } else if (EVP_DigestInit_ex(dump->hash, EVP_sha256(), NULL) == 1 &&
               hash_stream(dump, entry, stream, &cause) == 0 &&
               EVP_DigestFinal_ex(dump->hash, digest, &digest_len) == 1) {
        for (unsigned i = 0; i < digest_len; i++) {
            printf("%02x", digest[i]);
        }
    } else {
        dump->unread++;
        printf("!%s: %s", cause.reason != NULL ? cause.reason : "-", cause.message);
    }
    printf("\t%s\n", stream->problem != NULL ? stream->problem : "");
}

static int hash_stream(struct dump *dump, const struct volume_entry *entry,
                       const struct volume_stream *stream, struct error *err)
{
    if (stream->form == VOLUME_LZNT1 || stream->form == VOLUME_EFS || stream->problem != NULL) {
        return hash_by_reader(dump, entry, stream, err);
    }
    return stream->form == VOLUME_RESIDENT ? hash_resident(dump, stream, err)
                                           : hash_extents(dump, stream, err);
}

static int hash_resident(struct dump *dump, const struct volume_stream *stream, struct error *err)
{
    const uint8_t *bytes = NULL;
    uint32_t len = 0;

    if (volume_read_records(dump->volume, stream->record, 1, dump->record, err) != 0 ||
        volume_record_fix_up(dump->volume, dump->record, stream->record, err) != 0 ||
        volume_record_resident(dump->volume, dump->record, stream->name, stream->name_len, &bytes,
                               &len, err) != 0) {
        return -1;
    }
    return hash_add(dump, bytes, len, err);
}

static int hash_extents(struct dump *dump, const struct volume_stream *stream, struct error *err)
{
    uint64_t at = 0;
    size_t index = 0;
    uint64_t extent_start = 0;

    while (at < stream->size_bytes) {
        uint64_t len = stream->size_bytes - at;
        len = len < READ_BYTES ? len : READ_BYTES;
        const struct volume_extent *extent = NULL;
        if (at < stream->valid_bytes) {
            len = len < stream->valid_bytes - at ? len : stream->valid_bytes - at;
            extent = &stream->extents[index];
            uint64_t extent_bytes = extent->clusters * dump->volume->boot.cluster_bytes;
            uint64_t rest = extent_bytes - (at - extent_start);
            len = len < rest ? len : rest;
            if (len == rest) {
                index++;
            }
        }
        if (extent == NULL || extent->cluster == VOLUME_HOLE) {
            memset(dump->buffer, 0, (size_t)len);
        } else if (disk_read(dump->disk,
                             volume_cluster_position(dump->volume, extent->cluster) + at -
                                 extent_start,
                             dump->buffer, (size_t)len, err) != 0) {
            return -1;
        }
        if (hash_add(dump, dump->buffer, (size_t)len, err) != 0) {
            return -1;
        }
        at += len;
        if (extent != NULL && extent != &stream->extents[index]) {
            extent_start = at;
        }
    }
    return 0;
}

static int hash_by_reader(struct dump *dump, const struct volume_entry *entry,
                          const struct volume_stream *stream, struct error *err)
{
    for (uint64_t at = 0; at < stream->size_bytes;) {
        ssize_t count =
            volume_reader_read(dump->reader, entry->record, entry->sequence, stream->name,
                               stream->name_len, at, dump->buffer, READ_BYTES, err);
        if (count <= 0) {
            return count < 0 ? -1 : error_entry(err, "bad-record", "ends early");
        }
        if (hash_add(dump, dump->buffer, (size_t)count, err) != 0) {
            return -1;
        }
        at += (uint64_t)count;
    }
    return 0;
}

static int hash_add(struct dump *dump, const void *bytes, size_t len, struct error *err)
{
    return EVP_DigestUpdate(dump->hash, bytes, len) == 1
               ? 0
               : error_stop(err, EXIT_STATUS_FAILED, "SHA-256 failed");
}
