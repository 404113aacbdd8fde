/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * BitLocker in all its forms. libblkid knows the usual ones by name; what matters is that a volume
 * that looks like FAT (To Go) is not taken for one.
 */
#include <string.h>

#include "disk/disk_internal.h"

#define GUID_OFFSET 160       /* where a fixed volume keeps the GUID of the format */
#define GUID_OFFSET_TO_GO 424 /* the same behind a FAT boot sector */

static bool is_format_guid(const uint8_t guid[16]);

bool content_is_bitlocker(const uint8_t *head, size_t len)
{
    if (len < 512) {
        return false;
    }
    return memcmp(head + 3, "-FVE-FS-", 8) == 0 || is_format_guid(head + GUID_OFFSET) ||
           is_format_guid(head + GUID_OFFSET_TO_GO);
}

static bool is_format_guid(const uint8_t guid[16])
{
    static const char *const formats[] = {
        "4967d63b-2e29-4ad8-8399-f6a339e3d001", /* Windows 7 and later */
        "92a84d3b-dd80-4d0e-9e4e-b1e3284eaed8", /* being encrypted, and clear key */
    };
    char text[40];

    gpt_format_guid(guid, text);
    for (size_t i = 0; i < ARRAY_LEN(formats); i++) {
        if (strcmp(text, formats[i]) == 0) {
            return true;
        }
    }
    return false;
}
