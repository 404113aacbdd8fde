/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The restart pages at the start of $LogFile. Pure function on a buffer.
 */
#ifndef WINCH_VOLUME_LOG_FILE_H
#define WINCH_VOLUME_LOG_FILE_H

#include "base/base.h"

/* Two restart pages of the largest page size. */
#define LOG_FILE_HEAD_BYTES (128 << 10)

struct log_file_state {
    bool found;   /* a valid restart page */
    uint64_t lsn; /* of the newest one */
    bool clean;   /* nothing to replay; also of a log that was emptied */
    bool cached;  /* version 2 with an open client: Windows sleeps or starts fast */
};

/* `head` are the first bytes of $LogFile, at most LOG_FILE_HEAD_BYTES; they are changed. */
void log_file_parse(uint8_t *head, size_t len, struct log_file_state *ret_state);

#endif
