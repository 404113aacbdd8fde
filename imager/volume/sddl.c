/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Security descriptors as SDDL. What the text cannot say exactly (conditions, claims, flags and
 * types that are not known) is not said at all. Layout and letters: [MS-DTYP] 2.4.4 to 2.4.6 and
 * 2.5.1. Accounts of a domain stand as full SIDs, because their letters mean another account in
 * another domain.
 */
#include <string.h>

#include "volume/volume_internal.h"

#define HEADER_BYTES 20
#define ACL_HEADER_BYTES 8
#define ACE_HEADER_BYTES 4
#define SID_HEADER_BYTES 8
#define SUB_AUTHORITIES_MAX 15
#define GUID_BYTES 16

#define CONTROL_DACL_PRESENT 0x0004U
#define CONTROL_SACL_PRESENT 0x0010U
#define CONTROL_SELF_RELATIVE 0x8000U

#define ACE_MANDATORY_LABEL 0x11U
#define OBJECT_TYPE_PRESENT 1U
#define INHERITED_TYPE_PRESENT 2U

struct letters {
    uint32_t value;
    const char *text;
};

/* The bits of the control word that SDDL knows, for both lists. */
static const struct letters dacl_flags[] = {{0x1000, "P"}, {0x0100, "AR"}, {0x0400, "AI"}};
static const struct letters sacl_flags[] = {{0x2000, "P"}, {0x0200, "AR"}, {0x0800, "AI"}};
static const struct letters ace_types[] = {
    {0, "A"},  {1, "D"},  {2, "AU"}, {3, "AL"},    {5, "OA"},
    {6, "OD"}, {7, "OU"}, {8, "OL"}, {0x11, "ML"}, {0x13, "SP"},
};
static const struct letters ace_flags[] = {
    {0x01, "OI"}, {0x02, "CI"}, {0x04, "NP"}, {0x08, "IO"},
    {0x10, "ID"}, {0x40, "SA"}, {0x80, "FA"},
};
static const struct letters file_rights[] = {
    {0x001F01FF, "FA"}, {0x00120089, "FR"}, {0x00120116, "FW"}, {0x001200A0, "FX"},
    {0x10000000, "GA"}, {0x20000000, "GX"}, {0x40000000, "GW"}, {0x80000000, "GR"},
};
static const struct letters label_rights[] = {{1, "NW"}, {2, "NR"}, {4, "NX"}};

struct known_sid {
    uint8_t authority;
    uint8_t count;
    uint32_t subs[2];
    const char *text;
};
static const struct known_sid known_sids[] = {
    {1, 1, {0}, "WD"},       {3, 1, {0}, "CO"},       {3, 1, {1}, "CG"},
    {3, 1, {4}, "OW"},       {5, 1, {2}, "NU"},       {5, 1, {4}, "IU"},
    {5, 1, {6}, "SU"},       {5, 1, {7}, "AN"},       {5, 1, {9}, "ED"},
    {5, 1, {10}, "PS"},      {5, 1, {11}, "AU"},      {5, 1, {12}, "RC"},
    {5, 1, {18}, "SY"},      {5, 1, {19}, "LS"},      {5, 1, {20}, "NS"},
    {5, 2, {32, 544}, "BA"}, {5, 2, {32, 545}, "BU"}, {5, 2, {32, 546}, "BG"},
    {5, 2, {32, 547}, "PU"}, {5, 2, {32, 548}, "AO"}, {5, 2, {32, 549}, "SO"},
    {5, 2, {32, 550}, "PO"}, {5, 2, {32, 551}, "BO"}, {5, 2, {32, 552}, "RE"},
    {5, 2, {32, 554}, "RU"}, {5, 2, {32, 555}, "RD"}, {5, 2, {32, 556}, "NO"},
    {16, 1, {4096}, "LW"},   {16, 1, {8192}, "ME"},   {16, 1, {12288}, "HI"},
    {16, 1, {16384}, "SI"},
};

struct span {
    const uint8_t *bytes;
    size_t len;
};

static bool put_part(struct span sd, size_t field, const char *title, struct text *text);
static bool put_acl(struct span sd, size_t field, const char *title, const struct letters *flags,
                    size_t flag_count, struct text *text);
