/* SPDX-License-Identifier: GPL-3.0-or-later */
/* holds: the list of armed holds. */
#include "holds.h"

#include <pthread.h>
#include <stdatomic.h>
#include <string.h>

struct hold {
    struct match match;
    enum hold_point point;
    struct hold *next;
};

struct holds {
    pthread_mutex_t lock; /* guards the list */
    struct hold *first;
    atomic_bool any; /* spares the lock where there are none */
};

struct holds *holds_new(void)
{
    struct holds *holds = calloc(1, sizeof(*holds));
    if (holds != NULL) {
        (void)pthread_mutex_init(&holds->lock, NULL); /* cannot fail on Linux */
    }
    return holds;
}

static void free_hold(struct hold *hold)
{
    match_clear(&hold->match);
    free(hold);
}

void holds_disarm(struct holds *holds)
{
    (void)pthread_mutex_lock(&holds->lock);
    while (holds->first != NULL) {
        struct hold *hold = holds->first;
        holds->first = hold->next;
        free_hold(hold);
    }
    atomic_store(&holds->any, false);
    (void)pthread_mutex_unlock(&holds->lock);
}

void holds_free(struct holds *holds)
{
    if (holds != NULL) {
        holds_disarm(holds);
        (void)pthread_mutex_destroy(&holds->lock);
        free(holds);
    }
}

int holds_arm(struct holds *holds, const cJSON *json, struct error *err)
{
    const char *when = match_string(json, "when");
    bool after = when != NULL && strcmp(when, "after") == 0;
    if (when != NULL && !after && strcmp(when, "before") != 0) {
        return error_stop(err, EXIT_STATUS_USAGE, "\"when\" is neither before nor after");
    }
    struct hold *hold = calloc(1, sizeof(*hold));
    if (hold == NULL) {
        return error_memory(err, "a hold");
    }
    if (match_parse(json, &hold->match, err) != 0) {
        free_hold(hold);
        return -1;
    }
    hold->match.nth = hold->match.nth == 0 ? 1 : hold->match.nth;
    hold->match.every = 0;
    hold->point = after ? HOLD_AFTER : HOLD_BEFORE;
    (void)pthread_mutex_lock(&holds->lock);
    hold->next = holds->first;
    holds->first = hold;
    atomic_store(&holds->any, true);
    (void)pthread_mutex_unlock(&holds->lock);
    return 0;
}

enum hold_point holds_check(struct holds *holds, const struct match_subject *subject)
{
    enum hold_point point = HOLD_NONE;
    if (!atomic_load_explicit(&holds->any, memory_order_relaxed)) {
        return point;
    }
    (void)pthread_mutex_lock(&holds->lock);
    for (struct hold **link = &holds->first; *link != NULL;) {
        struct hold *hold = *link;
        if (match_is_due(&hold->match, subject) && point == HOLD_NONE) {
            point = hold->point;
            *link = hold->next;
            free_hold(hold);
        } else {
            link = &hold->next;
        }
    }
    atomic_store(&holds->any, holds->first != NULL);
    (void)pthread_mutex_unlock(&holds->lock);
    return point;
}
