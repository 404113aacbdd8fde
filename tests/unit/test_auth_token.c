/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Tokens from a scripted metadata server: the happy way, faults, expiry, one refresh at a time. */
#include "auth/auth.h"
#include "scripted_server.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <pthread.h>
#include <string.h>

#define FLAVOR "Metadata-Flavor: Google\r\n"
#define LONG_TOKEN(name) json_reply(FLAVOR, "{\"access_token\":\"" name "\",\"expires_in\":3599}")
#define SHORT_TOKEN(name) json_reply(FLAVOR, "{\"access_token\":\"" name "\",\"expires_in\":1}")
#define EMPTY(status) "HTTP/1.1 " status "\r\n" FLAVOR "Content-Length: 0\r\n\r\n"

/* A reply with this body; the last 16 stay valid. */
static const char *json_reply(const char *headers, const char *json)
{
    static char replies[16][400];
    static size_t next;
    char *reply = replies[next++ % ARRAY_LEN(replies)];
    (void)snprintf(reply, sizeof(replies[0]), "HTTP/1.1 200 OK\r\n%sContent-Length: %zu\r\n\r\n%s",
                   headers, strlen(json), json);
    return reply;
}

struct setting {
    struct scripted_server *server;
    struct auth *auth;
    struct http_credentials credentials;
    struct error err;
    char host[64];
    char value[4096];
};

static void set_up(struct setting *setting, const struct scripted_step *steps, size_t count)
{
    *setting = (struct setting){0};
    setting->server = scripted_server_start(steps, count);
    (void)snprintf(setting->host, sizeof(setting->host), "127.0.0.1:%u",
                   scripted_server_port(setting->server));
    const struct auth_settings settings = {.metadata_host = setting->host};
    setting->auth = auth_new(&settings, &setting->err);
    assert_non_null(setting->auth);
    assert_int_equal(scripted_server_count(setting->server), 0);
    setting->credentials = auth_credentials(setting->auth);
}

static int ask(struct setting *setting, bool refresh)
{
    return setting->credentials.authorization(setting->credentials.self, refresh, setting->value,
                                              sizeof(setting->value), &setting->err);
}

static void tear_down(struct setting *setting)
{
    auth_free(setting->auth);
    scripted_server_free(setting->server);
}

static void a_token_is_asked_for_once(void **state)
{
    (void)state;
    const struct scripted_step steps[] = {{.reply = LONG_TOKEN("tok1")}};
    struct setting setting;
    set_up(&setting, steps, ARRAY_LEN(steps));
    for (int i = 0; i < 3; i++) {
        assert_int_equal(ask(&setting, false), 0);
        assert_string_equal(setting.value, "Bearer tok1");
    }
    const char *head = scripted_server_request(setting.server, 0)->head;
    static const char line[] =
        "GET /computeMetadata/v1/instance/service-accounts/default/token HTTP/1.1\r\n";
    assert_memory_equal(head, line, strlen(line));
    assert_non_null(strstr(head, "\r\nMetadata-Flavor: Google\r\n"));
    assert_null(strcasestr(head, "\r\nAuthorization:"));
    assert_int_equal(scripted_server_count(setting.server), 1);
    tear_down(&setting);
}

static void a_flaky_server_is_asked_again(void **state)
{
    (void)state;
    const struct scripted_step steps[] = {
        {.reply = EMPTY("404 Not Found")},    {.reply = EMPTY("503 U")},
        {.reply = "", .end = SCRIPTED_CLOSE}, {.reply = EMPTY("500 E")},
        {.reply = LONG_TOKEN("tok5")},
    };
    struct setting setting;
    set_up(&setting, steps, ARRAY_LEN(steps));
    assert_int_equal(ask(&setting, false), 0);
    assert_string_equal(setting.value, "Bearer tok5");
    tear_down(&setting);
}