static bool put_ace(struct span ace, struct text *text);
static bool put_ace_body(struct span body, uint8_t type, struct text *text);
static bool put_guid(struct span *body, bool present, struct text *text);
static bool put_sid(struct span *from, struct text *text);
static const char *find_known_sid(const uint8_t *sid, uint64_t authority, size_t count);
static void put_mask(uint32_t mask, const struct letters *names, size_t count, struct text *text);
static bool put_flags(uint32_t value, const struct letters *letters, size_t count,
                      struct text *text);

bool volume_sddl(const uint8_t *descriptor, size_t len, struct text *text)
{
    struct span sd = {descriptor, len};
    size_t start = text->len;

    if (len < HEADER_BYTES || descriptor[0] != 1) {
        return false;
    }
    uint16_t control = read_le16(descriptor + 2);
    bool good = (control & CONTROL_SELF_RELATIVE) != 0 && put_part(sd, 4, "O:", text) &&
                put_part(sd, 8, "G:", text);
    if (good && (control & CONTROL_DACL_PRESENT) != 0) {
        good = put_acl(sd, 16, "D:", dacl_flags, ARRAY_LEN(dacl_flags), text);
    }
    if (good && (control & CONTROL_SACL_PRESENT) != 0) {
        good = put_acl(sd, 12, "S:", sacl_flags, ARRAY_LEN(sacl_flags), text);
    }
    if (!good && !text->failed && text->len > start) {
        text->len = start;
        text->data[start] = '\0';
    }
    return good;
}

/* What stands at the offset that `field` holds; nothing for 0. */
static bool span_at(struct span sd, size_t field, struct span *ret_span)
{
    uint32_t offset = read_le32(sd.bytes + field);

    if (offset < HEADER_BYTES || offset > sd.len) {
        return false;
    }
    *ret_span = (struct span){sd.bytes + offset, sd.len - offset};
    return true;
}

static bool put_part(struct span sd, size_t field, const char *title, struct text *text)
{
    struct span sid;

    if (read_le32(sd.bytes + field) == 0) {
        return true; /* has none */
    }
    text_add(text, title);
    return span_at(sd, field, &sid) && put_sid(&sid, text);
}

static bool put_acl(struct span sd, size_t field, const char *title, const struct letters *flags,
                    size_t flag_count, struct text *text)
{
    uint16_t control = read_le16(sd.bytes + 2);
    struct span acl;

    text_add(text, title);
    for (size_t i = 0; i < flag_count; i++) {
        if ((control & flags[i].value) != 0) {
            text_add(text, flags[i].text);
        }
    }
    if (read_le32(sd.bytes + field) == 0) {
        text_add(text, "NO_ACCESS_CONTROL"); /* a list that is not there allows everything */
        return true;
    }
    if (!span_at(sd, field, &acl) || acl.len < ACL_HEADER_BYTES ||
        read_le16(acl.bytes + 2) > acl.len || read_le16(acl.bytes + 2) < ACL_HEADER_BYTES) {
        return false;
    }
    acl.len = read_le16(acl.bytes + 2);
    unsigned count = read_le16(acl.bytes + 4);
    size_t at = ACL_HEADER_BYTES;
    for (unsigned i = 0; i < count; i++) {
        if (acl.len - at < ACE_HEADER_BYTES) {
            return false;
        }
        size_t size = read_le16(acl.bytes + at + 2);
        if (size < ACE_HEADER_BYTES || size > acl.len - at ||
            !put_ace((struct span){acl.bytes + at, size}, text)) {
            return false;
        }
        at += size;
    }
    return true;
}

static bool put_ace(struct span ace, struct text *text)
{
    uint8_t type = ace.bytes[0];
    size_t i = 0;

    while (i < ARRAY_LEN(ace_types) && ace_types[i].value != type) {
        i++;
    }
    if (i == ARRAY_LEN(ace_types)) {
        return false;
    }
    text_add_char(text, '(');
    text_add(text, ace_types[i].text);
    text_add_char(text, ';');
    if (!put_flags(ace.bytes[1], ace_flags, ARRAY_LEN(ace_flags), text)) {
        return false;
    }
    text_add_char(text, ';');
    struct span body = {ace.bytes + ACE_HEADER_BYTES, ace.len - ACE_HEADER_BYTES};
    if (!put_ace_body(body, type, text)) {
        return false;
    }
    text_add_char(text, ')');
    return true;
}

