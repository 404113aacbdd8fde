/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The token that all clients share, and who renews it: one caller at a time, without the lock
 * held while it asks; the others keep the token as long as it holds, else they wait.
 */
#include <pthread.h>
#include <string.h>
#include <time.h>

#include "auth/auth_internal.h"

enum { GIVE_UP_MS = 60 * 1000, BACKOFF_FIRST_MS = 100, WAIT_SLICE_MS = 50 };

struct auth {
    struct auth_fetcher fetcher; /* the renewing thread's while `renewing` is set */
    const _Atomic bool *cancel;
    char *source;

    pthread_mutex_t lock; /* guards all below; never held across a request */
    pthread_cond_t renewed;
    bool renewing;
    uint64_t rounds;    /* renewals that ended, well or not */
    struct error fault; /* of the last renewal; kind NONE: it went well */
    struct text token;  /* "Bearer …", or empty */
    uint64_t renew_ms;  /* monotonic: from when on a new one is wanted */
    uint64_t expiry_ms; /* monotonic: from when on this one is of no use */
};

static int set_up(struct auth *auth, const struct auth_settings *settings, struct error *err);
static int make_client(struct auth *auth, const struct auth_settings *settings, struct error *err);
static int authorization(void *self, bool refresh, char *buf, size_t len, struct error *err);
static int wait_for_round(struct auth *auth, uint64_t round, struct error *err);
static int renew(struct auth *auth, struct error *err);
static int copy_token(const struct auth *auth, char *buf, size_t len, struct error *err);
static void note_status(void *self, const struct http_try *try_made);

struct auth *auth_new(const struct auth_settings *settings, struct error *err)
{
    struct auth *auth = calloc(1, sizeof(*auth));
    if (auth == NULL) {
        (void)error_memory(err, "the credentials"); /* NULL says it */
        return NULL;
    }
    auth->cancel = settings->cancel;
    auth->token = TEXT_INIT(AUTH_TOKEN_MAX);
    pthread_condattr_t attributes;
    (void)pthread_mutex_init(&auth->lock, NULL); /* these do not fail on Linux */
    (void)pthread_condattr_init(&attributes);
    (void)pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
    (void)pthread_cond_init(&auth->renewed, &attributes);
    (void)pthread_condattr_destroy(&attributes);
    if (set_up(auth, settings, err) != 0) {
        auth_free(auth);
        return NULL;
    }
    return auth;
}

void auth_free(struct auth *auth)
{
    if (auth == NULL) {
        return;
    }
    http_client_free(auth->fetcher.client);
    auth_key_clear(&auth->fetcher.key);
    auth_text_wipe(&auth->token);
    free(auth->fetcher.scope);
    free(auth->fetcher.metadata_url);
    free(auth->source);
    (void)pthread_cond_destroy(&auth->renewed); /* nobody waits any more */
    (void)pthread_mutex_destroy(&auth->lock);
    free(auth);
}

struct http_credentials auth_credentials(struct auth *auth)
{
    return (struct http_credentials){.authorization = authorization, .self = auth};
}

static int set_up(struct auth *auth, const struct auth_settings *settings, struct error *err)
{
    struct auth_fetcher *fetcher = &auth->fetcher;
    const char *file = settings->credentials_file;
    const char *host = settings->metadata_host;
    if (host == NULL || host[0] == '\0') {
        host = "metadata.google.internal";
    }
    const char *scope = settings->scope;
    fetcher->scope =
        strdup(scope != NULL ? scope : "https://www.googleapis.com/auth/devstorage.read_write");
    auth->source = strdup(file != NULL ? file : host);
    if (asprintf(&fetcher->metadata_url,
                 "http://%s/computeMetadata/v1/instance/service-accounts/default/token",
                 host) < 0) {
        fetcher->metadata_url = NULL;
    }
    if (fetcher->scope == NULL || auth->source == NULL || fetcher->metadata_url == NULL) {
        return error_memory(err, "the credentials");
    }
    fetcher->source = auth->source;
    fetcher->has_key = file != NULL;
    if (fetcher->has_key && auth_key_read(file, &fetcher->key, err) != 0) {
        return -1;
    }
    return make_client(auth, settings, err);
}

