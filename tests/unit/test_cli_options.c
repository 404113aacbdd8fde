/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The command line of winch migrate: what is taken, what is refused and in which words. */
#include "cli/migrate_options.h"
#include "cli/suggest.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>
#include <cmocka.h>

#define ARGUMENTS_MAX 32

/* One parse; `line` is cut at its spaces. */
struct attempt {
    struct migrate_options options;
    struct option_mistakes mistakes;
    char words[1024];
    char *argv[ARGUMENTS_MAX];
    enum options_outcome outcome;
};

static void start(struct attempt *attempt, const char *line)
{
    (void)snprintf(attempt->words, sizeof(attempt->words), "%s", line);
    attempt->mistakes = OPTION_MISTAKES_INIT;
    int argc = 0;
    char *rest = NULL;
    for (char *word = strtok_r(attempt->words, " ", &rest); word != NULL;
         word = strtok_r(NULL, " ", &rest)) {
        assert_true(argc < ARGUMENTS_MAX);
        attempt->argv[argc++] = word;
    }
    attempt->outcome =
        migrate_options_parse(argc, attempt->argv, &attempt->options, &attempt->mistakes);
}

static void end(struct attempt *attempt)
{
    migrate_options_clear(&attempt->options);
    option_mistakes_clear(&attempt->mistakes);
}

static void test_defaults(void **state)
{
    (void)state;
    struct attempt attempt;
    (void)unsetenv("WINCH_CA_FILE");
    (void)unsetenv("SSL_CERT_FILE");
    start(&attempt, "/dev/sdb gs://archive/fs01");
    assert_int_equal(attempt.outcome, OPTIONS_PARSED);
    assert_int_equal(attempt.mistakes.count, 0);
    const struct run_settings *settings = &attempt.options.settings;
    assert_string_equal(settings->source, "/dev/sdb");
    assert_string_equal(settings->destination, "gs://archive/fs01");
    assert_string_equal(settings->command, "winch migrate /dev/sdb gs://archive/fs01");
    assert_int_equal(settings->connections, 64);
    assert_int_equal(settings->give_up_ms, 3600000);
    assert_int_equal(settings->max_duration_ms, 0);
    assert_int_equal(settings->part_size_bytes, 0);
    assert_int_equal(settings->volume_count, 0);
    assert_int_equal(settings->volume_names, RUN_NAMES_AUTO);
    assert_int_equal(settings->if_exists, UPLOAD_IF_EXISTS_FAIL);
    assert_int_equal(settings->streams, PLAN_STREAMS_AUTO);
    assert_true(settings->default_excludes);
    assert_false(settings->dry_run);
    assert_null(settings->ca_file);
    assert_null(settings->state_folder);
    assert_int_equal(attempt.options.log_level, LOG_WARN);
    assert_int_equal(attempt.options.progress, PROGRESS_AUTO);
    end(&attempt);
}

static void test_values(void **state)
{
    (void)state;
    struct attempt attempt;
    start(&attempt, "--volume 2,Data disk.img --volume=4 gs://archive --connections=8 "
                    "--part-size 64M --if-exists replace --volume-names number");
    assert_int_equal(attempt.mistakes.count, 0);
    const struct run_settings *settings = &attempt.options.settings;
    assert_string_equal(settings->source, "disk.img");
    assert_int_equal(settings->volume_count, 3);
    assert_string_equal(settings->volumes[0], "2");
    assert_string_equal(settings->volumes[1], "Data");
    assert_string_equal(settings->volumes[2], "4");
    assert_int_equal(settings->connections, 8);
    assert_int_equal(settings->part_size_bytes, 64 << 20);
    assert_int_equal(settings->if_exists, UPLOAD_IF_EXISTS_REPLACE);
    assert_int_equal(settings->volume_names, RUN_NAMES_NUMBER);
    end(&attempt);

    start(&attempt, "a gs://abc --include *.doc --exclude=Users/** --min-size 1K --max-size 2K "
                    "--max-duration 8h --accept efs,dedup --streams none --no-default-excludes");
    assert_int_equal(attempt.mistakes.count, 0);
    assert_string_equal(settings->includes[0], "*.doc");
    assert_string_equal(settings->excludes[0], "Users/**");
    assert_int_equal(settings->min_size_bytes, 1024);
    assert_int_equal(settings->max_size_bytes, 2048);
    assert_int_equal(settings->max_duration_ms, 8 * 3600000);
    assert_int_equal(settings->accepted_reason_count, 2);
    assert_int_equal(settings->streams, PLAN_STREAMS_NONE);
    assert_false(settings->default_excludes);
    end(&attempt);

    start(&attempt, "a gs://abc --progress json --log-level debug --log-format json --json "
                    "--dry-run --part-size auto --log-file x --run-id r --state-dir s");
    assert_int_equal(attempt.mistakes.count, 0);
    assert_int_equal(attempt.options.progress, PROGRESS_JSON);
    assert_int_equal(attempt.options.log_level, LOG_DEBUG);
    assert_int_equal(attempt.options.log_format, LOG_JSON);
    assert_true(attempt.options.json);
    assert_true(settings->dry_run);
    assert_string_equal(settings->run_id, "r");
    assert_string_equal(settings->state_folder, "s");
    end(&attempt);
}

