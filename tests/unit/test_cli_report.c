/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What the closing report says first, and whether its numbers and its JSON object are right. */
#include "cli/disks_render.h"
#include "cli/reasons.h"
#include "cli/report.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>
#include <cmocka.h>

static struct run_summary *new_summary(void)
{
    struct run_summary *summary = calloc(1, sizeof(*summary));
    assert_non_null(summary);
    *summary = (struct run_summary){
        .run = "20261129T220312Z-7f3a9c01",
        .source = "/dev/sdb",
        .destination = "gs://b/p",
        .report_object = "gs://b/p/.winch/runs/20261129T220312Z-7f3a9c01/run.json",
        .records_in_use = 12390,
        .extension = 5,
        .uploaded = 12345,
        .directories = 25,
        .links = 5,
        .excluded = 10,
        .streams_uploaded = 12350,
        .bytes = 3518437208883, /* 3.2 TiB */
        .requests = 13000,
        .elapsed_ms = 8040000,
        .consistency = "clean",
        .committed = true,
        .counts_agree = true,
        .volume_count = 1,
        .volumes = {{.id = "p2",
                     .label = "Da\033ta",
                     .serial = "1A2B3C4D5E6F7081",
                     .size_bytes = UINT64_C(4) << 40,
                     .log_clean = true}},
    };
    return summary;
}

static void expect_verdict(const struct run_summary *summary, bool dry_run, const char *words)
{
    CLEANUP_TEXT struct text text = TEXT_INIT(REPORT_BYTES_MAX);
    report_render_verdict(&text, summary, dry_run);
    assert_string_equal(text_str(&text), words);
    text_reset(&text);
    report_render(&text, summary, dry_run);
    assert_false(text.failed);
    assert_int_equal(strncmp(text_str(&text), words, strlen(words)), 0);
}

static void expect_in_report(const struct run_summary *summary, const char *words)
{
    CLEANUP_TEXT struct text text = TEXT_INIT(REPORT_BYTES_MAX);
    report_render(&text, summary, false);
    if (strstr(text_str(&text), words) == NULL) {
        fail_msg("\"%s\" is not in: %s", words, text_str(&text));
    }
}

static void test_clean(void **state)
{
    (void)state;
    CLEANUP_FREE struct run_summary *summary = new_summary();
    expect_verdict(summary, false,
                   "Everything is in gs://b/p and proven: 12,345 files, 3.2 TiB, in 2 h 14 min.");
    expect_in_report(summary, "  The numbers add up.\n");
    expect_in_report(summary, "manifest: gs://b/p/.winch/runs/20261129T220312Z-7f3a9c01/run.json");
    expect_in_report(summary, "p2 \"Da\\x1bta\", 4.0 TiB, serial 1A2B3C4D5E6F7081\n");
    summary->uploaded--;
    summary->failed++;
    summary->accepted++;
    expect_verdict(summary, false,
                   "Everything but 1 accepted entry is in gs://b/p and proven: 12,344 files, "
                   "3.2 TiB, in 2 h 14 min.");
}

static void test_not_clean(void **state)
{
    (void)state;
    CLEANUP_FREE struct run_summary *summary = new_summary();
    summary->exit_status = EXIT_STATUS_NOT_CLEAN;
    summary->uploaded -= 3;
    summary->failed = 3;
    summary->reasons[0] = (struct run_reason_count){REASON_EFS, 1};
    summary->reasons[1] = (struct run_reason_count){REASON_CONFLICT, 2};
    summary->reason_count = 2;
    expect_verdict(summary, false,
                   "Finished, but 3 entries are NOT in the bucket. 12,342 files, 3.2 TiB, are in "
                   "gs://b/p and proven, in 2 h 14 min.");
    expect_in_report(summary, "  The numbers add up.\n");
    expect_in_report(summary, "\n            2  conflict: An object");
    expect_in_report(summary, "\n            1  efs: Encrypted by Windows");
}

