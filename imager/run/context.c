/* SPDX-License-Identifier: GPL-3.0-or-later */
/* context: the small things that every piece of a run needs. */
#include "run/context.h"

#include <string.h>

void run_stop(struct run *run, const struct error *err)
{
    (void)pthread_mutex_lock(&run->error_lock);
    if (run->error.kind == ERROR_NONE) {
        run->error = *err;
    }
    (void)pthread_mutex_unlock(&run->error_lock);
    run->halt = true;
}

void run_phase(struct run *run, const char *phase, uint64_t total)
{
    run->phase_done = 0;
    run->phase_total = total;
    run->phase_started_ms = clock_monotonic_ms();
    run->phase = phase;
}

static void say(const struct run *run, bool warning, const char *message)
{
    if (run->settings->on_message != NULL) {
        run->settings->on_message(run->settings->self, warning, message);
    }
}

void run_message(const struct run *run, bool warning, const char *fmt, ...)
{
    char message[1200];
    va_list arguments;
    va_start(arguments, fmt);
    (void)vsnprintf(message, sizeof(message), fmt, arguments); /* cut if too long */
    va_end(arguments);
    say(run, warning, message);
}

void run_warn(struct run *run, const char *fmt, ...)
{
    char message[1200];
    va_list arguments;
    va_start(arguments, fmt);
    (void)vsnprintf(message, sizeof(message), fmt, arguments); /* cut if too long */
    va_end(arguments);
    say(run, true, message);
    struct run_summary *summary = run->summary;
    if (summary->warning_count < RUN_WARNING_MAX) {
        char *copy = strdup(message);
        if (copy != NULL) {
            summary->warnings[summary->warning_count++] = copy;
        }
    }
}

void run_control_name(const struct run *run, const char *run_id, const char *tail,
                      struct text *text)
{
    text_printf(text, "%s%s.winch/runs/", run->url.prefix, run->url.prefix[0] != '\0' ? "/" : "");
    if (run_id != NULL) {
        text_printf(text, "%s/", run_id);
    }
    text_add(text, tail);
}

struct run_volume *run_volume_of(struct run *run, uint64_t task, uint64_t *ret_number)
{
    size_t i = run->volume_count - 1;
    while (i > 0 && run->volumes[i].first_task > task) {
        i--;
    }
    *ret_number = task - run->volumes[i].first_task;
    return &run->volumes[i];
}