/* Each line has as many mistakes as words are looked for. */
static void test_mistakes(void **state)
{
    (void)state;
    static const struct {
        const char *line;
        size_t count;
        const char *says;
    } cases[] = {
        {"", 1, "SOURCE is missing"},
        {"a", 1, "gs://BUCKET[/PREFIX] is missing"},
        {"a gs://abc c", 1, "c: one argument too many"},
        {"gs://abc a", 1, "SOURCE comes first"},
        {"a gs://", 1, "gs://"},
        {"a bucket", 1, "bucket"},
        {"disk:data gs://abc", 1, "disk:... is not in this version"},
        {"snapshot:s gs://abc", 1, "snapshot:... is not in this version"},
        {"a gs://abc --conections 3", 1, "did you mean --connections?"},
        {"a gs://abc --conn=3", 1, "did you mean --connections?"},
        {"a gs://abc --nonsense", 1, "--nonsense: no such option\n"},
        {"a gs://abc -v", 1, "options begin with two dashes"},
        {"a gs://abc --since=last", 1, "--since: is not in this version"},
        {"a gs://abc --connections 0", 1, "a number from 1 to 256"},
        {"a gs://abc --connections 257", 1, "a number from 1 to 256"},
        {"a gs://abc --connections x", 1, "a number from 1 to 256"},
        {"a gs://abc --connections", 1, "--connections: needs a value"},
        {"a gs://abc --connections --json", 1, "--connections: needs a value"},
        {"a gs://abc --connections=", 1, "--connections: the value is empty"},
        {"a gs://abc --json=yes", 1, "--json: takes no value"},
        {"a gs://abc --part-size 2G", 1, "1.0 MiB to 1.0 GiB"},
        {"a gs://abc --part-size 1500K", 1, "a multiple of 1.0 MiB"},
        {"a gs://abc --part-size big", 1, "sizes such as"},
        {"a gs://abc --give-up soon", 1, "durations such as"},
        {"a gs://abc --give-up 0", 1, "1 seconds to 30 days"},
        {"a gs://abc --if-exists own", 1, "comes with --since"},
        {"a gs://abc --if-exists keep", 1, "allowed are fail, skip, replace\n"},
        {"a gs://abc --volume-names letter", 1, "the agent"},
        {"a gs://abc --volume-names x", 1, "allowed are auto, label, number\n"},
        {"a gs://abc --volume d:", 0, ""},
        {"a gs://abc --volume all,2", 1, "stands alone"},
        {"a gs://abc --volume 1,,2", 1, "between the commas is empty"},
        {"a gs://abc --accept dedupp", 1, "did you mean dedup?"},
        {"a gs://abc --accept system", 1, "do not fail anyway"},
        {"a gs://abc --accept everything", 1, "allowed are dedup, cloud-placeholder"},
        {"a gs://abc --min-size 2M --max-size 1M", 1, "no file could match"},
        {"a gs://abc --exclude Users\\x", 1, "write / between folders"},
        {"a gs://abc --exclude C:/Users", 1, "below the drive letter"},
        {"a gs://abc --exclude-from /nonexistent", 1, "/nonexistent"},
        {"a gs://abc --files-from /nonexistent", 1, "--files-from: cannot open /nonexistent"},
        {"a gs://abc --files-from /dev/null", 1, "/dev/null: is empty; nothing would be taken"},
        {"a gs://abc --files-from /nonexistent --include x", 2, "take one of them"},
        {"a gs://abc --ca-file /nonexistent", 1, "--ca-file /nonexistent: No such file"},
        {"a gs://abc --connections 0 --streams x --large-method", 3,
         "--large-method: is not in this version"},
        /* "3" may be the value of what is not known, so nothing is said about SOURCE. */
        {"a gs://abc --nonsense 3", 1, "--nonsense: no such option"},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct attempt attempt;
        start(&attempt, cases[i].line);
        if (attempt.mistakes.count != cases[i].count ||
            strstr(text_str(&attempt.mistakes.text), cases[i].says) == NULL) {
            fail_msg("\"%s\" gives %zu mistakes: %s", cases[i].line, attempt.mistakes.count,
                     text_str(&attempt.mistakes.text));
        }
        end(&attempt);
    }
}

