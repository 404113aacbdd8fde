/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What a status and a reason mean. The one table that says so is here; http decides beforehand
 * which statuses are tried again, so the 5xx rows are for what is left when all tries are used up.
 */
#include "gcs_internal.h"

#include <ctype.h>
#include <string.h>

#define WRITES (GCS_CALL_INSERT | GCS_CALL_COMPOSE)
#define OBJECTS (WRITES | GCS_CALL_DELETE | GCS_CALL_GET | GCS_CALL_READ)
#define ON_BUCKET (GCS_CALL_LIST | GCS_CALL_BUCKET | GCS_CALL_RIGHTS)
#define ALL_CALLS (OBJECTS | ON_BUCKET)
/* Their absence only narrows what is offered. */
#define OPTIONAL (GCS_CALL_BUCKET | GCS_CALL_RIGHTS)

/* What the server's error body says, shown-escaped; empty when it says nothing readable. */
struct detail {
    char reason[64];
    char message[400];
};

struct answer_row {
    int status;         /* 0: any */
    unsigned calls;     /* gcs_call bits */
    const char *reason; /* the reason begins with this; NULL: any */
    const char *part;   /* the message contains this, in any case; NULL: any */
    enum gcs_answer answer;
    enum error_kind kind;
    enum exit_status exit_status;
    const char *advice; /* what to do next, or "" */
};

#define RETRY_LATER GCS_ERROR, ERROR_RETRY, EXIT_STATUS_TEMPORARY
#define STOP(status) GCS_ERROR, ERROR_STOP_RUN, EXIT_STATUS_##status
#define NO_SUCH_CALL GCS_UNSUPPORTED, ERROR_RETRY, EXIT_STATUS_TEMPORARY
#define ENTRY(answer) answer, ERROR_FAIL_ENTRY, EXIT_STATUS_NOT_CLEAN
#define DENIED GCS_DENIED, ERROR_STOP_RUN, EXIT_STATUS_RIGHTS

/* The first row that fits wins. */
static const struct answer_row rows[] = {
    /* Rates and quotas. */
    {403, ALL_CALLS, "rateLimitExceeded", NULL, RETRY_LATER, "the server asks for less at once"},
    {403, ALL_CALLS, "userRateLimitExceeded", NULL, RETRY_LATER,
     "the server asks for less at once"},
    {0, ALL_CALLS, "quotaExceeded", NULL, STOP(DESTINATION), "raise the project's quota"},
    {0, ALL_CALLS, "dailyLimitExceeded", NULL, STOP(DESTINATION), "raise the project's quota"},
    /* Money, keys and policy: the same for every object. */
    {0, ALL_CALLS, "userProject", NULL, STOP(DESTINATION), "state --billing-project"},
    {400, ALL_CALLS, NULL, "requester pays", STOP(DESTINATION), "state --billing-project"},
    {0, ALL_CALLS, "accountDisabled", NULL, STOP(DESTINATION), "check the project's billing"},
    {0, ALL_CALLS, "billing", NULL, STOP(DESTINATION), "check the project's billing"},
    {0, ALL_CALLS, NULL, "billing account", STOP(DESTINATION), "check the project's billing"},
    {0, ALL_CALLS, "cloudKms", NULL, STOP(DESTINATION),
     "check the bucket's encryption key and the service agent's right to use it"},
    {0, ALL_CALLS, "orgPolicy", NULL, STOP(DESTINATION), "an organisation policy forbids it"},
    {412, ALL_CALLS, NULL, "constraints/", STOP(DESTINATION), "an organisation policy forbids it"},
    /* This object is protected. */
    {403, ALL_CALLS, "retentionPolicyNotMet", NULL, ENTRY(GCS_REFUSED), ""},
    {403, ALL_CALLS, "objectUnderActiveHold", NULL, ENTRY(GCS_REFUSED), ""},
    /* The name is taken. */
    {412, ALL_CALLS, NULL, NULL, ENTRY(GCS_EXISTS), ""},
    {403, WRITES, NULL, "storage.objects.delete", ENTRY(GCS_EXISTS), ""},
    /* Rights. */
    {401, ALL_CALLS, NULL, NULL, STOP(RIGHTS), "check the credentials"},
    {403, WRITES, NULL, "scope", STOP(RIGHTS),
     "the VM's access scopes are too narrow: give it devstorage.read_write"},
    {403, WRITES, NULL, NULL, STOP(RIGHTS),
     "grant the right, or check the bucket's name: a bucket that does not exist looks the same"},
    {403, ALL_CALLS, NULL, NULL, DENIED, "grant the right, or check the bucket's name"},
    /* Not there. */
    {404, ALL_CALLS, NULL, "bucket does not exist", STOP(DESTINATION), "check the bucket's name"},
    {404, ALL_CALLS, "NoSuchBucket", NULL, STOP(DESTINATION), "check the bucket's name"},
    {404, GCS_CALL_RIGHTS, NULL, NULL, NO_SUCH_CALL, ""},
    {404, GCS_CALL_INSERT | ON_BUCKET, NULL, NULL, STOP(DESTINATION), "check the bucket's name"},
    {404, OBJECTS, NULL, NULL, ENTRY(GCS_NOT_FOUND), ""},
    /* Another checksum than the one sent. */
    {400, GCS_CALL_INSERT, "InvalidDigest", NULL, ENTRY(GCS_CHECKSUM), ""},
    {400, GCS_CALL_INSERT, "BadDigest", NULL, ENTRY(GCS_CHECKSUM), ""},
    {400, GCS_CALL_INSERT, "CrcMismatch", NULL, ENTRY(GCS_CHECKSUM), ""},
    {400, GCS_CALL_INSERT, NULL, "crc32c", ENTRY(GCS_CHECKSUM), ""},
    {400, GCS_CALL_INSERT, NULL, "checksum", ENTRY(GCS_CHECKSUM), ""},
    {400, GCS_CALL_INSERT, NULL, "match calculated", ENTRY(GCS_CHECKSUM), ""},
    /* The rest: the server's trouble may pass, a refusal of an object does not. */
    {408, ALL_CALLS, NULL, NULL, RETRY_LATER, ""},
    {409, ALL_CALLS, NULL, NULL, RETRY_LATER, ""},
    {410, ALL_CALLS, NULL, NULL, RETRY_LATER, ""},
    {429, ALL_CALLS, NULL, NULL, RETRY_LATER, "the server asks for less at once"},
    {400, OBJECTS, NULL, NULL, ENTRY(GCS_REFUSED), ""},
    {411, OBJECTS, NULL, NULL, ENTRY(GCS_REFUSED), ""},
    {413, OBJECTS, NULL, NULL, ENTRY(GCS_REFUSED), ""},
    {414, OBJECTS, NULL, NULL, ENTRY(GCS_REFUSED), ""},
    {416, OBJECTS, NULL, NULL, ENTRY(GCS_REFUSED), ""},
    {422, OBJECTS, NULL, NULL, ENTRY(GCS_REFUSED), ""},
    {400, GCS_CALL_RIGHTS, NULL, NULL, NO_SUCH_CALL, ""},
    {405, OPTIONAL, NULL, NULL, NO_SUCH_CALL, ""},
    {501, OPTIONAL, NULL, NULL, NO_SUCH_CALL, ""},
    {400, ON_BUCKET, NULL, NULL, STOP(DESTINATION), ""},
    {0, ALL_CALLS, NULL, NULL, RETRY_LATER, ""},
};

