/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * auth: access tokens for Google APIs, from the metadata server or from a service-account key.
 * A token is kept in memory only, never logged, and refreshed by one caller at a time.
 */
#ifndef WINCH_AUTH_H
#define WINCH_AUTH_H

#include "base/base.h"
#include "http/http.h"

struct auth_settings {
    /* GOOGLE_APPLICATION_CREDENTIALS; NULL: the metadata server. */
    const char *credentials_file;
    const char *metadata_host; /* GCE_METADATA_HOST; NULL: metadata.google.internal */
    const char *scope;         /* NULL: https://www.googleapis.com/auth/devstorage.read_write */
    const char *ca_file;
    const _Atomic bool *cancel;
};

struct auth;

/* Reads and checks the key file (type service_account: client_email, private_key, token_uri, which
 * must be https or a loopback address); asks nobody for a token yet. Errors: STOP_RUN, exit 4,
 * naming the file and what is wrong with it; other credential types are named as not supported
 * yet, with what to use instead. */
struct auth *auth_new(const struct auth_settings *settings, struct error *err);
void auth_free(struct auth *auth); /* accepts NULL; wipes keys and tokens */

/* For http_settings.credentials: "Bearer TOKEN". Refreshes about 4 minutes before expiry, in one
 * thread while others wait or keep using the still valid token; if a refresh fails while the old
 * token is still valid, the old one is used. The metadata server's reply must carry
 * Metadata-Flavor: Google; 5 tries, 3 s each, 404 and 5xx tried again. Thread: any.
 * Errors: STOP_RUN with exit 4; RETRY when the token server cannot be reached. */
struct http_credentials auth_credentials(struct auth *auth);

#endif
