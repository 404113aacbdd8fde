/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * One try: tell libcurl what differs from the last one, drive it, watch the deadlines, and say
 * what came out. The loop is our own and not curl_easy_perform()'s, because it must look at
 * `cancel` more often than once a second.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/sockios.h>
#include <string.h>
#include <sys/ioctl.h>

#include "http/http_internal.h"

static CURLcode set_options(struct http_client *client, const struct http_call *call);
static CURLcode set_body(struct http_client *client, const struct http_call *call);
static CURLcode set_number(struct http_client *client, CURLoption option, long *last, long value);
static bool drive(struct http_client *client, CURLcode *ret_code);
static bool overdue(struct http_client *client);
static bool body_stalled(struct http_client *client, uint64_t now_ms);
static enum http_outcome judge_code(struct http_client *client, CURLcode code);
static enum http_outcome fail_tls(struct http_client *client);
static void name_cause(struct http_client *client, CURLcode code);
static uint64_t uploaded_bytes(const struct http_client *client);

enum http_outcome http_try_once(struct http_client *client, const struct http_call *call)
{
    struct http_attempt *attempt = &client->attempt;
    struct text early = attempt->early;
    text_reset(&early); /* what an earlier request was told is no answer to this one */
    *attempt = (struct http_attempt){.early = early, .started_ms = clock_monotonic_ms()};
    attempt->checked_ms = attempt->started_ms;
    client->curl_error[0] = '\0';
    text_reset(&client->reply_text);
    client->reply_text.limit =
        call->request->reply_limit > 0 ? call->request->reply_limit : 1024 * 1024;

    CURLcode code = set_options(client, call);
    if (code != CURLE_OK) {
        (void)error_memory(&attempt->error, "a request"); /* the outcome says it */
        return HTTP_FAILED;
    }
    client->call = call;
    bool cut = !drive(client, &code);
    attempt->sent_bytes = uploaded_bytes(client);
    /* Closes the connection unless the exchange is complete. */
    (void)curl_multi_remove_handle(client->multi, client->easy);
    enum http_outcome outcome;
    if (attempt->failed) {
        outcome = HTTP_FAILED;
    } else if (cut) {
        outcome = HTTP_UNANSWERED;
    } else {
        outcome = judge_code(client, code);
    }
    if (outcome == HTTP_UNANSWERED) {
        attempt->status = 0; /* also when the reply had begun */
    }
    client->call = NULL;
    return outcome;
}

/* Path and query are given to libcurl once more, as they stand: when it takes the URL apart without
 * memory it leaves out the query, and a DELETE without its generation deletes whatever is there.
 * Where a proxy may have to see the whole URL, which is never so for https, it does as it can. */
static CURLcode set_target(struct http_client *client, const struct http_call *call)
{
    const struct http_origin *origin = &call->origin;
    const char *target = origin->shown + strcspn(origin->shown, "/?#");
    bool is_plain = target[0] == '/' && strchr(target, '#') == NULL;
    bool is_direct = origin->https || origin->loopback || client->settings.no_proxy;
    return curl_easy_setopt(client->easy, CURLOPT_REQUEST_TARGET,
                            is_plain && is_direct ? target : NULL);
}

/* What is noted as told to libcurl must be so: where that fails, nothing is noted, and it is told
 * again by the next request. */
