/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * http_send(): the retry policy. What happens within one try is http_try.c's business.
 */
#include <string.h>

#include "http/http_internal.h"

enum { DESCRIBED_MAX = 400 }; /* of host and path in a message */
/* A try that brings this share of a body further than any before it renews the time to give up:
 * hours of sending are not trouble. At most so often, or a call might never end. */
enum { PROGRESS_STEPS = 16 };
/* Credentials that have served before are refused so often by one call, a fresh token and a pause
 * each time, before the run stops: one front end of many that errs must not end it. */
enum { REFUSALS_MAX = 4 };

enum step { STEP_FINAL, STEP_RETRY, STEP_AT_ONCE, STEP_FAILED };

static int start_call(struct http_client *client, struct http_call *call, struct error *err);
static int flatten_body(struct http_client *client, struct http_call *call, struct error *err);
static int prepare_try(struct http_client *client, struct http_call *call, struct error *err);
static int authorize(struct http_client *client, struct http_call *call, struct error *err);
static void report_try(struct http_client *client, const struct http_call *call);
static void note_progress(struct http_client *client, struct http_call *call);
static enum step next_step(struct http_client *client, struct http_call *call,
                           enum http_outcome outcome, struct error *err);
static enum step after_401(const struct http_client *client, struct http_call *call,
                           struct error *err);
static int wait_before_retry(struct http_client *client, const struct http_call *call,
                             struct error *err);
static void hand_over(struct http_client *client, const struct http_call *call,
                      struct http_reply *ret_reply);
static int add_place(const struct http_call *call, struct error *err);

int http_send(struct http_client *client, const struct http_request *request,
              struct http_reply *ret_reply, struct error *err)
{
    uint64_t now_ms = clock_monotonic_ms();
    struct http_call call = {.request = request, .started_ms = now_ms, .trouble_ms = now_ms};
    if (start_call(client, &call, err) != 0) {
        return -1;
    }
    for (;;) {
        call.tries++;
        if (prepare_try(client, &call, err) != 0) {
            if (!call.token_missing || wait_before_retry(client, &call, err) != 0) {
                return -1;
            }
            continue;
        }
        enum http_outcome outcome = http_try_once(client, &call);
        report_try(client, &call);
        note_progress(client, &call);
        switch (next_step(client, &call, outcome, err)) {
        case STEP_FINAL:
            hand_over(client, &call, ret_reply);
            return 0;
        case STEP_FAILED:
            return -1;
        case STEP_AT_ONCE:
            break;
        case STEP_RETRY:
            if (wait_before_retry(client, &call, err) != 0) {
                return -1;
            }
            break;
        }
    }
}

static int start_call(struct http_client *client, struct http_call *call, struct error *err)
{
    const struct http_request *request = call->request;
    if (http_url_split(request->url, &call->origin) != 0) {
        /* Not shown: it may hold a secret, and nobody knows where in it. */
        return error_stop(err, EXIT_STATUS_RIGHTS,
                          "%s: not an http or https URL; check the endpoint settings",
                          request->method);
    }
    random_uuid(call->token);
    if (request->body == NULL) {
        bool takes_body =
            strcmp(request->method, "POST") == 0 || strcmp(request->method, "PUT") == 0;
        call->flat = takes_body ? "" : NULL;
        return 0;
    }
    call->body_bytes = request->body->size_bytes;
    if (call->body_bytes <= HTTP_FLAT_BODY_MAX) {
        return flatten_body(client, call, err);
    }
    call->streamed = true;
    return 0;
}

/* A small body is read once and kept for all tries: it then leaves in one packet with the
 * headers. */
static int flatten_body(struct http_client *client, struct http_call *call, struct error *err)
{
    struct http_body *body = call->request->body;
    if (body->size_bytes == 0) {
        call->flat = "";
        return 0;
    }
    if (body->read == http_memory_read) {
        call->flat = ((const struct http_memory *)body->self)->bytes;
        return 0;
    }
    if (client->flat_body == NULL) {
        client->flat_body = malloc(HTTP_FLAT_BODY_MAX);
        if (client->flat_body == NULL) {
            return error_memory(err, "a request body");
        }
    }
    size_t have = 0;
    while (have < call->body_bytes) {
        ssize_t got =
            body->read(body->self, (char *)client->flat_body + have, call->body_bytes - have, err);
        if (got < 0) {
            return -1;
        }
        if (got == 0) {
            return error_stop(err, EXIT_STATUS_INTERNAL, "a request body ended %zu bytes early",
                              call->body_bytes - have);
        }
        have += (size_t)got;
    }
    call->flat = client->flat_body;
    return 0;
}

