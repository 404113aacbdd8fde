/* SPDX-License-Identifier: GPL-3.0-or-later */
/* bandwidth_option: reads the value of --bwlimit. */
#ifndef WINCH_BANDWIDTH_OPTION_H
#define WINCH_BANDWIDTH_OPTION_H

#include "cli/options.h"
#include "upload/upload.h"

/* "20M", or a timetable: "[Mon-]08:00,20M 19:00,off". Mistakes name what is wrong in it. */
void bandwidth_option_read(const char *value, struct upload_timetable *ret_table,
                           struct option_mistakes *mistakes);

#endif
