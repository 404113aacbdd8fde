/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Each allocation of libcurl fails in turn, within a request of a client that has sent others: what
 * the server gets is the request that was asked for, or none. A DELETE that lost its query would
 * remove what it should not. */
#include "http/http_internal.h"
#include "scripted_server.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdatomic.h>
#include <string.h>

#define OK_REPLY "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}"
#define ALLOCATIONS_MAX 500 /* more would mean that the count goes wrong */

static _Atomic long countdown; /* 1: the next allocation fails; below: none does */

static bool is_refused(void)
{
    return atomic_load(&countdown) > 0 && atomic_fetch_sub(&countdown, 1) == 1;
}

static void *give(size_t size)
{
    return is_refused() ? NULL : malloc(size);
}

static void *give_again(void *old, size_t size)
{
    return is_refused() ? NULL : realloc(old, size);
}

static void *give_zeros(size_t count, size_t size)
{
    return is_refused() ? NULL : calloc(count, size);
}

static char *give_copy(const char *string)
{
    return is_refused() ? NULL : strdup(string);
}

enum { ASKED_MAX = 4 };

struct asked {
    const char *method, *path;
    size_t body_bytes; /* 0: none */
    bool fails;        /* an allocation within this one */
};

static int send_one(struct http_client *client, const char *url, const struct asked *asked,
                    struct error *err)
{
    static char zeros[300000];
    struct http_memory memory = {.bytes = zeros, .len = asked->body_bytes};
    struct http_body body = http_memory_body(&memory);
    const struct http_header header = {"X-Test", "a header of its own"};
    struct http_request request = {
        .method = asked->method,
        .url = url,
        .headers = &header,
        .header_count = 1,
        .body = asked->body_bytes > 0 ? &body : NULL,
        .reply_timeout_ms = 5000,
    };
    struct http_reply reply;
    int result = http_send(client, &request, &reply, err);
    if (result == 0) {
        assert_int_equal(reply.status, 200);
        http_reply_clear(&reply);
    }
    return result;
}

/* Requests may be missing, and one may come again; but none that was not asked for. */
static void check_heads(struct scripted_server *server, const struct asked *asked, size_t count,
                        long nth)
{
    size_t at = 0;
    for (size_t i = 0; i < scripted_server_count(server); i++) {
        const struct scripted_request *got = scripted_server_request(server, i);
        char line[256];
        do {
            (void)snprintf(line, sizeof(line), "%s %s HTTP/1.1\r\n", asked[at].method,
                           asked[at].path);
        } while (strncmp(got->head, line, strlen(line)) != 0 && ++at < count);
        if (at == count) {
            fail_msg("allocation %ld: nobody asked for this: %.60s", nth, got->head);
        }
        if (strstr(got->head, "X-Test: a header of its own\r\n") == NULL) {
            fail_msg("allocation %ld: a header is missing: %.400s", nth, got->head);
        }
    }
}

/* False when there were fewer than `nth` allocations. */
static bool try_one(const struct asked *asked, size_t count, long nth)
{
    static const struct scripted_step steps[] = {
        {.reply = OK_REPLY}, {.reply = OK_REPLY}, {.reply = OK_REPLY},
        {.reply = OK_REPLY}, {.reply = OK_REPLY}, {.reply = OK_REPLY},
    };
    struct scripted_server *server = scripted_server_start(steps, ARRAY_LEN(steps));
    struct error err = {0};
    const struct http_settings settings = {.user_agent = "winch-test", .backoff_first_ms = 1};
    struct http_client *client = http_client_new(&settings, &err);
    assert_non_null(client);
    bool reached = false;
    for (size_t i = 0; i < count; i++) {
        char url[256];
        (void)snprintf(url, sizeof(url), "%s", scripted_server_url(server, asked[i].path));
        memset(&err, 0, sizeof(err));
        atomic_store(&countdown, asked[i].fails ? nth : 0);
        int result = send_one(client, url, &asked[i], &err);
        long left = atomic_exchange(&countdown, 0);
        if (!asked[i].fails) {
            if (result != 0) {
                fail_msg("allocation %ld, then %s: %s", nth, asked[i].method, err.message);
            }
            continue;
        }
        reached = left <= 0;
        if (result != 0 && err.exit_status != EXIT_STATUS_TEMPORARY) {
            fail_msg("allocation %ld: exit %d: %s", nth, (int)err.exit_status, err.message);
        }
    }
    http_client_free(client);
    scripted_server_stop(server);
    check_heads(server, asked, count, nth);
    scripted_server_free(server);
    return reached;
}

static void try_all(const struct asked *asked, size_t count)
{
    long nth = 1;
    while (try_one(asked, count, nth)) {
        assert_true(nth++ < ALLOCATIONS_MAX);
    }
    assert_true(nth > 5); /* there is something to refuse */
}

static void test_first_request(void **state)
{
    (void)state;
    static const struct asked asked[] = {
        {"POST", "/upload?name=a", 100, true},
        {"GET", "/object?generation=1", 0, false},
    };
    try_all(asked, ARRAY_LEN(asked));
}

static void test_get_behind_delete(void **state)
{
    (void)state;
    static const struct asked asked[] = {
        {"DELETE", "/object?generation=1", 0, false},
        {"GET", "/object?fields=size", 0, true},
        {"GET", "/object?fields=size,name", 0, false},
    };
    try_all(asked, ARRAY_LEN(asked));
}

static void test_delete_behind_post(void **state)
{
    (void)state;
    static const struct asked asked[] = {
        {"POST", "/upload?name=a", 300000, false},
        {"DELETE", "/object?generation=1", 0, true},
        {"POST", "/upload?name=b", 300000, false},
    };
    try_all(asked, ARRAY_LEN(asked));
}

static void test_large_post_behind_small(void **state)
{
    (void)state;
    static const struct asked asked[] = {
        {"POST", "/upload?name=a", 100, false},
        {"POST", "/upload?name=b", 300000, true},
        {"PUT", "/upload?name=c", 100, false},
    };
    try_all(asked, ARRAY_LEN(asked));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_first_request),
        cmocka_unit_test(test_get_behind_delete),
        cmocka_unit_test(test_delete_behind_post),
        cmocka_unit_test(test_large_post_behind_small),
    };
    /* Before http_global_init(), which then finds libcurl at work already. */
    if (curl_global_init_mem(CURL_GLOBAL_DEFAULT, give, free, give_again, give_copy, give_zeros) !=
        CURLE_OK) {
        return 1;
    }
    return cmocka_run_group_tests(tests, NULL, NULL);
}