static void faults_have_their_kind(void **state)
{
    (void)state;
    static const char token[] = "{\"access_token\":\"t\",\"expires_in\":99}";
    const struct {
        const char *name;
        const char *reply;
        enum error_kind kind;
        const char *says;
    } cases[] = {
        {"no flavor", json_reply("", token), ERROR_STOP_RUN, "is not the metadata server"},
        {"other flavor", json_reply("Metadata-Flavor: AWS\r\n", token), ERROR_STOP_RUN,
         "is not the metadata server"},
        {"expired", json_reply(FLAVOR, "{\"access_token\":\"t\",\"expires_in\":0}"), ERROR_RETRY,
         "expired"},
        {"no lifetime", json_reply(FLAVOR, "{\"access_token\":\"t\"}"), ERROR_RETRY, "not one"},
        {"no token", json_reply(FLAVOR, "{\"expires_in\":99}"), ERROR_RETRY, "not one"},
        {"html", json_reply(FLAVOR, "<html>"), ERROR_RETRY, "not one"},
        {"refused", EMPTY("403 Forbidden"), ERROR_STOP_RUN, "HTTP 403"},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        print_message("case: %s\n", cases[i].name);
        const struct scripted_step step = {.reply = cases[i].reply, .end = SCRIPTED_CLOSE};
        struct setting setting;
        set_up(&setting, &step, 1);
        assert_int_equal(ask(&setting, false), -1);
        assert_int_equal(setting.err.kind, cases[i].kind);
        assert_int_equal(setting.err.exit_status, cases[i].kind == ERROR_STOP_RUN
                                                      ? EXIT_STATUS_RIGHTS
                                                      : EXIT_STATUS_TEMPORARY);
        assert_non_null(strstr(setting.err.message, cases[i].says));
        tear_down(&setting);
    }
}

static void five_tries_and_then_no_more(void **state)
{
    (void)state;
    struct scripted_step steps[10];
    for (int status = 404; status <= 503; status += 99) {
        for (size_t i = 0; i < ARRAY_LEN(steps); i++) {
            steps[i] =
                (struct scripted_step){.reply = status == 404 ? EMPTY("404 No") : EMPTY("503 U")};
        }
        struct setting setting;
        set_up(&setting, steps, ARRAY_LEN(steps));
        assert_int_equal(ask(&setting, false), -1);
        assert_int_equal(setting.err.kind, status == 404 ? ERROR_STOP_RUN : ERROR_RETRY);
        assert_int_equal(scripted_server_count(setting.server), 5);
        tear_down(&setting);
    }
}

static void nobody_there(void **state)
{
    (void)state;
    struct setting setting;
    set_up(&setting, NULL, 0);
    assert_int_equal(ask(&setting, false), -1);
    assert_int_equal(setting.err.kind, ERROR_RETRY);
    assert_non_null(strstr(setting.err.message, "GOOGLE_APPLICATION_CREDENTIALS"));
    tear_down(&setting);
}

static void an_expiring_token_is_renewed_or_kept(void **state)
{
    (void)state;
    const struct scripted_step steps[] = {
        {.reply = SHORT_TOKEN("tok1")},
        {.reply = EMPTY("403 F")},     /* fails while tok1 still holds */
        {.reply = LONG_TOKEN("tok2")}, /* once it does not */
    };
    struct setting setting;
    set_up(&setting, steps, ARRAY_LEN(steps));
    assert_int_equal(ask(&setting, false), 0);
    assert_string_equal(setting.value, "Bearer tok1");
    assert_int_equal(clock_sleep_ms(600, NULL), 0); /* past half its life */
    assert_int_equal(ask(&setting, false), 0);
    assert_string_equal(setting.value, "Bearer tok1");
    assert_int_equal(scripted_server_count(setting.server), 2);
    assert_int_equal(ask(&setting, false), 0); /* not asked again at once */
    assert_int_equal(scripted_server_count(setting.server), 2);
    assert_int_equal(clock_sleep_ms(500, NULL), 0); /* past its end */
    assert_int_equal(ask(&setting, false), 0);
    assert_string_equal(setting.value, "Bearer tok2");
    tear_down(&setting);
}

