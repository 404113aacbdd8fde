/* SPDX-License-Identifier: GPL-3.0-or-later */
/* processor: how many we may use; a container or a CPU set may leave us fewer than the machine has.
 */
#include "base/base.h"

#include <sched.h>

unsigned processor_count(void)
{
    cpu_set_t set;
    CPU_ZERO(&set);
    int count = sched_getaffinity(0, sizeof(set), &set) == 0 ? CPU_COUNT(&set) : 1;
    return count > 0 ? (unsigned)count : 1;
}
