/* SPDX-License-Identifier: GPL-3.0-or-later */
/* resumable: start a session, send bytes to it, ask where it stands, cancel it. */
#include <inttypes.h>
#include <string.h>

#include "reply.h"
#include "route.h"
#include "session.h"

/* ---- start ------------------------------------------------------------------------------- */

static void begin_start(struct request *request)
{
    (void)insert_check_access(request); /* answers if there is none */
}

static int fill_session(struct request *request, struct session *session, const cJSON *json)
{
    struct insert *insert = &session->insert;
    const char *name = NULL;
    const char *type = request_header(request, "X-Upload-Content-Type");
    const char *length = request_header(request, "X-Upload-Content-Length");
    const char *kms_key = request_param(request, "kmsKeyName");
    if (insert_take_metadata(request, insert, json, &name) != 0 ||
        insert_expect_headers(request, insert) != 0 ||
        request_conditions(request, "", &insert->conditions) != 0) {
        return -1;
    }
    if (length != NULL) {
        session->has_total = true;
        if (parse_u64(length, &session->total) != 0) {
            reply_error(request, 400, "invalid", "Invalid X-Upload-Content-Length");
            return -1;
        }
    }
    struct attributes *attributes = &insert->attributes;
    if ((attributes->values[ATTRIBUTE_CONTENT_TYPE] == NULL &&
         attribute_set(attributes, ATTRIBUTE_CONTENT_TYPE, type) != 0) ||
        (kms_key != NULL && attribute_set(attributes, ATTRIBUTE_KMS_KEY, kms_key) != 0)) {
        reply_memory(request);
        return -1;
    }
    request->object = request->object == NULL ? name : request->object;
    int result = insert_open(request, insert);
    request->object = insert->name; /* outlives `json` */
    return result != 0 ? -1 : insert_check_put(request, insert);
}

static void reply_location(struct request *request, const struct session *session)
{
    struct text location CLEANUP_TEXT = TEXT_INIT(REQUEST_MAX_SMALL_BODY);
    request_add_origin(request, &location);
    text_printf(&location, "/upload/storage/v1/b/%s/o?uploadType=resumable&name=", request->bucket);
    text_add_url(&location, request->object, strlen(request->object));
    text_printf(&location, "&upload_id=%s", session->id);
    reply_empty(request, 200);
    reply_header(request, "Location", text_str(&location));
    reply_header(request, "X-GUploader-UploadID", session->id);
}

static void finish_start(struct request *request)
{
    struct sessions *sessions = request->server->sessions;
    cJSON *json = request_parse_json(request, text_str(&request->body), request->body.len);
    if (json == NULL) {
        return;
    }
    struct session *session = session_new(sessions);
    if (session == NULL) {
        reply_error(request, 503, "backendError", "Too many upload sessions");
    } else if (fill_session(request, session, json) == 0) {
        reply_location(request, session);
    } else {
        session_remove(sessions, session);
    }
    request->object = NULL; /* it belongs to the session or to `json` */
    session_release(session);
    cJSON_Delete(json);
}

const struct operation resumable_start_operation = {begin_start, NULL, finish_start, NULL};

/* ---- bytes and queries ------------------------------------------------------------------- */

struct chunk {
    struct session *session; /* a reference */
    uint64_t owner;          /* our number; the session's may become another */
    bool has_range;          /* first and last are known before the bytes come */
    bool has_total;
    bool query; /* no bytes, only where it stands */
    uint64_t first;
    uint64_t last;
    uint64_t total;
    uint64_t skip; /* bytes at the beginning that are kept already */
    uint64_t received;
};

static bool take_number(const char **cursor, uint64_t *ret)
{
    char digits[24];
    size_t len = strspn(*cursor, "0123456789");
    if (len == 0 || len >= sizeof(digits)) {
        return false;
    }
    memcpy(digits, *cursor, len);
    digits[len] = '\0';
    *cursor += len;
    return parse_u64(digits, ret) == 0;
}

