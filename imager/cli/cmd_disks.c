/* SPDX-License-Identifier: GPL-3.0-or-later */
/* winch disks: attached disks, or the images that are named, and what stands on them. */
#include "cli/command.h"
#include "cli/disks_render.h"

#include <stdlib.h>
#include <string.h>

/* A machine has far fewer disks than this. */
enum { OUTPUT_BYTES_MAX = 16 << 20 };

struct disks_options {
    bool json;
    struct option_list images;
};

struct listing {
    bool json;
    struct text text;
    size_t count;
    enum exit_status status;
};

static const struct option table[] = {
    {OPTION_HEADING, .help = "Options:"},
    {OPTION_FLAG, "--json", NULL, "one JSON object instead of the table.",
     .offset = offsetof(struct disks_options, json)},
    {OPTION_FLAG, "--help", NULL, "show this.", .offset = offsetof(struct disks_options, json)},
};

const struct option_command disks_command = {
    .name = "disks",
    .synopsis = "winch disks [IMAGE...] [--json]",
    .about = "Lists the attached disks, or the image files that are named, with their partitions: "
             "number,\nsize, content, label, serial. The number or the label goes to "
             "winch migrate --volume.\nNothing is written to any disk.",
    .options = table,
    .option_count = ARRAY_LEN(table),
    .notes = "Reading a device usually takes root.\n"
             "\n"
             "Exit codes: 0; 2 mistake in the command line; 3 an attached disk could not be read;\n"
             "6 a named image could not be read; 75 no memory; 1 any other.\n",
};

static enum exit_status list(const struct disks_options *options);
static int list_device(void *self, const struct disk_device *device, struct error *err);
static void list_one(struct listing *listing, const struct disk_device *device, const char *path,
                     enum exit_status failure);
static int look_at_volumes(struct disk *disk, const struct disk_layout *layout,
                           struct disks_state **ret_states, struct error *err);
static enum exit_status worse(enum exit_status before, enum exit_status now);
static void add(struct listing *listing, const struct disks_entry *entry);

enum exit_status cmd_disks(int argc, char **argv)
{
    struct disks_options options = {0};
    struct option_mistakes mistakes = OPTION_MISTAKES_INIT;
    enum exit_status status;
    if (options_parse(&disks_command, argc, argv, &options, &options.images, &mistakes) ==
        OPTIONS_HELP) {
        status = command_print_help(&disks_command);
    } else if (mistakes.count > 0) {
        if (options.json) {
            CLEANUP_TEXT struct text json = TEXT_INIT(OUTPUT_BYTES_MAX);
            text_add(&json, "{\"disks\":[],\"error\":");
            text_add_json(&json, text_str(&mistakes.text), mistakes.text.len);
            text_printf(&json, ",\"exit\":%d}\n", EXIT_STATUS_USAGE);
            (void)command_print(&json); /* the mistake counts more */
        }
        status = command_refuse(&disks_command, &mistakes);
    } else {
        status = list(&options);
    }
    option_list_clear(&options.images);
    option_mistakes_clear(&mistakes);
    return status;
}

static enum exit_status list(const struct disks_options *options)
{
    struct listing listing = {.json = options->json, .text = TEXT_INIT(OUTPUT_BYTES_MAX)};
    if (listing.json) {
        text_add(&listing.text, "{\"disks\":[");
    }
    struct error err = {0};
    for (size_t i = 0; i < options->images.count; i++) {
        list_one(&listing, NULL, options->images.items[i], EXIT_STATUS_SOURCE);
    }
    if (options->images.count == 0 && disk_list(list_device, &listing, &err) < 0) {
        (void)fprintf(stderr, "winch disks: %s\n", err.message);
        listing.status =
            err.exit_status == EXIT_STATUS_CLEAN ? EXIT_STATUS_FAILED : err.exit_status;
    } else if (listing.count == 0 && !listing.json) {
        text_add(&listing.text, "No disks are attached. An image file can be given as an "
                                "argument.\n");
    }
    if (listing.json) {
        text_add(&listing.text, "]");
        if (err.message[0] != '\0') {
            text_add(&listing.text, ",\"error\":");
            text_add_json(&listing.text, err.message, strlen(err.message));
        }
        text_printf(&listing.text, ",\"exit\":%d}\n", (int)listing.status);
    }
    enum exit_status printed = command_print(&listing.text);
    text_free(&listing.text);
    return listing.status == EXIT_STATUS_CLEAN ? printed : listing.status;
}

static int list_device(void *self, const struct disk_device *device, struct error *err)
{
    (void)err; /* a device that cannot be read is told and stops nothing */
    list_one(self, device, device->path, EXIT_STATUS_NOT_CLEAN);
    return 0;
}

/* `device` is NULL for an image. `failure` is the exit status if it cannot be read. */
static void list_one(struct listing *listing, const struct disk_device *device, const char *path,
                     enum exit_status failure)
{
    struct disks_entry entry = {
        .path = path,
        .model = device == NULL ? "" : device->model,
        .by_id = device == NULL ? "" : device->by_id,
        .is_system = device != NULL && device->is_system,
        .size_bytes = device == NULL ? 0 : device->size_bytes,
        .error = "",
    };
    struct error err = {0};
    struct disk_layout layout = {0};
    CLEANUP_FREE struct disks_state *states = NULL;
    struct disk *disk = disk_open(path, &err);
    if (disk != NULL) {
        entry.size_bytes = disk_size_bytes(disk);
        entry.sector_bytes = disk_sector_bytes(disk);
    }
    if (disk != NULL && disk_read_layout(disk, &layout, &err) == 0 &&
        look_at_volumes(disk, &layout, &states, &err) == 0) {
        entry.layout = &layout;
        entry.states = states;
    } else {
        bool passing = err.kind == ERROR_STOP_RUN && err.exit_status == EXIT_STATUS_TEMPORARY;
        entry.error = err.message;
        /* That a named image cannot be read is the graver of the two. */
        if (listing->status != EXIT_STATUS_SOURCE) {
            listing->status = passing ? EXIT_STATUS_TEMPORARY : worse(listing->status, failure);
        }
    }
    add(listing, &entry);
    disk_layout_clear(&layout);
    disk_free(disk);
}

static int look_at_volumes(struct disk *disk, const struct disk_layout *layout,
                           struct disks_state **ret_states, struct error *err)
{
    *ret_states = calloc(layout->count + 1, sizeof(**ret_states));
    if (*ret_states == NULL) {
        return error_memory(err, disk_path(disk));
    }
    for (size_t i = 0; i < layout->count; i++) {
        if (disks_look(disk, &layout->partitions[i], &(*ret_states)[i], err) != 0) {
            return -1;
        }
    }
    return 0;
}

/* One that passes by itself counts more than a device that cannot be read. */
static enum exit_status worse(enum exit_status before, enum exit_status now)
{
    return before == EXIT_STATUS_TEMPORARY && now == EXIT_STATUS_NOT_CLEAN ? before : now;
}

static void add(struct listing *listing, const struct disks_entry *entry)
{
    const char *separator = listing->json ? "," : "\n";
    text_add(&listing->text, listing->count++ > 0 ? separator : "");
    if (listing->json) {
        disks_render_json(&listing->text, entry);
    } else {
        disks_render(&listing->text, entry);
    }
}
