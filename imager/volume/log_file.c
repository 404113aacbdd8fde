/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Finds the newest restart page of $LogFile and reads its state. A page that is torn is passed
 * over: there are two so that one always holds.
 */
#include "volume/log_file.h"

#include <string.h>

#include "volume/record.h"

#define SIGNATURE_RESTART UINT32_C(0x52545352) /* "RSTR" */
#define SIGNATURE_CHECKED UINT32_C(0x444B4843) /* "CHKD": chkdsk has changed it */
#define PAGE_HEADER_BYTES 30
#define PAGE_BYTES_MIN 512
#define PAGE_BYTES_MAX 65536
#define AREA_BYTES_MIN 48
#define NO_CLIENT 0xFFFF
#define AREA_FLAG_CLEAN 0x0002
#define VERSION_CACHED 2
/* An emptied log is all ones; looking at this many bytes is enough to tell. */
#define EMPTY_BYTES 4096

static bool parse_page(uint8_t *page, size_t len, struct log_file_state *ret_state);
static bool is_emptied(const uint8_t *head, size_t len);

void log_file_parse(uint8_t *head, size_t len, struct log_file_state *ret_state)
{
    struct log_file_state newest = {.clean = is_emptied(head, len)};

    /* The second page stands behind the first, whose size may be any power of two. */
    for (size_t at = 0; at < len; at = at == 0 ? PAGE_BYTES_MIN : at * 2) {
        struct log_file_state state = {0};
        if (parse_page(head + at, len - at, &state) && (!newest.found || state.lsn > newest.lsn)) {
            newest = state;
        }
    }
    *ret_state = newest;
}

static bool parse_page(uint8_t *page, size_t len, struct log_file_state *ret_state)
{
    if (len < PAGE_BYTES_MIN) {
        return false;
    }
    uint32_t signature = read_le32(page);
    uint32_t page_bytes = read_le32(page + 16);
    uint32_t area_at = read_le16(page + 24);
    if ((signature != SIGNATURE_RESTART && signature != SIGNATURE_CHECKED) ||
        page_bytes < PAGE_BYTES_MIN || page_bytes > PAGE_BYTES_MAX || page_bytes > len ||
        (page_bytes & (page_bytes - 1)) != 0 || area_at < PAGE_HEADER_BYTES ||
        area_at + AREA_BYTES_MIN > page_bytes ||
        record_undo_fix_ups(page, page_bytes, PAGE_HEADER_BYTES) != NULL) {
        return false;
    }
    const uint8_t *area = page + area_at;
    bool has_client = read_le16(area + 12) != NO_CLIENT;
    bool flagged_clean = (read_le16(area + 14) & AREA_FLAG_CLEAN) != 0;
    ret_state->found = true;
    ret_state->lsn = read_le64(area);
    ret_state->clean = !has_client || flagged_clean;
    ret_state->cached = has_client && read_le16(page + 28) >= VERSION_CACHED;
    return true;
}

static bool is_emptied(const uint8_t *head, size_t len)
{
    size_t looked = len < EMPTY_BYTES ? len : EMPTY_BYTES;

    return looked > 0 && head[0] == 0xFF && memcmp(head, head + 1, looked - 1) == 0;
}
