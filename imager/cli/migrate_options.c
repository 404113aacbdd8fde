/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Checks of `winch migrate` that go beyond one value: what only makes sense together, what needs a
 * look at a file, the environment, and the words of later versions.
 */
#include "cli/bandwidth_option.h"
#include "cli/migrate_options.h"
#include "cli/object_options.h"
#include "cli/path_file.h"
#include "cli/reasons.h"
#include "cli/suggest.h"
#include "gcs/gcs.h"

#include <errno.h>
#include <string.h>

/* Enough for OPTION_LIST_MAX patterns of usual length. */
enum { EXCLUDE_FILE_BYTES_MAX = 4 << 20, COMMAND_BYTES_MAX = 64 << 10 };
/* A byte takes at most six. More than an object may have is a mistake that is told. */
enum { METADATA_JSON_MAX = 1 << 20 };

static void check_operands(struct migrate_options *options, struct option_mistakes *mistakes);
static void check_source(const char *source, struct option_mistakes *mistakes);
static void check_volumes(const struct migrate_options *options, struct option_mistakes *mistakes);
static void check_accepted(const struct migrate_options *options, struct option_mistakes *mistakes);
static void check_paths(struct migrate_options *options, struct option_mistakes *mistakes);
static void check_ca_file(struct migrate_options *options, struct option_mistakes *mistakes);
static void read_exclude_file(struct migrate_options *options, const char *path,
                              struct option_mistakes *mistakes);
static void check_patterns(const char *name, const struct option_list *list,
                           struct option_mistakes *mistakes);
static void add_command(struct text *text, int argc, char **argv);
static void fill_settings(struct migrate_options *options);

enum options_outcome migrate_options_parse(int argc, char **argv,
                                           struct migrate_options *ret_options,
                                           struct option_mistakes *mistakes)
{
    struct migrate_options *options = ret_options;
    *options = (struct migrate_options){
        .settings = {.default_excludes = true, .connections = 64, .give_up_ms = 3600000},
        .level_choice = LOG_WARN,
        .command = TEXT_INIT(COMMAND_BYTES_MAX),
        .metadata_json = TEXT_INIT(METADATA_JSON_MAX),
    };
    if (options_parse(&migrate_command, argc, argv, options, &options->operands, mistakes) ==
        OPTIONS_HELP) {
        return OPTIONS_HELP;
    }
    check_operands(options, mistakes);
    check_volumes(options, mistakes);
    check_accepted(options, mistakes);
    check_patterns("--include", &options->includes, mistakes);
    check_patterns("--exclude", &options->excludes, mistakes);
    for (size_t i = 0; i < options->exclude_files.count; i++) {
        read_exclude_file(options, options->exclude_files.items[i], mistakes);
    }
    check_paths(options, mistakes);
    const struct run_settings *settings = &options->settings;
    if (settings->max_size_bytes > 0 && settings->min_size_bytes > settings->max_size_bytes) {
        option_mistake(mistakes, "--min-size is larger than --max-size: no file could match");
    }
    check_ca_file(options, mistakes);
    object_options_check_key(settings->kms_key, mistakes);
    object_options_check_cache_control(settings->cache_control, mistakes);
    object_options_read_metadata(&options->metadata, &options->metadata_json, mistakes);
    if (options->bandwidth != NULL) {
        bandwidth_option_read(options->bandwidth, &options->timetable, mistakes);
        options->settings.bandwidth = &options->timetable;
    }
    add_command(&options->command, argc, argv);
    fill_settings(options);
    return OPTIONS_PARSED;
}

void migrate_options_clear(struct migrate_options *options)
{
    option_list_clear(&options->operands);
    option_list_clear(&options->volumes);
    option_list_clear(&options->includes);
    option_list_clear(&options->excludes);
    option_list_clear(&options->exclude_files);
    option_list_clear(&options->accepted);
    option_list_clear(&options->metadata);
    plan_paths_free(options->settings.paths);
    text_free(&options->command);
    text_free(&options->metadata_json);
}

static void check_paths(struct migrate_options *options, struct option_mistakes *mistakes)
{
    if (options->paths_file == NULL) {
        return;
    }
    if (options->includes.count > 0) {
        option_mistake(mistakes,
                       "--files-from and --include: take one of them; a list names files, "
                       "patterns describe them");
    }
    options->settings.paths = path_file_read(options->paths_file, mistakes);
}

