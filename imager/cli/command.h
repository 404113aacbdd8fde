/* SPDX-License-Identifier: GPL-3.0-or-later */
/* command: what main.c needs of a cmd_VERB.c, and what those share. */
#ifndef WINCH_COMMAND_H
#define WINCH_COMMAND_H

#include "cli/options.h"

/* `argv` begins behind the command's name; the result is the program's exit status. */
enum exit_status cmd_disks(int argc, char **argv);
enum exit_status cmd_migrate(int argc, char **argv);

extern const struct option_command disks_command;

/* Write all of `text` to standard output; what stood in the way (a full disk) is told on standard
 * error, and gives EXIT_STATUS_FAILED. */
enum exit_status command_print(const struct text *text);
enum exit_status command_print_help(const struct option_command *command);
/* Tell the mistakes on standard error; EXIT_STATUS_USAGE. */
enum exit_status command_refuse(const struct option_command *command,
                                const struct option_mistakes *mistakes);

#endif
