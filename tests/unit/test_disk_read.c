/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Opening and reading disks: what is refused, bad sectors, a device that vanishes, the watchdog.
 */
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <cmocka.h>

#include "disk/disk_internal.h"

#define BYTES 65536

static struct disk *open_pattern(void)
{
    char path[] = "/tmp/winch-disk-XXXXXX";
    uint8_t bytes[BYTES];
    struct error err = {0};
    int fd = mkstemp(path);

    for (size_t i = 0; i < sizeof(bytes); i++) {
        bytes[i] = (uint8_t)(i * 31 + i / 256);
    }
    assert_true(fd >= 0);
    assert_int_equal(write(fd, bytes, sizeof(bytes)), sizeof(bytes));
    (void)close(fd);
    struct disk *disk = disk_open(path, &err);
    (void)unlink(path);
    assert_non_null(disk);
    return disk;
}

static void test_refused(void **state)
{
    (void)state;
    char empty[] = "/tmp/winch-empty-XXXXXX";
    char fifo[] = "/tmp/winch-fifo-XXXXXX";
    int fd = mkstemp(empty);
    int fifo_fd = mkstemp(fifo);

    assert_true(fd >= 0 && fifo_fd >= 0);
    (void)close(fd);
    (void)close(fifo_fd);
    (void)unlink(fifo);
    assert_int_equal(mkfifo(fifo, 0600), 0);
    const struct {
        const char *path, *says;
    } cases[] = {{"/nowhere/at/all", "winch disks"},
                 {"/tmp", "directory"},
                 {"/dev/null", "neither"},
                 {empty, "empty"},
                 {fifo, "neither"}};
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct error err = {0};
        assert_null(disk_open(cases[i].path, &err));
        assert_int_equal(err.kind, ERROR_STOP_RUN);
        assert_int_equal(err.exit_status, EXIT_STATUS_SOURCE);
        assert_non_null(strstr(err.message, cases[i].says));
        assert_non_null(strstr(err.message, cases[i].path));
    }
    (void)unlink(empty);
    (void)unlink(fifo);
}

static void test_read(void **state)
{
    (void)state;
    struct disk *disk = open_pattern();
    uint8_t bytes[1000];
    struct error err = {0};

    assert_int_equal(disk_size_bytes(disk), BYTES);
    assert_int_equal(disk_sector_bytes(disk), 512);
    assert_int_equal(disk_read(disk, 777, bytes, sizeof(bytes), &err), 0);
    for (size_t i = 0; i < sizeof(bytes); i++) {
        assert_int_equal(bytes[i], (uint8_t)((i + 777) * 31 + (i + 777) / 256));
    }
    assert_int_equal(disk_read(disk, BYTES, bytes, 0, &err), 0);
    static const uint64_t bad[] = {BYTES - 999, BYTES, UINT64_MAX - 10, UINT64_MAX};
    for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
        assert_int_equal(disk_read(disk, bad[i], bytes, sizeof(bytes), &err), -1);
        assert_int_equal(err.kind, ERROR_FAIL_ENTRY);
        assert_string_equal(err.reason, "bad-sector");
    }
    disk_free(disk);
    disk_free(NULL);
}

struct fault {
    uint64_t from, to;
    int cause;
};

static int fail_range(void *self, uint64_t offset, size_t len)
{
    const struct fault *fault = self;

    return offset < fault->to && offset + len > fault->from ? fault->cause : 0;
}

