/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The option table of `winch migrate`. */
#include "cli/migrate_options.h"

#define MIB (UINT64_C(1) << 20)
#define GIB (UINT64_C(1) << 30)
#define DAY_MS (UINT64_C(86400) * 1000)
#define PLACE(field) .offset = offsetof(struct migrate_options, field)

/* The order is that of the enums in run.h, plan.h, upload.h, base.h and progress.h. */
static const char *const volume_names[] = {"auto", "letter", "label", "number", NULL};
static const char *const dedup[] = {"auto", "fail", "raw", NULL};
static const char *const streams[] = {"auto", "objects", "none", NULL};
/* "own" comes last, so that the others keep their numbers. */
static const char *const hard_links[] = {"once", "copy", NULL};
static const char *const efs[] = {"fail", "raw", NULL};
static const char *const if_exists[] = {"fail", "skip", "replace", "own", NULL};
static const char *const custom_times[] = {"none", "mtime", NULL};
static const char *const progress_modes[] = {"auto", "bar", "json", "none", NULL};
static const char *const log_levels[] = {"error", "warn", "info", "debug", NULL};
static const char *const log_formats[] = {"text", "json", NULL};

static const struct option_refusal no_letters = {
    "letter", "drive letters are known only through the agent, which is not in this version; "
              "allowed are auto, label, number"};
static const struct option_refusal no_own = {
    "own", "comes with --since, which is not in this version; allowed are fail, skip, replace"};

/* clang-format off */
static const char *const later[] = {
    "--since", "--large-method", "--hash", "--require", "--project", "--zone",
    "--report", "--impersonate-service-account", "--control", NULL};
/* clang-format on */