static CURLcode set_options(struct http_client *client, const struct http_call *call)
{
    const struct http_request *request = call->request;
    CURL *easy = client->easy;
    CURLcode code = curl_easy_setopt(easy, CURLOPT_URL, request->url);
    if (code == CURLE_OK) {
        code = set_target(client, call);
    }
    if (code == CURLE_OK) {
        code = curl_easy_setopt(easy, CURLOPT_HTTPHEADER, client->header_nodes);
    }
    if (code == CURLE_OK) {
        code = set_body(client, call);
    }
    if (code == CURLE_OK && strcmp(client->method, request->method) != 0) {
        code = curl_easy_setopt(easy, CURLOPT_CUSTOMREQUEST, request->method);
        (void)snprintf(client->method, sizeof(client->method), "%s",
                       code == CURLE_OK ? request->method : "");
    }
    bool proxy_off = client->settings.no_proxy || call->origin.loopback;
    if (code == CURLE_OK && proxy_off != client->proxy_off) {
        /* Empty: none; NULL: what the environment says. */
        code = curl_easy_setopt(easy, CURLOPT_PROXY, proxy_off ? "" : NULL);
        client->proxy_off = code == CURLE_OK ? proxy_off : client->proxy_off;
    }
    uint64_t connect_ms = client->timing.connect_ms;
    if (request->reply_timeout_ms > 0 && request->reply_timeout_ms < connect_ms) {
        connect_ms = request->reply_timeout_ms;
    }
    long receive = request->sink != NULL ? HTTP_RECEIVE_BUFFER_SINK : HTTP_RECEIVE_BUFFER_SMALL;
    if (code == CURLE_OK) {
        code = set_number(client, CURLOPT_CONNECTTIMEOUT_MS, &client->connect_ms, (long)connect_ms);
    }
    if (code == CURLE_OK) {
        code = set_number(client, CURLOPT_BUFFERSIZE, &client->receive_buffer, receive);
    }
    return code;
}

/* All requests with a body are POSTs to libcurl, whatever their method: only then may the body
 * lie in memory and leave with the headers. */
static CURLcode set_body(struct http_client *client, const struct http_call *call)
{
    CURL *easy = client->easy;
    bool posting = call->streamed || call->flat != NULL;
    CURLcode code = CURLE_OK;
    if (posting != client->posting || client->method[0] == '\0') {
        code = curl_easy_setopt(easy, posting ? CURLOPT_POST : CURLOPT_HTTPGET, 1L);
        client->posting = posting; /* a number: this cannot fail */
    }
    if (!posting || code != CURLE_OK) {
        return code;
    }
    code = curl_easy_setopt(easy, CURLOPT_POSTFIELDS, call->streamed ? NULL : call->flat);
    if (code == CURLE_OK) {
        code = curl_easy_setopt(easy, CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t)call->body_bytes);
    }
    long size = call->body_bytes >= HTTP_UPLOAD_LARGE_FROM ? HTTP_UPLOAD_BUFFER_LARGE
                                                           : HTTP_UPLOAD_BUFFER_SMALL;
    if (code == CURLE_OK) {
        code = set_number(client, CURLOPT_UPLOAD_BUFFERSIZE, &client->upload_buffer, size);
    }
    return code;
}

static CURLcode set_number(struct http_client *client, CURLoption option, long *last, long value)
{
    if (*last == value) {
        return CURLE_OK;
    }
    CURLcode code = curl_easy_setopt(client->easy, option, value);
    *last = code == CURLE_OK ? value : *last;
    return code;
}

/* Run the transfer. False: cut by a deadline, a cancel or libcurl's own trouble; then
 * attempt->cause or attempt->error says why. */
static bool drive(struct http_client *client, CURLcode *ret_code)
{
    struct http_attempt *attempt = &client->attempt;
    const _Atomic bool *cancel = client->settings.cancel;
    CURLMcode code = curl_multi_add_handle(client->multi, client->easy);
    while (code == CURLM_OK) {
        int running = 0;
        code = curl_multi_perform(client->multi, &running);
        if (code != CURLM_OK || running == 0) {
            break;
        }
        if (cancel != NULL && *cancel) {
            (void)error_cancelled(&attempt->error); /* `failed` says it */
            attempt->failed = true;
            return false;
        }
        if (overdue(client)) {
            return false;
        }
        code = curl_multi_poll(client->multi, NULL, 0, HTTP_TICK_MS, NULL);
    }
    int left = 0;
    CURLMsg *message = code == CURLM_OK ? curl_multi_info_read(client->multi, &left) : NULL;
    if (message == NULL) {
        (void)error_stop(&attempt->error, EXIT_STATUS_INTERNAL, "libcurl: %s",
                         curl_multi_strerror(code)); /* `failed` says it */
        attempt->failed = true;
        return false;
    }
    *ret_code = message->data.result;
    return true;
}

