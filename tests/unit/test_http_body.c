/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Request bodies on their way out: sources, rewinding, early answers, stalls. */
#include "http/http_internal.h"
#include "scripted_server.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <string.h>

#define EMPTY(status) "HTTP/1.1 " status "\r\nContent-Length: 0\r\n\r\n"

/* Bytes by their position, with a running checksum as the uploader keeps one. */
struct source {
    struct http_body body;
    uint64_t position;
    uint32_t crc;
    unsigned rewinds;
    uint64_t fail_at; /* read fails here; 0: never */
    uint64_t end_at;  /* ends early here; 0: never */
    unsigned first_read_ms;
    size_t piece; /* at most so many bytes per read; 0: no limit */
};

static ssize_t source_read(void *self, void *buf, size_t len, struct error *err)
{
    struct source *source = self;
    if (source->fail_at > 0 && source->position >= source->fail_at) {
        return error_entry(err, "bad-sector", "disk x: unreadable at 4,096");
    }
    if (source->end_at > 0 && source->position >= source->end_at) {
        return 0;
    }
    if (source->position == 0 && source->first_read_ms > 0) {
        (void)clock_sleep_ms(source->first_read_ms, NULL); /* a slow disk */
    }
    uint64_t left = source->body.size_bytes - source->position;
    size_t count = len < left ? len : (size_t)left;
    if (source->piece > 0 && count > source->piece) {
        count = source->piece;
    }
    for (size_t i = 0; i < count; i++) {
        ((uint8_t *)buf)[i] = (uint8_t)((source->position + i) * 31 >> 3);
    }
    source->crc = crc32c_update(source->crc, buf, count);
    source->position += count;
    return (ssize_t)count;
}

static int source_rewind(void *self, struct error *err)
{
    struct source *source = self;
    (void)err;
    source->position = 0;
    source->crc = 0;
    source->rewinds++;
    return 0;
}

static void source_init(struct source *source, uint64_t size)
{
    *source = (struct source){0};
    source->body = (struct http_body){
        .size_bytes = size, .read = source_read, .rewind = source_rewind, .self = source};
}

struct setting {
    struct scripted_server *server;
    struct http_client *client;
    struct http_request request;
    struct http_reply reply;
    struct error err;
    char url[200];
};

static void set_up(struct setting *setting, const struct scripted_step *steps, size_t count,
                   struct source *source)
{
    const struct http_settings settings = {.user_agent = "t", .backoff_first_ms = 1};
    *setting = (struct setting){0};
    setting->server = scripted_server_start(steps, count);
    setting->client = http_client_new(&settings, &setting->err);
    assert_non_null(setting->client);
    (void)snprintf(setting->url, sizeof(setting->url), "%s",
                   scripted_server_url(setting->server, "/o"));
    setting->request = (struct http_request){
        .method = "PUT", .url = setting->url, .body = source == NULL ? NULL : &source->body};
}

static int send_it(struct setting *setting)
{
    http_reply_clear(&setting->reply);
    return http_send(setting->client, &setting->request, &setting->reply, &setting->err);
}

static void tear_down(struct setting *setting)
{
    http_reply_clear(&setting->reply);
    http_client_free(setting->client);
    scripted_server_free(setting->server);
}

