/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Every kind of thing that can stand on a partition or in a file, with its name and what the user
 * can do. docs/disks.md explains each; tests/integration/test_disks.py compares the two. In the
 * advice of a container %s is the file.
 */
#include <string.h>

#include "disk/disk_internal.h"

#define LINUX_FILES                                                                                \
    "winch reads NTFS only: mount it read-only ('mount -o ro DEVICE DIR') and copy its files "     \
    "with "                                                                                        \
    "another tool"
#define RAID                                                                                       \
    "a part of a RAID: put that together first, then give winch the device that holds the NTFS "   \
    "volume"
#define CONVERT(format)                                                                            \
    "not a raw image: run 'qemu-img convert -f " format " -O raw %s disk.raw' and give winch "     \
    "disk.raw"
#define UNPACK(command) "packed, not a raw image: unpack it first ('" command " %s')"
#define HOLDS_NO_FILES "holds no files"

static const struct disk_kind kinds[] = {
    {"ntfs", DISK_NTFS, "NTFS", ""},
    {"ntfs-damaged", DISK_DAMAGED, "NTFS, boot sector damaged",
     "its backup boot sector is whole: on a copy of the disk let 'testdisk' (Advanced, Boot, "
     "Backup BS) restore it, and give winch the copy"},
    {"bitlocker", DISK_BITLOCKER, "BitLocker",
     "encrypted: unlock it with 'cryptsetup bitlkOpen --readonly DEVICE NAME' (it asks for the "
     "password or the recovery key) and give winch /dev/mapper/NAME"},
    {"ldm", DISK_DYNAMIC, "dynamic disk (LDM)",
     "attach all disks of the group, run 'ldmtool create all', and give winch the volume it makes "
     "under /dev/mapper/"},
    {"storage-spaces", DISK_STORAGE_SPACES, "Storage Spaces",
     "a member of a storage pool, which Linux cannot put together: copy its files to an NTFS "
     "volume on a basic disk from Windows"},
    {"refs", DISK_REFS, "ReFS",
     "winch reads NTFS only: copy its files to an NTFS volume from Windows"},
    {"reserved", DISK_RESERVED, "Microsoft reserved", HOLDS_NO_FILES},
    {"bios-boot", DISK_RESERVED, "BIOS boot", HOLDS_NO_FILES},
    {"empty", DISK_EMPTY, "empty", "only zeros where a file system begins: it was never formatted"},
    {"unreadable", DISK_UNREADABLE, "unreadable",
     "its first bytes cannot be read: make a copy of the disk with 'ddrescue' and give winch the "
     "copy"},
    {"beyond", DISK_UNREADABLE, "behind the end",
     "lies behind the end of the device: the image is cut off; copy it again, whole"},
    {"impossible", DISK_LOST, "impossible entry",
     "its entry in the partition table has no length or no place: 'testdisk' on a copy of the disk "
     "may find what it stands for"},
    {"lost-chain", DISK_LOST, "broken chain",
     "logical partitions that stand behind this place cannot be found: 'testdisk' on a copy of the "
     "disk may find them"},
    {"lost-gpt", DISK_LOST, "GPT, damaged",
     "its partitions cannot be found: 'gdisk' or 'testdisk' on a copy of the disk may restore "
     "them"},
    {"left-out", DISK_LOST, "more partitions",
     "winch takes 256 partitions of a disk: the others are not read"},
    {"unknown", DISK_UNKNOWN, "unknown",
     "nothing winch knows: if it should be NTFS, both its boot sectors are damaged; 'testdisk' on "
     "a copy of the disk may rebuild them"},
    {"several", DISK_OTHER, "several file systems",
     "bytes of several file systems stand here, and winch reads NTFS only: 'wipefs' without "
     "options shows which"},
    /* What libblkid calls TYPE. */
    {"FAT12", DISK_OTHER, "FAT12", LINUX_FILES},
    {"FAT16", DISK_OTHER, "FAT16", LINUX_FILES},
    {"FAT32", DISK_OTHER, "FAT32", LINUX_FILES},
    {"exfat", DISK_OTHER, "exFAT", LINUX_FILES},
    {"ext2", DISK_OTHER, "ext2", LINUX_FILES},
    {"ext3", DISK_OTHER, "ext3", LINUX_FILES},
    {"ext4", DISK_OTHER, "ext4", LINUX_FILES},
    {"xfs", DISK_OTHER, "XFS", LINUX_FILES},
    {"btrfs", DISK_OTHER, "Btrfs", LINUX_FILES},
    {"udf", DISK_OTHER, "UDF", LINUX_FILES},
    {"iso9660", DISK_OTHER, "ISO 9660", LINUX_FILES},
    {"hfsplus", DISK_OTHER, "HFS+", LINUX_FILES},
    {"apfs", DISK_OTHER, "APFS",
     "winch reads NTFS only: copy its files from a Mac, or with 'apfs-fuse'"},
    {"swap", DISK_RESERVED, "Linux swap", HOLDS_NO_FILES},
    {"swsuspend", DISK_RESERVED, "Linux swap, hibernated", HOLDS_NO_FILES},
    {"LVM2_member", DISK_MEMBER, "LVM",
     "a physical volume of LVM: run 'vgchange -ay', and give winch the logical volume that holds "
     "NTFS (/dev/GROUP/NAME)"},
    {"linux_raid_member", DISK_MEMBER, "Linux RAID",
     "a part of a RAID: run 'mdadm --assemble --readonly --scan', and give winch the /dev/mdN that "
     "holds NTFS"},
    {"crypto_LUKS", DISK_MEMBER, "LUKS",
     "encrypted: unlock it with 'cryptsetup luksOpen --readonly DEVICE NAME' and give winch "
     "/dev/mapper/NAME"},
    {"isw_raid_member", DISK_MEMBER, "Intel RAID", RAID},
    {"raid", DISK_MEMBER, "RAID", RAID},
    {"other", DISK_OTHER, "", LINUX_FILES},
    /* Files that hold a disk in another form than raw bytes. */
    {"vhd", DISK_CONTAINER, "VHD file", CONVERT("vpc")},
    {"vhd-differencing", DISK_CONTAINER, "VHD file, differencing",
     "only the changes to another VHD: merge them on Windows ('Merge-VHD') and convert the result"},
    {"vhdx", DISK_CONTAINER, "VHDX file", CONVERT("vhdx")},
    {"qcow2", DISK_CONTAINER, "qcow2 file", CONVERT("qcow2")},
    {"vmdk", DISK_CONTAINER, "VMDK file", CONVERT("vmdk")},
    {"vdi", DISK_CONTAINER, "VDI file", CONVERT("vdi")},
    {"ewf", DISK_CONTAINER, "EWF file",
     "not a raw image: run 'ewfexport -f raw -t disk %s' and give winch disk.raw"},
    {"wim", DISK_CONTAINER, "WIM file",
     "an archive of files, not a disk: unpack it with 'wimapply %s DIR' and copy the files with "
     "another tool"},
    {"gzip", DISK_CONTAINER, "gzip file",
     "packed, not a raw image: unpack it first ('gzip -d %s'; 'tar xzf' for an image that Compute "
     "Engine exported)"},
    {"xz", DISK_CONTAINER, "xz file", UNPACK("xz -d")},
    {"zstd", DISK_CONTAINER, "zstd file", UNPACK("zstd -d")},
    {"bzip2", DISK_CONTAINER, "bzip2 file", UNPACK("bzip2 -d")},
    {"zip", DISK_CONTAINER, "ZIP file", UNPACK("unzip")},
    {"7z", DISK_CONTAINER, "7z file", UNPACK("7z x")},
    {"tar", DISK_CONTAINER, "tar file", UNPACK("tar xf")},
};

