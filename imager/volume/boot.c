/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Parses the NTFS boot sector. Each field is held against what Windows can format, so that later
 * arithmetic cannot overflow.
 */
#include "volume/boot.h"

#include <string.h>

#define SECTOR_BYTES_MIN 256
#define SECTOR_BYTES_MAX 4096
#define CLUSTER_BYTES_MIN 512
#define CLUSTER_BYTES_MAX (UINT32_C(2) << 20) /* Windows 10 and later */
#define RECORD_BYTES_MIN 512
#define RECORD_BYTES_MAX 65536
/* Above this, bytes-per-cluster is given as a power of two: 0xF4 is 2^12 sectors. */
#define SECTORS_PER_CLUSTER_MAX 128

static bool is_power_of_two(uint64_t value);
static int bad_field(struct error *err, const char *field, uint64_t value);
static int parse_cluster(const uint8_t *sector, struct boot *boot, struct error *err);
static int parse_record(const uint8_t *sector, struct boot *boot, struct error *err);

int boot_parse(const uint8_t sector[BOOT_BYTES], struct boot *ret_boot, struct error *err)
{
    struct boot boot = {0};

    if (memcmp(sector + 3, "NTFS    ", 8) != 0) {
        return error_stop(
            err, EXIT_STATUS_SOURCE,
            "no NTFS boot sector here; 'winch disks' shows what is on each partition");
    }
    boot.sector_bytes = read_le16(sector + 11);
    if (!is_power_of_two(boot.sector_bytes) || boot.sector_bytes < SECTOR_BYTES_MIN ||
        boot.sector_bytes > SECTOR_BYTES_MAX) {
        return bad_field(err, "bytes per sector", boot.sector_bytes);
    }
    if (parse_cluster(sector, &boot, err) != 0) {
        return -1;
    }
    boot.sector_count = read_le64(sector + 40);
    if (boot.sector_count == 0 || boot.sector_count > INT64_MAX / SECTOR_BYTES_MAX) {
        return bad_field(err, "total sectors", boot.sector_count);
    }
    boot.size_bytes = boot.sector_count * boot.sector_bytes;
    boot.cluster_count = boot.size_bytes / boot.cluster_bytes;
    boot.mft_cluster = read_le64(sector + 48);
    if (boot.mft_cluster == 0 || boot.mft_cluster >= boot.cluster_count) {
        return bad_field(err, "cluster of $MFT", boot.mft_cluster);
    }
    boot.mirror_cluster = read_le64(sector + 56);
    if (boot.mirror_cluster == 0 || boot.mirror_cluster >= boot.cluster_count) {
        return bad_field(err, "cluster of $MFTMirr", boot.mirror_cluster);
    }
    if (parse_record(sector, &boot, err) != 0) {
        return -1;
    }
    boot.serial = read_le64(sector + 72);
    *ret_boot = boot;
    return 0;
}

static bool is_power_of_two(uint64_t value)
{
    return value != 0 && (value & (value - 1)) == 0;
}

static int bad_field(struct error *err, const char *field, uint64_t value)
{
    return error_stop(
        err, EXIT_STATUS_SOURCE,
        "corrupt boot sector: %s is %llu; 'testdisk' on a copy of the disk can restore "
        "it from the backup at the end of the volume",
        field, (unsigned long long)value);
}

static int parse_cluster(const uint8_t *sector, struct boot *boot, struct error *err)
{
    uint8_t raw = sector[13];
    uint64_t sectors = raw;

    if (raw > SECTORS_PER_CLUSTER_MAX) {
        unsigned shift = 256U - raw;
        if (shift > 31) {
            return bad_field(err, "sectors per cluster", raw);
        }
        sectors = UINT64_C(1) << shift;
    }
    uint64_t bytes = sectors * boot->sector_bytes;
    if (!is_power_of_two(sectors) || bytes < CLUSTER_BYTES_MIN || bytes > CLUSTER_BYTES_MAX) {
        return bad_field(err, "sectors per cluster", raw);
    }
    boot->cluster_bytes = (uint32_t)bytes;
    return 0;
}

static int parse_record(const uint8_t *sector, struct boot *boot, struct error *err)
{
    uint8_t raw = sector[64];
    uint64_t bytes = (uint64_t)raw * boot->cluster_bytes;

    if (raw >= 128) {
        unsigned shift = 256U - raw;
        bytes = shift > 31 ? 0 : UINT64_C(1) << shift;
    }
    if (!is_power_of_two(bytes) || bytes < RECORD_BYTES_MIN || bytes > RECORD_BYTES_MAX) {
        return bad_field(err, "size of a file record", raw);
    }
    boot->record_bytes = (uint32_t)bytes;
    return 0;
}