static void bodies_of_all_sizes_arrive_whole(void **state)
{
    (void)state;
    static const uint64_t sizes[] = {0,
                                     1,
                                     5000,
                                     HTTP_FLAT_BODY_MAX - 1,
                                     HTTP_FLAT_BODY_MAX,
                                     HTTP_FLAT_BODY_MAX + 1,
                                     65536,
                                     65537,
                                     HTTP_UPLOAD_LARGE_FROM,
                                     644245,
                                     3000000,
                                     100,
                                     20000000};
    struct scripted_step steps[2 * ARRAY_LEN(sizes)];
    for (size_t i = 0; i < ARRAY_LEN(steps); i++) {
        steps[i] = (struct scripted_step){.reply = EMPTY("200 OK")};
    }
    struct source source;
    struct setting setting;
    set_up(&setting, steps, ARRAY_LEN(steps), &source);
    for (size_t i = 0; i < ARRAY_LEN(steps); i++) {
        uint64_t size = sizes[i / 2];
        source_init(&source, size);
        source.piece = i % 2 == 0 ? 0 : 7777;
        assert_int_equal(send_it(&setting), 0);
        assert_int_equal(setting.reply.status, 200);
        assert_int_equal(setting.reply.tries, 1);
        assert_int_equal(source.rewinds, 0);
        assert_int_equal(scripted_server_count(setting.server), i + 1);
        const struct scripted_request *got = scripted_server_request(setting.server, i);
        assert_int_equal(got->connection, 1);
        assert_int_equal(got->body_bytes, size);
        assert_int_equal(got->body_crc32c, source.crc);
        assert_memory_equal(got->head, "PUT /o HTTP/1.1\r\n", 17);
        assert_null(strcasestr(got->head, "Expect:"));
        assert_null(strcasestr(got->head, "Content-Type:"));
    }
    tear_down(&setting);
}

/* The kept connection dies at the moment the second request is sent on it: libcurl sends again by
 * itself, the source goes back to its start, and we know that something was sent twice. */
static void a_dead_kept_connection_rewinds_the_source(void **state)
{
    (void)state;
    static const uint64_t sizes[] = {1000, 100000, 1000000};
    for (size_t i = 0; i < ARRAY_LEN(sizes); i++) {
        for (int read_all = 0; read_all < 2; read_all++) {
            const struct scripted_step steps[] = {
                {.reply = EMPTY("200 OK")},
                {.reading = read_all ? SCRIPTED_READ_ALL : SCRIPTED_READ_SOME,
                 .end = SCRIPTED_CLOSE},
                {.reply = EMPTY("200 OK")},
            };
            struct source source;
            struct setting setting;
            set_up(&setting, steps, ARRAY_LEN(steps), &source);
            source_init(&source, sizes[i]);
            assert_int_equal(send_it(&setting), 0);
            source_init(&source, sizes[i]);
            assert_int_equal(send_it(&setting), 0);
            assert_int_equal(setting.reply.status, 200);
            assert_true(setting.reply.earlier_try_unanswered);
            scripted_server_stop(setting.server);
            assert_int_equal(scripted_server_count(setting.server), 3);
            const struct scripted_request *got = scripted_server_request(setting.server, 2);
            assert_int_equal(got->connection, 2);
            assert_int_equal(got->body_bytes, sizes[i]);
            assert_int_equal(got->body_crc32c, source.crc);
            assert_int_equal(source.rewinds, sizes[i] <= HTTP_FLAT_BODY_MAX ? 0 : 1);
            print_message("%zu bytes, read %d: %u tries\n", (size_t)sizes[i], read_all,
                          setting.reply.tries);
            tear_down(&setting);
        }
    }
}

/* Without a body nothing but the count of sends shows that the request went out twice. */
static void a_dead_kept_connection_is_noticed_without_a_body(void **state)
{
    (void)state;
    const struct scripted_step steps[] = {
        {.reply = EMPTY("200 OK")}, {.end = SCRIPTED_CLOSE}, {.reply = EMPTY("404 Not Found")}};
    struct setting setting;
    set_up(&setting, steps, ARRAY_LEN(steps), NULL);
    setting.request.method = "DELETE";
    assert_int_equal(send_it(&setting), 0);
    assert_false(setting.reply.earlier_try_unanswered);
    assert_int_equal(send_it(&setting), 0);
    assert_int_equal(setting.reply.status, 404);
    assert_true(setting.reply.earlier_try_unanswered);
    tear_down(&setting);
}