static void test_faults(void **state)
{
    (void)state;
    static const struct {
        struct fault fault;
        enum error_kind kind;
    } cases[] = {
        {{1000, 1001, EIO}, ERROR_FAIL_ENTRY},       {{0, BYTES, EIO}, ERROR_STOP_RUN},
        {{1000, 1001, ENODEV}, ERROR_STOP_RUN},      {{1000, 1001, ENXIO}, ERROR_STOP_RUN},
        {{1000, 1001, EREMOTEIO}, ERROR_FAIL_ENTRY}, {{0, BYTES, ETIMEDOUT}, ERROR_STOP_RUN},
    };

    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct disk *disk = open_pattern();
        struct fault fault = cases[i].fault;
        struct error err = {0};
        uint8_t bytes[512];
        disk_set_fault(disk, fail_range, &fault);
        assert_int_equal(disk_read(disk, 800, bytes, sizeof(bytes), &err), -1);
        assert_int_equal(err.kind, cases[i].kind);
        assert_int_equal(err.exit_status, cases[i].kind == ERROR_STOP_RUN ? EXIT_STATUS_SOURCE
                                                                          : EXIT_STATUS_NOT_CLEAN);
        assert_non_null(strstr(err.message, "800"));
        disk_free(disk);
    }
}

/* A device that was detached has size 0: every entry would fail one by one. */
static void test_shrunk(void **state)
{
    (void)state;
    struct disk *disk = open_pattern();
    struct error err = {0};
    uint8_t bytes[512];
    CLEANUP_FREE char *again = NULL;

    assert_true(asprintf(&again, "/proc/self/fd/%d", disk->fd) > 0);
    assert_int_equal(truncate(again, 0), 0);
    assert_int_equal(disk_read(disk, 800, bytes, sizeof(bytes), &err), -1);
    assert_int_equal(err.kind, ERROR_STOP_RUN);
    assert_int_equal(err.exit_status, EXIT_STATUS_SOURCE);
    disk_free(disk);
}

static int look_at_watchdog(void *self, uint64_t offset, size_t len)
{
    struct disk *disk = self;
    uint64_t blocked_at = 0;

    (void)len;
    (void)clock_sleep_ms(30, NULL); /* never cancelled */
    assert_true(disk_blocked_ms(disk, &blocked_at) >= 29);
    assert_int_equal(blocked_at, offset);
    return 0;
}

static void test_cancel(void **state)
{
    (void)state;
    _Atomic bool cancel = false;
    struct disk *disk = open_pattern();
    uint8_t bytes[16];
    struct error err = {0};

    disk_set_cancel(disk, &cancel);
    assert_int_equal(disk_read(disk, 0, bytes, sizeof(bytes), &err), 0);
    cancel = true;
    assert_int_equal(disk_read(disk, 0, bytes, sizeof(bytes), &err), -1);
    assert_int_equal(err.kind, ERROR_CANCELLED);
    disk_free(disk);
}

static void test_watchdog(void **state)
{
    (void)state;
    struct disk *disk = open_pattern();
    struct error err = {0};
    uint64_t offset = 0;
    uint8_t byte = 0;

    disk_set_fault(disk, look_at_watchdog, disk);
    assert_int_equal(disk_read(disk, 4321, &byte, 1, &err), 0);
    disk_set_fault(disk, NULL, NULL);
    /* It has ended. */
    assert_int_equal(disk_blocked_ms(disk, &offset), 0);
    disk_free(disk);
}

static int count_device(void *self, const struct disk_device *device, struct error *err)
{
    (void)err;
    assert_int_equal(strncmp(device->path, "/dev/", 5), 0);
    assert_true(device->size_bytes > 0);
    (*(size_t *)self)++;
    return 0;
}

static int refuse_device(void *self, const struct disk_device *device, struct error *err)
{
    (void)self;
    (void)device;
    return error_stop(err, EXIT_STATUS_FAILED, "enough");
}

static void test_list(void **state)
{
    (void)state;
    struct error err = {0};
    size_t count = 0;

    assert_int_equal(disk_list(count_device, &count, &err), 0);
    if (count > 0) {
        assert_int_equal(disk_list(refuse_device, NULL, &err), -1);
        assert_string_equal(err.message, "enough");
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_refused),  cmocka_unit_test(test_read), cmocka_unit_test(test_faults),
        cmocka_unit_test(test_watchdog), cmocka_unit_test(test_list), cmocka_unit_test(test_shrunk),
        cmocka_unit_test(test_cancel),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