/* "bytes A-B/TOTAL", "bytes A-B/" and a star, and both with a star in place of A-B. */
static bool parse_content_range(const char *header, struct chunk *chunk)
{
    static const char unit[] = "bytes ";
    const char *cursor = header + strlen(unit);
    if (strncmp(header, unit, strlen(unit)) != 0) {
        return false;
    }
    if (*cursor == '*') {
        chunk->query = true;
        cursor++;
    } else {
        chunk->has_range = true;
        if (!take_number(&cursor, &chunk->first) || *cursor++ != '-' ||
            !take_number(&cursor, &chunk->last) || chunk->last < chunk->first ||
            chunk->last >= OBJECT_SIZE_MAX) {
            return false;
        }
    }
    if (*cursor++ != '/') {
        return false;
    }
    if (strcmp(cursor, "*") == 0) {
        return true;
    }
    chunk->has_total = true;
    return take_number(&cursor, &chunk->total) && *cursor == '\0' &&
           (!chunk->has_range || chunk->last < chunk->total);
}

/* Do the headers make sense by themselves? */
static bool chunk_is_sound(const struct request *request, const struct chunk *chunk)
{
    const char *length_header = request_header(request, "Content-Length");
    uint64_t length = 0;
    if (chunk->query) {
        return length_header == NULL || strcmp(length_header, "0") == 0;
    }
    if (!chunk->has_range) {
        return true;
    }
    uint64_t len = chunk->last - chunk->first + 1;
    bool final = chunk->has_total && chunk->last + 1 == chunk->total;
    if (length_header != NULL && (parse_u64(length_header, &length) != 0 || length != len)) {
        return false;
    }
    return final || len % SESSION_GRANULE == 0;
}

static void invalid(struct request *request, const char *message)
{
    reply_error(request, 400, "invalid", "%s", message);
}

/* Lock held. Answers, or makes this request the one that adds bytes. */
static void join_session(struct request *request, struct chunk *chunk)
{
    struct session *session = chunk->session;
    uint64_t kept = session->insert.digest.size_bytes;
    if (session->done != NULL) {
        return; /* finish answers with the object */
    }
    if (chunk->has_total && session->has_total && chunk->total != session->total) {
        invalid(request, "The total size differs from the one stated before");
    } else if (chunk->has_total && chunk->total < kept) {
        invalid(request, "The total size is less than what is stored");
    } else if (chunk->has_range && session->has_total && chunk->last >= session->total) {
        invalid(request, "The range goes beyond the total size");
    } else if (chunk->has_range && chunk->first > kept) {
        reply_error(request, 503, "backendError", "Bytes are missing before this range");
    } else {
        chunk->owner = session_take_over(request->server->sessions, session);
        chunk->skip = chunk->query ? 0 : kept - chunk->first;
        session->has_total = session->has_total || chunk->has_total;
        session->total = chunk->has_total ? chunk->total : session->total;
    }
}

static void begin_chunk(struct request *request)
{
    struct chunk *chunk = calloc(1, sizeof(*chunk));
    request->state = chunk;
    if (chunk == NULL) {
        reply_memory(request);
        return;
    }
    const char *content_range = request_header(request, "Content-Range");
    chunk->session = session_find(request->server->sessions, request_param(request, "upload_id"));
    if (chunk->session == NULL) {
        reply_error(request, 404, "notFound", "No such upload session");
        return;
    }
    if (content_range != NULL && !parse_content_range(content_range, chunk)) {
        invalid(request, "Invalid Content-Range");
        return;
    }
    if (!chunk_is_sound(request, chunk)) {
        invalid(request, "The length does not fit the range, or a chunk that is not the last is "
                         "no multiple of 262144 bytes");
        return;
    }
    (void)pthread_mutex_lock(&chunk->session->lock);
    join_session(request, chunk);
    (void)pthread_mutex_unlock(&chunk->session->lock);
}

