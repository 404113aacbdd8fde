/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The state of an NTFS volume, in words. */
#include "cli/disks_render.h"

#include "volume/volume.h"

static void add_remarks(const struct volume_info *info, struct disks_state *state);

int disks_look(struct disk *disk, const struct disk_partition *partition,
               struct disks_state *ret_state, struct error *err)
{
    struct error cause = {0};

    *ret_state = (struct disks_state){0};
    if (partition->content != DISK_NTFS) {
        return 0;
    }
    struct volume *volume =
        volume_open(disk, partition->offset_bytes, partition->size_bytes, &cause);
    if (volume == NULL &&
        (cause.kind == ERROR_CANCELLED ||
         (cause.kind == ERROR_STOP_RUN && cause.exit_status == EXIT_STATUS_TEMPORARY))) {
        *err = cause;
        return -1;
    }
    if (volume == NULL) {
        ret_state->word = "damaged";
        (void)snprintf(ret_state->problem, sizeof(ret_state->problem), "cannot be opened: %s",
                       cause.message); /* may be cut */
        return 0;
    }
    const struct volume_info *info = volume_get_info(volume);
    (void)snprintf(ret_state->label, sizeof(ret_state->label), "%s", info->label);
    add_remarks(info, ret_state);
    volume_free(volume);
    return 0;
}

static void add_remarks(const struct volume_info *info, struct disks_state *state)
{
    const struct {
        bool holds;
        const char *word; /* the first that holds is the state; NULL: only a remark */
        const char *remark;
    } facts[] = {
        {info->hibernated, "hibernated",
         "Windows is hibernated on it: changes that only its memory holds are missing"},
        {info->log_cached, "cached",
         "Windows kept metadata in its cache (fast start-up): the newest changes may be missing"},
        {info->dirty, "dirty", "marked dirty: it was not unmounted cleanly"},
        {!info->log_clean, "log",
         "not unmounted cleanly: changes wait in its log, and winch reads it without them"},
        {info->mirror_differs, NULL, "$MFTMirr differs from $MFT: winch uses $MFT"},
    };

    for (size_t i = 0; i < ARRAY_LEN(facts); i++) {
        if (facts[i].holds) {
            state->word = state->word == NULL ? facts[i].word : state->word;
            state->remarks[state->remark_count++] = facts[i].remark;
        }
    }
    if (state->word == NULL) {
        state->word = "clean";
    }
}