struct magic {
    const char *kind;
    size_t offset;
    const char *bytes;
    size_t len;
};

static const struct magic magics[] = {
    {"vhdx", 0, "vhdxfile", 8},
    {"vhd", 0, "conectix", 8},
    {"qcow2", 0, "QFI\xfb", 4},
    {"vmdk", 0, "KDMV", 4},
    {"vmdk", 0, "COWD", 4},
    {"vmdk", 0, "# Disk DescriptorFile", 21},
    {"vdi", 64, "\x7f\x10\xda\xbe", 4},
    {"ewf", 0, "EVF\x09\x0d\x0a\xff", 7},
    {"ewf", 0, "EVF2\x0d\x0a\x81", 7},
    {"wim", 0, "MSWIM\0\0\0", 8},
    {"gzip", 0, "\x1f\x8b\x08", 3},
    {"xz", 0,
     "\xfd"
     "7zXZ",
     5},
    {"zstd", 0, "\x28\xb5\x2f\xfd", 4},
    {"bzip2", 0, "BZh", 3},
    {"zip", 0, "PK\x03\x04", 4},
    {"7z", 0, "7z\xbc\xaf\x27\x1c", 6},
    {"tar", 257, "ustar", 5},
};

const struct disk_kind *kind_find(const char *code)
{
    for (size_t i = 0; i < ARRAY_LEN(kinds); i++) {
        if (strcmp(kinds[i].code, code) == 0) {
            return &kinds[i];
        }
    }
    return NULL;
}

const char *kind_of_container(const uint8_t *head, size_t len)
{
    for (size_t i = 0; i < ARRAY_LEN(magics); i++) {
        const struct magic *magic = &magics[i];
        if (len >= magic->offset + magic->len &&
            memcmp(head + magic->offset, magic->bytes, magic->len) == 0) {
            return magic->kind;
        }
    }
    return NULL;
}
