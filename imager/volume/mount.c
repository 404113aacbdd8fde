/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Mounts through libntfs-3g. A mount belongs to one thread; what the library keeps for the whole
 * process (its log handler) is set once.
 */
#include <errno.h>
#include <pthread.h>
#include <string.h>

#include "volume/mount_internal.h"

/* Extents of $MFT: more would need an attribute list longer than NTFS allows. */
#define MFT_EXTENTS_MAX RUNLIST_EXTENTS_MAX

static pthread_once_t library_once = PTHREAD_ONCE_INIT;
/* The library does no locking; mounting builds tables, so that one thread does it at a time. */
static pthread_mutex_t mount_lock = PTHREAD_MUTEX_INITIALIZER;

static void prepare_library(void);
static int drop_log(const char *function, const char *file, int line, u32 level, void *data,
                    const char *format, va_list args);
static int mount_once(struct mount *mount);
static void free_device(struct mount *mount);
static int fail_mount(struct mount *mount, struct error *err, int cause);

struct mount *mount_open(struct volume *volume, struct error *err)
{
    struct mount *mount = calloc(1, sizeof(*mount));
    if (mount == NULL || pthread_once(&library_once, prepare_library) != 0) {
        (void)error_memory(err, "NTFS mount");
        free(mount);
        return NULL;
    }
    mount->volume = volume;
    (void)pthread_mutex_lock(&mount_lock); /* a plain static mutex cannot fail to lock */
    int cause = mount_once(mount);
    if (cause != 0 && cause != ENOMEM && !mount->has_fault) {
        /* libntfs-3g calls a volume damaged also when it had no memory to look: only what is so
         * twice is believed. */
        cause = mount_once(mount);
    }
    (void)pthread_mutex_unlock(&mount_lock); /* as above */
    if (cause != 0) {
        (void)fail_mount(mount, err, cause);
        mount_free(mount);
        return NULL;
    }
    return mount;
}

/* 0, or what errno says. */
static int mount_once(struct mount *mount)
{
    mount->device = mount_device_new(mount);
    if (mount->device == NULL) {
        return ENOMEM;
    }
    errno = 0;
    mount->ntfs = ntfs_device_mount(mount->device, NTFS_MNT_RDONLY | NTFS_MNT_FORENSIC);
    if (mount->ntfs != NULL) {
        return 0;
    }
    int cause = errno != 0 ? errno : EIO;
    free_device(mount);
    return cause;
}

static void free_device(struct mount *mount)
{
    NDevClearOpen(mount->device);
    (void)ntfs_device_free(mount->device); /* fails only while it is open */
    mount->device = NULL;
}

void mount_free(struct mount *mount)
{
    if (mount == NULL) {
        return;
    }
    if (mount->ntfs != NULL) {
        (void)ntfs_umount(mount->ntfs, FALSE); /* read only: nothing to lose; frees the device */
    }
    free(mount);
}

int mount_map_mft(struct mount *mount, struct extent_list *ret_list, uint64_t *ret_size_bytes,
                  uint64_t *ret_valid_bytes, struct error *err)
{
    ntfs_attr *mft = mount->ntfs->mft_na;
    size_t count = 0;

    mount_forget_fault(mount);
    if (ntfs_attr_map_whole_runlist(mft) != 0 || mft->rl == NULL) {
        return mount_fail(mount, err, "$MFT", errno);
    }
    while (mft->rl[count].length > 0) {
        if (mft->rl[count].lcn < 0 || count >= MFT_EXTENTS_MAX) {
            return error_stop(err, EXIT_STATUS_SOURCE, "$MFT is damaged: its extents have a gap");
        }
        count++;
    }
    struct extent_list list = {.items = calloc(count + 1, sizeof(*list.items)), .cap = count + 1};
    if (list.items == NULL) {
        return error_memory(err, "extents of $MFT");
    }
    for (size_t i = 0; i < count; i++) {
        list.items[i] = (struct volume_extent){.cluster = (uint64_t)mft->rl[i].lcn,
                                               .clusters = (uint64_t)mft->rl[i].length};
    }
    list.count = count;
    *ret_list = list;
    *ret_size_bytes = (uint64_t)mft->data_size;
    *ret_valid_bytes = (uint64_t)mft->initialized_size;
    return 0;
}

