/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Private to volume: are the values that an entry carries whole what they claim to be? */
#ifndef WINCH_VOLUME_VALUES_H
#define WINCH_VOLUME_VALUES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Each entry says where the next begins, and they fill the value: as ntfs-3g checks it. */
bool values_ea_good(const uint8_t *value, size_t len);
/* The header says how long the data are, with a GUID for tags that are not Microsoft's: as ntfs-3g
 * checks it. */
bool values_reparse_good(const uint8_t *value, size_t len);
/* A self-relative descriptor of revision 1, whose parts begin inside it. */
bool values_security_good(const uint8_t *value, size_t len);

/* NULL, or what is wrong with the value of an attribute of that type (a sentence part); `value` is
 * NULL when it could not be read. */
const char *values_problem(uint32_t type, const uint8_t *value, size_t len);

#endif