static int prepare_try(struct http_client *client, struct http_call *call, struct error *err)
{
    const struct http_request *request = call->request;
    const _Atomic bool *cancel = client->settings.cancel;
    call->token_missing = false;
    if (cancel != NULL && *cancel) {
        return error_cancelled(err);
    }
    if (call->tries > 1) {
        if (call->streamed && request->body->rewind(request->body->self, err) != 0) {
            return -1;
        }
        if (request->sink_restart != NULL) {
            request->sink_restart(request->sink_self);
        }
    }
    if (request->authorize && authorize(client, call, err) != 0) {
        return -1;
    }
    return http_headers_build(client, call, err);
}

static int authorize(struct http_client *client, struct http_call *call, struct error *err)
{
    const struct http_credentials *credentials = &client->settings.credentials;
    call->authorized = false;
    if (credentials->authorization == NULL) {
        return 0;
    }
    bool refresh = call->refresh;
    call->refresh = false;
    if (!refresh) {
        client->authorization[0] = '\0';
    }
    struct error local = {0};
    if (credentials->authorization(credentials->self, refresh, client->authorization,
                                   sizeof(client->authorization), &local) != 0) {
        call->refresh = refresh;
        call->token_missing = local.kind == ERROR_RETRY && client->had_token;
        client->attempt.retry_after_ms = 0;
        (void)snprintf(client->attempt.cause, sizeof(client->attempt.cause), "%.300s",
                       local.message);
        if (err != NULL) {
            *err = local;
        }
        return -1;
    }
    if (client->authorization[0] == '\0') {
        return 0;
    }
    client->had_token = true;
    if (!call->origin.https && !call->origin.loopback) {
        (void)error_stop(err, EXIT_STATUS_RIGHTS,
                         "an access token is not sent over plain http; use an https endpoint");
        return add_place(call, err);
    }
    call->authorized = true;
    return 0;
}

static void report_try(struct http_client *client, const struct http_call *call)
{
    const struct http_attempt *attempt = &client->attempt;
    const struct http_try made = {
        .status = attempt->status,
        .number = call->tries,
        .resends = attempt->sends > 1 ? (unsigned)attempt->sends - 1 : 0,
        .elapsed_ms = clock_monotonic_ms() - attempt->started_ms,
        .sent_bytes = attempt->sent_bytes,
    };
    if (client->settings.on_try != NULL) {
        client->settings.on_try(client->settings.on_try_self, &made);
    }
    if (log_enabled(LOG_DEBUG)) {
        log_write(LOG_DEBUG, "http", "%s %.*s: try %u, status %d, %llu ms, %llu bytes sent %s",
                  call->request->method, (int)call->origin.shown_len, call->origin.shown,
                  made.number, made.status, (unsigned long long)made.elapsed_ms,
                  (unsigned long long)made.sent_bytes, attempt->cause);
    }
}

static void note_progress(struct http_client *client, struct http_call *call)
{
    uint64_t step = call->body_bytes / PROGRESS_STEPS;
    if (client->attempt.sent_bytes > call->furthest_bytes + step) {
        call->furthest_bytes = client->attempt.sent_bytes;
        call->trouble_ms = clock_monotonic_ms();
    }
}

