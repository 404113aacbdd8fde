/* SPDX-License-Identifier: GPL-3.0-or-later */
/* wrap: words in lines that fit the narrowest usual terminal. */
#ifndef WINCH_WRAP_H
#define WINCH_WRAP_H

#include "base/base.h"

/* Appends the words and a newline. The cursor stands at column `indent`, where further lines begin
 * as well. What stands in single quotes is not broken: commands can be copied. */
void wrap_add(struct text *text, const char *words, size_t indent);

#endif
