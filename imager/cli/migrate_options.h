/* SPDX-License-Identifier: GPL-3.0-or-later */
/* migrate_options: the command line and the environment of `winch migrate` as settings of a run. */
#ifndef WINCH_MIGRATE_OPTIONS_H
#define WINCH_MIGRATE_OPTIONS_H

#include "cli/options.h"
#include "cli/progress.h"
#include "run/run.h"

struct migrate_options {
    struct run_settings settings; /* borrows from the rest of this struct and from argv */
    bool json;
    enum progress_mode progress;
    enum log_level log_level;
    enum log_format log_format;
    const char *log_file; /* or NULL */

    /* What stands behind the settings. */
    struct option_list operands, volumes, includes, excludes, exclude_files, accepted, metadata;
    const char *paths_file; /* --files-from, or NULL */
    const char *bandwidth;  /* --bwlimit, or NULL */
    struct upload_timetable timetable;
    struct text command, metadata_json;
    int volume_names, streams, dedup, hard_links, efs, if_exists, custom_time, progress_choice,
        level_choice, format_choice;
};

/* `argv` begins behind "migrate". Mistakes are added to `mistakes`, and the options are good only
 * when there is none; source and json are filled as far as possible even then. Release with
 * migrate_options_clear() in any case. */
enum options_outcome migrate_options_parse(int argc, char **argv,
                                           struct migrate_options *ret_options,
                                           struct option_mistakes *mistakes);
void migrate_options_clear(struct migrate_options *options);

/* The table, for the help text. */
extern const struct option_command migrate_command;

#endif
