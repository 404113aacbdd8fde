/* SPDX-License-Identifier: GPL-3.0-or-later */
/* No further socket may be opened: that does not pass by itself, and the user can do something. */
#include "http/http_internal.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <fcntl.h>
#include <string.h>
#include <sys/resource.h>

static void test_none_left(void **state)
{
    (void)state;
    static const char *const urls[] = {"http://127.0.0.1:9/a", "http://localhost:9/a"};
    for (size_t i = 0; i < ARRAY_LEN(urls); i++) {
        const struct http_settings settings = {
            .user_agent = "winch-test", .backoff_first_ms = 1, .give_up_ms = 20000};
        struct error err = {0};
        struct http_client *client = http_client_new(&settings, &err);
        assert_non_null(client);
        struct http_request request = {.method = "GET", .url = urls[i], .reply_timeout_ms = 5000};
        struct http_reply reply;
        struct rlimit before;
        assert_int_equal(getrlimit(RLIMIT_NOFILE, &before), 0);
        int next = open("/dev/null", O_RDONLY | O_CLOEXEC);
        assert_true(next >= 0);
        (void)close(next);
        struct rlimit none = {.rlim_cur = (rlim_t)next, .rlim_max = before.rlim_max};
        uint64_t began_ms = clock_monotonic_ms();
        assert_int_equal(setrlimit(RLIMIT_NOFILE, &none), 0);
        int result = http_send(client, &request, &reply, &err);
        assert_int_equal(setrlimit(RLIMIT_NOFILE, &before), 0);
        assert_int_equal(result, -1);
        if (err.kind != ERROR_STOP_RUN || err.exit_status != EXIT_STATUS_TEMPORARY ||
            strstr(err.message, "ulimit -n") == NULL) {
            fail_msg("%s: kind %d: %s", urls[i], (int)err.kind, err.message);
        }
        assert_true(clock_monotonic_ms() - began_ms < 10000);
        http_client_free(client);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_none_left)};
    struct error err = {0};
    if (http_global_init(&err) != 0) {
        return 1;
    }
    return cmocka_run_group_tests(tests, NULL, NULL);
}