static void check_operands(struct migrate_options *options, struct option_mistakes *mistakes)
{
    struct option_list *operands = &options->operands;
    if (mistakes->operands_unsure) {
        return;
    }
    if (operands->count > 0) {
        options->settings.source = operands->items[0];
    }
    if (operands->count > 1) {
        options->settings.destination = operands->items[1];
    }
    if (operands->count < 2) {
        option_mistake(mistakes, "%s is missing: winch migrate SOURCE gs://BUCKET[/PREFIX]",
                       operands->count == 0 ? "SOURCE" : "gs://BUCKET[/PREFIX]");
        return;
    }
    for (size_t i = 2; i < operands->count; i++) {
        option_mistake(mistakes,
                       "%s: one argument too many; SOURCE and gs://BUCKET[/PREFIX] are "
                       "already given",
                       operands->items[i]);
    }
    if (strncmp(options->settings.source, "gs://", 5) == 0) {
        option_mistake(mistakes, "%s: SOURCE comes first, gs://BUCKET[/PREFIX] second",
                       options->settings.source);
        return;
    }
    check_source(options->settings.source, mistakes);
    struct gcs_url url;
    struct error err = {0};
    if (gcs_url_parse(options->settings.destination, &url, &err) < 0) {
        option_mistake(mistakes, "%s", err.message);
    }
}

/* Whether it can be read is the run's business. */
static void check_source(const char *source, struct option_mistakes *mistakes)
{
    static const char *const later[] = {"disk:", "snapshot:", "vm:", "projects/"};
    if (source[0] == '\0') {
        option_mistake(mistakes, "SOURCE is empty; it is a block device or a raw image file");
        return;
    }
    for (size_t i = 0; i < ARRAY_LEN(later); i++) {
        if (strncmp(source, later[i], strlen(later[i])) == 0 && access(source, F_OK) != 0) {
            option_mistake(mistakes,
                           "SOURCE %s: %s... is not in this version; attach the disk and give its "
                           "device, such as /dev/sdb",
                           source, later[i]);
            return;
        }
    }
}

static void check_volumes(const struct migrate_options *options, struct option_mistakes *mistakes)
{
    const struct option_list *list = &options->volumes;
    for (size_t i = 0; i < list->count; i++) {
        const char *volume = list->items[i];
        if (strcmp(volume, "all") == 0 && list->count > 1) {
            option_mistake(mistakes, "--volume all: stands alone, without other volumes");
            return;
        }
    }
}

static void check_accepted(const struct migrate_options *options, struct option_mistakes *mistakes)
{
    for (size_t i = 0; i < options->accepted.count; i++) {
        const char *code = options->accepted.items[i];
        if (reason_find(code) != NULL) {
            continue;
        }
        if (strcmp(code, REASON_EXCLUDED) == 0 || strcmp(code, REASON_SYSTEM) == 0) {
            option_mistake(mistakes, "--accept %s: such entries do not fail anyway", code);
            continue;
        }
        struct suggest suggest = {.word = code};
        CLEANUP_TEXT struct text all = TEXT_INIT(1024);
        for (size_t j = 0; reason_at(j) != NULL; j++) {
            suggest_offer(&suggest, reason_at(j)->code);
            text_printf(&all, "%s%s", j == 0 ? "" : ", ", reason_at(j)->code);
        }
        if (suggest.best != NULL) {
            option_mistake(mistakes, "--accept %s: no such reason; did you mean %s?", code,
                           suggest.best);
        } else {
            option_mistake(mistakes, "--accept %s: allowed are %s", code, text_str(&all));
        }
    }
}

/* libcurl reads neither variable by itself. An empty variable counts as absent. */
static void check_ca_file(struct migrate_options *options, struct option_mistakes *mistakes)
{
    static const char *const variables[] = {"WINCH_CA_FILE", "SSL_CERT_FILE"};
    if (options->settings.ca_file != NULL) {
        if (access(options->settings.ca_file, R_OK) != 0) {
            option_mistake(mistakes, "--ca-file %s: %s", options->settings.ca_file,
                           strerror(errno));
        }
        return;
    }
    for (size_t i = 0; i < ARRAY_LEN(variables); i++) {
        const char *value = getenv(variables[i]);
        if (value != NULL && value[0] != '\0') {
            options->settings.ca_file = value;
            return;
        }
    }
}

