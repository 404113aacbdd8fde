/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Replies: what is kept of them, limits, sinks. And where URLs point. */
#include "http/http_internal.h"
#include "scripted_server.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <string.h>

struct collector {
    struct text text;
    unsigned restarts;
    bool fails;
};

static int collect(void *self, const void *bytes, size_t len, struct error *err)
{
    struct collector *collector = self;
    if (collector->fails) {
        return error_stop(err, EXIT_STATUS_FAILED, "no space left in /restore");
    }
    text_add_bytes(&collector->text, bytes, len);
    return 0;
}

static void collect_again(void *self)
{
    struct collector *collector = self;
    text_reset(&collector->text);
    collector->restarts++;
}

/* Send one GET to a server with this script. */
static int get(const struct scripted_step *steps, size_t count, struct http_request request,
               struct http_reply *ret_reply, struct error *err)
{
    const struct http_settings settings = {.backoff_first_ms = 1};
    struct scripted_server *server = scripted_server_start(steps, count);
    struct http_client *client = http_client_new(&settings, err);
    assert_non_null(client);
    request.method = "GET";
    request.url = scripted_server_url(server, "/b/o?x=SECRET");
    int result = http_send(client, &request, ret_reply, err);
    http_client_free(client);
    scripted_server_free(server);
    return result;
}

static void headers_and_body_are_kept(void **state)
{
    (void)state;
    const struct scripted_step steps[] = {
        {.reply = "HTTP/1.1 500 E\r\nLocation: old\r\nETag: old\r\nContent-Length: 5\r\n\r\nfirst"},
        {.reply =
             "HTTP/1.1 308 Resume\r\nlocation:  https://u/s?upload_id=1 \r\n"
             "Range: bytes=0-42\r\neTag: \"abc\"\r\nRangeX: no\r\nContent-Length: 3\r\n\r\nabc"},
    };
    struct http_reply reply;
    struct error err = {0};
    const struct http_request request = {.keep = {"ETag", NULL, "X-Other"}};
    assert_int_equal(get(steps, 2, request, &reply, &err), 0);
    assert_int_equal(reply.status, 308);
    assert_string_equal(reply.location, "https://u/s?upload_id=1");
    assert_string_equal(reply.range, "bytes=0-42");
    assert_string_equal(reply.kept[0], "\"abc\"");
    assert_string_equal(reply.kept[1], "");
    assert_string_equal(reply.kept[2], "");
    assert_string_equal(text_str(&reply.body), "abc");
    http_reply_clear(&reply);
    assert_null(reply.body.data);
}

static void an_html_error_page_is_just_a_body(void **state)
{
    (void)state;
    const struct scripted_step steps[] = {
        {.reply = "HTTP/1.1 502 Bad\r\nContent-Type: text/html\r\nContent-Length: 13\r\n\r\n"
                  "<html></html>"},
        {.reply = "HTTP/1.1 413 Big\r\nContent-Type: text/html\r\nContent-Length: 13\r\n\r\n"
                  "<html></html>"},
    };
    struct http_reply reply;
    struct error err = {0};
    assert_int_equal(get(steps, 2, (struct http_request){0}, &reply, &err), 0);
    assert_int_equal(reply.status, 413);
    assert_int_equal(reply.tries, 2);
    assert_string_equal(text_str(&reply.body), "<html></html>");
    http_reply_clear(&reply);
}

static void a_reply_without_length_and_in_chunks(void **state)
{
    (void)state;
    const struct scripted_step plain = {.reply = "HTTP/1.1 200 OK\r\n\r\nup to the end",
                                        .end = SCRIPTED_CLOSE};
    const struct scripted_step chunks = {
        .reply = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nup to\r\n",
        .rest = "8\r\n the end\r\n0\r\nLocation: trailer\r\n\r\n",
        .pause_ms = 20,
    };
    struct http_reply reply;
    struct error err = {0};
    assert_int_equal(get(&plain, 1, (struct http_request){0}, &reply, &err), 0);
    assert_string_equal(text_str(&reply.body), "up to the end");
    http_reply_clear(&reply);
    assert_int_equal(get(&chunks, 1, (struct http_request){0}, &reply, &err), 0);
    assert_string_equal(text_str(&reply.body), "up to the end");
    assert_string_equal(reply.location, "");
    http_reply_clear(&reply);
}

