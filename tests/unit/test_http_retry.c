/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The retry policy of http_send(), row by row, against scripted replies. */
#include "http_client_fixture.h"

#include <pthread.h>
#include <string.h>

static enum http_verdict judge_rate(int status, const struct text *body)
{
    return status == 403 && strstr(text_str(body), "rateLimitExceeded") != NULL ? HTTP_RETRY
                                                                                : HTTP_FINAL;
}

struct row {
    const char *name;
    const char *first; /* the first reply; the second is OK_REPLY */
    int status;        /* of the final reply */
    unsigned tries;
    bool unanswered;
};

static const char rate[] = "HTTP/1.1 403 F\r\nContent-Length: 17\r\n\r\nrateLimitExceeded";
static const struct row rows[] = {
    {"200", EMPTY("200 OK"), 200, 1, false},
    {"204", "HTTP/1.1 204 No Content\r\n\r\n", 204, 1, false},
    {"redirect", EMPTY("302 Found"), 302, 1, false},
    {"resume", EMPTY("308 Resume Incomplete"), 308, 1, false},
    {"400", EMPTY("400 Bad Request"), 400, 1, false},
    {"401 without credentials", EMPTY("401 U"), 401, 1, false},
    {"403", EMPTY("403 Forbidden"), 403, 1, false},
    {"403 with a rate reason", rate, 200, 2, false},
    {"404", EMPTY("404 Not Found"), 404, 1, false},
    {"408", EMPTY("408 Timeout"), 200, 2, true},
    {"410", EMPTY("410 Gone"), 410, 1, false},
    {"411", EMPTY("411 Length Required"), 411, 1, false},
    {"412", EMPTY("412 Precondition Failed"), 412, 1, false},
    {"413", EMPTY("413 Too Large"), 413, 1, false},
    {"429", EMPTY("429 Too Many"), 200, 2, false},
    {"499", EMPTY("499 Cancelled"), 499, 1, false},
    {"500", EMPTY("500 Error"), 200, 2, true},
    {"501", EMPTY("501 Not Implemented"), 501, 1, false},
    {"502", EMPTY("502 Bad Gateway"), 200, 2, true},
    {"503", EMPTY("503 Unavailable"), 200, 2, true},
    {"504", EMPTY("504 Timeout"), 200, 2, true},
    {"no reply", "", 200, 2, true},
    {"half a head", "HTTP/1.1 200 OK\r\nContent-Le", 200, 2, true},
    {"no HTTP", "SSH-2.0-OpenSSH_9.2\r\n", 200, 2, true},
    {"half a body", "HTTP/1.1 200 OK\r\nContent-Length: 20\r\n\r\nabc", 200, 2, true},
    {"half an error", "HTTP/1.1 403 F\r\nContent-Length: 20\r\n\r\nabc", 200, 2, true},
    {"half a chunk", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n9\r\nabc", 200, 2, true},
    {"interim reply",
     "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 201 Created\r\n"
     "Content-Length: 0\r\n\r\n",
     201, 1, false},
};

static void check_row(const struct row *row)
{
    print_message("row: %s\n", row->name);
    /* A whole reply keeps the connection: one that dies at the moment of the next try makes libcurl
     * send it twice, which counts as unanswered. */
    bool keeps = row->tries == 2 && !row->unanswered;
    const struct scripted_step steps[] = {
        {.reply = row->first, .end = keeps ? SCRIPTED_KEEP : SCRIPTED_CLOSE},
        {.reply = OK_REPLY},
    };
    struct scripted_server *server = scripted_server_start(steps, ARRAY_LEN(steps));
    struct seen seen = {0};
    struct http_client *client = new_client(&seen, NULL);
    struct http_memory memory = {.bytes = "hello", .len = 5};
    struct http_body body = http_memory_body(&memory);
    const struct http_request request = {
        .method = "POST",
        .url = scripted_server_url(server, "/o?name=x"),
        .body = &body,
        .judge = judge_rate,
    };
    struct http_reply reply;
    struct error err = {0};
    assert_int_equal(http_send(client, &request, &reply, &err), 0);
    assert_int_equal(reply.status, row->status);
    assert_int_equal(reply.tries, row->tries);
    assert_int_equal(seen.tries, row->tries);
    assert_int_equal(seen.numbers[row->tries - 1], row->tries);
    assert_int_equal(reply.earlier_try_unanswered, row->unanswered);
    scripted_server_stop(server);
    assert_int_equal(scripted_server_count(server), row->tries);
    for (size_t n = 0; n < row->tries; n++) {
        assert_string_equal(scripted_server_request(server, n)->body, "hello");
    }
    if (row->tries == 2) {
        /* The idempotency token is the same for both. */
        char *one = strstr(scripted_server_request(server, 0)->head, "x-goog-gcs-idem");
        char *two = strstr(scripted_server_request(server, 1)->head, "x-goog-gcs-idem");
        assert_non_null(one);
        assert_non_null(two);
        assert_memory_equal(one, two, strlen("x-goog-gcs-idempotency-token: ") + 36);
    }
    http_reply_clear(&reply);
    http_client_free(client);
    scripted_server_free(server);
}

static void each_row_of_the_table(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        check_row(&rows[i]);
    }
}

