/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * server: takes each request through its stages (headers, body, held or not, executed, delayed,
 * answered). Whatever waits is suspended and enters again where it stood.
 */
#include "server.h"

#include <arpa/inet.h>
#include <errno.h>
#include <string.h>

#include "reply.h"
#include "route.h"

#define MAX_CONNECTIONS 4096
#define LISTEN_BACKLOG 1024
/* Per connection. libmicrohttpd reads into half of it and clears all of it for every request, so
 * this is a compromise between large bodies and small requests. */
#define CONNECTION_MEMORY ((size_t)64 << 10)
#define TLS_FILE_MAX ((size_t)1 << 20)

static struct match_subject subject_of(const struct request *request)
{
    return (struct match_subject){
        .method = request->method, .target = request->target, .name = request->object};
}

static bool is_control(const struct request *request)
{
    return request->segment_count > 0 && strcmp(request->segments[0], "_fake") == 0;
}

/* Ask the script. Returns false when the connection is to be closed at once. */
static bool strike(struct request *request, bool named)
{
    struct server *server = request->server;
    if (request->fault.action != FAULT_NONE || is_control(request)) {
        return true;
    }
    const struct match_subject subject = subject_of(request);
    request->fault = faults_strike(server->faults, &subject, named);
    if (request->fault.action == FAULT_NONE) {
        return true;
    }
    stats_add(&server->stats.faults, 1);
    if (request->fault.action == FAULT_RESET) {
        return false;
    }
    if (request->fault.action == FAULT_STATUS && request->response == NULL) {
        const struct fault *fault = request->fault.fault;
        if (fault->body != NULL) {
            struct text body CLEANUP_TEXT = TEXT_INIT(REQUEST_MAX_SMALL_BODY);
            text_add(&body, fault->body);
            reply_text(request, fault->status, "text/html", &body);
        } else {
            reply_error(request, fault->status, "backendError", "scripted fault");
        }
        const cJSON *header = NULL;
        cJSON_ArrayForEach(header, fault->headers)
        {
            if (cJSON_IsString(header)) {
                reply_header(request, header->string, header->valuestring);
            }
        }
    }
    return true;
}

static void check_token(struct request *request)
{
    struct server *server = request->server;
    const char *authorization = request_header(request, "Authorization");
    const char *wanted = server->options->require_token;
    static const char scheme[] = "Bearer ";
    if (authorization != NULL) {
        stats_add(&server->stats.authorized, 1);
    }
    /* The URI of an upload session is a secret of its own. */
    if (wanted == NULL || request_param(request, "upload_id") != NULL) {
        return;
    }
    if (authorization == NULL || strncmp(authorization, scheme, strlen(scheme)) != 0 ||
        strcmp(authorization + strlen(scheme), wanted) != 0) {
        reply_error(request, 401, "authError", "Invalid Credentials");
        reply_header(request, "WWW-Authenticate", "Bearer realm=\"https://accounts.google.com/\"");
    }
}

static enum MHD_Result begin(struct request *request)
{
    request->stage = STAGE_BODY;
    if (request->storage) {
        stats_add(&request->server->stats.requests, 1);
    }
    const char *coding = request_header(request, "Content-Encoding");
    /* In the XML API the header is about the object. */
    if (!request->xml && coding != NULL && strcasecmp(coding, "gzip") == 0) {
        request->gunzip = gunzip_new();
        if (request->gunzip == NULL) {
            reply_memory(request);
        }
    }
    if (!strike(request, false)) {
        return MHD_NO;
    }
    if (request->storage) {
        check_token(request);
    }
    route_request(request);
    if (request->response == NULL) {
        request->operation->begin(request);
    }
    return MHD_YES;
}

/* Bytes as the operation sees them. */
static void give(void *self, const char *bytes, size_t len)
{
    struct request *request = self;
    if (request->response != NULL) {
        return; /* answered already: the rest is read and dropped */
    }
    if (request->operation->take != NULL) {
        request->operation->take(request, bytes, len);
        return;
    }
    text_add_bytes(&request->body, bytes, len);
    if (request->body.failed) {
        reply_error(request, 413, "uploadTooLarge", "The request body is too large");
    }
}