static bool put_ace_body(struct span body, uint8_t type, struct text *text)
{
    bool is_label = type == ACE_MANDATORY_LABEL;
    bool is_object = type >= 5 && type <= 8;
    uint32_t flags = 0;

    if (body.len < (is_object ? 8U : 4U)) {
        return false;
    }
    put_mask(read_le32(body.bytes), is_label ? label_rights : file_rights,
             is_label ? ARRAY_LEN(label_rights) : ARRAY_LEN(file_rights), text);
    body = (struct span){body.bytes + 4, body.len - 4};
    if (is_object) {
        flags = read_le32(body.bytes);
        body = (struct span){body.bytes + 4, body.len - 4};
        if ((flags & ~(OBJECT_TYPE_PRESENT | INHERITED_TYPE_PRESENT)) != 0) {
            return false;
        }
    }
    text_add_char(text, ';');
    if (!put_guid(&body, (flags & OBJECT_TYPE_PRESENT) != 0, text)) {
        return false;
    }
    text_add_char(text, ';');
    if (!put_guid(&body, (flags & INHERITED_TYPE_PRESENT) != 0, text)) {
        return false;
    }
    text_add_char(text, ';');
    if (!put_sid(&body, text)) {
        return false;
    }
    /* What stands behind the account would be lost. */
    for (size_t i = 0; i < body.len; i++) {
        if (body.bytes[i] != 0) {
            return false;
        }
    }
    return true;
}

static bool put_guid(struct span *body, bool present, struct text *text)
{
    const uint8_t *guid = body->bytes;

    if (!present) {
        return true;
    }
    if (body->len < GUID_BYTES) {
        return false;
    }
    text_printf(text, "%08x-%04x-%04x-", read_le32(guid), read_le16(guid + 4), read_le16(guid + 6));
    text_add_hex(text, guid + 8, 2);
    text_add_char(text, '-');
    text_add_hex(text, guid + 10, 6);
    *body = (struct span){guid + GUID_BYTES, body->len - GUID_BYTES};
    return true;
}

/* Moves behind it. */
static bool put_sid(struct span *from, struct text *text)
{
    const uint8_t *sid = from->bytes;

    if (from->len < SID_HEADER_BYTES || sid[0] != 1 || sid[1] > SUB_AUTHORITIES_MAX) {
        return false;
    }
    size_t count = sid[1];
    size_t bytes = SID_HEADER_BYTES + 4 * count;
    if (from->len < bytes) {
        return false;
    }
    *from = (struct span){sid + bytes, from->len - bytes};
    uint64_t authority = 0;
    for (size_t i = 2; i < SID_HEADER_BYTES; i++) {
        authority = authority << 8 | sid[i];
    }
    const char *known = find_known_sid(sid, authority, count);
    if (known != NULL) {
        text_add(text, known);
        return true;
    }
    text_printf(text, authority > UINT32_MAX ? "S-1-0x%012llx" : "S-1-%llu",
                (unsigned long long)authority);
    for (size_t i = 0; i < count; i++) {
        text_printf(text, "-%u", read_le32(sid + SID_HEADER_BYTES + 4 * i));
    }
    return true;
}

static const char *find_known_sid(const uint8_t *sid, uint64_t authority, size_t count)
{
    for (size_t i = 0; i < ARRAY_LEN(known_sids); i++) {
        const struct known_sid *known = &known_sids[i];
        bool same = known->authority == authority && known->count == count;
        for (size_t sub = 0; same && sub < count; sub++) {
            same = known->subs[sub] == read_le32(sid + SID_HEADER_BYTES + 4 * sub);
        }
        if (same) {
            return known->text;
        }
    }
    return NULL;
}

/* By name when one says all of it, else the number, which SDDL takes, too. */
static void put_mask(uint32_t mask, const struct letters *names, size_t count, struct text *text)
{
    for (size_t i = 0; i < count; i++) {
        if (names[i].value == mask) {
            text_add(text, names[i].text);
            return;
        }
    }
    text_printf(text, "0x%x", mask);
}

/* False when a bit has no letters. */
static bool put_flags(uint32_t value, const struct letters *letters, size_t count,
                      struct text *text)
{
    for (size_t i = 0; i < count; i++) {
        if ((value & letters[i].value) != 0) {
            text_add(text, letters[i].text);
            value &= ~letters[i].value;
        }
    }
    return value == 0;
}
