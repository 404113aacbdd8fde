/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What --volume means, and what is missed when it means all. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <string.h>

#include "run/letter_case.h"
#include "run/volume_choice.h"

static struct disk_partition partitions[] = {
    {.number = 1, .content = DISK_RESERVED, .content_name = "BIOS boot"},
    {.number = 2, .content = DISK_NTFS, .content_name = "NTFS", .label = "Ärzte"},
    {.number = 3, .content = DISK_NTFS, .content_name = "NTFS", .label = "D:"},
    {.number = 4, .content = DISK_NTFS, .content_name = "NTFS", .role = DISK_ROLE_RECOVERY},
    {.number = 0, .content = DISK_LOST, .content_name = "broken chain", .advice = "look"},
};
static const struct disk_layout layout = {.partitions = partitions, .count = ARRAY_LEN(partitions)};

/* The number of the one that was chosen; 0 for several, or the negative exit status. */
static int choose(const char *wanted, struct error *err)
{
    const struct run_settings settings = {
        .source = "/dev/sdx", .volumes = &wanted, .volume_count = 1};
    bool selected[ARRAY_LEN(partitions)] = {false};
    int found = -1;

    *err = (struct error){0};
    if (volume_choice_make(&settings, &layout, selected, err) != 0) {
        return -(int)err->exit_status;
    }
    for (size_t i = 0; i < layout.count; i++) {
        if (selected[i]) {
            found = found == -1 ? (int)partitions[i].number : 0;
        }
    }
    return found;
}

static void names(void **state)
{
    (void)state;
    struct error err;

    assert_int_equal(choose("all", &err), 0);
    assert_int_equal(choose("2", &err), 2);
    assert_int_equal(choose("p4", &err), 4);
    assert_int_equal(choose("äRZTE", &err), 2);
    assert_int_equal(choose("label:d:", &err), 3);
    assert_int_equal(choose("Arzte", &err), -EXIT_STATUS_SOURCE);
    /* A place in the table that has nothing is no volume. */
    assert_int_equal(choose("0", &err), -EXIT_STATUS_SOURCE);
    assert_non_null(strstr(err.message, "broken chain"));
}

static void drive_letters(void **state)
{
    (void)state;
    static const char *const letters[] = {"D:", "d:", "X:", "C:\\"};
    struct error err;

    for (size_t i = 0; i < ARRAY_LEN(letters); i++) {
        assert_int_equal(choose(letters[i], &err), -EXIT_STATUS_USAGE);
        assert_non_null(strstr(err.message, "2 \"Ärzte\", 3 \"D:\", 4"));
    }
    assert_int_equal(choose("D:x", &err), -EXIT_STATUS_SOURCE);
}

static void what_is_missed(void **state)
{
    (void)state;
    static const char *const all[] = {"ALL"};
    static const char *const one[] = {"2"};
    const struct run_settings settings[] = {
        {.source = "a"},
        {.source = "a", .volumes = all, .volume_count = 1},
        {.source = "a", .volumes = one, .volume_count = 1},
    };
    static const enum disk_content contents[] = {DISK_LOST, DISK_UNREADABLE, DISK_UNKNOWN,
                                                 DISK_OTHER};

    for (size_t i = 0; i < ARRAY_LEN(settings); i++) {
        for (size_t j = 0; j < ARRAY_LEN(contents); j++) {
            struct disk_partition partition = {.content = contents[j]};
            assert_int_equal(volume_choice_misses(&settings[i], &partition), i < 2);
            partition.role = DISK_ROLE_SYSTEM;
            assert_false(volume_choice_misses(&settings[i], &partition));
        }
        assert_false(volume_choice_misses(&settings[i], &partitions[0]));
        assert_false(volume_choice_misses(&settings[i], &partitions[1]));
    }
}

static void letters_of_many_scripts(void **state)
{
    (void)state;
    assert_true(letter_case_equal("Straße ÀÞŸ", "sTRAẞE àþÿ"));
    assert_true(letter_case_equal("ΟΔΟΣ", "οδος"));
    assert_true(letter_case_equal("ЁЖ Ђ", "ёж ђ"));
    assert_true(letter_case_equal("ＡＢ", "ａｂ"));
    assert_true(letter_case_equal("", ""));
    assert_false(letter_case_equal("a", "ab"));
    assert_false(letter_case_equal("ab", "a"));
    assert_false(letter_case_equal("×", "÷"));
    assert_false(letter_case_equal("I", "ı"));
    assert_false(letter_case_equal("@", "`"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(names),
        cmocka_unit_test(drive_letters),
        cmocka_unit_test(what_is_missed),
        cmocka_unit_test(letters_of_many_scripts),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
