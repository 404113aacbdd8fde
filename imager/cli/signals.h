/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * signals: the first SIGINT, SIGTERM or SIGHUP asks the run to finish what is in flight, a further
 * SIGINT or SIGTERM ends the program at once. Signals belong to the process, so this is the one
 * place with variables of the file.
 */
#ifndef WINCH_SIGNALS_H
#define WINCH_SIGNALS_H

#include <stdbool.h>

/* From now on the first signal raises the flag that this returns, which lives as long as the
 * process. `speaks`: a sentence then goes to standard error. */
_Atomic bool *signals_catch(bool speaks);

/* The terminal's last line is a bar that has to be cleared before anything is printed. */
void signals_set_line(bool is_drawn);

/* The signal that stopped the run, 0 if none did. */
int signals_caught(void);

#endif
