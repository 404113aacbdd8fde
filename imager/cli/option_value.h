/* SPDX-License-Identifier: GPL-3.0-or-later */
/* option_value: private to options: checks one value and puts it where the table says. */
#ifndef WINCH_OPTION_VALUE_H
#define WINCH_OPTION_VALUE_H

#include "cli/options.h"

/* Where the value of `option` lives in `values`. */
void *option_place(const struct option *option, void *values);

/* For every type that takes a value. */
void option_take_value(const struct option *option, void *values, const char *value,
                       struct option_mistakes *mistakes);

#endif
