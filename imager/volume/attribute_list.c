/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Parses the entries of an $ATTRIBUTE_LIST.
 */
#include "volume/attribute_list.h"

#define ENTRY_BYTES_MIN 26

int attribute_list_next(const uint8_t *list, size_t len, size_t *at,
                        struct attribute_list_entry *ret_entry)
{
    const uint8_t *from = list + *at;
    size_t room = len - *at;

    if (*at >= len) {
        return 0;
    }
    size_t entry_len = room < ENTRY_BYTES_MIN ? 0 : read_le16(from + 4);
    if (entry_len < ENTRY_BYTES_MIN || entry_len > room) {
        return -1;
    }
    size_t name_bytes = from[6] * (size_t)2;
    size_t name_at = from[7];
    if (name_bytes > 0 && (name_at > entry_len || name_bytes > entry_len - name_at)) {
        return -1;
    }
    *ret_entry = (struct attribute_list_entry){
        .type = read_le32(from),
        .name_len = from[6],
        .name = from + (name_bytes > 0 ? name_at : 0),
        .lowest_vcn = read_le64(from + 8),
        .ref = read_le64(from + 16),
    };
    *at += entry_len;
    return 1;
}
