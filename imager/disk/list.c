/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Attached block devices, from /sys/block, with what a person knows them by. What the running
 * system itself stands on is marked, so that nobody takes it for the disk to migrate.
 */
#include <dirent.h>
#include <errno.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

#include "disk/disk_internal.h"

/* Disks attached to one machine: Compute Engine allows 128; the rest is room. */
#define LIST_MAX 1024
#define SYSFS_UNIT_BYTES 512
#define SYSFS_VALUE_MAX 256
/* Partition on a volume group on a RAID on a disk is three; deeper stacks are not followed. */
#define HOLDER_DEPTH_MAX 8
/* A machine with containers has some hundred mounts. */
#define MOUNTS_MAX 16384

struct mounts {
    dev_t *devices;
    size_t count;
};

static void free_mounts(struct mounts *mounts);
static int read_mounts(struct mounts *mounts, struct error *err);
static void add_mount(struct mounts *mounts, dev_t device);
static bool is_mounted(const struct mounts *mounts, const char *folder, int depth);
static int describe(const char *name, const struct mounts *mounts, struct disk_device *ret_device);
static bool read_value(const char *folder, const char *name, char value[SYSFS_VALUE_MAX]);
static void find_by_id(const char *device_path, char *by_id, size_t size);
static int is_name(const struct dirent *entry);

int disk_list(int (*each)(void *self, const struct disk_device *device, struct error *err),
              void *self, struct error *err)
{
    CLEANUP(free_mounts) struct mounts mounts = {0};
    struct dirent **names = NULL;

    if (read_mounts(&mounts, err) != 0) {
        return -1;
    }
    int count = scandir("/sys/block", &names, is_name, versionsort);
    if (count < 0) {
        return error_stop(err, EXIT_STATUS_SOURCE, "/sys/block: cannot list the disks: %s",
                          strerror(errno));
    }
    int result = 0;
    for (int i = 0; i < count; i++) {
        struct disk_device device = {0};
        if (result == 0 && i < LIST_MAX && describe(names[i]->d_name, &mounts, &device) == 0) {
            result = each(self, &device, err);
        }
        free(names[i]);
    }
    free(names);
    return result;
}

static void free_mounts(struct mounts *mounts)
{
    free(mounts->devices);
}

/* Devices of mounted file systems and of swap, as numbers. */
static int read_mounts(struct mounts *mounts, struct error *err)
{
    static const char *const tables[] = {"/proc/self/mountinfo", "/proc/swaps"};
    CLEANUP_FREE char *line = NULL;
    size_t cap = 0;

    mounts->devices = calloc(MOUNTS_MAX, sizeof(*mounts->devices));
    if (mounts->devices == NULL) {
        return error_memory(err, "list of mounts");
    }
    for (size_t i = 0; i < ARRAY_LEN(tables); i++) {
        CLEANUP_FILE FILE *file = fopen(tables[i], "re");
        while (file != NULL && getline(&line, &cap, file) > 0) {
            unsigned major_number = 0;
            unsigned minor_number = 0;
            struct stat st;
            if (sscanf(line, "%*d %*d %u:%u", &major_number, &minor_number) == 2) {
                add_mount(mounts, makedev(major_number, minor_number));
            }
            /* Some file systems show a number of their own, so the device path counts as well. */
            char *path = strncmp(line, "/dev/", 5) == 0 ? line : strstr(line, " /dev/");
            if (path != NULL) {
                path += *path == ' ' ? 1 : 0;
                path[strcspn(path, " \t\n")] = '\0';
                if (stat(path, &st) == 0 && S_ISBLK(st.st_mode)) {
                    add_mount(mounts, st.st_rdev);
                }
            }
        }
    }
    return 0;
}

static void add_mount(struct mounts *mounts, dev_t device)
{
    if (mounts->count < MOUNTS_MAX) {
        mounts->devices[mounts->count++] = device;
    }
}

/* `folder` is a device's folder in sysfs: the device itself, its partitions, and what stands on
 * them. */
