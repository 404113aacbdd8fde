/* SPDX-License-Identifier: GPL-3.0-or-later */
/* faults: reads fault scripts and decides which request is struck. */
#include "faults.h"

#include <pthread.h>
#include <stdatomic.h>
#include <string.h>

#define STALL_MAX_MS 3600000 /* one hour */

struct faults {
    pthread_mutex_t lock; /* guards the counters of all matches and the list */
    struct fault *first;
    struct fault **last_link;
    struct fault *disarmed; /* kept, because requests may still point to them */
    atomic_bool any;        /* spares the lock where there are none */
};

static const struct {
    const char *name;
    enum fault_action action;
} actions[] = {
    {"status", FAULT_STATUS},
    {"reset", FAULT_RESET},
    {"reset_after_bytes", FAULT_RESET_AFTER_BYTES},
    {"lost_reply", FAULT_LOST_REPLY},
    {"wrong_crc", FAULT_WRONG_CRC},
    {"stall", FAULT_STALL},
    {"cut_reply", FAULT_CUT_REPLY},
};

struct faults *faults_new(void)
{
    struct faults *faults = calloc(1, sizeof(*faults));
    if (faults != NULL) {
        (void)pthread_mutex_init(&faults->lock, NULL); /* cannot fail on Linux */
        faults->last_link = &faults->first;
    }
    return faults;
}

static void free_list(struct fault *fault)
{
    while (fault != NULL) {
        struct fault *next = fault->next;
        match_clear(&fault->match);
        cJSON_Delete(fault->headers);
        free(fault->body);
        free(fault);
        fault = next;
    }
}

void faults_free(struct faults *faults)
{
    if (faults != NULL) {
        free_list(faults->first);
        free_list(faults->disarmed);
        (void)pthread_mutex_destroy(&faults->lock);
        free(faults);
    }
}

static int parse_action(const cJSON *json, struct fault *fault, struct error *err)
{
    const char *name = match_string(json, "action");
    for (size_t i = 0; name != NULL && i < ARRAY_LEN(actions); i++) {
        if (strcmp(actions[i].name, name) == 0) {
            fault->action = actions[i].action;
        }
    }
    if (fault->action == FAULT_NONE) {
        return error_stop(err, EXIT_STATUS_USAGE, "unknown \"action\"");
    }
    return 0;
}

static int parse_fault(const cJSON *json, struct fault *fault, struct error *err)
{
    uint64_t status = 0;
    if (parse_action(json, fault, err) != 0 || match_parse(json, &fault->match, err) != 0 ||
        match_number(json, "status", 503, &status, err) != 0 ||
        match_number(json, "bytes", 0, &fault->after_bytes, err) != 0 ||
        match_number(json, "ms", 1000, &fault->stall_ms, err) != 0) {
        return -1;
    }
    if (status < 200 || status > 599 || fault->stall_ms > STALL_MAX_MS) {
        return error_stop(err, EXIT_STATUS_USAGE, "\"status\" or \"ms\" is out of range");
    }
    fault->status = (unsigned)status;
    fault->has_after_bytes = cJSON_HasObjectItem(json, "bytes");
    const char *body = match_string(json, "body");
    if (body != NULL) {
        fault->body = strdup(body);
    }
    const cJSON *headers = cJSON_GetObjectItemCaseSensitive(json, "headers");
    if (cJSON_IsObject(headers)) {
        fault->headers = cJSON_Duplicate(headers, true);
    }
    return 0;
}

static struct fault *parse_line(const char *line, size_t len, struct error *err)
{
    cJSON *json = cJSON_ParseWithLength(line, len);
    struct fault *fault = calloc(1, sizeof(*fault));
    int result = -1;
    if (fault == NULL) {
        (void)error_memory(err, "a fault");
    } else if (!cJSON_IsObject(json)) {
        (void)error_stop(err, EXIT_STATUS_USAGE, "not a JSON object");
    } else {
        result = parse_fault(json, fault, err);
    }
    cJSON_Delete(json);
    if (result != 0) {
        free_list(fault);
        return NULL;
    }
    return fault;
}

int faults_add_lines(struct faults *faults, const char *lines, struct error *err)
{
    struct fault *first = NULL;
    struct fault **link = &first;
    unsigned number = 1;
    for (const char *line = lines; *line != '\0'; number++) {
        size_t len = strcspn(line, "\n");
        if (strspn(line, " \t\r") < len && line[0] != '#') {
            *link = parse_line(line, len, err);
            if (*link == NULL) {
                free_list(first);
                return error_add(err, "fault in line %u", number);
            }
            link = &(*link)->next;
        }
        line += len;
        line += *line == '\n' ? 1 : 0;
    }
    if (first == NULL) {
        return 0;
    }
    (void)pthread_mutex_lock(&faults->lock);
    *faults->last_link = first;
    faults->last_link = link;
    atomic_store(&faults->any, true);
    (void)pthread_mutex_unlock(&faults->lock);
    return 0;
}

void faults_disarm(struct faults *faults)
{
    (void)pthread_mutex_lock(&faults->lock);
    *faults->last_link = faults->disarmed;
    faults->disarmed = faults->first;
    faults->first = NULL;
    faults->last_link = &faults->first;
    atomic_store(&faults->any, false);
    (void)pthread_mutex_unlock(&faults->lock);
}

struct fault_hit faults_strike(struct faults *faults, const struct match_subject *subject,
                               bool named)
{
    struct fault_hit hit = {0};
    if (!atomic_load_explicit(&faults->any, memory_order_relaxed)) {
        return hit;
    }
    (void)pthread_mutex_lock(&faults->lock);
    for (struct fault *fault = faults->first; fault != NULL; fault = fault->next) {
        bool about_name = fault->match.name_contains != NULL;
        /* Every fault counts its matches, also when another one strikes. */
        if (about_name == named && match_is_due(&fault->match, subject) &&
            hit.action == FAULT_NONE) {
            hit = (struct fault_hit){.action = fault->action, .fault = fault};
        }
    }
    (void)pthread_mutex_unlock(&faults->lock);
    return hit;
}
