/* SPDX-License-Identifier: GPL-3.0-or-later */
/* letter_case: labels that differ in case only. */
#ifndef WINCH_RUN_LETTER_CASE_H
#define WINCH_RUN_LETTER_CASE_H

#include "base/base.h"

/* Are the two, in UTF-8, the same when upper and lower case of any script are? No accent or width
 * is made equal. What is not UTF-8 equals what is not. Thread: any. */
bool letter_case_equal(const char *a, const char *b);

#endif