static void an_early_answer_counts(void **state)
{
    (void)state;
    static const char refusal[] = "HTTP/1.1 403 Forbidden\r\nLocation: /l\r\n"
                                  "Content-Length: 3\r\n\r\nwhy";
    static const char gone[] = "HTTP/1.1 412 Precondition Failed\r\nConnection: close\r\n\r\nx";
    static const struct scripted_step cases[] = {
        {.reading = SCRIPTED_READ_HEAD, .reply = refusal, .end = SCRIPTED_CLOSE},
        {.reading = SCRIPTED_READ_SOME, .reply = refusal, .end = SCRIPTED_CLOSE},
        {.reading = SCRIPTED_READ_SOME, .reply = refusal, .end = SCRIPTED_DRAIN},
        {.reading = SCRIPTED_READ_SOME, .reply = refusal, .end = SCRIPTED_HANG},
        {.reading = SCRIPTED_READ_SOME, .reply = gone, .end = SCRIPTED_CLOSE},
        {.reading = SCRIPTED_READ_HEAD, .reply = gone, .end = SCRIPTED_DRAIN, .delay_ms = 30},
        {.reading = SCRIPTED_READ_SOME, .reply = refusal, .end = SCRIPTED_CLOSE, .delay_ms = 30},
    };
    /* Many times each: what comes first at the client is a matter of chance. */
    for (size_t i = 0; i < 10 * ARRAY_LEN(cases); i++) {
        const struct scripted_step *step = &cases[i % ARRAY_LEN(cases)];
        struct source source;
        struct setting setting;
        set_up(&setting, step, 1, &source);
        source_init(&source, 30000000);
        setting.request.max_tries = 1;
        int result = send_it(&setting);
        assert_string_equal(setting.err.message, "");
        assert_int_equal(result, 0);
        assert_int_equal(setting.reply.status, step->reply == refusal ? 403 : 412);
        assert_string_equal(text_str(&setting.reply.body), step->reply == refusal ? "why" : "x");
        assert_string_equal(setting.reply.location, step->reply == refusal ? "/l" : "");
        assert_false(setting.reply.earlier_try_unanswered);
        assert_true(source.position < source.body.size_bytes);
        tear_down(&setting);
    }
}

/* What lay in the socket of an earlier request must not answer one that never got through. */
static void an_early_answer_is_for_its_own_request(void **state)
{
    (void)state;
    struct source source;
    struct setting setting;
    set_up(&setting, NULL, 0, &source);
    scripted_server_free(setting.server); /* nobody listens there any more */
    setting.server = NULL;
    text_add(&setting.client->attempt.early, "HTTP/1.1 412 Precondition Failed\r\n\r\n");
    source_init(&source, 100000);
    setting.request.max_tries = 2;
    assert_int_equal(send_it(&setting), -1);
    assert_int_equal(setting.err.kind, ERROR_RETRY);
    http_client_free(setting.client);
}

static void an_early_503_is_tried_again(void **state)
{
    (void)state;
    const struct scripted_step steps[] = {
        {.reading = SCRIPTED_READ_SOME, .reply = EMPTY("503 U"), .end = SCRIPTED_CLOSE},
        {.reply = EMPTY("200 OK")}};
    struct source source;
    struct setting setting;
    set_up(&setting, steps, ARRAY_LEN(steps), &source);
    source_init(&source, 20000000);
    assert_int_equal(send_it(&setting), 0);
    assert_int_equal(setting.reply.tries, 2);
    assert_int_equal(source.rewinds, 1);
    const struct scripted_request *got = scripted_server_request(setting.server, 1);
    assert_int_equal(got->body_bytes, 20000000);
    assert_int_equal(got->body_crc32c, source.crc);
    tear_down(&setting);
}

static void a_stalled_body_is_cut_and_sent_again(void **state)
{
    (void)state;
    const struct scripted_step steps[] = {{.reading = SCRIPTED_READ_SOME, .end = SCRIPTED_HANG},
                                          {.reply = EMPTY("200 OK")}};
    struct source source;
    struct setting setting;
    set_up(&setting, steps, ARRAY_LEN(steps), &source);
    setting.client->timing.stall_ms = 400;
    source_init(&source, 20000000);
    uint64_t before = clock_monotonic_ms();
    assert_int_equal(send_it(&setting), 0);
    assert_true(clock_monotonic_ms() - before >= 400);
    assert_int_equal(setting.reply.tries, 2);
    assert_true(setting.reply.earlier_try_unanswered);
    assert_int_equal(scripted_server_request(setting.server, 1)->body_crc32c, source.crc);
    tear_down(&setting);
}

