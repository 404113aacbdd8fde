/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Extended attributes, reparse data and descriptors: their outer form. */
#include "volume/values.h"

#include "base/base.h"
#include "volume/record.h"

#define EA_HEADER_BYTES 8
#define REPARSE_HEADER_BYTES 8
#define REPARSE_GUID_BYTES 16
#define REPARSE_TAG_MICROSOFT 0x80000000U
#define SECURITY_HEADER_BYTES 20
#define OBJECT_ID_BYTES 16

bool values_ea_good(const uint8_t *value, size_t len)
{
    size_t at = 0;

    while (at < len) {
        if (len - at < EA_HEADER_BYTES) {
            return false;
        }
        uint32_t next = read_le32(value + at);
        /* Name with its NUL, then the value. */
        size_t need = EA_HEADER_BYTES + (size_t)value[at + 5] + 1 + read_le16(value + at + 6);
        if (need > len - at) {
            return false;
        }
        if (next == 0) {
            return len - at - need < 4; /* the last one, if its writer ended the list so */
        }
        if (next < need || next > len - at) {
            return false;
        }
        at += next;
    }
    return true;
}

bool values_reparse_good(const uint8_t *value, size_t len)
{
    if (len < REPARSE_HEADER_BYTES) {
        return false;
    }
    size_t whole = REPARSE_HEADER_BYTES + (size_t)read_le16(value + 4);
    bool has_guid = (read_le32(value) & REPARSE_TAG_MICROSOFT) == 0;
    return len == whole || (has_guid && len == whole + REPARSE_GUID_BYTES);
}

bool values_security_good(const uint8_t *value, size_t len)
{
    if (len < SECURITY_HEADER_BYTES || value[0] != 1) {
        return false;
    }
    for (size_t field = 4; field < SECURITY_HEADER_BYTES; field += 4) {
        uint32_t offset = read_le32(value + field);
        if (offset != 0 && (offset < SECURITY_HEADER_BYTES || offset >= len)) {
            return false;
        }
    }
    return true;
}

const char *values_problem(uint32_t type, const uint8_t *value, size_t len)
{
    switch (type) {
    case ATTRIBUTE_REPARSE:
        return value != NULL && values_reparse_good(value, len) ? NULL
                                                                : "its reparse data is damaged";
    case ATTRIBUTE_EA:
        return value != NULL && values_ea_good(value, len) ? NULL
                                                           : "its extended attributes are damaged";
    case ATTRIBUTE_OBJECT_ID:
        return value != NULL && len >= OBJECT_ID_BYTES ? NULL : "its object id is damaged";
    case ATTRIBUTE_SECURITY:
        return value != NULL && values_security_good(value, len)
                   ? NULL
                   : "its security descriptor is damaged";
    default:
        return value != NULL ? NULL : "its EFS key data are damaged";
    }
}