static void test_help_wins(void **state)
{
    (void)state;
    struct attempt attempt;
    start(&attempt, "--connections 0 --help");
    assert_int_equal(attempt.outcome, OPTIONS_HELP);
    end(&attempt);
    start(&attempt, "-- --help gs://abc");
    assert_int_equal(attempt.outcome, OPTIONS_PARSED);
    assert_int_equal(attempt.mistakes.count, 0);
    assert_string_equal(attempt.options.settings.source, "--help");
    end(&attempt);
}

static void test_environment(void **state)
{
    (void)state;
    struct attempt attempt;
    assert_int_equal(setenv("SSL_CERT_FILE", "/b", 1), 0);
    start(&attempt, "a gs://abc");
    assert_string_equal(attempt.options.settings.ca_file, "/b");
    end(&attempt);
    assert_int_equal(setenv("WINCH_CA_FILE", "/a", 1), 0);
    start(&attempt, "a gs://abc");
    assert_string_equal(attempt.options.settings.ca_file, "/a");
    end(&attempt);
    start(&attempt, "a gs://abc --ca-file /dev/null");
    assert_string_equal(attempt.options.settings.ca_file, "/dev/null");
    end(&attempt);
    (void)unsetenv("WINCH_CA_FILE");
    (void)unsetenv("SSL_CERT_FILE");
}

static void put_file(const char *path, const char *bytes, size_t len)
{
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    assert_int_equal(fwrite(bytes, 1, len, file), len);
    assert_int_equal(fclose(file), 0);
}

static void test_exclude_from(void **state)
{
    (void)state;
    static const char good[] = "\xEF\xBB\xBF*.tmp\r\n\n# no\n[#]yes\nlast";
    static const char bad[] = "\xFF\xFE*\0.\0";
    char path[] = "/tmp/winch-test-XXXXXX";
    int fd = mkstemp(path);
    assert_true(fd >= 0);
    (void)close(fd);
    char line[128];
    (void)snprintf(line, sizeof(line), "a gs://abc --exclude first --exclude-from %s", path);

    put_file(path, good, sizeof(good) - 1);
    struct attempt attempt;
    start(&attempt, line);
    assert_int_equal(attempt.mistakes.count, 0);
    const struct run_settings *settings = &attempt.options.settings;
    assert_int_equal(settings->exclude_count, 4);
    assert_string_equal(settings->excludes[0], "first");
    assert_string_equal(settings->excludes[1], "*.tmp");
    assert_string_equal(settings->excludes[2], "[#]yes");
    assert_string_equal(settings->excludes[3], "last");
    end(&attempt);

    put_file(path, bad, sizeof(bad) - 1);
    start(&attempt, line);
    assert_int_equal(attempt.mistakes.count, 1);
    assert_non_null(strstr(text_str(&attempt.mistakes.text), "is not UTF-8 text"));
    end(&attempt);
    assert_int_equal(unlink(path), 0);
}