static bool overdue(struct http_client *client)
{
    struct http_attempt *attempt = &client->attempt;
    uint64_t now_ms = clock_monotonic_ms();
    if (attempt->sends == 0 || now_ms - attempt->checked_ms < HTTP_TICK_MS) {
        return false; /* connecting has libcurl's own deadline */
    }
    attempt->checked_ms = now_ms;
    if (client->call->body_bytes > 0 && !attempt->body_left && attempt->status < 300) {
        if (body_stalled(client, now_ms)) {
            char duration[32];
            format_duration(client->timing.stall_ms, duration);
            (void)snprintf(attempt->cause, sizeof(attempt->cause),
                           "the body moved by less than %llu bytes in %s",
                           (unsigned long long)client->timing.stall_bytes, duration);
            return true;
        }
        if (!attempt->body_left) {
            return false;
        }
        attempt->activity_ms = now_ms;
    }
    uint64_t limit_ms = client->call->request->reply_timeout_ms;
    if (limit_ms == 0) {
        limit_ms = client->timing.reply_ms;
    }
    if (now_ms < attempt->activity_ms + limit_ms) {
        return false;
    }
    char duration[32];
    format_duration(limit_ms, duration);
    (void)snprintf(attempt->cause, sizeof(attempt->cause), "%s for %s",
                   attempt->status == 0 ? "no reply" : "the reply paused", duration);
    return true;
}

/* Bytes count as moved when the other side's kernel has acknowledged them: on a slow line
 * megabytes wait in our own socket, and the reply cannot come before they are through. */
static bool body_stalled(struct http_client *client, uint64_t now_ms)
{
    struct http_attempt *attempt = &client->attempt;
    uint64_t queued = 0;
    for (size_t i = 0; i < ARRAY_LEN(client->sockets); i++) {
        int count = 0;
        if (client->sockets[i] >= 0 && ioctl(client->sockets[i], SIOCOUTQ, &count) == 0) {
            queued += (uint64_t)count;
        }
    }
    uint64_t uploaded = uploaded_bytes(client);
    uint64_t moved = uploaded > queued ? uploaded - queued : 0;
    if (moved > attempt->moved_bytes) {
        attempt->moved_bytes = moved;
    }
    attempt->body_left = attempt->moved_bytes >= client->call->body_bytes;

    uint64_t active_ms = now_ms - attempt->started_ms - attempt->body_read_ns / 1000000;
    if (attempt->moved_bytes - attempt->window_moved_bytes >= client->timing.stall_bytes) {
        attempt->window_moved_bytes = attempt->moved_bytes;
        attempt->window_started_ms = active_ms;
    }
    return !attempt->body_left && active_ms >= attempt->window_started_ms + client->timing.stall_ms;
}