static const struct option table[] = {
    {OPTION_HEADING, .help = "What is taken:"},
    {OPTION_COMMA_LIST, "--volume", "N|LABEL|all",
     "partition number or label of a volume (label:L for a label that looks like a number); may be "
     "repeated, or a list with commas. Without it: all NTFS volumes except recovery and system "
     "partitions.",
     PLACE(volumes)},
    {OPTION_LIST, "--include", "GLOB",
     "only files that match. * matches within a name, ** across folders; a pattern without / "
     "matches any name on the path. May be repeated.",
     PLACE(includes)},
    {OPTION_LIST, "--exclude", "GLOB",
     "leave out what matches; wins over --include. May be repeated.", PLACE(excludes)},
    {OPTION_LIST, "--exclude-from", "FILE",
     "more --exclude patterns, one a line; empty lines and lines that begin with # do not count.",
     PLACE(exclude_files)},
    {OPTION_STRING, "--files-from", "FILE",
     "only what this list names, one path a line, as on Windows (D:\\Data\\a.txt) or as in the "
     "manifest; a folder stands for all below, and excludes still win. What is not found makes "
     "exit "
     "code 3.",
     PLACE(paths_file)},
    {OPTION_SIZE, "--min-size", "SIZE", "leave out smaller files.", PLACE(settings.min_size_bytes),
     .max = UINT64_MAX},
    {OPTION_SIZE, "--max-size", "SIZE", "leave out larger files.", PLACE(settings.max_size_bytes),
     .min = 1, .max = UINT64_MAX},
    {OPTION_FLAG_OFF, "--no-default-excludes", NULL,
     "take pagefile.sys, hiberfil.sys, swapfile.sys, the recycle bin and System Volume "
     "Information, too.",
     PLACE(settings.default_excludes)},
    {OPTION_CHOICE, "--streams", "auto|objects|none",
     "alternate data streams: auto keeps small ones in the manifest and makes objects of larger "
     "ones; objects makes objects of all; none leaves them out.",
     PLACE(streams), .choices = streams},
    {OPTION_CHOICE, "--dedup", "auto|fail|raw",
     "files of Windows Data Deduplication: auto reads their content from the chunk store of the "
     "volume, checked by the store's hashes, and keeps the store's files below .winch/dedup/ when "
     "one cannot be read; fail reads none of them; raw neither, and keeps the store. What is not "
     "read fails as dedup. Default: auto.",
     PLACE(dedup), .choices = dedup},
    {OPTION_CHOICE, "--hard-links", "once|copy",
     "files with several names: once sends the content once, and the other names point to it in "
     "the "
     "manifest; copy makes an object for every name. Default: once.",
     PLACE(hard_links), .choices = hard_links},
    {OPTION_CHOICE, "--efs", "fail|raw",
     "encrypted files: fail names them as failed; raw keeps their ciphertext and keys in a form "
     "that "
     "can be restored to NTFS, marked so. Default: fail.",
     PLACE(efs), .choices = efs},

    {OPTION_HEADING, .help = "Where it goes:"},
    {OPTION_CHOICE, "--volume-names", "auto|label|number",
     "name of a volume's folder below the prefix. auto: no folder for a single volume, else its "
     "label, else its number.",
     PLACE(volume_names), .choices = volume_names, .refusal = &no_letters},
    {OPTION_CHOICE, "--if-exists", "fail|skip|replace",
     "when an object of that name has other content: the file fails as conflict (fail); the same "
     "without reading the file (skip); the object is replaced (replace). An equal object always "
     "counts as done. Default: fail.",
     PLACE(if_exists), .choices = if_exists, .refusal = &no_own},
    {OPTION_STRING, "--storage-class", "CLASS", "of the new objects. Default: the bucket's.",
     PLACE(settings.storage_class)},
    {OPTION_STRING, "--encryption-key", "KEY",
     "of Cloud KMS, for all that is written: projects/P/locations/L/keyRings/R/cryptoKeys/K. "
     "Default: the bucket's.",
     PLACE(settings.kms_key)},
    {OPTION_STRING, "--cache-control", "VALUE", "of the objects of files.",
     PLACE(settings.cache_control)},
    {OPTION_CHOICE, "--custom-time", "none|mtime",
     "mtime: the objects of files state the time of their last change as customTime, which "
     "lifecycle rules can look at and nobody can move back. Default: none.",
     PLACE(custom_time), .choices = custom_times},
    {OPTION_LIST, "--metadata", "KEY=VALUE",
     "custom metadata of the objects of files. May be repeated.", PLACE(metadata)},
    {OPTION_STRING, "--billing-project", "PROJECT", "pays for the requests.",
     PLACE(settings.billing_project)},

    {OPTION_HEADING, .help = "How the run goes:"},
    {OPTION_FLAG, "--dry-run", NULL, "only say what would happen; writes nothing, asks no server.",
     PLACE(settings.dry_run)},
    {OPTION_COMMA_LIST, "--accept", "REASON,...",
     "files that fail for these reasons are counted as accepted, and do not make exit code 3.",
     PLACE(accepted)},
    {OPTION_NUMBER, "--connections", "N", "requests at the same time, 1 to 256. Default: 64.",
     PLACE(settings.connections), .min = 1, .max = 256},
    {OPTION_STRING, "--bwlimit", "RATE",
     "bytes of content a second, over all connections: 20M; or a timetable in local time, each row "
     "from its time on: \"08:00,20M 19:00,off Sat-00:00,off\". Default: off.",
     PLACE(bandwidth)},
    {OPTION_SIZE, "--part-size", "SIZE",
     "of the parts in which large files travel: 1M to 1G, a multiple of 1M. Default: auto, by the "
     "size of the file.",
     PLACE(settings.part_size_bytes), .min = MIB, .max = GIB, .step = MIB, .takes_auto = true},
    {OPTION_DURATION, "--give-up", "DURATION",
     "how long one request is tried again and again before the run stops. Default: 1h.",
     PLACE(settings.give_up_ms), .min = 1000, .max = 30 * DAY_MS},
    {OPTION_DURATION, "--max-duration", "DURATION",
     "stop after this time with exit code 75; the same command resumes.",
     PLACE(settings.max_duration_ms), .min = 1000, .max = 365 * DAY_MS},
    {OPTION_STRING, "--run-id", "RUN", "resume exactly this run, or fail.", PLACE(settings.run_id)},
    {OPTION_STRING, "--state-dir", "DIR", "where the journal of the run is kept.",
     PLACE(settings.state_folder)},
    {OPTION_STRING, "--ca-file", "FILE", "certificates to trust, PEM.", PLACE(settings.ca_file)},

    {OPTION_HEADING, .help = "What it says:"},
    {OPTION_CHOICE, "--progress", "auto|bar|json|none",
     "on standard error. auto: a bar on a terminal, else nothing. json: one line a second.",
     PLACE(progress_choice), .choices = progress_modes},
    {OPTION_FLAG, "--json", NULL,
     "one JSON object on standard output instead of the report in words.", PLACE(json)},
    {OPTION_CHOICE, "--log-level", "error|warn|info|debug", "Default: warn.", PLACE(level_choice),
     .choices = log_levels},
    {OPTION_STRING, "--log-file", "FILE", "append the log to it. Default: standard error.",
     PLACE(log_file)},
    {OPTION_CHOICE, "--log-format", "text|json", "Default: text.", PLACE(format_choice),
     .choices = log_formats},
    {OPTION_FLAG, "--help", NULL, "show this.", PLACE(json)},
};

const struct option_command migrate_command = {
    .name = "migrate",
    .synopsis = "winch migrate SOURCE gs://BUCKET[/PREFIX] [options]",
    .about =
        "Uploads every file of the NTFS volumes on SOURCE, a block device or a raw image file,\n"
        "and proves each one by its checksum. SOURCE is only read. An interrupted run goes on\n"
        "when the same command is given again.",
    .options = table,
    .option_count = ARRAY_LEN(table),
    .later = later,
    .notes =
        "Sizes are written as 300, 64K, 16M, 1.5G, 2T; durations as 90s, 15m, 1h, 2d.\n"
        "\n"
        "Examples:\n"
        "  winch migrate /dev/sdb gs://archive/fs01 --dry-run\n"
        "  winch migrate /dev/sdb gs://archive/fs01\n"
        "  winch migrate disk.img gs://archive --volume 2 --exclude '*.tmp'\n"
        "\n"
        "Exit codes: 0 everything is in the bucket and proven; 2 mistake in the command line;\n"
        "3 finished, but something is missing; 4 rights; 5 the bucket refused; 6 SOURCE cannot be\n"
        "read; 10 no such run; 11 another run holds it; 70 winch's own error; 75 temporary, the\n"
        "same command resumes; 130 and 143 interrupted, the same command resumes; 1 any other.\n",
};
