/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Private to base: which characters do nothing but stand there. */
#ifndef WINCH_BASE_TEXT_SHOWN_H
#define WINCH_BASE_TEXT_SHOWN_H

#include <stdbool.h>
#include <stdint.h>

/* False for what moves a cursor, turns the text, or cannot be seen; and for UINT32_MAX, an invalid
 * byte. */
bool text_is_harmless(uint32_t code_point);

#endif
