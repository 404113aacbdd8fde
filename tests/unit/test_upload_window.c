/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The arithmetic of the window, and that waiting in it ends. */
#include "upload/upload_internal.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <string.h>

static struct upload_window window;

static int open_window(void **state)
{
    (void)state;
    struct error err = {0};
    return upload_window_open(&window, 8, &err);
}

static int close_window(void **state)
{
    (void)state;
    upload_window_close(&window);
    return 0;
}

static void test_halves_once_a_second(void **state)
{
    (void)state;
    static const struct {
        uint64_t now_ms;
        unsigned places;
        unsigned throttled;
    } steps[] = {{0, 4, 1},    {10, 4, 1},   {999, 4, 1},  {1000, 2, 2},
                 {1500, 2, 2}, {2000, 1, 3}, {3000, 1, 4}, {9000, 1, 5}};
    for (size_t i = 0; i < ARRAY_LEN(steps); i++) {
        upload_window_note_throttle(&window, steps[i].now_ms);
        assert_int_equal(window.places, steps[i].places);
        assert_int_equal(window.throttled, steps[i].throttled);
    }
}

static void test_grows_back(void **state)
{
    (void)state;
    upload_window_note_throttle(&window, 0);
    upload_window_note_throttle(&window, 5000);
    assert_int_equal(window.places, 2);
    unsigned needed = 0;
    while (window.places < 8) {
        upload_window_note_success(&window);
        needed++;
        assert_true(needed <= 100);
    }
    assert_int_equal(needed, 2 + 3 + 4 + 5 + 6 + 7);
    upload_window_note_success(&window);
    assert_int_equal(window.places, 8);
}

static void test_enter_leave(void **state)
{
    (void)state;
    uint64_t waited_ns = 7;
    struct error err = {0};
    for (unsigned i = 0; i < 8; i++) {
        assert_int_equal(upload_window_enter(&window, NULL, &waited_ns, &err), 0);
        assert_int_equal(waited_ns, 0);
    }
    _Atomic bool cancel = true;
    assert_int_equal(upload_window_enter(&window, &cancel, &waited_ns, &err), -1);
    assert_int_equal(err.kind, ERROR_CANCELLED);
    assert_int_equal(window.used, 8);
    for (unsigned i = 0; i < 8; i++) {
        upload_window_leave(&window);
    }
    assert_int_equal(window.used, 0);
}

static void *raise_cancel(void *self)
{
    (void)clock_sleep_ms(60, NULL);
    atomic_store((_Atomic bool *)self, true);
    return NULL;
}

static void test_cancel_ends_waiting(void **state)
{
    (void)state;
    struct error err = {0};
    uint64_t waited_ns;
    for (unsigned i = 0; i < 8; i++) {
        assert_int_equal(upload_window_enter(&window, NULL, &waited_ns, &err), 0);
    }
    static _Atomic bool cancel;
    pthread_t thread;
    assert_int_equal(pthread_create(&thread, NULL, raise_cancel, (void *)&cancel), 0);
    assert_int_equal(upload_window_enter(&window, &cancel, &waited_ns, &err), -1);
    assert_true(waited_ns > 0);
    (void)pthread_join(thread, NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_halves_once_a_second, open_window, close_window),
        cmocka_unit_test_setup_teardown(test_grows_back, open_window, close_window),
        cmocka_unit_test_setup_teardown(test_enter_leave, open_window, close_window),
        cmocka_unit_test_setup_teardown(test_cancel_ends_waiting, open_window, close_window),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
