/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The content type by a look at the first bytes, where the extension says nothing. What a file says
 * of itself at a fixed place, and nothing deeper: the bytes are hostile, and a wrong guess costs
 * nobody a file.
 */
#include "plan/plan.h"

#include <string.h>
#include <strings.h>

struct mark {
    uint16_t offset;
    uint8_t len;
    const char *bytes;
    const char *type;
};

#define MARK(offset, bytes, type)                                                                  \
    {                                                                                              \
        offset, sizeof(bytes) - 1, bytes, type                                                     \
    }

/* The first that fits wins. Sources: the formats' own specifications. */
static const struct mark marks[] = {
    MARK(0, "%PDF-", "application/pdf"),
    MARK(0, "PK\003\004", "application/zip"),
    MARK(0, "PK\005\006", "application/zip"),
    MARK(0, "\x89PNG\r\n\x1a\n", "image/png"),
    MARK(0, "\xff\xd8\xff", "image/jpeg"),
    MARK(0, "GIF87a", "image/gif"),
    MARK(0, "GIF89a", "image/gif"),
    MARK(0, "II*\0", "image/tiff"),
    MARK(0, "MM\0*", "image/tiff"),
    MARK(8, "WEBPVP8", "image/webp"),
    MARK(8, "AVI LIST", "video/x-msvideo"),
    MARK(8, "WAVEfmt ", "audio/wav"),
    MARK(4, "ftypqt", "video/quicktime"),
    MARK(4, "ftypheic", "image/heic"),
    MARK(4, "ftypM4A", "audio/mp4"),
    MARK(4, "ftyp", "video/mp4"),
    MARK(0, "\x1a\x45\xdf\xa3", "video/x-matroska"),
    MARK(0, "OggS\0", "audio/ogg"),
    MARK(0, "fLaC\0", "audio/flac"),
    MARK(0, "ID3", "audio/mpeg"),
    MARK(0, "MThd\0\0\0\006", "audio/midi"),
    MARK(0, "\x1f\x8b\010", "application/gzip"),
    MARK(0, "BZh", "application/x-bzip2"),
    MARK(0,
         "\xfd"
         "7zXZ\0",
         "application/x-xz"),
    MARK(0, "\x28\xb5\x2f\xfd", "application/zstd"),
    MARK(0, "\x04\x22\x4d\x18", "application/x-lz4"),
    MARK(0, "7z\xbc\xaf\x27\x1c", "application/x-7z-compressed"),
    MARK(0, "Rar!\x1a\007", "application/vnd.rar"),
    MARK(0, "MSCF\0\0\0\0", "application/vnd.ms-cab-compressed"),
    MARK(0, "MSWIM\0\0\0", "application/x-ms-wim"),
    MARK(257, "ustar", "application/x-tar"),
    MARK(0, "SQLite format 3\0", "application/vnd.sqlite3"),
    MARK(0, "\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1", "application/x-ole-storage"),
    MARK(0, "!BDN", "application/vnd.ms-outlook-pst"),
    MARK(4, "Standard Jet DB", "application/vnd.ms-access"),
    MARK(4, "Standard ACE DB", "application/vnd.ms-access"),
    MARK(0, "{\\rtf", "application/rtf"),
    MARK(0, "\177ELF", "application/x-executable"),
    MARK(0, "conectix", "application/x-vhd"),
    MARK(0, "vhdxfile", "application/x-vhdx"),
    MARK(0, "KDMV", "application/x-vmdk"),
    MARK(0, "QFI\xfb", "application/x-qemu-disk"),
    MARK(0, "<?xml", "application/xml"),
    MARK(0, "\xef\xbb\xbf<?xml", "application/xml"),
    MARK(0, "-----BEGIN CERTIFICATE-----", "application/x-pem-file"),
};

static bool begins(const uint8_t *bytes, size_t len, const char *word)
{
    size_t word_len = strlen(word);
    return len >= word_len && strncasecmp((const char *)bytes, word, word_len) == 0;
}

/* "MZ" alone could be text: the offset at 60 must lead to "PE". */
static bool is_program(const uint8_t *bytes, size_t len)
{
    if (len < 64 || bytes[0] != 'M' || bytes[1] != 'Z') {
        return false;
    }
    uint32_t at = (uint32_t)bytes[60] | (uint32_t)bytes[61] << 8 | (uint32_t)bytes[62] << 16 |
                  (uint32_t)bytes[63] << 24;
    return at <= len - 4 && memcmp(bytes + at, "PE\0\0", 4) == 0;
}

/* How many bytes at the end may be the beginning of a character that goes on behind the look. */
static size_t cut_bytes(const uint8_t *bytes, size_t len)
{
    size_t count = 1;
    while (len == PLAN_LOOK_BYTES && count < 4 && (bytes[len - count] & 0xC0) == 0x80) {
        count++;
    }
    return len == PLAN_LOOK_BYTES && bytes[len - count] >= 0xC2 ? count : 0;
}

/* UTF-8 without control characters but white space. */
static bool is_text(const uint8_t *bytes, size_t len)
{
    for (size_t i = 0; i < len; i++) {
        bool is_space =
            bytes[i] == '\t' || bytes[i] == '\n' || bytes[i] == '\r' || bytes[i] == '\f';
        if ((bytes[i] < 0x20 && !is_space) || bytes[i] == 0x7f) {
            return false;
        }
    }
    const char *text = (const char *)bytes;
    return len > 0 &&
           (utf_valid_utf8(text, len) || utf_valid_utf8(text, len - cut_bytes(bytes, len)));
}

const char *plan_content_look(const uint8_t *bytes, size_t len)
{
    for (size_t i = 0; i < ARRAY_LEN(marks); i++) {
        const struct mark *mark = &marks[i];
        if (len >= (size_t)mark->offset + mark->len &&
            memcmp(bytes + mark->offset, mark->bytes, mark->len) == 0) {
            return mark->type;
        }
    }
    if (is_program(bytes, len)) {
        return "application/vnd.microsoft.portable-executable";
    }
    if (!is_text(bytes, len)) {
        return NULL;
    }
    size_t space = 0;
    while (space < len && (bytes[space] <= ' ' || bytes[space] >= 0x80)) {
        space++; /* also a byte order mark */
    }
    bool is_html = begins(bytes + space, len - space, "<!doctype html") ||
                   begins(bytes + space, len - space, "<html");
    return is_html ? "text/html" : "text/plain";
}