static void take_chunk(struct request *request, const char *bytes, size_t len)
{
    struct chunk *chunk = request->state;
    struct session *session = chunk->session;
    chunk->received += len;
    if (chunk->query || (chunk->has_range && chunk->received > chunk->last - chunk->first + 1)) {
        invalid(request, "More bytes than the range says");
        return;
    }
    size_t skip = chunk->skip < len ? (size_t)chunk->skip : len;
    chunk->skip -= skip;
    (void)pthread_mutex_lock(&session->lock);
    if (session->done == NULL && session->owner != chunk->owner) {
        reply_error(request, 503, "backendError", "Another request has taken the session over");
    } else if (session->done == NULL && session_add(session, bytes + skip, len - skip) != 0) {
        reply_memory(request);
    }
    (void)pthread_mutex_unlock(&session->lock);
}

static void reply_incomplete(struct request *request, const struct session *session)
{
    const char *no_308 = request_header(request, "X-GUploader-No-308");
    bool override = no_308 != NULL && strcasecmp(no_308, "yes") == 0;
    uint64_t kept = session->insert.digest.size_bytes;
    reply_empty(request, override ? 200 : 308);
    if (override) {
        reply_header(request, "X-HTTP-Status-Code-Override", "308");
    }
    if (kept > 0) {
        char range[48];
        (void)snprintf(range, sizeof(range), "bytes=0-%" PRIu64, kept - 1);
        reply_header(request, "Range", range);
    }
}

/* Lock held. All bytes of this request are there: does that end the upload? */
static bool is_final(struct session *session, const struct chunk *chunk)
{
    if (!chunk->query && !chunk->has_range) { /* one PUT without a range is the whole object */
        return true;
    }
    uint64_t known = session->insert.digest.size_bytes + session->tail_len;
    return session->has_total && known == session->total && (chunk->has_total || known > 0);
}

/* Lock held. */
static void finish_locked(struct request *request, struct chunk *chunk)
{
    struct session *session = chunk->session;
    if (session->done != NULL) {
        reply_object(request, session->done);
        return;
    }
    if (session->dead) {
        reply_error(request, 404, "notFound", "No such upload session");
        return;
    }
    if (session->owner != chunk->owner) {
        reply_error(request, 503, "backendError", "Another request has taken the session over");
        return;
    }
    if (chunk->has_range && chunk->received != chunk->last - chunk->first + 1) {
        session->tail_len = 0;
        invalid(request, "Fewer bytes than the range says");
        return;
    }
    if (!is_final(session, chunk)) {
        session->tail_len = 0;
        reply_incomplete(request, session);
        return;
    }
    session_keep_tail(session);
    if (session->has_total && session->insert.digest.size_bytes != session->total) {
        session->dead = true;
        invalid(request, "The object has another size than stated");
        return;
    }
    session->done = insert_put(request, &session->insert);
    session->dead = session->done == NULL; /* refused for good, and answered */
    if (session->done != NULL) {
        reply_object(request, session->done);
    }
}

static void finish_chunk(struct request *request)
{
    struct chunk *chunk = request->state;
    (void)pthread_mutex_lock(&chunk->session->lock);
    finish_locked(request, chunk);
    bool dead = chunk->session->dead;
    (void)pthread_mutex_unlock(&chunk->session->lock);
    if (dead) {
        session_remove(request->server->sessions, chunk->session);
    }
}

static void clear_chunk(struct request *request)
{
    struct chunk *chunk = request->state;
    session_release(chunk->session);
    free(chunk);
}

const struct operation resumable_chunk_operation = {begin_chunk, take_chunk, finish_chunk,
                                                    clear_chunk};

/* ---- cancel ------------------------------------------------------------------------------ */

static void begin_cancel(struct request *request)
{
    (void)request; /* nothing to look at before the end */
}

static void finish_cancel(struct request *request)
{
    struct sessions *sessions = request->server->sessions;
    struct session *session = session_find(sessions, request_param(request, "upload_id"));
    if (session == NULL) {
        reply_error(request, 404, "notFound", "No such upload session");
        return;
    }
    (void)pthread_mutex_lock(&session->lock);
    session->dead = true;
    (void)pthread_mutex_unlock(&session->lock);
    session_remove(sessions, session);
    session_release(session);
    reply_empty(request, 499);
}

const struct operation resumable_cancel_operation = {begin_cancel, NULL, finish_cancel, NULL};
