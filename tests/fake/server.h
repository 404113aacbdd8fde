/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * server: everything that lives as long as fake-gcs runs, and its HTTP side on libmicrohttpd.
 * A few threads serve all connections; a request that has to wait is suspended, so that waiting
 * costs no thread.
 */
#ifndef FAKE_SERVER_H
#define FAKE_SERVER_H

#include <cjson/cJSON.h>
#include <microhttpd.h>

#include "base/base.h"
#include "blob.h"
#include "faults.h"
#include "holds.h"
#include "options.h"
#include "stats.h"
#include "store.h"
#include "waits.h"

struct sessions;
struct uploads;
struct object_index;

struct server {
    const struct options *options;
    struct stats stats;
    struct blob_storage storage;
    struct object_index *index; /* NULL without --dir */
    struct store *store;
    struct sessions *sessions; /* resumable */
    struct uploads *uploads;   /* XML multipart */
    struct faults *faults;
    struct holds *holds;
    struct waits *waits;
    cJSON *bucket_json; /* of --bucket-json; NULL without */
    struct MHD_Daemon *daemon;
    uint16_t port;
};

/* Listen and serve. The rest of `server` is set up. */
int server_start(struct server *server, struct error *err) WARN_UNUSED;
/* Ends waiting requests and stops serving. */
void server_stop(struct server *server);

#endif
