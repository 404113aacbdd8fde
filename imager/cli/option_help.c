/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What is said about options: the help text of a command, and its mistakes. */
#include "cli/options.h"
#include "cli/wrap.h"

#include <string.h>

/* A longer option has its help on the next line. */
enum { HELP_COLUMN = 28 };

static void add_option(struct text *text, const struct option *option);

void options_render_help(struct text *text, const struct option_command *command)
{
    text_printf(text, "usage: %s\n\n%s\n", command->synopsis, command->about);
    for (size_t i = 0; i < command->option_count; i++) {
        const struct option *option = &command->options[i];
        if (option->type == OPTION_HEADING) {
            text_printf(text, "\n%s\n", option->help);
        } else {
            add_option(text, option);
        }
    }
    if (command->notes != NULL) {
        text_printf(text, "\n%s", command->notes);
    }
}

void options_render_mistakes(struct text *text, const struct option_command *command,
                             const struct option_mistakes *mistakes)
{
    if (mistakes->count == 1) {
        text_printf(text, "winch %s: %s", command->name, text_str(&mistakes->text));
    } else {
        text_printf(text, "winch %s: %zu mistakes in the command line:\n", command->name,
                    mistakes->count);
        const char *line = text_str(&mistakes->text);
        while (*line != '\0') {
            size_t len = strcspn(line, "\n");
            text_printf(text, "  %.*s\n", (int)len, line);
            line += len + (line[len] == '\n');
        }
    }
    text_printf(text, "All options: winch %s --help\n", command->name);
}

static void add_option(struct text *text, const struct option *option)
{
    size_t start = text->len;
    text_printf(text, "  %s", option->name);
    if (option->argument != NULL) {
        text_printf(text, " %s", option->argument);
    }
    size_t columns = text->len - start;
    if (columns + 2 > HELP_COLUMN) {
        text_add_char(text, '\n');
        columns = 0;
    }
    text_printf(text, "%*s", (int)(HELP_COLUMN - columns), "");
    wrap_add(text, option->help, HELP_COLUMN);
}
