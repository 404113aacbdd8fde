/* SPDX-License-Identifier: GPL-3.0-or-later */
/* One moment of a run as a line of a given width, and as JSON. */
#include "cli/progress.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>
#include <cmocka.h>

static const struct run_progress upload = {
    .phase = "upload",
    .objects = 12345,
    .objects_total = 30000,
    .bytes = 1288490189, /* 1.2 GiB */
    .bytes_total = 3113851290,
    .rate = 851443712,
    .eta_seconds = 130,
    .limited_by = RUN_LIMIT_DISK,
    .retries = 3,
};

static void expect(const struct run_progress *progress, unsigned width, const char *line)
{
    CLEANUP_TEXT struct text text = TEXT_INIT(4096);
    progress_render(&text, progress, width);
    assert_string_equal(text_str(&text), line);
}

static void test_widths(void **state)
{
    (void)state;
    expect(&upload, 0,
           "upload  41%  12,345/30,000 objects  1.2/2.9 GiB  812.0 MiB/s  2 min 10 s left  "
           "limited by disk  3 retries");
    expect(
        &upload, 130,
        "upload  41% [#########-------------]  12,345/30,000 objects  1.2/2.9 GiB  812.0 MiB/s  "
        "2 min 10 s left  limited by disk  3 retries");
    expect(&upload, 80,
           "upload  41%  12,345/30,000 objects  1.2/2.9 GiB  812.0 MiB/s  2 min 10 s left");
    expect(&upload, 40, "upload  41%  2 min 10 s left  3 retries");
    expect(&upload, 11, "upload  41%");
    expect(&upload, 4, "uplo");
}

static void test_never_wider(void **state)
{
    (void)state;
    struct run_progress now = upload;
    now.failed = 7;
    now.stalled_ms = 12000;
    now.bytes = now.bytes_total = UINT64_MAX;
    now.rate = now.retries = now.objects = now.objects_total = now.failed = UINT64_MAX;
    now.eta_seconds = UINT64_MAX / 1000 - 1;
    for (unsigned width = 1; width < 300; width++) {
        CLEANUP_TEXT struct text text = TEXT_INIT(4096);
        progress_render(&text, &now, width);
        assert_true(text.len <= width);
    }
}

static void test_scan(void **state)
{
    (void)state;
    struct run_progress now = {.phase = "scan", .eta_seconds = UINT64_MAX};
    expect(&now, 80, "scan");
    now.done = 500000;
    now.total = 2000000;
    expect(&now, 0, "scan  25%  500,000/2,000,000 records");
    expect(&now, 60, "scan  25% [#####----------------]  500,000/2,000,000 records");
    now.phase = "manifest";
    expect(&now, 0, "manifest  25%  500,000/2,000,000 entries");
    now.phase = "plan";
    now.total = 0;
    expect(&now, 80, "plan");
}

static void test_trouble(void **state)
{
    (void)state;
    struct run_progress now = upload;
    now.retries = 1;
    now.failed = 2;
    now.stalled_ms = 4999;
    now.eta_seconds = UINT64_MAX;
    expect(
        &now, 0,
        "upload  41%  12,345/30,000 objects  1.2/2.9 GiB  812.0 MiB/s  limited by disk  1 retry  "
        "2 failed");
    now.stalled_ms = 12000;
    expect(&now, 40, "upload  41%  disk silent for 12.0 s");
}

/* Only what is complete is 100 %. */
static void test_percent(void **state)
{
    (void)state;
    struct run_progress now = {.phase = "upload",
                               .objects_total = 10,
                               .eta_seconds = UINT64_MAX,
                               .limited_by = RUN_LIMIT_CPU};
    now.objects = 9;
    expect(&now, 30, "upload  90%  0/0 B  0 B/s");
    now.bytes = now.bytes_total = 100;
    CLEANUP_TEXT struct text text = TEXT_INIT(4096);
    progress_render(&text, &now, 0);
    assert_non_null(strstr(text_str(&text), " 99%"));
    now.objects = 10;
    text_reset(&text);
    progress_render(&text, &now, 0);
    assert_non_null(strstr(text_str(&text), "100%"));
}

static void test_json(void **state)
{
    (void)state;
    CLEANUP_TEXT struct text text = TEXT_INIT(4096);
    progress_render_json(&text, &upload, 0);
    assert_string_equal(text_str(&text),
                        "{\"t\":\"1970-01-01T00:00:00Z\",\"phase\":\"upload\",\"objects\":12345,"
                        "\"objects_total\":30000,\"bytes\":1288490189,\"bytes_total\":3113851290,"
                        "\"rate\":851443712,\"eta_s\":130,\"limited_by\":\"disk\",\"retries\":3}");
    struct run_progress now = upload;
    now.eta_seconds = UINT64_MAX;
    text_reset(&text);
    progress_render_json(&text, &now, 0);
    assert_non_null(strstr(text_str(&text), "\"eta_s\":null,"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_widths),  cmocka_unit_test(test_never_wider),
        cmocka_unit_test(test_scan),    cmocka_unit_test(test_trouble),
        cmocka_unit_test(test_percent), cmocka_unit_test(test_json),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
