/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Every reason code of plan.h that an entry can fail with. */
#include "cli/reasons.h"
#include "plan/plan.h"

#include <string.h>

static const struct reason reasons[] = {
    {REASON_DEDUP,
     "Windows keeps the content deduplicated, outside the file, and it could not be read there.",
     "On Windows: Start-DedupJob -Type Unoptimization -Volume X: (needs free space); then a new "
     "snapshot."},
    {REASON_CLOUD,
     "The content is with a cloud service (OneDrive, Azure File Sync), not on this disk.",
     "Bring the files back to the disk with that service; then a new snapshot."},
    {REASON_EFS, "Encrypted by Windows (EFS); the key is not on this machine.",
     "Decrypt on Windows as the owner (cipher /d); then a new snapshot."},
    {REASON_WOF, "Compressed by Windows (CompactOS), and the content does not unpack.",
     "On Windows: compact /u /exe FILE; if that fails, restore the file from a backup."},
    {REASON_REPARSE, "Placeholders of another program, whose content is not on this disk.",
     "Bring the content back with the program that moved it; then a new snapshot."},
    {REASON_BAD_RECORD, "The entry in the volume's file table is damaged.",
     "Run chkdsk on Windows; then a new snapshot."},
    {REASON_CROSS_LINKED,
     "Two files claim the same place on the disk, or the volume calls that place free.",
     "Run chkdsk on Windows; then a new snapshot."},
    {REASON_BAD_SECTOR, "The disk could not be read there.",
     "Make a new disk from the snapshot, or a new snapshot; then run again."},
    {REASON_STALE, "The entry changed while it was read.",
     "Read from a snapshot or a disk that nobody writes to."},
    {REASON_CONFLICT, "An object of that name with other content is already in the bucket.",
     "Choose another prefix, or run again with --if-exists replace."},
    {REASON_PRESENT_UNVERIFIED, "An object of that name is there, and may not be looked at.",
     "Grant storage.objects.get on the bucket, then run again."},
    {REASON_TOO_LARGE, "Larger than the 5 TiB that an object can hold.",
     "Split the file on Windows, or keep the disk as an image."},
    {REASON_NAME, "No object name can be made of its path.", "Rename it on Windows."},
    {REASON_UPLOAD_REFUSED, "The server refused this object for good.",
     "The manifest has the server's words: look for a retention policy or a hold."},
};

const struct reason *reason_find(const char *code)
{
    for (size_t i = 0; i < ARRAY_LEN(reasons); i++) {
        if (strcmp(reasons[i].code, code) == 0) {
            return &reasons[i];
        }
    }
    return NULL;
}

const struct reason *reason_at(size_t index)
{
    return index < ARRAY_LEN(reasons) ? &reasons[index] : NULL;
}
