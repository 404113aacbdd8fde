/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * options: one table per command says which options there are, what they take, where the value goes
 * and what --help says. Parsing goes on after a mistake, so that all of them are told at once.
 */
#ifndef WINCH_OPTIONS_H
#define WINCH_OPTIONS_H

#include "base/base.h"

/* Patterns from the command line and from files, together. */
#define OPTION_LIST_MAX 10000

/* Strings that belong to the list; start with {0}. */
struct option_list {
    char **items;
    size_t count;
};
/* -1: the list is full or memory is gone. */
int option_list_add(struct option_list *list, const char *bytes, size_t len) WARN_UNUSED;
void option_list_clear(struct option_list *list);

/* One sentence per mistake, shown-escaped, each with a newline; start with OPTION_MISTAKES_INIT. */
struct option_mistakes {
    struct text text;
    size_t count;
    bool no_memory;       /* what was understood is not all that was said */
    bool operands_unsure; /* an unknown option may have left its value among the operands */
};
#define OPTION_MISTAKES_INIT                                                                       \
    (struct option_mistakes)                                                                       \
    {                                                                                              \
        .text = TEXT_INIT(65536)                                                                   \
    }
/* A list did not take a value: say that it is full, in these words, or note that memory is gone. */
void option_list_mistake(struct option_mistakes *mistakes, const struct option_list *list,
                         const char *fmt, ...) PRINTF_LIKE(3, 4);
void option_mistake(struct option_mistakes *mistakes, const char *fmt, ...) PRINTF_LIKE(2, 3);
void option_mistakes_clear(struct option_mistakes *mistakes);

enum option_type {
    OPTION_HEADING,    /* no option: `help` is a heading of the help text */
    OPTION_FLAG,       /* bool, becomes true */
    OPTION_FLAG_OFF,   /* bool, becomes false */
    OPTION_STRING,     /* const char *, borrowed from argv; not empty */
    OPTION_LIST,       /* struct option_list, one item each time */
    OPTION_COMMA_LIST, /* struct option_list, items between commas */
    OPTION_CHOICE,     /* int, index into `choices` */
    OPTION_NUMBER,     /* unsigned, min … max */
    OPTION_SIZE,       /* uint64_t bytes, min … max, a multiple of `step` */
    OPTION_DURATION,   /* uint64_t milliseconds, min … max */
};

/* A choice that exists but cannot be had, and why. */
struct option_refusal {
    const char *choice;
    const char *reason;
};

struct option {
    enum option_type type;
    const char *name;     /* with its dashes */
    const char *argument; /* as the help shows it; NULL for flags */
    const char *help;
    size_t offset; /* of the value in the struct handed to options_parse() */
    uint64_t min, max, step;
    bool takes_auto;            /* the size "auto" is 0 */
    const char *const *choices; /* ends with NULL */
    const struct option_refusal *refusal;
};

struct option_command {
    const char *name; /* "migrate" */
    const char *synopsis;
    const char *about;
    const struct option *options;
    size_t option_count;
    const char *const *later; /* options of later versions; ends with NULL; may be NULL */
    const char *notes;        /* end of the help: examples */
};

enum options_outcome { OPTIONS_PARSED, OPTIONS_HELP };

/* `argv` begins behind the command's name. Arguments that are no options are added to `operands`.
 * OPTIONS_HELP if --help or -h stands anywhere; then nothing else matters. */
enum options_outcome options_parse(const struct option_command *command, int argc, char **argv,
                                   void *values, struct option_list *operands,
                                   struct option_mistakes *mistakes);

/* What --help prints. */
void options_render_help(struct text *text, const struct option_command *command);

/* What stands on standard error after mistakes: all of them, and where help is. */
void options_render_mistakes(struct text *text, const struct option_command *command,
                             const struct option_mistakes *mistakes);

#endif