static bool is_mounted(const struct mounts *mounts, const char *folder, int depth)
{
    char value[SYSFS_VALUE_MAX];
    unsigned major_number = 0;
    unsigned minor_number = 0;
    CLEANUP_FREE char *holders = NULL;

    if (read_value(folder, "dev", value) &&
        sscanf(value, "%u:%u", &major_number, &minor_number) == 2) {
        for (size_t i = 0; i < mounts->count; i++) {
            if (mounts->devices[i] == makedev(major_number, minor_number)) {
                return true;
            }
        }
    }
    if (depth >= HOLDER_DEPTH_MAX || asprintf(&holders, "%s/holders", folder) < 0) {
        return false;
    }
    bool found = false;
    const char *const parents[] = {holders, folder};
    for (size_t i = 0; i < ARRAY_LEN(parents) && !found; i++) {
        DIR *dir = opendir(parents[i]);
        struct dirent *entry = NULL;
        while (dir != NULL && !found && (entry = readdir(dir)) != NULL) {
            CLEANUP_FREE char *child = NULL;
            char ignored[SYSFS_VALUE_MAX];
            if (!is_name(entry) || asprintf(&child, "%s/%s", parents[i], entry->d_name) < 0) {
                child = NULL; /* asprintf leaves it undefined when it fails */
                continue;
            }
            if (i == 0 || read_value(child, "partition", ignored)) {
                found = is_mounted(mounts, child, depth + 1);
            }
        }
        if (dir != NULL) {
            (void)closedir(dir); /* only read */
        }
    }
    return found;
}

/* -1: not a disk that could be a source. */
static int describe(const char *name, const struct mounts *mounts, struct disk_device *ret_device)
{
    static const char *const never[] = {"ram", "zram", "sr", "fd", "nullb"};
    struct disk_device device = {0};
    char value[SYSFS_VALUE_MAX];
    char folder[SYSFS_VALUE_MAX];
    uint64_t units = 0;

    for (size_t i = 0; i < ARRAY_LEN(never); i++) {
        size_t len = strlen(never[i]);
        if (strncmp(name, never[i], len) == 0 && name[len] >= '0' && name[len] <= '9') {
            return -1;
        }
    }
    int len = snprintf(folder, sizeof(folder), "/sys/block/%s", name);
    int path_len = snprintf(device.path, sizeof(device.path), "/dev/%s", name);
    if (len < 0 || (size_t)len >= sizeof(folder) || path_len < 0 ||
        (size_t)path_len >= sizeof(device.path)) {
        return -1;
    }
    for (char *at = device.path + 5; *at != '\0'; at++) {
        *at = *at == '!' ? '/' : *at; /* sysfs writes cciss/c0d0 as cciss!c0d0 */
    }
    if (strncmp(name, "loop", 4) == 0 && !read_value(folder, "loop/backing_file", value)) {
        return -1;
    }
    if (!read_value(folder, "size", value) || parse_u64(value, &units) != 0 || units == 0 ||
        mul_overflows(units, SYSFS_UNIT_BYTES, &device.size_bytes)) {
        return -1;
    }
    if (read_value(folder, "device/model", value) || read_value(folder, "dm/name", value) ||
        read_value(folder, "loop/backing_file", value)) {
        probe_copy_text(device.model, sizeof(device.model), value);
    }
    find_by_id(device.path, device.by_id, sizeof(device.by_id));
    device.is_system = is_mounted(mounts, folder, 0);
    *ret_device = device;
    return 0;
}

/* The first line without spaces at its ends. */
static bool read_value(const char *folder, const char *name, char value[SYSFS_VALUE_MAX])
{
    CLEANUP_FREE char *path = NULL;

    if (asprintf(&path, "%s/%s", folder, name) < 0) {
        path = NULL; /* asprintf leaves it undefined when it fails */
        return false;
    }
    CLEANUP_FILE FILE *file = fopen(path, "re");
    if (file == NULL || fgets(value, SYSFS_VALUE_MAX, file) == NULL) {
        return false;
    }
    size_t len = strcspn(value, "\n");
    while (len > 0 && value[len - 1] == ' ') {
        len--;
    }
    value[len] = '\0';
    return true;
}

/* The google-… link, which carries the name of the disk in Compute Engine; else the first link. */
static void find_by_id(const char *device_path, char *by_id, size_t size)
{
    static const char folder[] = "/dev/disk/by-id";
    struct dirent **names = NULL;
    struct stat wanted;
    int count = scandir(folder, &names, is_name, alphasort);
    bool known = count > 0 && stat(device_path, &wanted) == 0;

    for (int i = 0; i < count; i++) {
        CLEANUP_FREE char *link = NULL;
        struct stat st;
        if (asprintf(&link, "%s/%s", folder, names[i]->d_name) < 0) {
            link = NULL; /* asprintf leaves it undefined when it fails */
        } else if (known && stat(link, &st) == 0 && S_ISBLK(st.st_mode) &&
                   st.st_rdev == wanted.st_rdev &&
                   (by_id[0] == '\0' || strncmp(names[i]->d_name, "google-", 7) == 0)) {
            probe_copy_text(by_id, size, names[i]->d_name);
        }
        free(names[i]);
    }
    free(names);
}

static int is_name(const struct dirent *entry)
{
    return entry->d_name[0] != '.';
}