static const struct {
    enum gcs_call call;
    const char *verb;
    const char *right;
} calls[] = {
    {GCS_CALL_INSERT, "upload", "storage.objects.create"},
    {GCS_CALL_COMPOSE, "compose", "storage.objects.create and storage.objects.get"},
    {GCS_CALL_DELETE, "delete", "storage.objects.delete"},
    {GCS_CALL_GET, "look at", "storage.objects.get"},
    {GCS_CALL_READ, "read", "storage.objects.get"},
    {GCS_CALL_LIST, "list", "storage.objects.list"},
    {GCS_CALL_BUCKET, "look at", "storage.buckets.get"},
    {GCS_CALL_RIGHTS, "ask for rights on", "storage.buckets.get"},
};

static size_t call_index(enum gcs_call call)
{
    for (size_t i = 0; i < ARRAY_LEN(calls); i++) {
        if (calls[i].call == call) {
            return i;
        }
    }
    return 0;
}

/* -1 without memory: what a server said must not be read as if it had said less. */
static int copy_shown(char *out, size_t size, const char *string, size_t len)
{
    CLEANUP_TEXT struct text shown = TEXT_INIT(4096);
    /* A shown byte takes at most six, and the ellipsis three. */
    text_add_shown(&shown, string, len, size / 2);
    if (shown.no_memory) {
        return -1;
    }
    size_t keep = shown.len < size ? shown.len : size - 1;
    while (keep > 0 && keep < shown.len && ((unsigned char)shown.data[keep] & 0xC0) == 0x80) {
        keep--; /* not inside a character */
    }
    memcpy(out, text_str(&shown), keep);
    out[keep] = '\0';
    return 0;
}

/* What stands between <TAG> and </TAG>; only Code and Message of an XML error are wanted. */
static int copy_element(const struct text *body, const char *open, const char *close, char *out,
                        size_t size)
{
    const char *from = memmem(body->data, body->len, open, strlen(open));
    if (from == NULL) {
        return 0;
    }
    from += strlen(open);
    size_t rest = body->len - (size_t)(from - body->data);
    const char *to = memmem(from, rest, close, strlen(close));
    return to != NULL ? copy_shown(out, size, from, (size_t)(to - from)) : 0;
}

static int copy_member(const cJSON *object, const char *key, char *out, size_t size)
{
    const char *value = cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(object, key));
    return value != NULL ? copy_shown(out, size, value, strlen(value)) : 0;
}

