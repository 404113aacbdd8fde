/* SPDX-License-Identifier: GPL-3.0-or-later */
/* options: the command line of fake-gcs. */
#ifndef FAKE_OPTIONS_H
#define FAKE_OPTIONS_H

#include <stdbool.h>
#include <stdint.h>

struct options {
    uint16_t port; /* 0: any free one */
    const char *port_file;
    const char *folder; /* --dir; NULL: in memory */
    bool tree;
    bool discard;
    unsigned rights; /* bits of enum right */
    uint64_t latency_ms;
    bool md5;
    const char *faults_file;
    const char *tls_cert_file;
    const char *tls_key_file;
    const char *require_token;
    const char *metadata_token;
    const char *bucket_json_file; /* overlaid on every bucket's resource */
    bool ignore_delete_sources;
    bool unique_sources; /* refuses a compose that names an object twice */
    unsigned thread_count;
    bool help;
};

/* Fill `ret` from the command line; strings stay borrowed from argv. Returns -1 after having told
 * standard error what is wrong. */
int options_parse(int argc, char **argv, struct options *ret);

void options_print_help(void);

#endif