static void test_numbers_disagree(void **state)
{
    (void)state;
    CLEANUP_FREE struct run_summary *summary = new_summary();
    summary->exit_status = EXIT_STATUS_INTERNAL;
    summary->counts_agree = false;
    summary->directories++;
    expect_verdict(
        summary, false,
        "Do not rely on this run: its numbers do not add up. This is an error of winch.");
    expect_in_report(summary, "THE NUMBERS DO NOT ADD UP: the sum is 12,391.");
}

static void test_stopped(void **state)
{
    (void)state;
    CLEANUP_FREE struct run_summary *summary = new_summary();
    summary->committed = false;
    summary->streams_uploaded = 1234;
    summary->objects_total = 5678;
    summary->bytes = 1 << 30;
    summary->bytes_total = UINT64_C(3) << 30;
    summary->exit_status = EXIT_STATUS_TERMINATED;
    expect_verdict(summary, false,
                   "Stopped by a signal. 1,234 of 5,678 streams (1.0 GiB of 3.0 GiB) are done "
                   "so far. The same command resumes.");
    expect_in_report(summary, "There is no manifest yet");

    summary->exit_status = EXIT_STATUS_TEMPORARY;
    (void)snprintf(summary->error, sizeof(summary->error), "The network is gone.");
    expect_verdict(summary, false,
                   "Stopped: The network is gone.\n1,234 of 5,678 streams (1.0 GiB of 3.0 GiB) are "
                   "done so far. The same command resumes.");

    summary->exit_status = EXIT_STATUS_SOURCE;
    summary->streams_uploaded = 0;
    summary->run[0] = '\0';
    (void)snprintf(summary->error, sizeof(summary->error), "/dev/sdb\033: is no NTFS.");
    expect_verdict(summary, false, "Stopped: /dev/sdb\\x1b: is no NTFS.");
}

static void test_dry_run(void **state)
{
    (void)state;
    CLEANUP_FREE struct run_summary *summary = new_summary();
    summary->run[0] = '\0';
    summary->planned = (struct plan_totals){
        .entries_send = 1000, .objects = 1001, .bytes = 2048, .requests = 1100};
    expect_verdict(summary, true,
                   "Dry run, nothing was written: 1,000 files, 2.0 KiB, would go to gs://b/p.");
    summary->failed = 1;
    summary->exit_status = EXIT_STATUS_NOT_CLEAN;
    expect_verdict(summary, true,
                   "Dry run, nothing was written: 1,000 files, 2.0 KiB, would go to gs://b/p; 1 "
                   "entry would FAIL.");
    CLEANUP_TEXT struct text text = TEXT_INIT(REPORT_BYTES_MAX);
    report_json(&text, summary, true);
    assert_non_null(strstr(text_str(&text), ",\"dry_run\":true,"));
    assert_non_null(strstr(text_str(&text), "{\"run\":null,"));
}

static void test_json(void **state)
{
    (void)state;
    CLEANUP_FREE struct run_summary *summary = new_summary();
    summary->reasons[0] = (struct run_reason_count){REASON_EFS, 1};
    summary->reason_count = 1;
    char warning[] = "a \"warning\"";
    summary->warnings[0] = warning;
    summary->warning_count = 1;
    CLEANUP_TEXT struct text text = TEXT_INIT(REPORT_BYTES_MAX);
    report_json(&text, summary, false);
    assert_string_equal(
        text_str(&text),
        "{\"run\":\"20261129T220312Z-7f3a9c01\",\"source\":{\"path\":\"/dev/sdb\",\"volumes\":[{"
        "\"id\":\"p2\",\"folder\":\"\",\"label\":\"Da\\u001bta\",\"serial\":\"1A2B3C4D5E6F7081\","
        "\"bytes\":4398046511104,\"dirty\":false,\"hibernated\":false}]},\"destination\":"
        "\"gs://b/p\",\"records_in_use\":12390,\"extension\":5,\"uploaded\":12345,"
        "\"directories\":25,\"links\":5,\"excluded\":10,\"failed\":0,\"accepted\":0,\"reasons\":"
        "{\"efs\":1},\"streams_uploaded\":12350,\"streams_failed\":0,\"names\":0,\"bytes\":"
        "3518437208883,\"already_present\":0,\"paths_not_found\":0,"
        "\"requests\":13000,\"seconds\":"
        "8040.000,"
        "\"limited_by\":\"disk\",\"consistency\":{\"asked\":null,\"got\":\"clean\"},\"warnings\":"
        "[\"a \\\"warning\\\"\"],\"resumed\":false,\"exit\":0}");
}