static void the_disks_time_is_not_the_networks(void **state)
{
    (void)state;
    const struct scripted_step steps[] = {{.reply = EMPTY("200 OK")}};
    struct source source;
    struct setting setting;
    set_up(&setting, steps, ARRAY_LEN(steps), &source);
    setting.client->timing.stall_ms = 200;
    setting.request.reply_timeout_ms = 300;
    source_init(&source, 3000000);
    source.first_read_ms = 600;
    assert_int_equal(send_it(&setting), 0);
    assert_int_equal(setting.reply.tries, 1);
    tear_down(&setting);
}

/* The reply's time starts when the body is through, not when the request began. */
static void the_replys_time_starts_after_the_body(void **state)
{
    (void)state;
    const struct scripted_step steps[] = {{.delay_ms = 300, .reply = EMPTY("200 OK")},
                                          {.delay_ms = 900, .reply = EMPTY("200 OK")}};
    struct source source;
    struct setting setting;
    set_up(&setting, steps, ARRAY_LEN(steps), &source);
    setting.client->timing.stall_ms = 200; /* over, but the body is through */
    setting.request.reply_timeout_ms = 450;
    setting.request.max_tries = 1;
    source_init(&source, 1000000);
    assert_int_equal(send_it(&setting), 0);
    source_init(&source, 1000000);
    assert_int_equal(send_it(&setting), -1);
    assert_non_null(strstr(setting.err.message, "no reply for "));
    tear_down(&setting);
}

static void the_sources_error_is_the_requests(void **state)
{
    (void)state;
    static const uint64_t sizes[] = {40000, 3000000};
    for (size_t i = 0; i < ARRAY_LEN(sizes); i++) {
        const struct scripted_step steps[] = {{.reply = EMPTY("200 OK")},
                                              {.reply = EMPTY("200 OK")}};
        struct source source;
        struct setting setting;
        set_up(&setting, steps, ARRAY_LEN(steps), &source);
        source_init(&source, sizes[i]);
        source.fail_at = 4096;
        source.piece = 4096;
        assert_int_equal(send_it(&setting), -1);
        assert_int_equal(setting.err.kind, ERROR_FAIL_ENTRY);
        assert_string_equal(setting.err.reason, "bad-sector");
        assert_string_equal(setting.err.message, "disk x: unreadable at 4,096");
        source_init(&source, sizes[i]);
        source.end_at = 10000;
        source.piece = 5000;
        assert_int_equal(send_it(&setting), -1);
        assert_int_equal(setting.err.exit_status, EXIT_STATUS_INTERNAL);
        source_init(&source, sizes[i]); /* the client is as good as new */
        assert_int_equal(send_it(&setting), 0);
        tear_down(&setting);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(bodies_of_all_sizes_arrive_whole),
        cmocka_unit_test(a_dead_kept_connection_rewinds_the_source),
        cmocka_unit_test(a_dead_kept_connection_is_noticed_without_a_body),
        cmocka_unit_test(an_early_answer_counts),
        cmocka_unit_test(an_early_answer_is_for_its_own_request),
        cmocka_unit_test(an_early_503_is_tried_again),
        cmocka_unit_test(a_stalled_body_is_cut_and_sent_again),
        cmocka_unit_test(the_disks_time_is_not_the_networks),
        cmocka_unit_test(the_replys_time_starts_after_the_body),
        cmocka_unit_test(the_sources_error_is_the_requests),
    };
    struct error err = {0};
    if (http_global_init(&err) != 0) {
        return 1;
    }
    return cmocka_run_group_tests(tests, NULL, NULL);
}