static void feed(struct request *request, const char *bytes, size_t len)
{
    request->body_bytes += len;
    if (request->storage) {
        stats_add(&request->server->stats.received_bytes, len);
    }
    if (len == 0) {
        return;
    }
    if (request->gunzip == NULL) {
        give(request, bytes, len);
    } else if (gunzip_take(request->gunzip, bytes, len, give, request) != 0) {
        reply_error(request, 400, "invalid", "The body is not what its Content-Encoding says");
    }
}

static enum MHD_Result take_body(struct request *request, const char *bytes, size_t *len)
{
    const struct fault *fault = request->fault.fault;
    bool closes = request->fault.action == FAULT_RESET_AFTER_BYTES;
    bool stalls =
        request->fault.action == FAULT_STALL && fault->has_after_bytes && !request->stalled;
    if ((closes || stalls) && request->body_bytes + *len >= fault->after_bytes) {
        size_t before = (size_t)(fault->after_bytes - request->body_bytes);
        feed(request, bytes, before);
        if (closes) {
            return MHD_NO;
        }
        *len -= before;
        request->stalled = true;
        if (waits_sleep(request->server->waits, request, fault->stall_ms)) {
            return MHD_YES;
        }
        bytes += before;
    }
    feed(request, bytes, *len);
    *len = 0;
    return MHD_YES;
}

static enum MHD_Result queue(struct request *request)
{
    if (request->response == NULL) {
        reply_memory(request);
    }
    if (request->response == NULL) {
        return MHD_NO;
    }
    if (request->storage && request->status < STATS_STATUS_COUNT) {
        stats_add(&request->server->stats.by_status[request->status], 1);
    }
    return MHD_queue_response(request->connection, request->status, request->response);
}

/* The whole request is there. Returns true if it waits now, before it is executed. */
static bool ready(struct request *request, bool *ret_close)
{
    *ret_close = !strike(request, true) || request->fault.action == FAULT_RESET_AFTER_BYTES;
    request->stage = STAGE_EXECUTE;
    if (*ret_close || request->response != NULL || is_control(request)) {
        return false;
    }
    const struct match_subject subject = subject_of(request);
    enum hold_point point = holds_check(request->server->holds, &subject);
    request->hold_after = point == HOLD_AFTER;
    return point == HOLD_BEFORE && waits_hold(request->server->waits, request);
}

/* It is executed. Returns true if it waits now, before it is answered. */
static bool executed(struct request *request)
{
    struct server *server = request->server;
    if (request->hold_after) {
        request->hold_after = false;
        if (waits_hold(server->waits, request)) {
            return true;
        }
    }
    request->stage = STAGE_REPLY;
    uint64_t delay_ms = request->storage ? server->options->latency_ms : 0;
    if (request->fault.action == FAULT_STALL && !request->stalled) {
        delay_ms += request->fault.fault->stall_ms;
    }
    return delay_ms > 0 && waits_sleep(server->waits, request, delay_ms);
}

static enum MHD_Result advance(struct request *request)
{
    bool close_now = false;
    if (request->stage == STAGE_BODY && ready(request, &close_now)) {
        return MHD_YES;
    }
    if (close_now || request->gone) {
        return MHD_NO;
    }
    if (request->stage == STAGE_EXECUTE) {
        if (request->gunzip != NULL && !gunzip_is_whole(request->gunzip)) {
            reply_error(request, 400, "invalid", "The compressed body ends too early");
        }
        if (request->response == NULL) {
            request->operation->finish(request);
        }
        request->stage = STAGE_EXECUTED;
    }
    if (request->stage == STAGE_EXECUTED && executed(request)) {
        return MHD_YES;
    }
    return request->fault.action == FAULT_LOST_REPLY ? MHD_NO : queue(request);
}

/* A POST may stand for another method: Java has no PATCH of its own. */
static const char *method_of(const struct request *request, const char *method)
{
    static const char *const methods[] = {"PATCH", "PUT", "DELETE", "GET"};
    const char *wanted = request_header(request, "X-HTTP-Method-Override");
    for (size_t i = 0; i < ARRAY_LEN(methods) && wanted != NULL; i++) {
        if (strcmp(method, "POST") == 0 && strcmp(wanted, methods[i]) == 0) {
            return methods[i];
        }
    }
    return method;
}

