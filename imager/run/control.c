/* SPDX-License-Identifier: GPL-3.0-or-later */
/* control: upload under a name, or beside it when all that is allowed is to create. */
#include "run/control.h"

#include <string.h>

#define NAMES_MAX 100 /* sessions that died while they uploaded the manifest */

static int upload_once(struct run *run, const char *tail, const char *content_type,
                       const void *bytes, size_t len, struct text *name,
                       struct upload_result *result, struct error *err)
{
    text_reset(name);
    if (strncmp(tail, ".winch/", strlen(".winch/")) == 0) {
        text_printf(name, "%s%s%s", run->url.prefix, run->url.prefix[0] != '\0' ? "/" : "", tail);
    } else {
        run_control_name(run, run->identity.run, tail, name);
    }
    if (name->failed) {
        return error_memory(err, "the name of a control object");
    }
    struct upload_object object = {.name = name->data, .content_type = content_type};
    return upload_control(run->uploader, &object, bytes, len, result, err);
}

/* The name is taken, and neither looking nor replacing is allowed. */
static bool is_out_of_reach(const struct run *run, const struct error *err)
{
    return err->kind == ERROR_FAIL_ENTRY && err->reason != NULL &&
           (strcmp(err->reason, REASON_PRESENT_UNVERIFIED) == 0 ||
            !run_has(run, GCS_RIGHT_GET | GCS_RIGHT_DELETE));
}

int control_upload(struct run *run, char tail[CONTROL_TAIL_MAX], const char *content_type,
                   const void *bytes, size_t len, struct text *ret_name,
                   struct upload_result *ret_result, struct error *err)
{
    CLEANUP_TEXT struct text name = TEXT_INIT(GCS_NAME_MAX * 2);
    char wanted[CONTROL_TAIL_MAX];
    (void)snprintf(wanted, sizeof(wanted), "%s", tail);
    for (unsigned i = 1; i <= NAMES_MAX; i++) {
        struct error failure = {0};
        if (upload_once(run, tail, content_type, bytes, len, &name, ret_result, &failure) == 0) {
            if (ret_name != NULL) {
                text_add(ret_name, name.data);
            }
            return 0;
        }
        if (!is_out_of_reach(run, &failure) || i == NAMES_MAX) {
            *err = failure;
            return -1;
        }
        (void)snprintf(tail, CONTROL_TAIL_MAX, "%.112s-%u", wanted, i + 1);
    }
    return -1;
}

int control_upload_fixed(struct run *run, const char *tail, const char *content_type,
                         const void *bytes, size_t len, bool *ret_taken, struct error *err)
{
    CLEANUP_TEXT struct text name = TEXT_INIT(GCS_NAME_MAX * 2);
    struct upload_result result;
    struct error failure = {0};
    *ret_taken = false;
    if (upload_once(run, tail, content_type, bytes, len, &name, &result, &failure) == 0) {
        return 0;
    }
    if (is_out_of_reach(run, &failure)) {
        *ret_taken = true;
        return 0;
    }
    *err = failure;
    return -1;
}