static void read_exclude_file(struct migrate_options *options, const char *path,
                              struct option_mistakes *mistakes)
{
    CLEANUP_TEXT struct text content = TEXT_INIT(EXCLUDE_FILE_BYTES_MAX);
    struct error err = {0};
    if (file_read(path, EXCLUDE_FILE_BYTES_MAX, &content, &err) < 0) {
        option_mistake(mistakes, "--exclude-from: %s", err.message);
        return;
    }
    const char *line = text_str(&content);
    if (strlen(line) != content.len || !utf_valid_utf8(line, content.len)) {
        /* What an editor on Windows saves as "Unicode". */
        option_mistake(mistakes, "--exclude-from %s: is not UTF-8 text; save it as UTF-8", path);
        return;
    }
    if (strncmp(line, "\xEF\xBB\xBF", 3) == 0) {
        line += 3;
    }
    struct option_list found = {0};
    while (*line != '\0') {
        size_t len = strcspn(line, "\n");
        size_t kept = len > 0 && line[len - 1] == '\r' ? len - 1 : len;
        if (kept > 0 && line[0] != '#' &&
            (option_list_add(&found, line, kept) < 0 ||
             option_list_add(&options->excludes, line, kept) < 0)) {
            option_list_mistake(mistakes,
                                found.count < options->excludes.count ? &options->excludes : &found,
                                "--exclude-from %s: more than %d patterns", path, OPTION_LIST_MAX);
            break;
        }
        line += len + (line[len] == '\n');
    }
    check_patterns("--exclude-from", &found, mistakes);
    option_list_clear(&found);
}

/* A pattern that can never match would silently take or leave the wrong files. */
static void check_patterns(const char *name, const struct option_list *list,
                           struct option_mistakes *mistakes)
{
    for (size_t i = 0; i < list->count; i++) {
        const char *pattern = list->items[i];
        if (!utf_valid_utf8(pattern, strlen(pattern))) {
            option_mistake(mistakes, "%s %s: is not UTF-8", name, pattern);
        } else if (strchr(pattern, '\\') != NULL) {
            option_mistake(mistakes, "%s %s: write / between folders, not \\", name, pattern);
        } else if (pattern[1] == ':' && pattern[0] != '*' && pattern[0] != '?') {
            option_mistake(mistakes, "%s %s: paths begin below the drive letter", name, pattern);
        }
    }
}

/* Quoted so that it can be pasted into a shell. No option holds a secret. */
static void add_command(struct text *text, int argc, char **argv)
{
    static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
                                "-_./:=,@%+";
    text_add(text, "winch migrate");
    for (int i = 0; i < argc; i++) {
        text_add_char(text, ' ');
        if (argv[i][0] != '\0' && argv[i][strspn(argv[i], plain)] == '\0') {
            text_add(text, argv[i]);
            continue;
        }
        text_add_char(text, '\'');
        for (const char *c = argv[i]; *c != '\0'; c++) {
            if (*c == '\'') {
                text_add(text, "'\\''");
            } else {
                text_add_char(text, *c);
            }
        }
        text_add_char(text, '\'');
    }
}

static void fill_settings(struct migrate_options *options)
{
    struct run_settings *settings = &options->settings;
    settings->command = text_str(&options->command);
    settings->volumes = (const char *const *)options->volumes.items;
    settings->volume_count = options->volumes.count;
    settings->includes = (const char *const *)options->includes.items;
    settings->include_count = options->includes.count;
    settings->excludes = (const char *const *)options->excludes.items;
    settings->exclude_count = options->excludes.count;
    settings->accepted_reasons = (const char *const *)options->accepted.items;
    settings->accepted_reason_count = options->accepted.count;
    settings->volume_names = (enum run_volume_names)options->volume_names;
    settings->streams = (enum plan_streams)options->streams;
    settings->dedup = (enum plan_dedup)options->dedup;
    settings->efs_raw = options->efs == 1;
    settings->custom_time = options->custom_time == 1;
    if (options->metadata_json.len > 0) {
        settings->metadata = text_str(&options->metadata_json);
    }
    settings->hard_links = (enum plan_hard_links)options->hard_links;
    settings->if_exists = (enum upload_if_exists)options->if_exists;
    options->progress = (enum progress_mode)options->progress_choice;
    options->log_level = (enum log_level)options->level_choice;
    options->log_format = (enum log_format)options->format_choice;
}