/* As editors, shells and PowerShell save them. */
static void test_files_from(void **state)
{
    (void)state;
    static const struct {
        const char *bytes;
        size_t len;
        size_t count;
        const char *says; /* or NULL */
    } cases[] = {
#define FILE_CASE(bytes, ...) {bytes, sizeof(bytes) - 1, __VA_ARGS__}
        FILE_CASE("a.txt\nD:\\b\\c.txt\r\n\n# d", 3, NULL),
        FILE_CASE("\xEF\xBB\xBF"
                  "a.txt",
                  1, NULL),
        FILE_CASE("\xFF\xFE"
                  "a\0\r\0\n\0b\0",
                  2, NULL),
        FILE_CASE("\xFE\xFF"
                  "\0a\0\n\x4e\x2d",
                  2, NULL),
        FILE_CASE("\xFF\xFE"
                  "\x3D\xD8\x00\xDE",
                  1, NULL),
        FILE_CASE("\xFF\xFE"
                  "a",
                  0, "is not UTF-16 text"),
        FILE_CASE("\xFF\xFE"
                  "\x3D\xD8",
                  0, "is not UTF-16 text"),
        FILE_CASE("ok\n\xE9t\xE9.txt\n", 0, "line 2 is no path"),
        FILE_CASE("ok\n\nC:\\\n", 0, "line 3 is no path"),
        FILE_CASE("\n\r\n", 0, "is empty"),
#undef FILE_CASE
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        char path[] = "/tmp/winch-test-paths-XXXXXX";
        int fd = mkstemp(path);
        assert_true(fd >= 0);
        (void)close(fd);
        char line[128];
        (void)snprintf(line, sizeof(line), "a gs://abc --files-from %s", path);
        put_file(path, cases[i].bytes, cases[i].len);
        struct attempt attempt;
        start(&attempt, line);
        assert_int_equal(attempt.mistakes.count, cases[i].says != NULL);
        if (cases[i].says != NULL) {
            assert_non_null(strstr(text_str(&attempt.mistakes.text), cases[i].says));
        } else {
            assert_int_equal(plan_paths_count(attempt.options.settings.paths), cases[i].count);
        }
        end(&attempt);
        assert_int_equal(unlink(path), 0);
    }
}

static void test_hostile_words_are_shown(void **state)
{
    (void)state;
    struct attempt attempt;
    start(&attempt, "a gs://abc --accept \033[31m --\033x");
    assert_int_equal(attempt.mistakes.count, 2);
    assert_null(strchr(text_str(&attempt.mistakes.text), '\033'));
    end(&attempt);
}

static void test_command_is_quoted(void **state)
{
    (void)state;
    struct attempt attempt;
    start(&attempt, "a'b gs://abc --exclude *.tmp");
    assert_string_equal(attempt.options.settings.command,
                        "winch migrate 'a'\\''b' gs://abc --exclude '*.tmp'");
    end(&attempt);
}

static void test_help_text(void **state)
{
    (void)state;
    CLEANUP_TEXT struct text text = TEXT_INIT(65536);
    options_render_help(&text, &migrate_command);
    assert_false(text.failed);
    for (size_t i = 0; i < migrate_command.option_count; i++) {
        const struct option *option = &migrate_command.options[i];
        if (option->type != OPTION_HEADING) {
            assert_non_null(strstr(text_str(&text), option->name));
        }
    }
    for (const char *line = text_str(&text); *line != '\0';) {
        size_t len = strcspn(line, "\n");
        assert_true(len <= 88);
        line += len + (line[len] == '\n');
    }
}

static void test_suggestions(void **state)
{
    (void)state;
    static const struct {
        const char *word, *best;
    } cases[] = {
        {"migrte", "migrate"},
        {"disk", "disks"},
        {"imgrate", "migrate"},
        {"MIGRATE", "migrate"},
        {"mig", "migrate"},
        {"x", NULL},
        {"", NULL},
        {"upload", NULL},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct suggest suggest = {.word = cases[i].word};
        suggest_offer(&suggest, "disks");
        suggest_offer(&suggest, "migrate");
        if (cases[i].best == NULL) {
            assert_null(suggest.best);
        } else {
            assert_non_null(suggest.best);
            assert_string_equal(suggest.best, cases[i].best);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_defaults),          cmocka_unit_test(test_values),
        cmocka_unit_test(test_mistakes),          cmocka_unit_test(test_help_wins),
        cmocka_unit_test(test_environment),       cmocka_unit_test(test_exclude_from),
        cmocka_unit_test(test_files_from),        cmocka_unit_test(test_hostile_words_are_shown),
        cmocka_unit_test(test_command_is_quoted), cmocka_unit_test(test_help_text),
        cmocka_unit_test(test_suggestions),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
