/* SPDX-License-Identifier: GPL-3.0-or-later */
/* options: parses the command line of fake-gcs and prints its help. */
#include "options.h"

#include <getopt.h>
#include <stdio.h>

#include "base/base.h"
#include "rights.h"

#define MAX_THREADS 64
#define MAX_LATENCY_MS 600000 /* ten minutes: more is surely a mistake */

static const char help_text[] =
    "Usage: fake-gcs --port N|0 [OPTION]...\n"
    "A local Cloud Storage for tests, on 127.0.0.1.\n"
    "\n"
    "  --port N            port to listen on; 0 takes a free one\n"
    "  --port-file FILE    write the port to FILE once listening\n"
    "  --dir DIR           keep objects in DIR, across restarts (default: in memory)\n"
    "  --tree              with --dir: readable paths under DIR/tree too, where possible\n"
    "  --discard           keep sizes and checksums only, not the bytes\n"
    "  --rights LIST       of create,get,delete,list,update,buckets.get; or all (default)\n"
    "  --latency-ms N      delay every reply by N ms\n"
    "  --md5               compute and state md5Hash\n"
    "  --faults FILE       scripted faults, one JSON object a line\n"
    "  --tls CERT KEY      HTTPS with this certificate and key (PEM files)\n"
    "  --require-token T   401 unless the request carries the bearer token T\n"
    "  --metadata-token T  be a metadata server and token endpoint that hands out T\n"
    "  --bucket-json FILE  members to overlay on the resource of every bucket\n"
    "  --ignore-delete-sources\n"
    "                      compose as a server that does not know deleteSourceObjects\n"
    "  --unique-sources    refuse a compose that names an object twice\n"
    "  --threads N         threads that serve (default 2, with --dir 4)\n"
    "  --help              this text\n";

enum option_id {
    OPTION_PORT = 256,
    OPTION_PORT_FILE,
    OPTION_DIR,
    OPTION_TREE,
    OPTION_DISCARD,
    OPTION_RIGHTS,
    OPTION_LATENCY,
    OPTION_MD5,
    OPTION_FAULTS,
    OPTION_TLS,
    OPTION_REQUIRE_TOKEN,
    OPTION_METADATA_TOKEN,
    OPTION_BUCKET_JSON,
    OPTION_IGNORE_DELETE_SOURCES,
    OPTION_UNIQUE_SOURCES,
    OPTION_THREADS,
    OPTION_HELP,
};

static const struct option long_options[] = {
    {"port", required_argument, NULL, OPTION_PORT},
    {"port-file", required_argument, NULL, OPTION_PORT_FILE},
    {"dir", required_argument, NULL, OPTION_DIR},
    {"tree", no_argument, NULL, OPTION_TREE},
    {"discard", no_argument, NULL, OPTION_DISCARD},
    {"rights", required_argument, NULL, OPTION_RIGHTS},
    {"latency-ms", required_argument, NULL, OPTION_LATENCY},
    {"md5", no_argument, NULL, OPTION_MD5},
    {"faults", required_argument, NULL, OPTION_FAULTS},
    {"tls", required_argument, NULL, OPTION_TLS},
    {"require-token", required_argument, NULL, OPTION_REQUIRE_TOKEN},
    {"metadata-token", required_argument, NULL, OPTION_METADATA_TOKEN},
    {"bucket-json", required_argument, NULL, OPTION_BUCKET_JSON},
    {"ignore-delete-sources", no_argument, NULL, OPTION_IGNORE_DELETE_SOURCES},
    {"unique-sources", no_argument, NULL, OPTION_UNIQUE_SOURCES},
    {"threads", required_argument, NULL, OPTION_THREADS},
    {"help", no_argument, NULL, OPTION_HELP},
    {NULL, 0, NULL, 0},
};

void options_print_help(void)
{
    (void)fputs(help_text, stdout); /* nobody to tell when standard output is gone */
}

static int parse_number(const char *name, uint64_t max, uint64_t *ret)
{
    uint64_t value = 0;
    if (parse_u64(optarg, &value) != 0 || value > max) {
        fprintf(stderr, "fake-gcs: %s takes a number up to %llu, not %s\n", name,
                (unsigned long long)max, optarg);
        return -1;
    }
    *ret = value;
    return 0;
}

