/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * NTFS boot sectors: the forms that Windows writes, and fields that cannot be.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "volume/boot.h"

struct boot_case {
    const char *name;
    uint32_t sector_bytes;
    uint8_t sectors_per_cluster;
    uint64_t sectors, mft, mirror;
    uint8_t record;
    uint32_t cluster_bytes, record_bytes; /* 0: must be refused */
    const char *field;
};

/* The first five are those of volumes that Windows formatted. */
static const struct boot_case cases[] = {
    {"512", 512, 0x01, 2091007, 697002, 16, 0x02, 512, 1024, NULL},
    {"4k", 512, 0x08, 124700671, 786432, 2, 0xF6, 4096, 1024, NULL},
    {"64k", 512, 0x80, 67102719, 49152, 1, 0xF6, 65536, 1024, NULL},
    {"128k", 512, 0xF8, 67102719, 24576, 1, 0xF6, 131072, 1024, NULL},
    {"4kn", 4096, 0x01, 14335, 4778, 2, 0x01, 4096, 4096, NULL},
    {"2m", 512, 0xF4, 2091007, 170, 1, 0xF6, 2097152, 1024, NULL},
    {"sector 256", 256, 0x10, 100000, 4, 2, 0xF6, 4096, 1024, NULL},
    {"sector 0", 0, 0x08, 100000, 4, 2, 0xF6, 0, 0, "bytes per sector"},
    {"sector 513", 513, 0x08, 100000, 4, 2, 0xF6, 0, 0, "bytes per sector"},
    {"sector 8192", 8192, 0x01, 100000, 4, 2, 0xF6, 0, 0, "bytes per sector"},
    {"cluster 0", 512, 0x00, 100000, 4, 2, 0xF6, 0, 0, "sectors per cluster"},
    {"cluster 3", 512, 0x03, 100000, 4, 2, 0xF6, 0, 0, "sectors per cluster"},
    {"cluster 4 MiB", 512, 0xF3, 100000, 4, 2, 0xF6, 0, 0, "sectors per cluster"},
    {"cluster 2^127", 512, 0x81, 100000, 4, 2, 0xF6, 0, 0, "sectors per cluster"},
    {"cluster 256", 256, 0x01, 100000, 4, 2, 0xF6, 0, 0, "sectors per cluster"},
    {"no sectors", 512, 0x08, 0, 4, 2, 0xF6, 0, 0, "total sectors"},
    {"too many sectors", 512, 0x08, UINT64_MAX, 4, 2, 0xF6, 0, 0, "total sectors"},
    {"mft outside", 512, 0x08, 80000, 10000, 2, 0xF6, 0, 0, "$MFT"},
    {"mft at 0", 512, 0x08, 80000, 0, 2, 0xF6, 0, 0, "$MFT"},
    {"mirror outside", 512, 0x08, 80000, 4, UINT64_MAX, 0xF6, 0, 0, "$MFTMirr"},
    {"record 0", 512, 0x08, 80000, 4, 2, 0x00, 0, 0, "file record"},
    {"record 2^-1", 512, 0x08, 80000, 4, 2, 0xFF, 0, 0, "file record"},
    {"record 3 clusters", 512, 0x08, 80000, 4, 2, 0x03, 0, 0, "file record"},
    {"record 2^64", 512, 0x08, 80000, 4, 2, 0xC0, 0, 0, "file record"},
};

static void put(uint8_t *at, uint64_t value, unsigned len)
{
    for (unsigned i = 0; i < len; i++) {
        at[i] = (uint8_t)(value >> (8 * i));
    }
}

static void fill(uint8_t *sector, const struct boot_case *one)
{
    memset(sector, 0, BOOT_BYTES);
    memcpy(sector + 3, "NTFS    ", 8);
    put(sector + 11, one->sector_bytes, 2);
    sector[13] = one->sectors_per_cluster;
    put(sector + 40, one->sectors, 8);
    put(sector + 48, one->mft, 8);
    put(sector + 56, one->mirror, 8);
    sector[64] = one->record;
    put(sector + 72, UINT64_C(0xCCF05C3DF05C2FC6), 8);
}

static void test_cases(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        uint8_t sector[BOOT_BYTES];
        struct boot boot;
        struct error err = {0};
        fill(sector, &cases[i]);
        int result = boot_parse(sector, &boot, &err);
        if ((result == 0) != (cases[i].cluster_bytes != 0)) {
            fail_msg("%s: result %d: %s", cases[i].name, result, err.message);
        }
        if (result != 0) {
            assert_int_equal(err.kind, ERROR_STOP_RUN);
            assert_int_equal(err.exit_status, EXIT_STATUS_SOURCE);
            assert_non_null(strstr(err.message, cases[i].field));
            continue;
        }
        assert_int_equal(boot.cluster_bytes, cases[i].cluster_bytes);
        assert_int_equal(boot.record_bytes, cases[i].record_bytes);
        assert_int_equal(boot.size_bytes, cases[i].sectors * cases[i].sector_bytes);
        assert_int_equal(boot.cluster_count, boot.size_bytes / boot.cluster_bytes);
        assert_int_equal(boot.mft_cluster, cases[i].mft);
        assert_int_equal(boot.mirror_cluster, cases[i].mirror);
        assert_int_equal(boot.serial, UINT64_C(0xCCF05C3DF05C2FC6));
    }
}

static void test_not_ntfs(void **state)
{
    (void)state;
    uint8_t sector[BOOT_BYTES] = {0};
    struct boot boot;
    struct error err = {0};

    assert_int_equal(boot_parse(sector, &boot, &err), -1);
    assert_non_null(strstr(err.message, "no NTFS boot sector"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_cases),
        cmocka_unit_test(test_not_ntfs),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