static void too_long_a_reply(void **state)
{
    (void)state;
    const struct scripted_step good[] = {
        {.reply = "HTTP/1.1 200 OK\r\nContent-Length: 11\r\n\r\n0123456789a"}};
    const struct scripted_step bad[] = {
        {.reply = "HTTP/1.1 404 No\r\nContent-Length: 11\r\n\r\n0123456789a"}};
    struct http_reply reply;
    struct error err = {0};
    const struct http_request request = {.reply_limit = 10};
    assert_int_equal(get(good, 1, request, &reply, &err), -1);
    assert_int_equal(err.kind, ERROR_RETRY);
    assert_non_null(strstr(err.message, "longer than 10 bytes"));
    assert_non_null(strstr(err.message, "/b/o: "));
    assert_null(strstr(err.message, "SECRET"));

    assert_int_equal(get(bad, 1, request, &reply, &err), 0);
    assert_int_equal(reply.status, 404);
    assert_string_equal(text_str(&reply.body), "0123456789");
    http_reply_clear(&reply);

    const struct http_request exact = {.reply_limit = 11};
    assert_int_equal(get(good, 1, exact, &reply, &err), 0);
    assert_string_equal(text_str(&reply.body), "0123456789a");
    http_reply_clear(&reply);
}

static void a_sink_gets_good_replies_only_and_restarts(void **state)
{
    (void)state;
    const struct scripted_step steps[] = {
        {.reply = "HTTP/1.1 503 U\r\nContent-Length: 4\r\n\r\noops"},
        {.reply = "HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nhalf", .end = SCRIPTED_CLOSE},
        {.reply = "HTTP/1.1 206 OK\r\nContent-Length: 5\r\n\r\nwhole"},
    };
    struct collector collector = {.text = TEXT_INIT(100)};
    const struct http_request request = {
        .sink = collect, .sink_restart = collect_again, .sink_self = &collector, .reply_limit = 1};
    struct http_reply reply;
    struct error err = {0};
    assert_int_equal(get(steps, 3, request, &reply, &err), 0);
    assert_int_equal(reply.status, 206);
    assert_string_equal(text_str(&collector.text), "whole");
    assert_int_equal(reply.body.len, 0);
    assert_int_equal(collector.restarts, 2);
    http_reply_clear(&reply);

    collector.fails = true;
    assert_int_equal(get(steps, 3, request, &reply, &err), -1);
    assert_int_equal(err.kind, ERROR_STOP_RUN);
    assert_string_equal(err.message, "no space left in /restore");
    text_free(&collector.text);
}

static void bad_requests_are_refused(void **state)
{
    (void)state;
    static const char *const urls[] = {
        "",
        "ftp://x/",
        "http://",
        "http:///x",
        "http://a b/",
        "http://h/a b",
        "http://u:p@h/",
        "http://h\\@i/",
        "http://[::1/x",
        "http://h/\r\nX: y",
        "httpx://h/",
        "http://:80/",
    };
    struct error err = {0};
    struct http_client *client = http_client_new(&(struct http_settings){0}, &err);
    struct http_reply reply;
    for (size_t i = 0; i < ARRAY_LEN(urls); i++) {
        const struct http_request request = {.method = "GET", .url = urls[i]};
        assert_int_equal(http_send(client, &request, &reply, &err), -1);
        assert_int_equal(err.kind, ERROR_STOP_RUN);
    }
    const struct http_header headers[] = {{"X-Name", "a\r\nHost: evil"},
                                          {"authorization", "Bearer x"}};
    for (size_t i = 0; i < ARRAY_LEN(headers); i++) {
        const struct http_request request = {.method = "GET",
                                             .url = "http://127.0.0.1:1/",
                                             .headers = &headers[i],
                                             .header_count = 1};
        assert_int_equal(http_send(client, &request, &reply, &err), -1);
        assert_int_equal(err.kind, ERROR_STOP_RUN);
    }
    http_client_free(client);
}

static void secrets_go_to_safe_urls(void **state)
{
    (void)state;
    static const struct {
        const char *url;
        bool safe;
    } cases[] = {
        {"https://storage.googleapis.com/x", true},
        {"HTTPS://h", true},
        {"http://127.0.0.1:80/x", true},
        {"http://127.255.3.4", true},
        {"http://localhost:9?x", true},
        {"http://LocalHost/", true},
        {"http://[::1]:80/", true},
        {"http://[::2]:80/", false},
        {"http://128.0.0.1/", false},
        {"http://127.1/", false},
        {"http://127.0.0.1.example.com/", false},
        {"http://localhost.example.com/", false},
        {"http://example.com/127.0.0.1", false},
        {"http://127.0.0.1@example.com/", false},
        {"http://metadata.google.internal/", false},
        {"file:///etc/passwd", false},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        print_message("%s\n", cases[i].url);
        assert_int_equal(http_url_is_safe(cases[i].url), cases[i].safe);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(headers_and_body_are_kept),
        cmocka_unit_test(an_html_error_page_is_just_a_body),
        cmocka_unit_test(a_reply_without_length_and_in_chunks),
        cmocka_unit_test(too_long_a_reply),
        cmocka_unit_test(a_sink_gets_good_replies_only_and_restarts),
        cmocka_unit_test(bad_requests_are_refused),
        cmocka_unit_test(secrets_go_to_safe_urls),
    };
    struct error err = {0};
    if (http_global_init(&err) != 0) {
        return 1;
    }
    return cmocka_run_group_tests(tests, NULL, NULL);
}