static int take_number(int id, struct options *ret)
{
    uint64_t value = 0;
    switch (id) {
    case OPTION_PORT:
        if (parse_number("--port", UINT16_MAX, &value) != 0) {
            return -1;
        }
        ret->port = (uint16_t)value;
        return 0;
    case OPTION_LATENCY:
        return parse_number("--latency-ms", MAX_LATENCY_MS, &ret->latency_ms);
    default:
        if (parse_number("--threads", MAX_THREADS, &value) != 0) {
            return -1;
        }
        ret->thread_count = (unsigned)value;
        return 0;
    }
}

static int take_tls(int argc, char **argv, struct options *ret)
{
    if (optind >= argc || argv[optind][0] == '-') {
        fprintf(stderr, "fake-gcs: --tls takes two files, a certificate and a key\n");
        return -1;
    }
    ret->tls_cert_file = optarg;
    ret->tls_key_file = argv[optind++];
    return 0;
}

/* Options whose argument is kept as it stands; NULL for others. */
static const char **string_place(int id, struct options *ret)
{
    switch (id) {
    case OPTION_PORT_FILE:
        return &ret->port_file;
    case OPTION_DIR:
        return &ret->folder;
    case OPTION_FAULTS:
        return &ret->faults_file;
    case OPTION_REQUIRE_TOKEN:
        return &ret->require_token;
    case OPTION_METADATA_TOKEN:
        return &ret->metadata_token;
    case OPTION_BUCKET_JSON:
        return &ret->bucket_json_file;
    default:
        return NULL;
    }
}

static bool *flag_place(int id, struct options *ret)
{
    switch (id) {
    case OPTION_TREE:
        return &ret->tree;
    case OPTION_DISCARD:
        return &ret->discard;
    case OPTION_MD5:
        return &ret->md5;
    case OPTION_IGNORE_DELETE_SOURCES:
        return &ret->ignore_delete_sources;
    case OPTION_UNIQUE_SOURCES:
        return &ret->unique_sources;
    case OPTION_HELP:
        return &ret->help;
    default:
        return NULL;
    }
}

static int take_option(int id, int argc, char **argv, struct options *ret)
{
    const char **string = string_place(id, ret);
    bool *flag = flag_place(id, ret);
    if (string != NULL) {
        *string = optarg;
        return 0;
    }
    if (flag != NULL) {
        *flag = true;
        return 0;
    }
    switch (id) {
    case OPTION_PORT:
    case OPTION_LATENCY:
    case OPTION_THREADS:
        return take_number(id, ret);
    case OPTION_TLS:
        return take_tls(argc, argv, ret);
    case OPTION_RIGHTS:
        if (rights_parse(optarg, &ret->rights) != 0) {
            fprintf(stderr, "fake-gcs: --rights has an unknown right in %s\n", optarg);
            return -1;
        }
        return 0;
    default:
        return -1; /* getopt_long has told */
    }
}

static int check_together(const struct options *options)
{
    if (options->discard && options->folder != NULL) {
        fprintf(stderr, "fake-gcs: --discard and --dir exclude each other\n");
        return -1;
    }
    if (options->tree && options->folder == NULL) {
        fprintf(stderr, "fake-gcs: --tree needs --dir\n");
        return -1;
    }
    return 0;
}

int options_parse(int argc, char **argv, struct options *ret)
{
    *ret = (struct options){.rights = RIGHT_ALL};
    int id = 0;
    int result = 0;
    bool port_given = false;
    while ((id = getopt_long(argc, argv, "", long_options, NULL)) != -1) {
        result |= take_option(id, argc, argv, ret);
        port_given = port_given || id == OPTION_PORT;
    }
    if (ret->help) {
        return result;
    }
    if (optind < argc) {
        fprintf(stderr, "fake-gcs: unexpected argument %s\n", argv[optind]);
        result = -1;
    }
    if (result == 0 && !port_given) {
        fprintf(stderr, "fake-gcs: --port is missing\n");
        result = -1;
    }
    if (check_together(ret) != 0) {
        result = -1;
    }
    if (result != 0) {
        fprintf(stderr, "Usage: fake-gcs --port N|0 [OPTION]... (--help lists them)\n");
    }
    if (ret->thread_count == 0) {
        ret->thread_count = ret->folder != NULL ? 4 : 2;
    }
    return result;
}
