/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * winch migrate: hands the settings to a run, shows it going on, and says at the end what came of
 * it. Words of the report go to standard output; with --json that holds only the object.
 */
#include "cli/command.h"
#include "cli/migrate_options.h"
#include "cli/progress.h"
#include "cli/report.h"
#include "cli/signals.h"

#include <signal.h>
#include <string.h>

/* What the callbacks of a run need. */
struct screen {
    struct progress *progress;
    bool speaks; /* sentences go to the terminal */
    bool logs;   /* sentences go to the log */
};

static enum exit_status refuse(const struct migrate_options *options,
                               const struct option_mistakes *mistakes);
static enum exit_status run(struct migrate_options *options);
static enum exit_status tell_end(const struct migrate_options *options,
                                 const struct run_summary *summary, bool speaks);
static void name_ends(struct run_summary *summary, const struct run_settings *settings);
static enum exit_status print_json(const struct run_summary *summary, bool dry_run);
static void on_progress(void *self, const struct run_progress *progress);
static void on_message(void *self, bool warning, const char *message);

enum exit_status cmd_migrate(int argc, char **argv)
{
    struct migrate_options options;
    struct option_mistakes mistakes = OPTION_MISTAKES_INIT;
    enum exit_status status;
    if (migrate_options_parse(argc, argv, &options, &mistakes) == OPTIONS_HELP) {
        status = command_print_help(&migrate_command);
    } else if (mistakes.count > 0) {
        status = refuse(&options, &mistakes);
    } else {
        status = run(&options);
    }
    migrate_options_clear(&options);
    option_mistakes_clear(&mistakes);
    return status;
}

static enum exit_status refuse(const struct migrate_options *options,
                               const struct option_mistakes *mistakes)
{
    if (options->json) {
        struct run_summary summary = {.exit_status = EXIT_STATUS_USAGE};
        name_ends(&summary, &options->settings);
        (void)snprintf(summary.error, sizeof(summary.error), "%s", text_str(&mistakes->text));
        (void)print_json(&summary, options->settings.dry_run); /* the mistakes count more */
    }
    return command_refuse(&migrate_command, mistakes);
}

static enum exit_status run(struct migrate_options *options)
{
    struct error err = {0};
    if (log_open(options->log_level, options->log_format, options->log_file, &err) < 0) {
        struct option_mistakes mistakes = OPTION_MISTAKES_INIT;
        option_mistake(&mistakes, "--log-file: %s", err.message);
        enum exit_status status = refuse(options, &mistakes);
        option_mistakes_clear(&mistakes);
        return status;
    }
    bool is_machine = options->progress == PROGRESS_JSON || options->log_format == LOG_JSON;
    struct screen screen = {
        .progress = progress_new(options->progress),
        .speaks = isatty(STDERR_FILENO) == 1 && !is_machine,
    };
    if (screen.progress == NULL) {
        (void)fputs("winch: out of memory\n", stderr); /* the exit status tells it, too */
        log_close();
        return EXIT_STATUS_TEMPORARY;
    }
    screen.logs = !screen.speaks || options->log_file != NULL;

    _Atomic bool cancel = false;
    options->settings.stop = signals_catch(!is_machine);
    options->settings.cancel = &cancel;
    options->settings.on_progress = on_progress;
    options->settings.on_message = on_message;
    options->settings.self = &screen;
    struct run_summary *summary = calloc(1, sizeof(*summary)); /* large for a stack */
    if (summary == NULL) {
        progress_free(screen.progress);
        log_close();
        (void)fputs("winch: out of memory\n", stderr); /* the exit status tells it, too */
        return EXIT_STATUS_TEMPORARY;
    }
    enum exit_status status = run_migrate(&options->settings, summary);
    progress_free(screen.progress);
    int number = signals_caught();
    if (status == EXIT_STATUS_INTERRUPTED && (number == SIGTERM || number == SIGHUP)) {
        status = EXIT_STATUS_TERMINATED;
    }
    summary->exit_status = status;
    name_ends(summary, &options->settings);
    status = tell_end(options, summary, screen.speaks);
    run_summary_clear(summary);
    free(summary);
    log_close();
    return status;
}

static enum exit_status tell_end(const struct migrate_options *options,
                                 const struct run_summary *summary, bool speaks)
{
    bool dry_run = options->settings.dry_run;
    enum exit_status status = summary->exit_status;
    CLEANUP_TEXT struct text words = TEXT_INIT(REPORT_BYTES_MAX);
    report_render(&words, summary, dry_run);
    CLEANUP_TEXT struct text verdict = TEXT_INIT(REPORT_BYTES_MAX);
    report_render_verdict(&verdict, summary, dry_run);

    enum exit_status printed = EXIT_STATUS_CLEAN;
    if (options->json) {
        printed = print_json(summary, dry_run);
        if (speaks) {
            (void)fputs(text_str(&words), stderr); /* the object tells it, too */
        }
    } else {
        printed = command_print(&words);
    }
    /* Somebody who keeps only standard error, or only the log, has to learn of a failure, too. */
    if (status != EXIT_STATUS_CLEAN) {
        bool told = speaks && (options->json || isatty(STDOUT_FILENO) == 1);
        if (options->log_file != NULL || options->log_format == LOG_JSON) {
            log_write(LOG_ERROR, "migrate", "exit %d: %s", (int)status,
                      summary->error[0] != '\0' ? summary->error : text_str(&verdict));
        }
        if (!told && options->log_format == LOG_TEXT && options->progress != PROGRESS_JSON) {
            (void)fprintf(stderr, "winch migrate: %s\n", text_str(&verdict));
        }
    }
    return status == EXIT_STATUS_CLEAN ? printed : status;
}

/* A run that stopped early may not have got as far as to say where from and where to. */
static void name_ends(struct run_summary *summary, const struct run_settings *settings)
{
    if (summary->source[0] == '\0' && settings->source != NULL) {
        (void)snprintf(summary->source, sizeof(summary->source), "%s", settings->source);
    }
    if (summary->destination[0] == '\0' && settings->destination != NULL) {
        (void)snprintf(summary->destination, sizeof(summary->destination), "%s",
                       settings->destination);
    }
}

static enum exit_status print_json(const struct run_summary *summary, bool dry_run)
{
    CLEANUP_TEXT struct text json = TEXT_INIT(REPORT_BYTES_MAX);
    report_json(&json, summary, dry_run);
    text_add_char(&json, '\n');
    return command_print(&json);
}

static void on_progress(void *self, const struct run_progress *progress)
{
    const struct screen *screen = self;
    progress_show(screen->progress, progress);
}

static void on_message(void *self, bool warning, const char *message)
{
    const struct screen *screen = self;
    if (screen->speaks) {
        progress_say(screen->progress, warning, message);
    }
    if (screen->logs) {
        log_write(warning ? LOG_WARN : LOG_INFO, "migrate", "%s", message);
    }
}
