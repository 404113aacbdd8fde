/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A client of http whose tries and credentials a test can look into. */
#ifndef HTTP_CLIENT_FIXTURE_H
#define HTTP_CLIENT_FIXTURE_H

#include "http/http_internal.h"
#include "scripted_server.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#define EMPTY(status) "HTTP/1.1 " status "\r\nContent-Length: 0\r\n\r\n"
#define OK_REPLY "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}"

struct seen {
    unsigned tries;
    int statuses[SCRIPTED_REQUESTS_MAX];
    unsigned numbers[SCRIPTED_REQUESTS_MAX];
    unsigned asked; /* for credentials */
    unsigned refreshed;
    char refused[64];
    const char *token;     /* without a number; NULL: none */
    unsigned token_faults; /* so often from now on there is none to be had */
};

static void on_try(void *self, const struct http_try *made)
{
    struct seen *seen = self;
    seen->numbers[seen->tries] = made->number;
    seen->statuses[seen->tries++] = made->status;
}

static int give_token(void *self, bool refresh, char *buf, size_t len, struct error *err)
{
    struct seen *seen = self;
    seen->asked++;
    if (seen->token_faults > 0) {
        seen->token_faults--;
        return error_retry(err, "the token server cannot be reached");
    }
    if (refresh) {
        seen->refreshed++;
        (void)snprintf(seen->refused, sizeof(seen->refused), "%s", buf);
    }
    (void)snprintf(buf, len, "%s%s", seen->token, refresh ? "-fresh" : "");
    return 0;
}

static struct http_client *new_client(struct seen *seen, const _Atomic bool *cancel)
{
    struct error err = {0};
    const struct http_settings settings = {
        .user_agent = "winch-test",
        .cancel = cancel,
        .backoff_first_ms = 1,
        .on_try = on_try,
        .on_try_self = seen,
        .credentials = {.authorization = seen->token == NULL ? NULL : give_token, .self = seen},
    };
    struct http_client *client = http_client_new(&settings, &err);
    assert_non_null(client);
    return client;
}

#endif
