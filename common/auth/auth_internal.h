/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Private to auth: the key of a service account, and one fetch of a token. auth.c holds the token
 * and decides who fetches when.
 */
#ifndef WINCH_AUTH_INTERNAL_H
#define WINCH_AUTH_INTERNAL_H

#include <openssl/evp.h>

#include "auth/auth.h"

enum {
    AUTH_KEY_FILE_MAX = 64 * 1024,
    AUTH_TOKEN_MAX = 12 * 1024,
    AUTH_EARLY_REFRESH_MS = 4 * 60 * 1000, /* before expiry */
    AUTH_REFRESH_PAUSE_MS = 10 * 1000,     /* after a failed refresh, while the token still holds */
};

/* What a service-account key file says. */
struct auth_key {
    char *client_email;
    char *token_uri;
    char *key_id; /* may be NULL */
    EVP_PKEY *private_key;
};

/* Errors: STOP_RUN, exit 4, naming the file. */
int auth_key_read(const char *path, struct auth_key *ret_key, struct error *err) WARN_UNUSED;
void auth_key_clear(struct auth_key *key); /* wipes what can be wiped */

/* A signed assertion "header.claims.signature" that asks for `scope`. */
int auth_key_assertion(const struct auth_key *key, const char *scope, uint64_t now_s,
                       struct text *ret_assertion, struct error *err) WARN_UNUSED;

/* Where tokens come from. Used by one thread at a time. */
struct auth_fetcher {
    struct http_client *client;
    bool has_key; /* else the metadata server */
    struct auth_key key;
    char *scope;
    char *metadata_url;
    const char *source; /* for messages: the key file, or the metadata server's name */
    int last_status;    /* of the last try, 0: no reply */
};

/* One token: `ret_token` gets "Bearer …", `ret_lifetime_ms` how long it holds from when it was
 * asked for. */
int auth_fetch(struct auth_fetcher *fetcher, struct text *ret_token, uint64_t *ret_lifetime_ms,
               struct error *err) WARN_UNUSED;

/* text_free() for secrets. */
void auth_text_wipe(struct text *text);

#endif