static int make_client(struct auth *auth, const struct auth_settings *settings, struct error *err)
{
    const struct http_settings http = {
        .user_agent = "winch/" WINCH_VERSION,
        .ca_file = settings->ca_file,
        .no_proxy = !auth->fetcher.has_key,
        .cancel = settings->cancel,
        .give_up_ms = GIVE_UP_MS,
        .backoff_first_ms = BACKOFF_FIRST_MS,
        .on_try = note_status,
        .on_try_self = &auth->fetcher,
    };
    auth->fetcher.client = http_client_new(&http, err);
    return auth->fetcher.client == NULL ? -1 : 0;
}

static int authorization(void *self, bool refresh, char *buf, size_t len, struct error *err)
{
    struct auth *auth = self;
    (void)pthread_mutex_lock(&auth->lock);
    if (refresh && strcmp(text_str(&auth->token), buf) == 0) {
        auth->expiry_ms = 0; /* refused although it should hold; others may not use it either */
    }
    int result = 0;
    for (;;) {
        uint64_t now_ms = clock_monotonic_ms();
        bool usable = auth->token.len > 0 && now_ms < auth->expiry_ms;
        if (usable && (now_ms < auth->renew_ms || auth->renewing)) {
            break;
        }
        if (!auth->renewing) {
            result = renew(auth, err); /* even a token of one second is good for this request */
            break;
        }
        result = wait_for_round(auth, auth->rounds, err);
        if (result != 0) {
            break;
        }
    }
    if (result == 0) {
        result = copy_token(auth, buf, len, err);
    }
    (void)pthread_mutex_unlock(&auth->lock);
    return result;
}

/* Called and left with the lock held. Another thread's failure is ours as well: asking again at
 * once, 64 threads one after the other, would only take longer. */
static int wait_for_round(struct auth *auth, uint64_t round, struct error *err)
{
    while (auth->rounds == round) {
        if (auth->cancel != NULL && *auth->cancel) {
            return error_cancelled(err);
        }
        /* Woken or not: the loop looks for itself. */
        (void)clock_wait(&auth->renewed, &auth->lock, clock_monotonic_ms() + WAIT_SLICE_MS);
    }
    if (auth->fault.kind == ERROR_NONE) {
        return 0;
    }
    if (err != NULL) {
        *err = auth->fault;
    }
    return -1;
}

/* Called and left with the lock held, which is given back while the server is asked. */
static int renew(struct auth *auth, struct error *err)
{
    struct text token = TEXT_INIT(AUTH_TOKEN_MAX);
    struct error fault = {0};
    uint64_t lifetime_ms = 0;
    uint64_t asked_ms = clock_monotonic_ms();
    auth->renewing = true;
    (void)pthread_mutex_unlock(&auth->lock);
    int result = auth_fetch(&auth->fetcher, &token, &lifetime_ms, &fault);
    (void)pthread_mutex_lock(&auth->lock);
    auth->renewing = false;
    auth->rounds++;
    auth->fault = fault;
    (void)pthread_cond_broadcast(&auth->renewed); /* cannot fail */

    uint64_t now_ms = clock_monotonic_ms();
    if (result == 0) {
        auth_text_wipe(&auth->token);
        auth->token = token;
        auth->expiry_ms = asked_ms + lifetime_ms;
        /* A token that is short-lived from the start is kept for half its life. */
        auth->renew_ms = lifetime_ms > 2 * AUTH_EARLY_REFRESH_MS
                             ? auth->expiry_ms - AUTH_EARLY_REFRESH_MS
                             : asked_ms + lifetime_ms / 2;
        return 0;
    }
    if (now_ms < auth->expiry_ms && fault.kind != ERROR_CANCELLED) {
        auth->renew_ms = now_ms + AUTH_REFRESH_PAUSE_MS; /* the old one still holds */
        auth->fault = (struct error){0};
        return 0;
    }
    if (err != NULL) {
        *err = fault;
    }
    return -1;
}

static int copy_token(const struct auth *auth, char *buf, size_t len, struct error *err)
{
    if (auth->token.len >= len) {
        return error_stop(err, EXIT_STATUS_INTERNAL, "an access token of %zu bytes is too long",
                          auth->token.len);
    }
    memcpy(buf, auth->token.data, auth->token.len + 1);
    return 0;
}

static void note_status(void *self, const struct http_try *try_made)
{
    struct auth_fetcher *fetcher = self;
    fetcher->last_status = try_made->status;
}