static enum step next_step(struct http_client *client, struct http_call *call,
                           enum http_outcome outcome, struct error *err)
{
    struct http_attempt *attempt = &client->attempt;
    call->unanswered = call->unanswered || attempt->sends > 1;
    if (outcome == HTTP_FAILED) {
        if (err != NULL) {
            *err = attempt->error;
        }
        if (attempt->error.kind != ERROR_CANCELLED && !attempt->failed) {
            (void)add_place(call, err); /* our own finding; the source's error has its place */
        }
        return STEP_FAILED;
    }
    if (outcome == HTTP_UNANSWERED) {
        call->unanswered = call->unanswered || attempt->sends > 0;
        return STEP_RETRY;
    }
    client->was_answered = true;
    client->was_served = client->was_served || (call->authorized && attempt->status != 401);
    switch (attempt->status) {
    case 401:
        (void)snprintf(attempt->cause, sizeof(attempt->cause), "HTTP 401");
        return after_401(client, call, err);
    case 408:
    case 500:
    case 502:
    case 503:
    case 504:
        call->unanswered = true;
        (void)snprintf(attempt->cause, sizeof(attempt->cause), "HTTP %d", attempt->status);
        return STEP_RETRY;
    case 429:
        (void)snprintf(attempt->cause, sizeof(attempt->cause), "HTTP %d", attempt->status);
        return STEP_RETRY;
    default:
        break;
    }
    if (attempt->status >= 400 && attempt->status < 500 && call->request->judge != NULL &&
        call->request->judge(attempt->status, &client->reply_text) == HTTP_RETRY) {
        (void)snprintf(attempt->cause, sizeof(attempt->cause), "HTTP %d", attempt->status);
        return STEP_RETRY;
    }
    return STEP_FINAL;
}

static enum step after_401(const struct http_client *client, struct http_call *call,
                           struct error *err)
{
    unsigned max_tries = call->request->max_tries;
    if (!call->authorized) {
        return STEP_FINAL;
    }
    call->refusals++;
    call->refresh = true;
    if (call->refusals == 1) {
        return STEP_AT_ONCE;
    }
    if (client->was_served && call->refusals < REFUSALS_MAX &&
        (max_tries == 0 || call->tries < max_tries)) {
        return STEP_RETRY;
    }
    (void)error_stop(err, EXIT_STATUS_RIGHTS,
                     "the server refused the access token and also a fresh one (HTTP 401); check "
                     "the credentials and this machine's clock");
    (void)add_place(call, err); /* the step says it */
    return STEP_FAILED;
}

static int wait_before_retry(struct http_client *client, const struct http_call *call,
                             struct error *err)
{
    const struct http_timing *timing = &client->timing;
    const struct http_attempt *attempt = &client->attempt;
    unsigned doublings = call->tries - 1 < 5 ? call->tries - 1 : 5;
    uint64_t longest_ms = timing->backoff_first_ms << doublings;
    if (longest_ms > timing->backoff_max_ms) {
        longest_ms = timing->backoff_max_ms;
    }
    uint64_t wait_ms = random_below(longest_ms + 1);
    uint64_t asked_ms = attempt->retry_after_ms < timing->retry_after_max_ms
                            ? attempt->retry_after_ms
                            : timing->retry_after_max_ms;
    if (wait_ms < asked_ms) {
        wait_ms = asked_ms;
    }
    uint64_t now_ms = clock_monotonic_ms();
    unsigned max_tries = call->request->max_tries;
    if ((max_tries > 0 && call->tries >= max_tries) ||
        now_ms - call->trouble_ms + wait_ms > timing->give_up_ms) {
        char elapsed[32];
        format_duration(now_ms - call->started_ms, elapsed);
        (void)error_retry(err, "no final answer after %u %s in %s, the last: %s", call->tries,
                          call->tries == 1 ? "try" : "tries", elapsed, attempt->cause);
        return add_place(call, err);
    }
    if (clock_sleep_ms(wait_ms, client->settings.cancel) != 0) {
        return error_cancelled(err);
    }
    return 0;
}

static void hand_over(struct http_client *client, const struct http_call *call,
                      struct http_reply *ret_reply)
{
    ret_reply->status = client->attempt.status;
    ret_reply->body = client->reply_text;
    client->reply_text = TEXT_INIT(0);
    ret_reply->tries = call->tries;
    ret_reply->earlier_try_unanswered = call->unanswered;
    memcpy(ret_reply->location, client->location, strlen(client->location) + 1);
    memcpy(ret_reply->range, client->range, strlen(client->range) + 1);
    for (size_t i = 0; i < HTTP_KEEP_MAX; i++) {
        memcpy(ret_reply->kept[i], client->kept[i], strlen(client->kept[i]) + 1);
    }
}

/* Put "METHOD host/path" in front of the message: never the query, which may be a secret. */
static int add_place(const struct http_call *call, struct error *err)
{
    CLEANUP_TEXT struct text place = TEXT_INIT(8 * DESCRIBED_MAX);
    text_add_shown(&place, call->origin.shown, call->origin.shown_len, DESCRIBED_MAX);
    return error_add(err, "%s %s", call->request->method, text_str(&place));
}