static int read_members(const cJSON *root, struct detail *detail)
{
    const cJSON *error = cJSON_GetObjectItemCaseSensitive(root, "error");
    const cJSON *list = cJSON_GetObjectItemCaseSensitive(error, "errors");
    char *message = detail->message;
    if (copy_member(cJSON_GetArrayItem(list, 0), "reason", detail->reason,
                    sizeof(detail->reason)) != 0 ||
        copy_member(error, "message", message, sizeof(detail->message)) != 0) {
        return -1;
    }
    return message[0] == '\0'
               ? copy_member(root, "error_description", message, sizeof(detail->message))
               : 0;
}

/* -1 without memory. */
static int detail_read(const struct text *body, struct detail *detail)
{
    *detail = (struct detail){0};
    if (body == NULL || body->len == 0) {
        return 0;
    }
    struct error cause = {0};
    cJSON *root = gcs_json_parse(body->data, body->len, &cause);
    if (cause.kind != ERROR_NONE) {
        return -1;
    }
    if (root != NULL) {
        int result = read_members(root, detail);
        cJSON_Delete(root);
        return result;
    }
    if (body->data[0] == '<') {
        return copy_element(body, "<Code>", "</Code>", detail->reason, sizeof(detail->reason)) |
               copy_element(body, "<Message>", "</Message>", detail->message,
                            sizeof(detail->message));
    }
    /* A media download answers in plain text. */
    const char *line_end = memchr(body->data, '\n', body->len);
    size_t len = line_end != NULL ? (size_t)(line_end - body->data) : body->len;
    return copy_shown(detail->message, sizeof(detail->message), body->data, len);
}

static const struct answer_row *row_find(unsigned call, int status, const struct detail *detail)
{
    for (size_t i = 0; i + 1 < ARRAY_LEN(rows); i++) {
        const struct answer_row *row = &rows[i];
        if ((row->status != 0 && row->status != status) || (row->calls & call) == 0) {
            continue;
        }
        if (row->reason != NULL && strncmp(detail->reason, row->reason, strlen(row->reason)) != 0) {
            continue;
        }
        if (row->part != NULL && strcasestr(detail->message, row->part) == NULL) {
            continue;
        }
        return row;
    }
    return &rows[ARRAY_LEN(rows) - 1];
}

void gcs_answer_describe(enum gcs_call call, const char *bucket, const char *name, char *out,
                         size_t len)
{
    CLEANUP_TEXT struct text shown = TEXT_INIT(8192);
    text_printf(&shown, "%s gs://", calls[call_index(call)].verb);
    text_add_shown(&shown, bucket, strlen(bucket), 256);
    if (name != NULL) {
        text_add_char(&shown, '/');
        text_add_shown(&shown, name, strlen(name), 300);
    }
    (void)snprintf(out, len, "%s", text_str(&shown));
}

enum gcs_answer gcs_answer_classify(enum gcs_call call, const char *bucket, const char *name,
                                    int status, const struct text *body, struct error *err)
{
    struct detail detail;
    if (detail_read(body, &detail) != 0) {
        (void)error_memory(err, "a reply of the server");
        return GCS_ERROR;
    }
    const struct answer_row *row = row_find(call, status, &detail);

    char what[420];
    gcs_answer_describe(call, bucket, name, what, sizeof(what));
    CLEANUP_TEXT struct text text = TEXT_INIT(4096);
    text_printf(&text, "%s: the server answered %d", what, status);
    if (detail.reason[0] != '\0') {
        text_printf(&text, " %s", detail.reason);
    }
    if (detail.message[0] != '\0') {
        text_printf(&text, " (%s)", detail.message);
    }
    if (row->exit_status == EXIT_STATUS_RIGHTS && status == 403) {
        text_printf(&text, "; it needs %s", calls[call_index(call)].right);
    }
    if (row->advice[0] != '\0') {
        text_printf(&text, "; %s", row->advice);
    }
    if (text.no_memory) {
        (void)error_memory(err, "a reply of the server");
        return GCS_ERROR;
    }
    if (row->kind == ERROR_RETRY) {
        (void)error_retry(err, "%s", text_str(&text));
    } else if (row->kind == ERROR_STOP_RUN) {
        (void)error_stop(err, row->exit_status, "%s", text_str(&text));
    } else {
        const char *reason = row->answer == GCS_EXISTS ? "conflict" : "upload-refused";
        (void)error_entry(err, reason, "%s", text_str(&text));
    }
    return row->answer;
}

enum http_verdict gcs_answer_judge(int status, const struct text *body)
{
    if (status != 403) {
        return HTTP_FINAL;
    }
    struct detail detail;
    if (detail_read(body, &detail) != 0) {
        return HTTP_RETRY; /* it is asked once more */
    }
    return row_find(ALL_CALLS, status, &detail)->kind == ERROR_RETRY ? HTTP_RETRY : HTTP_FINAL;
}
