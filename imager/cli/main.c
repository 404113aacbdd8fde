/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The program winch: sets the process up and hands over to a command. */
#include "cli/command.h"
#include "cli/migrate_options.h"
#include "cli/suggest.h"

#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>

static const struct {
    const struct option_command *command;
    enum exit_status (*run)(int argc, char **argv);
} commands[] = {
    {&disks_command, cmd_disks},
    {&migrate_command, cmd_migrate},
};

/* Known from the documentation, but not written yet. */
static const char *const later_commands[] = {
    "scan",  "verify", "runs", "ls",    "find",   "cat",     "diff",   "restore",
    "image", "export", "plan", "merge", "status", "cleanup", "doctor",
};

static const char help[] =
    "winch hauls Windows disks into Cloud Storage, file by file, and proves every byte.\n"
    "\n"
    "usage: winch COMMAND [arguments]\n"
    "\n"
    "  winch disks [IMAGE...]                      which disks are attached, and what is on them\n"
    "  winch migrate SOURCE gs://BUCKET[/PREFIX]   upload every file of a disk\n"
    "\n"
    "  winch help COMMAND                          all options of a command\n"
    "  winch --version\n"
    "\n"
    "First steps: find the disk with \"winch disks\", look at what would happen with\n"
    "\"winch migrate SOURCE gs://BUCKET/PREFIX --dry-run\", then leave --dry-run out.\n";

static void set_up_process(void);
static enum exit_status print_string(const char *string);
static enum exit_status show_help(int argc, char **argv);
static enum exit_status tell_unknown(const char *name);

int main(int argc, char **argv)
{
    set_up_process();
    if (argc < 2) {
        (void)fputs(help, stderr); /* the exit status tells it, too */
        return EXIT_STATUS_USAGE;
    }
    const char *name = argv[1];
    if (strcmp(name, "--help") == 0 || strcmp(name, "-h") == 0) {
        return (int)print_string(help);
    }
    if (strcmp(name, "--version") == 0) {
        return (int)print_string("winch " WINCH_VERSION "\n");
    }
    if (strcmp(name, "help") == 0) {
        return (int)show_help(argc - 2, argv + 2);
    }
    for (size_t i = 0; i < ARRAY_LEN(commands); i++) {
        if (strcmp(commands[i].command->name, name) == 0) {
            return (int)commands[i].run(argc - 2, argv + 2);
        }
    }
    return (int)tell_unknown(name);
}

static void set_up_process(void)
{
    /* A file opened later must not become standard error: a line of log would land in it. What
     * fills the gap cannot be written, so that a result that nobody sees is no success. */
    int fd;
    do {
        fd = open("/dev/null", O_RDONLY | O_CLOEXEC);
    } while (fd >= 0 && fd <= STDERR_FILENO);
    if (fd >= 0) {
        (void)close(fd); /* nothing was written */
    }

    /* Names of a customer's files are nobody else's business. */
    (void)umask(077);
    /* A write to a closed connection or pipe fails there, where it is handled. */
    (void)signal(SIGPIPE, SIG_IGN);
    /* The same for a file that would grow beyond a limit. */
    (void)signal(SIGXFSZ, SIG_IGN);
    /* One connection and one disk per worker; on failure the usual 1,024 do. */
    struct rlimit files;
    if (getrlimit(RLIMIT_NOFILE, &files) == 0) {
        files.rlim_cur = files.rlim_max;
        (void)setrlimit(RLIMIT_NOFILE, &files);
    }
    /* Memory holds access tokens: no core files. */
    (void)setrlimit(RLIMIT_CORE, &(struct rlimit){0, 0});
}

static enum exit_status print_string(const char *string)
{
    CLEANUP_TEXT struct text text = TEXT_INIT(4096);
    text_add(&text, string);
    return command_print(&text);
}

static enum exit_status show_help(int argc, char **argv)
{
    if (argc == 0) {
        return print_string(help);
    }
    for (size_t i = 0; i < ARRAY_LEN(commands); i++) {
        if (strcmp(commands[i].command->name, argv[0]) == 0) {
            return command_print_help(commands[i].command);
        }
    }
    return tell_unknown(argv[0]);
}

static enum exit_status tell_unknown(const char *name)
{
    CLEANUP_TEXT struct text text = TEXT_INIT(4096);
    text_add(&text, "winch: ");
    text_add_shown(&text, name, strlen(name), 256);
    for (size_t i = 0; i < ARRAY_LEN(later_commands); i++) {
        if (strcmp(later_commands[i], name) == 0) {
            text_add(&text, ": is not in this version. Commands: winch --help\n");
            (void)fputs(text_str(&text), stderr); /* the exit status tells it, too */
            return EXIT_STATUS_USAGE;
        }
    }
    struct suggest suggest = {.word = name};
    for (size_t i = 0; i < ARRAY_LEN(commands); i++) {
        suggest_offer(&suggest, commands[i].command->name);
    }
    suggest_offer(&suggest, "help");
    suggest_offer(&suggest, "--help");
    suggest_offer(&suggest, "--version");
    text_add(&text, name[0] == '-' ? ": no such option" : ": no such command");
    if (suggest.best != NULL) {
        text_printf(&text, "; did you mean %s?", suggest.best);
    }
    text_add(&text, "\nCommands: winch --help\n");
    (void)fputs(text_str(&text), stderr); /* the exit status tells it, too */
    return EXIT_STATUS_USAGE;
}
