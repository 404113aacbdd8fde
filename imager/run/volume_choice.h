/* SPDX-License-Identifier: GPL-3.0-or-later */
/* volume_choice: which partitions --volume means. */
#ifndef WINCH_RUN_VOLUME_CHOICE_H
#define WINCH_RUN_VOLUME_CHOICE_H

#include "disk/disk.h"
#include "run/run.h"

/* Sets selected[i] for each partition of the layout that is to be taken. A name is looked up as
 * "all" (the NTFS volumes with data), as a number (3 or p3), as a label as written, as a label in
 * another case (that of every script), in this order; "label:NAME" is a label only. Without
 * --volume: as "all". STOP_RUN exit 6: a name that nothing has, a partition without NTFS, nothing
 * to take; exit 2: a label that several have, a drive letter (which is not on the disk: the message
 * lists the volumes). */
int volume_choice_make(const struct run_settings *settings, const struct disk_layout *layout,
                       bool *selected, struct error *err) WARN_UNUSED;

/* Was "all" meant, and this partition, which was not taken, may hold data? Not so for system and
 * recovery partitions and for what cannot hold files. */
bool volume_choice_misses(const struct run_settings *settings,
                          const struct disk_partition *partition);

/* "partition 2: NTFS "DATA"", with the advice if there is one. */
void volume_choice_describe(const struct disk_partition *partition, struct text *text);

#endif