static enum MHD_Result on_request(void *self, struct MHD_Connection *connection, const char *url,
                                  const char *method, const char *version, const char *upload_data,
                                  size_t *upload_data_size, void **request_place)
{
    struct request *request = *request_place;
    (void)self;
    (void)connection;
    (void)url; /* the target has been taken whole */
    (void)version;
    if (request == NULL) {
        return MHD_NO;
    }
    request->method = method_of(request, method);
    if (request->stage == STAGE_HEADERS) {
        return begin(request);
    }
    if (*upload_data_size > 0) {
        return take_body(request, upload_data, upload_data_size);
    }
    return advance(request);
}

static void *on_target(void *self, const char *target, struct MHD_Connection *connection)
{
    return request_new(self, connection, target);
}

static void on_completed(void *self, struct MHD_Connection *connection, void **request_place,
                         enum MHD_RequestTerminationCode code)
{
    (void)self;
    (void)connection;
    (void)code;
    request_free(*request_place);
    *request_place = NULL;
}

/* The path is split before it is unescaped, by us. */
static size_t keep_escaped(void *self, struct MHD_Connection *connection, char *string)
{
    (void)self;
    (void)connection;
    return strlen(string);
}

static int read_tls(const struct options *options, struct text *cert, struct text *key,
                    struct error *err)
{
    if (options->tls_cert_file == NULL) {
        return 0;
    }
    return file_read(options->tls_cert_file, TLS_FILE_MAX, cert, err) != 0 ||
                   file_read(options->tls_key_file, TLS_FILE_MAX, key, err) != 0
               ? -1
               : 0;
}

int server_start(struct server *server, struct error *err)
{
    const struct options *options = server->options;
    struct text cert CLEANUP_TEXT = TEXT_INIT(TLS_FILE_MAX);
    struct text key CLEANUP_TEXT = TEXT_INIT(TLS_FILE_MAX);
    if (read_tls(options, &cert, &key, err) != 0) {
        return -1;
    }
    unsigned flags = MHD_USE_EPOLL_INTERNAL_THREAD | MHD_ALLOW_SUSPEND_RESUME;
    struct MHD_OptionItem tls[] = {{MHD_OPTION_HTTPS_MEM_CERT, 0, cert.data},
                                   {MHD_OPTION_HTTPS_MEM_KEY, 0, key.data},
                                   {MHD_OPTION_END, 0, NULL}};
    if (options->tls_cert_file != NULL) {
        flags |= MHD_USE_TLS;
    } else {
        tls[0].option = MHD_OPTION_END;
    }
    struct sockaddr_in address = {.sin_family = AF_INET,
                                  .sin_port = htons(options->port),
                                  .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    server->daemon = MHD_start_daemon(
        flags, options->port, NULL, NULL, on_request, server, MHD_OPTION_SOCK_ADDR, &address,
        MHD_OPTION_URI_LOG_CALLBACK, on_target, server, MHD_OPTION_UNESCAPE_CALLBACK, keep_escaped,
        NULL, MHD_OPTION_NOTIFY_COMPLETED, on_completed, server, MHD_OPTION_THREAD_POOL_SIZE,
        options->thread_count > 1 ? options->thread_count : 0, MHD_OPTION_CONNECTION_MEMORY_LIMIT,
        CONNECTION_MEMORY, MHD_OPTION_CONNECTION_LIMIT, (unsigned)MAX_CONNECTIONS,
        MHD_OPTION_LISTEN_BACKLOG_SIZE, (unsigned)LISTEN_BACKLOG, MHD_OPTION_ARRAY, tls,
        MHD_OPTION_END);
    if (server->daemon == NULL) {
        return error_stop(err, EXIT_STATUS_FAILED, "cannot listen on 127.0.0.1:%u: %s",
                          options->port, strerror(errno));
    }
    const union MHD_DaemonInfo *info =
        MHD_get_daemon_info(server->daemon, MHD_DAEMON_INFO_BIND_PORT);
    server->port = info != NULL ? info->port : options->port;
    return 0;
}

void server_stop(struct server *server)
{
    waits_stop(server->waits);
    if (server->daemon != NULL) {
        MHD_stop_daemon(server->daemon);
        server->daemon = NULL;
    }
}