static void connection_refused_is_tried_again_and_named(void **state)
{
    (void)state;
    struct scripted_server *server = scripted_server_start(NULL, 0);
    char url[100];
    (void)snprintf(url, sizeof(url), "%s", scripted_server_url(server, "/p/q?upload_id=SECRET"));
    scripted_server_free(server); /* nobody listens there any more */
    struct seen seen = {0};
    struct http_client *client = new_client(&seen, NULL);
    const struct http_request request = {.method = "GET", .url = url, .max_tries = 3};
    struct http_reply reply;
    struct error err = {0};
    assert_int_equal(http_send(client, &request, &reply, &err), -1);
    assert_int_equal(err.kind, ERROR_RETRY);
    assert_int_equal(seen.tries, 3);
    assert_non_null(strstr(err.message, "GET 127.0.0.1:"));
    assert_non_null(strstr(err.message, "/p/q: "));
    assert_non_null(strstr(err.message, "3 tries"));
    assert_null(strstr(err.message, "SECRET"));
    http_client_free(client);
}

static void retry_after_is_honoured_up_to_its_limit(void **state)
{
    (void)state;
    const struct scripted_step steps[] = {
        {.reply = "HTTP/1.1 503 U\r\nRetry-After: 100\r\nContent-Length: 0\r\n\r\n"},
        {.reply = "HTTP/1.1 429 T\r\nRetry-After: Thu, 01 Jan 2099 00:00:00 GMT\r\n"
                  "Content-Length: 0\r\n\r\n"},
        {.reply = "HTTP/1.1 429 T\r\nRetry-After: Thu, 01 Jan 1970 00:00:00 GMT\r\n"
                  "Content-Length: 0\r\n\r\n"},
        {.reply = OK_REPLY},
    };
    struct scripted_server *server = scripted_server_start(steps, ARRAY_LEN(steps));
    struct seen seen = {0};
    struct http_client *client = new_client(&seen, NULL);
    client->timing.retry_after_max_ms = 150;
    const struct http_request request = {.method = "GET", .url = scripted_server_url(server, "/")};
    struct http_reply reply;
    struct error err = {0};
    assert_int_equal(http_send(client, &request, &reply, &err), 0);
    scripted_server_stop(server);
    uint64_t at[4];
    for (size_t i = 0; i < 4; i++) {
        at[i] = scripted_server_request(server, i)->at_ms;
    }
    assert_true(at[1] - at[0] >= 149);
    assert_true(at[2] - at[1] >= 149);
    assert_true(at[3] - at[2] < 149);
    assert_int_equal(scripted_server_request(server, 3)->connection, 1); /* kept alive */
    http_reply_clear(&reply);
    http_client_free(client);
    scripted_server_free(server);
}

static void gives_up_after_give_up_ms(void **state)
{
    (void)state;
    const struct scripted_step steps[] = {{.reply = EMPTY("503 U")}, {.reply = EMPTY("503 U")}};
    struct scripted_server *server = scripted_server_start(steps, ARRAY_LEN(steps));
    struct seen seen = {0};
    struct http_client *client = new_client(&seen, NULL);
    client->timing.give_up_ms = 0;
    const struct http_request request = {.method = "GET", .url = scripted_server_url(server, "/")};
    struct http_reply reply;
    struct error err = {0};
    client->timing.backoff_first_ms = 100000;
    client->timing.backoff_max_ms = 100000;
    assert_int_equal(http_send(client, &request, &reply, &err), -1);
    assert_int_equal(err.kind, ERROR_RETRY);
    assert_int_equal(err.exit_status, EXIT_STATUS_TEMPORARY);
    assert_int_equal(seen.tries, 1);
    assert_non_null(strstr(err.message, "HTTP 503"));
    http_client_free(client);
    scripted_server_free(server);
}

