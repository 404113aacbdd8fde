/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Access tokens in http_send(): renewed, waited for, given up, and kept from strangers. */
#include "http_client_fixture.h"

#include <string.h>

static void a_token_that_cannot_be_renewed_is_waited_for(void **state)
{
    (void)state;
    const struct scripted_step steps[] = {{.reply = OK_REPLY}, {.reply = OK_REPLY}};
    struct scripted_server *server = scripted_server_start(steps, ARRAY_LEN(steps));
    struct seen seen = {.token = "Bearer TOPSECRET", .token_faults = 1};
    struct http_client *client = new_client(&seen, NULL);
    const struct http_request request = {
        .method = "GET", .url = scripted_server_url(server, "/"), .authorize = true};
    struct http_reply reply;
    struct error err = {0};
    /* The first one of all is different: most likely there is no token server. */
    assert_int_equal(http_send(client, &request, &reply, &err), -1);
    assert_int_equal(err.kind, ERROR_RETRY);
    assert_int_equal(http_send(client, &request, &reply, &err), 0);
    http_reply_clear(&reply);
    seen.token_faults = 3;
    assert_int_equal(http_send(client, &request, &reply, &err), 0);
    assert_int_equal(reply.tries, 4);
    assert_false(reply.earlier_try_unanswered);
    http_reply_clear(&reply);
    seen.token_faults = 1000000;
    client->timing.give_up_ms = 100;
    assert_int_equal(http_send(client, &request, &reply, &err), -1);
    assert_int_equal(err.kind, ERROR_RETRY);
    assert_non_null(strstr(err.message, "the token server cannot be reached"));
    http_client_free(client);
    scripted_server_free(server);
}

static void a_401_refreshes_once(void **state)
{
    (void)state;
    const struct scripted_step steps[] = {
        {.reply = EMPTY("401 U")},
        {.reply = OK_REPLY}, /* the first request */
        {.reply = EMPTY("401 U")},
        {.reply = EMPTY("401 U")},
    };
    struct scripted_server *server = scripted_server_start(steps, ARRAY_LEN(steps));
    struct seen seen = {.token = "Bearer TOPSECRET"};
    struct http_client *client = new_client(&seen, NULL);
    const struct http_request request = {
        .method = "POST",
        .url = scripted_server_url(server, "/"),
        .authorize = true,
        .max_tries = 1,
    };
    struct http_reply reply;
    struct error err = {0};
    assert_int_equal(http_send(client, &request, &reply, &err), 0);
    assert_int_equal(reply.status, 200);
    assert_int_equal(seen.refreshed, 1);
    assert_string_equal(seen.refused, "Bearer TOPSECRET");
    http_reply_clear(&reply);
    seen.tries = 0;
    assert_int_equal(http_send(client, &request, &reply, &err), -1);
    assert_int_equal(err.kind, ERROR_STOP_RUN);
    assert_int_equal(err.exit_status, EXIT_STATUS_RIGHTS);
    assert_null(strstr(err.message, "TOPSECRET"));
    assert_int_equal(seen.refreshed, 2);
    scripted_server_stop(server);
    assert_int_equal(scripted_server_count(server), 4);
    assert_non_null(strstr(scripted_server_request(server, 1)->head,
                           "\r\nAuthorization: Bearer TOPSECRET-fresh\r\n"));
    assert_non_null(strstr(scripted_server_request(server, 0)->head, "\r\nContent-Length: 0\r\n"));
    http_client_free(client);
    scripted_server_free(server);
}

/* Credentials that have served are not given up for one front end that errs. */
static void a_401_after_success_is_waited_out(void **state)
{
    (void)state;
    const struct scripted_step steps[] = {
        {.reply = OK_REPLY},       {.reply = EMPTY("401 U")}, {.reply = EMPTY("401 U")},
        {.reply = EMPTY("401 U")}, {.reply = OK_REPLY}, /* the second request */
        {.reply = EMPTY("401 U")}, {.reply = EMPTY("401 U")}, {.reply = EMPTY("401 U")},
        {.reply = EMPTY("401 U")},
    };
    struct scripted_server *server = scripted_server_start(steps, ARRAY_LEN(steps));
    struct seen seen = {.token = "Bearer TOPSECRET"};
    struct http_client *client = new_client(&seen, NULL);
    const struct http_request request = {
        .method = "GET", .url = scripted_server_url(server, "/"), .authorize = true};
    struct http_reply reply;
    struct error err = {0};
    for (unsigned tries = 1; tries <= 4; tries += 3) {
        assert_int_equal(http_send(client, &request, &reply, &err), 0);
        assert_int_equal(reply.tries, tries);
        http_reply_clear(&reply);
    }
    assert_int_equal(seen.refreshed, 3);
    assert_int_equal(http_send(client, &request, &reply, &err), -1);
    assert_int_equal(err.kind, ERROR_STOP_RUN);
    assert_int_equal(err.exit_status, EXIT_STATUS_RIGHTS);
    assert_int_equal(seen.refreshed, 6);
    scripted_server_stop(server);
    assert_int_equal(scripted_server_count(server), ARRAY_LEN(steps));
    http_client_free(client);
    scripted_server_free(server);
}

static void a_token_goes_to_safe_hosts_only(void **state)
{
    (void)state;
    static const char *const refused[] = {"http://10.0.0.1/x", "http://127.0.0.1.example.com/",
                                          "http://metadata.google.internal/"};
    struct seen seen = {.token = "Bearer TOPSECRET"};
    struct http_client *client = new_client(&seen, NULL);
    for (size_t i = 0; i < ARRAY_LEN(refused); i++) {
        const struct http_request request = {.method = "GET", .url = refused[i], .authorize = true};
        struct http_reply reply;
        struct error err = {0};
        assert_int_equal(http_send(client, &request, &reply, &err), -1);
        assert_int_equal(err.kind, ERROR_STOP_RUN);
        assert_int_equal(err.exit_status, EXIT_STATUS_RIGHTS);
        assert_non_null(strstr(err.message, "plain http"));
    }
    assert_int_equal(seen.tries, 0);
    http_client_free(client);
}

static void empty_credentials_send_no_header(void **state)
{
    (void)state;
    const struct scripted_step steps[] = {{.reply = EMPTY("401 U")}};
    struct scripted_server *server = scripted_server_start(steps, ARRAY_LEN(steps));
    struct seen seen = {.token = ""};
    struct http_client *client = new_client(&seen, NULL);
    const struct http_request request = {
        .method = "DELETE", .url = scripted_server_url(server, "/"), .authorize = true};
    struct http_reply reply;
    struct error err = {0};
    assert_int_equal(http_send(client, &request, &reply, &err), 0);
    assert_int_equal(reply.status, 401);
    scripted_server_stop(server);
    assert_null(strcasestr(scripted_server_request(server, 0)->head, "authorization"));
    assert_memory_equal(scripted_server_request(server, 0)->head, "DELETE / HTTP/1.1\r\n", 19);
    http_reply_clear(&reply);
    http_client_free(client);
    scripted_server_free(server);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_token_that_cannot_be_renewed_is_waited_for),
        cmocka_unit_test(a_401_refreshes_once),
        cmocka_unit_test(a_401_after_success_is_waited_out),
        cmocka_unit_test(a_token_goes_to_safe_hosts_only),
        cmocka_unit_test(empty_credentials_send_no_header),
    };
    struct error err = {0};
    if (http_global_init(&err) != 0) {
        return 1;
    }
    return cmocka_run_group_tests(tests, NULL, NULL);
}