ssize_t mount_read_mft_bitmap(struct mount *mount, uint64_t offset, void *buf, size_t len,
                              struct error *err)
{
    ntfs_attr *bitmap = mount->ntfs->mftbmp_na;

    mount_forget_fault(mount);
    if (offset >= (uint64_t)bitmap->data_size) {
        return 0;
    }
    s64 count = ntfs_attr_pread(bitmap, (s64)offset, (s64)len, buf);
    /* A part before a failed read would leave zeros behind it, which mean free records. */
    if (count <= 0 || mount->has_fault) {
        return mount_fail(mount, err, "$MFT:$BITMAP", errno);
    }
    return (ssize_t)count;
}

int mount_is_hibernated(struct mount *mount, bool *ret_is_hibernated, struct error *err)
{
    mount_forget_fault(mount);
    *ret_is_hibernated = false;
    if (ntfs_volume_check_hiberfile(mount->ntfs, 0) == 0) {
        return 0;
    }
    int cause = errno;
    *ret_is_hibernated = cause == EPERM;
    if (cause == ENOMEM) {
        return error_memory(err, "hiberfil.sys");
    }
    if (mount->has_fault && mount->fault.kind != ERROR_FAIL_ENTRY) {
        return mount_fail(mount, err, "hiberfil.sys", cause);
    }
    return 0; /* a file that cannot be read as one says nothing */
}

void mount_forget_fault(struct mount *mount)
{
    mount->has_fault = false;
    errno = 0;
}

int mount_fail(struct mount *mount, struct error *err, const char *what, int cause)
{
    if (mount->has_fault) {
        if (err != NULL) {
            *err = mount->fault;
        }
        return error_add(err, "%s", what);
    }
    if (cause == ENOMEM) {
        return error_memory(err, what);
    }
    return error_entry(err, "bad-record", "%s: cannot be read through libntfs-3g: %s", what,
                       cause == EACCES   ? "it is encrypted"
                       : cause == 0      ? "its data ends early"
                       : cause == EIO    ? "its metadata is damaged"
                       : cause == ENOENT ? "it is not there"
                                         : strerror(cause));
}

static void prepare_library(void)
{
    ntfs_log_set_handler(drop_log);
    (void)ntfs_log_clear_levels(UINT32_MAX); /* returns the old levels */
}

static int drop_log(const char *function, const char *file, int line, u32 level, void *data,
                    const char *format, va_list args)
{
    (void)function;
    (void)file;
    (void)line;
    (void)level;
    (void)data;
    (void)format;
    (void)args;
    return 0;
}

static int fail_mount(struct mount *mount, struct error *err, int cause)
{
    const char *words = strerror(cause);

    if (cause == ENOMEM) {
        return error_memory(err, "NTFS mount");
    }
    if (mount->has_fault) {
        *err = mount->fault; /* one bad sector, or the whole disk: the kind tells */
        return error_add(err, "cannot mount the NTFS volume");
    }
    if (cause == EIO || cause == ENOENT) {
        words = "its own files ($MFT, $UpCase, $Secure or $AttrDef) are damaged or missing; run "
                "chkdsk on "
                "Windows, then take a new snapshot";
    } else if (cause == EINVAL) {
        words = "its boot sector or $Volume is not what an NTFS volume has; run chkdsk on Windows, "
                "then take a new snapshot";
    } else if (cause == EOPNOTSUPP) {
        words = "its NTFS version is not supported";
    }
    return error_stop(err, EXIT_STATUS_SOURCE, "cannot mount the NTFS volume: %s", words);
}