static enum http_outcome judge_code(struct http_client *client, CURLcode code)
{
    struct http_attempt *attempt = &client->attempt;
    const struct http_call *call = client->call;
    if (code == CURLE_OK && attempt->headers_done) {
        return HTTP_ANSWERED; /* libcurl calls the end of the connection in the head a success */
    }
    if (attempt->cut_by_limit) {
        return HTTP_ANSWERED;
    }
    switch (code) {
    case CURLE_PEER_FAILED_VERIFICATION:
    case CURLE_SSL_CACERT_BADFILE:
    case CURLE_SSL_ISSUER_ERROR:
        return fail_tls(client);
    case CURLE_URL_MALFORMAT:
        (void)error_stop(&attempt->error, EXIT_STATUS_RIGHTS, "not a URL that can be used");
        return HTTP_FAILED;
    case CURLE_OUT_OF_MEMORY:
        (void)error_memory(&attempt->error, "a request");
        return HTTP_FAILED;
    default:
        break;
    }
    bool sent_whole = attempt->sent_bytes >= call->body_bytes;
    if (attempt->headers_done && attempt->status >= 300 && !sent_whole) {
        return HTTP_ANSWERED;
    }
    if (http_early_answer(client)) {
        return attempt->failed ? HTTP_FAILED : HTTP_ANSWERED;
    }
    if (attempt->oversize) {
        (void)error_retry(&attempt->error, "the reply is longer than %zu bytes",
                          client->reply_text.limit);
        return HTTP_FAILED;
    }
    if ((code == CURLE_COULDNT_RESOLVE_HOST || code == CURLE_COULDNT_RESOLVE_PROXY) &&
        http_none_can_be_opened(client)) {
        return HTTP_FAILED;
    }
    name_cause(client, code);
    return HTTP_UNANSWERED;
}

/* Nobody has ever answered this client: then the other protocol may be what is spoken there. It is
 * tried again all the same, because a server that is just starting looks alike. */
static const char *protocol_hint(const struct http_client *client, CURLcode code)
{
    if (client->was_answered) {
        return "";
    }
    if (client->call->origin.https) {
        return code == CURLE_SSL_CONNECT_ERROR ? "; if it speaks plain http, say http:// in the "
                                                 "endpoint"
                                               : "";
    }
    bool is_odd = code == CURLE_GOT_NOTHING || code == CURLE_UNSUPPORTED_PROTOCOL ||
                  code == CURLE_WEIRD_SERVER_REPLY;
    return is_odd ? "; if it speaks TLS, say https:// in the endpoint" : "";
}

static void name_cause(struct http_client *client, CURLcode code)
{
    struct http_attempt *attempt = &client->attempt;
    const char *text = client->curl_error;
    if (text[0] == '\0') {
        text = code == CURLE_OK ? "the reply was cut" : curl_easy_strerror(code);
    }
    size_t len = strlen(text);
    while (len > 0 && text[len - 1] == ' ') {
        len--;
    }
    (void)snprintf(attempt->cause, sizeof(attempt->cause), "%.*s%s", (int)len, text,
                   protocol_hint(client, code));
}

static enum http_outcome fail_tls(struct http_client *client)
{
    const char *ca_file = client->settings.ca_file;
    (void)error_stop(&client->attempt.error, EXIT_STATUS_RIGHTS,
                     "the server's certificate is not trusted (%s) by %s; name the right one with "
                     "--ca-file or SSL_CERT_FILE",
                     client->curl_error[0] != '\0' ? client->curl_error : "TLS",
                     ca_file != NULL ? ca_file : "the system's certificate store");
    return HTTP_FAILED; /* the error is the outcome */
}

bool http_note_descriptors(struct http_client *client, int cause)
{
    if (cause != EMFILE && cause != ENFILE) {
        return false;
    }
    char words[ERROR_CAUSE_SIZE];
    error_cause(cause, words);
    (void)error_stop(&client->attempt.error, EXIT_STATUS_TEMPORARY, "no connection: %s", words);
    client->attempt.failed = true;
    return true;
}

/* A name is looked up in files and through sockets, and libcurl does not tell why it was not. */
bool http_none_can_be_opened(struct http_client *client)
{
    int fd = open("/dev/null", O_RDONLY | O_CLOEXEC);
    if (fd < 0) {
        return http_note_descriptors(client, errno);
    }
    (void)close(fd); /* was only asked for */
    return false;
}

static uint64_t uploaded_bytes(const struct http_client *client)
{
    curl_off_t count = 0;
    (void)curl_easy_getinfo(client->easy, CURLINFO_SIZE_UPLOAD_T, &count); /* else 0 */
    return count > 0 ? (uint64_t)count : 0;
}
