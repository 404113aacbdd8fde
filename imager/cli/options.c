/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Walks the command line along the table. What the values have to look like: option_value.c. */
#include "cli/options.h"
#include "cli/option_value.h"
#include "cli/suggest.h"

#include <string.h>

enum { MISTAKE_BYTES_MAX = 2048 };

static int parse_option(const struct option_command *command, int left, char **argv, void *values,
                        struct option_mistakes *mistakes);
static const struct option *find(const struct option_command *command, const char *name,
                                 size_t len);
static void tell_unknown(const struct option_command *command, const char *name,
                         struct option_mistakes *mistakes);

int option_list_add(struct option_list *list, const char *bytes, size_t len)
{
    if (list->count == OPTION_LIST_MAX) {
        return -1;
    }
    char *copy = strndup(bytes, len);
    char **grown = realloc(list->items, (list->count + 1) * sizeof(*grown));
    if (grown != NULL) {
        list->items = grown;
    }
    if (copy == NULL || grown == NULL) {
        free(copy);
        return -1;
    }
    list->items[list->count++] = copy;
    return 0;
}

void option_list_clear(struct option_list *list)
{
    for (size_t i = 0; i < list->count; i++) {
        free(list->items[i]);
    }
    free(list->items);
    *list = (struct option_list){0};
}

static void add_mistake(struct option_mistakes *mistakes, const char *fmt, va_list args)
    PRINTF_LIKE(2, 0);

static void add_mistake(struct option_mistakes *mistakes, const char *fmt, va_list args)
{
    char *message = NULL;
    int len = vasprintf(&message, fmt, args);
    mistakes->count++;
    if (len < 0) {
        mistakes->no_memory = true;
        return;
    }
    text_add_shown(&mistakes->text, message, (size_t)len, MISTAKE_BYTES_MAX);
    text_add_char(&mistakes->text, '\n');
    free(message);
}

void option_mistake(struct option_mistakes *mistakes, const char *fmt, ...)
{
    va_list args;
    va_start(args, fmt);
    add_mistake(mistakes, fmt, args);
    va_end(args);
}

void option_list_mistake(struct option_mistakes *mistakes, const struct option_list *list,
                         const char *fmt, ...)
{
    va_list args;
    va_start(args, fmt);
    add_mistake(mistakes, fmt, args);
    va_end(args);
    mistakes->no_memory = mistakes->no_memory || list->count < OPTION_LIST_MAX;
}

void option_mistakes_clear(struct option_mistakes *mistakes)
{
    text_free(&mistakes->text);
    mistakes->count = 0;
}

enum options_outcome options_parse(const struct option_command *command, int argc, char **argv,
                                   void *values, struct option_list *operands,
                                   struct option_mistakes *mistakes)
{
    bool options_end = false;
    for (int i = 0; i < argc; i++) {
        const char *word = argv[i];
        if (!options_end && strcmp(word, "--") == 0) {
            options_end = true;
        } else if (!options_end && (strcmp(word, "--help") == 0 || strcmp(word, "-h") == 0)) {
            return OPTIONS_HELP;
        } else if (!options_end && strncmp(word, "--", 2) == 0) {
            i += parse_option(command, argc - i, &argv[i], values, mistakes);
        } else if (!options_end && word[0] == '-' && word[1] != '\0') {
            option_mistake(mistakes, "%s: no such option; options begin with two dashes", word);
        } else if (option_list_add(operands, word, strlen(word)) < 0) {
            option_list_mistake(mistakes, operands, "%s: too many arguments", word);
        }
    }
    return OPTIONS_PARSED;
}

/* Returns how many words behind argv[0] were taken, too. */
static int parse_option(const struct option_command *command, int left, char **argv, void *values,
                        struct option_mistakes *mistakes)
{
    const char *equals = strchr(argv[0], '=');
    size_t len = equals == NULL ? strlen(argv[0]) : (size_t)(equals - argv[0]);
    const struct option *option = find(command, argv[0], len);
    if (option == NULL) {
        CLEANUP_TEXT struct text name = TEXT_INIT(MISTAKE_BYTES_MAX);
        text_add_bytes(&name, argv[0], len);
        tell_unknown(command, name.failed ? "the option" : text_str(&name), mistakes);
        mistakes->operands_unsure |= equals == NULL;
        return 0;
    }
    bool is_flag = option->type == OPTION_FLAG || option->type == OPTION_FLAG_OFF;
    if (is_flag) {
        if (equals != NULL) {
            option_mistake(mistakes, "%s: takes no value", option->name);
        }
        *(bool *)option_place(option, values) = option->type == OPTION_FLAG;
        return 0;
    }
    if (equals != NULL) {
        option_take_value(option, values, equals + 1, mistakes);
        return 0;
    }
    if (left < 2 || strncmp(argv[1], "--", 2) == 0) {
        option_mistake(mistakes, "%s: needs a value: %s %s", option->name, option->name,
                       option->argument);
        return 0;
    }
    option_take_value(option, values, argv[1], mistakes);
    return 1;
}

static const struct option *find(const struct option_command *command, const char *name, size_t len)
{
    for (size_t i = 0; i < command->option_count; i++) {
        const struct option *option = &command->options[i];
        if (option->type != OPTION_HEADING && strlen(option->name) == len &&
            memcmp(option->name, name, len) == 0) {
            return option;
        }
    }
    return NULL;
}

static void tell_unknown(const struct option_command *command, const char *name,
                         struct option_mistakes *mistakes)
{
    for (size_t i = 0; command->later != NULL && command->later[i] != NULL; i++) {
        if (strcmp(command->later[i], name) == 0) {
            option_mistake(mistakes, "%s: is not in this version", name);
            return;
        }
    }
    struct suggest suggest = {.word = name};
    suggest_offer(&suggest, "--help");
    for (size_t i = 0; i < command->option_count; i++) {
        if (command->options[i].type != OPTION_HEADING) {
            suggest_offer(&suggest, command->options[i].name);
        }
    }
    if (suggest.best == NULL) {
        option_mistake(mistakes, "%s: no such option", name);
    } else {
        option_mistake(mistakes, "%s: no such option; did you mean %s?", name, suggest.best);
    }
}
