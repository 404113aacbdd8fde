/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What every command does alike: print, help, refuse. */
#include "cli/command.h"

#include <errno.h>
#include <string.h>

enum { HELP_BYTES_MAX = 64 << 10 };

enum exit_status command_print(const struct text *text)
{
    if (text->failed) {
        (void)fputs("winch: out of memory, the output is lost; run the same command again\n",
                    stderr); /* nobody else to tell */
        return EXIT_STATUS_TEMPORARY;
    }
    const char *next = text_str(text);
    size_t left = text->len;
    while (left > 0) {
        ssize_t put = write(STDOUT_FILENO, next, left);
        if (put < 0 && errno != EINTR) {
            (void)fprintf(stderr, "winch: cannot write to standard output: %s\n", strerror(errno));
            return EXIT_STATUS_FAILED;
        }
        if (put > 0) {
            next += put;
            left -= (size_t)put;
        }
    }
    return EXIT_STATUS_CLEAN;
}

enum exit_status command_print_help(const struct option_command *command)
{
    CLEANUP_TEXT struct text text = TEXT_INIT(HELP_BYTES_MAX);
    options_render_help(&text, command);
    return command_print(&text);
}

enum exit_status command_refuse(const struct option_command *command,
                                const struct option_mistakes *mistakes)
{
    CLEANUP_TEXT struct text text = TEXT_INIT(2 * HELP_BYTES_MAX);
    options_render_mistakes(&text, command, mistakes);
    if (mistakes->no_memory || mistakes->text.failed || text.failed) {
        (void)fputs("winch: out of memory while the command line was read; try the same command "
                    "again\n",
                    stderr); /* the exit status tells it, too */
        return EXIT_STATUS_TEMPORARY;
    }
    (void)fputs(text_str(&text), stderr); /* the exit status tells it, too */
    return EXIT_STATUS_USAGE;
}
