/* SPDX-License-Identifier: GPL-3.0-or-later */
/* path_file: the file of --files-from as a list of paths. */
#ifndef WINCH_PATH_FILE_H
#define WINCH_PATH_FILE_H

#include "cli/options.h"
#include "plan/plan.h"

/* One path a line; every line is a path, whatever it begins with; empty lines do not count. UTF-8,
 * or UTF-16 with a byte order mark, as PowerShell writes it; at most 512 MiB. NULL after a mistake,
 * which names file and line. The list belongs to the caller. */
struct plan_paths *path_file_read(const char *path, struct option_mistakes *mistakes);

#endif