static void test_reasons(void **state)
{
    (void)state;
    assert_non_null(reason_find(REASON_DEDUP));
    assert_non_null(reason_find(REASON_UPLOAD_REFUSED));
    assert_null(reason_find(REASON_EXCLUDED));
    assert_null(reason_find(""));
    size_t count = 0;
    while (reason_at(count) != NULL) {
        count++;
    }
    assert_int_equal(count, 14);
}

static void test_disks(void **state)
{
    (void)state;
    struct disk_partition partitions[] = {
        {.number = 2,
         .size_bytes = UINT64_C(100) << 30,
         .content = DISK_NTFS,
         .content_name = "NTFS",
         .kind = "ntfs",
         .label = "Da\033ta",
         .serial = "1A2B3C4D5E6F7081",
         .offset_bytes = 1048576},
        {.number = 3,
         .size_bytes = 1 << 30,
         .content = DISK_BITLOCKER,
         .content_name = "BitLocker",
         .advice = "Unlock it with 'cryptsetup bitlkOpen --readonly DEVICE NAME and more of it', "
                   "then go on."},
    };
    struct disk_layout layout = {.table = "gpt",
                                 .partitions = partitions,
                                 .count = 2,
                                 .warnings = {"a warning"},
                                 .warning_count = 1};
    struct disks_state states[] = {
        {.word = "dirty", .remarks = {"marked dirty"}, .remark_count = 1}, {0}};
    struct disks_entry entry = {.path = "/dev/sdb",
                                .model = "PersistentDisk",
                                .by_id = "",
                                .size_bytes = UINT64_C(101) << 30,
                                .sector_bytes = 512,
                                .layout = &layout,
                                .states = states,
                                .error = ""};
    CLEANUP_TEXT struct text text = TEXT_INIT(65536);
    disks_render(&text, &entry);
    assert_string_equal(text_str(&text),
                        "/dev/sdb  101.0 GiB  PersistentDisk\n"
                        "                   a warning\n"
                        "    2   100.0 GiB  NTFS \"Da\\x1bta\"                 1A2B3C4D5E6F7081"
                        "  dirty\n"
                        "                   marked dirty\n"
                        "    3     1.0 GiB  BitLocker\n"
                        "                   Unlock it with\n"
                        "                   'cryptsetup bitlkOpen --readonly DEVICE NAME and more "
                        "of it',\n"
                        "                   then go on.\n");
    text_reset(&text);
    layout.count = 1;
    disks_render_json(&text, &entry);
    assert_string_equal(
        text_str(&text),
        "{\"path\":\"/dev/"
        "sdb\",\"size\":108447924224,\"sector\":512,\"table\":\"gpt\",\"guid\":\"\","
        "\"model\":\"PersistentDisk\",\"by_id\":\"\",\"in_use\":false,\"partitions\":[{\"number\":"
        "2,"
        "\"offset\":1048576,\"size\":107374182400,\"content\":\"NTFS\",\"kind\":\"ntfs\",\"label\":"
        "\"Da\\u001bta\",\"serial\":\"1A2B3C4D5E6F7081\",\"role\":\"data\",\"type\":\"\",\"guid\":"
        "\"\",\"name\":\"\",\"beyond_bytes\":0,\"state\":\"dirty\",\"remarks\":[\"marked dirty\"],"
        "\"advice\":\"\"}],\"warnings\":[\"a warning\"]}");
    text_reset(&text);
    entry.layout = NULL;
    entry.error = "no permission";
    disks_render(&text, &entry);
    assert_non_null(strstr(text_str(&text), "no permission\n"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_clean),   cmocka_unit_test(test_not_clean),
        cmocka_unit_test(test_stopped), cmocka_unit_test(test_numbers_disagree),
        cmocka_unit_test(test_dry_run), cmocka_unit_test(test_json),
        cmocka_unit_test(test_reasons), cmocka_unit_test(test_disks),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
