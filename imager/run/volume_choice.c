/* SPDX-License-Identifier: GPL-3.0-or-later */
/* volume_choice: names and numbers against the layout of a disk. */
#include "run/volume_choice.h"
#include "run/letter_case.h"

#include <string.h>
#include <strings.h>

#define LABEL_PREFIX "label:"

/* Ways in which a partition can be meant, the first that fits any partition counts. */
enum way { WAY_ALL, WAY_NUMBER, WAY_LABEL, WAY_LABEL_ANY_CASE, WAY_COUNT };

static bool is_takeable(const struct disk_partition *partition)
{
    return partition->content == DISK_NTFS && partition->role == DISK_ROLE_DATA;
}

static bool is_meant(const char *wanted, enum way way, const struct disk_partition *partition)
{
    char number[16];
    bool label_only = strncasecmp(wanted, LABEL_PREFIX, sizeof(LABEL_PREFIX) - 1) == 0;
    const char *label = label_only ? wanted + sizeof(LABEL_PREFIX) - 1 : wanted;

    switch (way) {
    case WAY_ALL:
        return strcasecmp(wanted, "all") == 0 && is_takeable(partition);
    case WAY_NUMBER:
        (void)snprintf(number, sizeof(number), "%u", partition->number); /* ten digits at most */
        return strcmp(wanted, number) == 0 || (wanted[0] == 'p' && strcmp(wanted + 1, number) == 0);
    case WAY_LABEL:
        return partition->label[0] != '\0' && strcmp(label, partition->label) == 0;
    default:
        return partition->label[0] != '\0' && letter_case_equal(label, partition->label);
    }
}

void volume_choice_describe(const struct disk_partition *partition, struct text *text)
{
    if (partition->number > 0) {
        text_printf(text, "partition %u: ", partition->number);
    }
    text_add(text, partition->content_name);
    if (partition->label[0] != '\0') {
        text_add(text, " \"");
        text_add_shown(text, partition->label, strlen(partition->label), 40);
        text_add(text, "\"");
    }
    if (partition->advice[0] != '\0') {
        text_printf(text, " (%s)", partition->advice);
    }
}

static int check_content(const struct run_settings *settings,
                         const struct disk_partition *partition, struct error *err)
{
    if (partition->content == DISK_NTFS) {
        return 0;
    }
    CLEANUP_TEXT struct text what = TEXT_INIT(1000);
    volume_choice_describe(partition, &what);
    return error_stop(err, EXIT_STATUS_SOURCE, "%s: %s: no NTFS volume", settings->source,
                      text_str(&what));
}

static int refuse_ambiguous(const struct run_settings *settings, const struct disk_layout *layout,
                            const char *wanted, enum way way, struct error *err)
{
    CLEANUP_TEXT struct text numbers = TEXT_INIT(400);
    for (size_t i = 0; i < layout->count; i++) {
        if (is_meant(wanted, way, &layout->partitions[i])) {
            text_printf(&numbers, "%s%u", numbers.len > 0 ? ", " : "",
                        layout->partitions[i].number);
        }
    }
    return error_stop(err, EXIT_STATUS_USAGE,
                      "%s: more than one partition has the label \"%s\": %s. Give the number to "
                      "--volume.",
                      settings->source, wanted, text_str(&numbers));
}

/* "D:" or "D:\"; a label can be written with "label:" before it. */
static bool is_drive_letter(const char *wanted)
{
    size_t len = strlen(wanted);
    char letter = wanted[0];

    return ((letter >= 'A' && letter <= 'Z') || (letter >= 'a' && letter <= 'z')) &&
           wanted[1] == ':' && (len == 2 || (len == 3 && wanted[2] == '\\'));
}

static int refuse_letter(const struct run_settings *settings, const struct disk_layout *layout,
                         const char *wanted, struct error *err)
{
    CLEANUP_TEXT struct text found = TEXT_INIT(1000);
    for (size_t i = 0; i < layout->count && found.len < 500; i++) {
        const struct disk_partition *partition = &layout->partitions[i];
        if (partition->content == DISK_NTFS) {
            text_printf(&found, "%s%u", found.len > 0 ? ", " : "", partition->number);
            if (partition->label[0] != '\0') {
                text_add(&found, " \"");
                text_add_shown(&found, partition->label, strlen(partition->label), 40);
                text_add(&found, "\"");
            }
        }
    }
    return error_stop(err, EXIT_STATUS_USAGE,
                      "%s: no volume \"%s\": Windows keeps drive letters in its registry, not on "
                      "the disk they stand for. Give a number or a label to --volume: %s. `winch "
                      "disks %s` shows more.",
                      settings->source, wanted, found.len > 0 ? text_str(&found) : "no NTFS there",
                      settings->source);
}

static int nothing_found(const struct run_settings *settings, const struct disk_layout *layout,
                         const char *missing, struct error *err)
{
    CLEANUP_TEXT struct text found = TEXT_INIT(1000);
    for (size_t i = 0; i < layout->count && found.len < 700; i++) {
        text_add(&found, i > 0 ? "; " : "");
        volume_choice_describe(&layout->partitions[i], &found);
    }
    if (missing != NULL) {
        return error_stop(err, EXIT_STATUS_SOURCE,
                          "%s: no volume \"%s\" there. Found: %s. `winch disks %s` lists them.",
                          settings->source, missing, found.len > 0 ? text_str(&found) : "nothing",
                          settings->source);
    }
    return error_stop(err, EXIT_STATUS_SOURCE, "%s: no NTFS volume to take. Found: %s",
                      settings->source, found.len > 0 ? text_str(&found) : "nothing");
}

static int choose(const struct run_settings *settings, const struct disk_layout *layout,
                  const char *wanted, bool *selected, struct error *err)
{
    if (is_drive_letter(wanted)) {
        return refuse_letter(settings, layout, wanted, err);
    }
    for (enum way way = WAY_ALL; way < WAY_COUNT; way++) {
        size_t count = 0;
        for (size_t i = 0; i < layout->count; i++) {
            if (is_meant(wanted, way, &layout->partitions[i])) {
                selected[i] = true;
                count++;
            }
        }
        if (count > 1 && way >= WAY_LABEL) {
            return refuse_ambiguous(settings, layout, wanted, way, err);
        }
        if (count > 0) {
            return 0;
        }
    }
    return nothing_found(settings, layout, wanted, err);
}

int volume_choice_make(const struct run_settings *settings, const struct disk_layout *layout,
                       bool *selected, struct error *err)
{
    size_t count = 0;

    for (size_t i = 0; i < settings->volume_count; i++) {
        if (choose(settings, layout, settings->volumes[i], selected, err) != 0) {
            return -1;
        }
    }
    for (size_t i = 0; i < layout->count; i++) {
        if (settings->volume_count == 0) {
            selected[i] = is_takeable(&layout->partitions[i]);
        }
        if (selected[i] && check_content(settings, &layout->partitions[i], err) != 0) {
            return -1;
        }
        count += selected[i] ? 1 : 0;
    }
    return count > 0 ? 0 : nothing_found(settings, layout, NULL, err);
}

bool volume_choice_misses(const struct run_settings *settings,
                          const struct disk_partition *partition)
{
    bool all = settings->volume_count == 0;

    for (size_t i = 0; i < settings->volume_count; i++) {
        all = all || strcasecmp(settings->volumes[i], "all") == 0;
    }
    return all && partition->role == DISK_ROLE_DATA && partition->content != DISK_NTFS &&
           partition->content != DISK_RESERVED && partition->content != DISK_EMPTY;
}
