/* SPDX-License-Identifier: GPL-3.0-or-later */
/* object_options: what the command line says about the objects of files beside their content. */
#ifndef WINCH_OBJECT_OPTIONS_H
#define WINCH_OBJECT_OPTIONS_H

#include "cli/options.h"

/* The name of a Cloud KMS key; NULL is fine. */
void object_options_check_key(const char *key, struct option_mistakes *mistakes);
/* A Cache-Control value; NULL is fine. */
void object_options_check_cache_control(const char *value, struct option_mistakes *mistakes);
/* KEY=VALUE items as members of a JSON object, each with a comma behind it, appended to `ret_json`.
 * Together with the keys that winch adds they fit into GCS_METADATA_MAX. */
void object_options_read_metadata(const struct option_list *items, struct text *ret_json,
                                  struct option_mistakes *mistakes);

#endif