/* A body that took longer than give_up_ms to send is sent again all the same, but not for ever. */
static void sending_is_not_trouble(void **state)
{
    (void)state;
    const struct scripted_step steps[] = {
        {.reply = EMPTY("503 U"), .delay_ms = 400}, {.reply = OK_REPLY},
        {.reply = EMPTY("503 U"), .delay_ms = 200}, {.reply = EMPTY("503 U"), .delay_ms = 200},
        {.reply = EMPTY("503 U"), .delay_ms = 200}, {.reply = OK_REPLY}};
    struct scripted_server *server = scripted_server_start(steps, ARRAY_LEN(steps));
    struct seen seen = {0};
    struct http_client *client = new_client(&seen, NULL);
    client->timing.give_up_ms = 300;
    struct http_memory memory = {.bytes = "hello", .len = 5};
    struct http_body body = http_memory_body(&memory);
    const struct http_request request = {
        .method = "PUT", .url = scripted_server_url(server, "/"), .body = &body};
    struct http_reply reply;
    struct error err = {0};
    assert_int_equal(http_send(client, &request, &reply, &err), 0);
    assert_int_equal(reply.tries, 2);
    http_reply_clear(&reply);
    seen.tries = 0;
    assert_int_equal(http_send(client, &request, &reply, &err), -1);
    assert_int_equal(err.kind, ERROR_RETRY);
    assert_int_equal(seen.tries, 3);
    http_client_free(client);
    scripted_server_free(server);
}

/* A token that expires while the network is gone must not end a run before --give-up does. */
static void *raise_later(void *self)
{
    (void)clock_sleep_ms(100, NULL); /* a plain delay */
    *(_Atomic bool *)self = true;
    return NULL;
}

static void cancel_ends_waiting_for_a_reply_and_for_a_retry(void **state)
{
    (void)state;
    const struct scripted_step steps[] = {{.end = SCRIPTED_HANG},
                                          {.reply = EMPTY("503 U"), .end = SCRIPTED_CLOSE}};
    struct scripted_server *server = scripted_server_start(steps, ARRAY_LEN(steps));
    _Atomic bool cancel = false;
    struct seen seen = {0};
    struct http_client *client = new_client(&seen, &cancel);
    client->timing.retry_after_max_ms = 60000;
    client->timing.backoff_first_ms = 60000000;
    client->timing.backoff_max_ms = 60000000;
    client->timing.give_up_ms = 100 * client->timing.backoff_max_ms;
    const struct http_request request = {.method = "GET", .url = scripted_server_url(server, "/")};
    for (int i = 0; i < 2; i++) {
        pthread_t thread;
        cancel = false;
        assert_int_equal(pthread_create(&thread, NULL, raise_later, (void *)&cancel), 0);
        struct http_reply reply;
        struct error err = {0};
        uint64_t before = clock_monotonic_ms();
        assert_int_equal(http_send(client, &request, &reply, &err), -1);
        assert_true(clock_monotonic_ms() - before < 600);
        assert_int_equal(err.kind, ERROR_CANCELLED);
        assert_int_equal(pthread_join(thread, NULL), 0);
    }
    assert_int_equal(seen.tries, 2);
    http_client_free(client);
    scripted_server_free(server);
}

static void reply_timeout_is_a_lost_reply(void **state)
{
    (void)state;
    const struct scripted_step steps[] = {
        {.end = SCRIPTED_HANG},
        {.reply = "HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nabc", .end = SCRIPTED_HANG},
        {.reply = EMPTY("412 P")},
    };
    struct scripted_server *server = scripted_server_start(steps, ARRAY_LEN(steps));
    struct seen seen = {0};
    struct http_client *client = new_client(&seen, NULL);
    struct http_memory memory = {.bytes = "hello", .len = 5};
    struct http_body body = http_memory_body(&memory);
    const struct http_request request = {.method = "PUT",
                                         .url = scripted_server_url(server, "/"),
                                         .body = &body,
                                         .reply_timeout_ms = 250};
    struct http_reply reply;
    struct error err = {0};
    assert_int_equal(http_send(client, &request, &reply, &err), 0);
    assert_int_equal(reply.status, 412);
    assert_int_equal(reply.tries, 3);
    assert_int_equal(seen.statuses[0], 0);
    assert_int_equal(seen.statuses[1], 0);
    assert_true(reply.earlier_try_unanswered);
    http_reply_clear(&reply);
    http_client_free(client);
    scripted_server_free(server);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_row_of_the_table),
        cmocka_unit_test(connection_refused_is_tried_again_and_named),
        cmocka_unit_test(retry_after_is_honoured_up_to_its_limit),
        cmocka_unit_test(gives_up_after_give_up_ms),
        cmocka_unit_test(sending_is_not_trouble),
        cmocka_unit_test(cancel_ends_waiting_for_a_reply_and_for_a_retry),
        cmocka_unit_test(reply_timeout_is_a_lost_reply),
    };
    struct error err = {0};
    if (http_global_init(&err) != 0) {
        return 1;
    }
    return cmocka_run_group_tests(tests, NULL, NULL);
}