static void a_refused_token_is_replaced(void **state)
{
    (void)state;
    const struct scripted_step steps[] = {
        {.reply = LONG_TOKEN("tok1")}, {.reply = LONG_TOKEN("tok2")}, {.reply = EMPTY("403 F")}};
    struct setting setting;
    set_up(&setting, steps, ARRAY_LEN(steps));
    assert_int_equal(ask(&setting, false), 0);
    assert_int_equal(ask(&setting, true), 0);
    assert_string_equal(setting.value, "Bearer tok2");
    (void)snprintf(setting.value, sizeof(setting.value), "Bearer tok1");
    assert_int_equal(ask(&setting, true), 0); /* replaced already: no new one is asked for */
    assert_string_equal(setting.value, "Bearer tok2");
    assert_int_equal(scripted_server_count(setting.server), 2);
    assert_int_equal(ask(&setting, true), -1); /* a refused token is never used again */
    assert_int_equal(setting.err.kind, ERROR_STOP_RUN);
    tear_down(&setting);
}

struct asker {
    pthread_t thread;
    struct http_credentials credentials;
    bool refresh;
    int result;
    char value[100];
    struct error err;
};

static void *ask_in_thread(void *self)
{
    struct asker *asker = self;
    asker->result = asker->credentials.authorization(
        asker->credentials.self, asker->refresh, asker->value, sizeof(asker->value), &asker->err);
    return NULL;
}

static void ask_in_threads(struct setting *setting, struct asker *askers, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        askers[i].credentials = setting->credentials;
        askers[i].err = (struct error){0};
        assert_int_equal(pthread_create(&askers[i].thread, NULL, ask_in_thread, &askers[i]), 0);
    }
    for (size_t i = 0; i < count; i++) {
        assert_int_equal(pthread_join(askers[i].thread, NULL), 0);
    }
}

static void many_threads_make_one_request(void **state)
{
    (void)state;
    const struct scripted_step steps[] = {
        {.delay_ms = 200, .reply = LONG_TOKEN("tok1")},
        {.delay_ms = 200, .reply = LONG_TOKEN("tok2")},
        {.delay_ms = 200, .reply = EMPTY("403 F")},
    };
    struct asker askers[16] = {0};
    struct setting setting;
    set_up(&setting, steps, ARRAY_LEN(steps));
    ask_in_threads(&setting, askers, ARRAY_LEN(askers));
    for (size_t i = 0; i < ARRAY_LEN(askers); i++) {
        assert_int_equal(askers[i].result, 0);
        assert_string_equal(askers[i].value, "Bearer tok1");
        askers[i].refresh = true; /* all were refused at the same time */
    }
    ask_in_threads(&setting, askers, ARRAY_LEN(askers));
    for (size_t i = 0; i < ARRAY_LEN(askers); i++) {
        assert_int_equal(askers[i].result, 0);
        assert_string_equal(askers[i].value, "Bearer tok2");
    }
    assert_int_equal(scripted_server_count(setting.server), 2);
    ask_in_threads(&setting, askers, ARRAY_LEN(askers));
    for (size_t i = 0; i < ARRAY_LEN(askers); i++) {
        assert_int_equal(askers[i].result, -1);
        assert_int_equal(askers[i].err.kind, ERROR_STOP_RUN);
    }
    tear_down(&setting);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_token_is_asked_for_once),
        cmocka_unit_test(a_flaky_server_is_asked_again),
        cmocka_unit_test(faults_have_their_kind),
        cmocka_unit_test(five_tries_and_then_no_more),
        cmocka_unit_test(nobody_there),
        cmocka_unit_test(an_expiring_token_is_renewed_or_kept),
        cmocka_unit_test(a_refused_token_is_replaced),
        cmocka_unit_test(many_threads_make_one_request),
    };
    struct error err = {0};
    if (http_global_init(&err) != 0) {
        return 1;
    }
    return cmocka_run_group_tests(tests, NULL, NULL);
}
