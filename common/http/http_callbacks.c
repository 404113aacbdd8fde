/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What libcurl calls during a try: body bytes out, head and body of the reply in, sockets opened
 * and closed. Each only notes what happened in client->attempt; http_try.c judges.
 */
#include <errno.h>
#include <string.h>
#include <strings.h>
#include <sys/socket.h>

#include "http/http_internal.h"

static size_t on_read(char *buf, size_t size, size_t count, void *self);
static int on_seek(void *self, curl_off_t offset, int origin);
static int on_ready(void *self, char *remote, char *local, int remote_port, int local_port);
static curl_socket_t on_open(void *self, curlsocktype purpose, struct curl_sockaddr *address);
static int on_close(void *self, curl_socket_t fd);
static size_t start_reply(struct http_client *client, const char *line, size_t len);
static void take_header(struct http_client *client, const char *line, size_t len);

CURLcode http_callbacks_set(struct http_client *client)
{
    CURL *easy = client->easy;
    CURLcode codes[] = {
        curl_easy_setopt(easy, CURLOPT_READFUNCTION, on_read),
        curl_easy_setopt(easy, CURLOPT_READDATA, client),
        curl_easy_setopt(easy, CURLOPT_SEEKFUNCTION, on_seek),
        curl_easy_setopt(easy, CURLOPT_SEEKDATA, client),
        curl_easy_setopt(easy, CURLOPT_PREREQFUNCTION, on_ready),
        curl_easy_setopt(easy, CURLOPT_PREREQDATA, client),
        curl_easy_setopt(easy, CURLOPT_HEADERFUNCTION, http_on_header),
        curl_easy_setopt(easy, CURLOPT_HEADERDATA, client),
        curl_easy_setopt(easy, CURLOPT_WRITEFUNCTION, http_on_reply),
        curl_easy_setopt(easy, CURLOPT_WRITEDATA, client),
        curl_easy_setopt(easy, CURLOPT_OPENSOCKETFUNCTION, on_open),
        curl_easy_setopt(easy, CURLOPT_OPENSOCKETDATA, client),
        curl_easy_setopt(easy, CURLOPT_CLOSESOCKETFUNCTION, on_close),
        curl_easy_setopt(easy, CURLOPT_CLOSESOCKETDATA, client),
    };
    for (size_t i = 0; i < ARRAY_LEN(codes); i++) {
        if (codes[i] != CURLE_OK) {
            return codes[i];
        }
    }
    return CURLE_OK;
}

size_t http_on_header(char *line, size_t size, size_t count, void *self)
{
    struct http_client *client = self;
    struct http_attempt *attempt = &client->attempt;
    size_t len = size * count;
    attempt->activity_ms = clock_monotonic_ms();
    if (len >= 5 && memcmp(line, "HTTP/", 5) == 0) {
        return start_reply(client, line, len);
    }
    if (len > 0 && (line[0] == '\r' || line[0] == '\n')) {
        attempt->headers_done = attempt->status >= 200;
    } else if (!attempt->headers_done) { /* else a trailer of a chunked body */
        take_header(client, line, len);
    }
    return len;
}

size_t http_on_reply(char *bytes, size_t size, size_t count, void *self)
{
    struct http_client *client = self;
    struct http_attempt *attempt = &client->attempt;
    const struct http_request *request = client->call->request;
    size_t len = size * count;
    bool good = attempt->status >= 200 && attempt->status < 300;

    if (good && request->sink != NULL) {
        if (request->sink(request->sink_self, bytes, len, &attempt->error) != 0) {
            attempt->failed = true;
            return 0;
        }
        attempt->activity_ms = clock_monotonic_ms(); /* the sink's time is not the server's */
        return len;
    }
    attempt->activity_ms = clock_monotonic_ms();
    struct text *text = &client->reply_text;
    size_t room = text->limit - text->len;
    text_add_bytes(text, bytes, len < room ? len : room);
    if (text->failed) {
        (void)error_memory(&attempt->error, "a reply"); /* `failed` says it */
        attempt->failed = true;
        return 0;
    }
    if (len > room) {
        attempt->oversize = good;
        attempt->cut_by_limit = !good;
        return 0;
    }
    return len;
}

static size_t on_read(char *buf, size_t size, size_t count, void *self)
{
    struct http_client *client = self;
    struct http_attempt *attempt = &client->attempt;
    struct http_body *body = client->call->request->body;
    uint64_t left = client->call->body_bytes - attempt->body_given_bytes;
    if (left == 0) {
        return 0;
    }
    size_t len = size * count < left ? size * count : (size_t)left;
    uint64_t before_ns = clock_monotonic_ns();
    ssize_t got = body->read(body->self, buf, len, &attempt->error);
    attempt->body_read_ns += clock_monotonic_ns() - before_ns;
    if (got == 0) {
        (void)error_stop(&attempt->error, EXIT_STATUS_INTERNAL,
                         "a request body ended %llu bytes early", (unsigned long long)left);
    }
    if (got <= 0) {
        attempt->failed = true;
        return CURL_READFUNC_ABORT;
    }
    attempt->body_given_bytes += (uint64_t)got;
    return (size_t)got;
}

static int on_seek(void *self, curl_off_t offset, int origin)
{
    struct http_client *client = self;
    struct http_attempt *attempt = &client->attempt;
    struct http_body *body = client->call->request->body;
    if (offset != 0 || origin != SEEK_SET) {
        return CURL_SEEKFUNC_FAIL; /* never asked for by a plain request */
    }
    if (body->rewind(body->self, &attempt->error) != 0) {
        attempt->failed = true;
        return CURL_SEEKFUNC_FAIL;
    }
    attempt->body_given_bytes = 0;
    return CURL_SEEKFUNC_OK;
}

/* A connection stands and the request is about to be sent on it, perhaps not for the first time
 * in this try. */
static int on_ready(void *self, char *remote, char *local, int remote_port, int local_port)
{
    struct http_client *client = self;
    struct http_attempt *attempt = &client->attempt;
    (void)remote, (void)local, (void)remote_port, (void)local_port; /* given, not needed */
    attempt->sends++;
    attempt->activity_ms = clock_monotonic_ms();
    attempt->window_started_ms =
        attempt->activity_ms - attempt->started_ms - attempt->body_read_ns / 1000000;
    attempt->window_moved_bytes = 0;
    attempt->moved_bytes = 0;
    attempt->body_left = false;
    text_reset(&attempt->early);
    return CURL_PREREQFUNC_OK;
}

static curl_socket_t on_open(void *self, curlsocktype purpose, struct curl_sockaddr *address)
{
    struct http_client *client = self;
    (void)purpose;
    int fd = socket(address->family, address->socktype | SOCK_CLOEXEC, address->protocol);
    int cause = errno;
    for (size_t i = 0; fd >= 0 && i < ARRAY_LEN(client->sockets); i++) {
        if (client->sockets[i] < 0) {
            client->sockets[i] = fd;
            break; /* with no place left this socket's queue is just not looked at */
        }
    }
    if (fd < 0) {
        http_note_descriptors(client, cause);
    }
    return fd < 0 ? CURL_SOCKET_BAD : fd;
}

static int on_close(void *self, curl_socket_t fd)
{
    struct http_client *client = self;
    for (size_t i = 0; i < ARRAY_LEN(client->sockets); i++) {
        if (client->sockets[i] == fd) {
            client->sockets[i] = -1;
        }
    }
    if (client->call != NULL) {
        http_early_collect(client, fd);
    }
    return close(fd);
}

/* A status line; what an interim reply (1xx) said before does not count. */
static size_t start_reply(struct http_client *client, const char *line, size_t len)
{
    const char *space = memchr(line, ' ', len);
    int status = 0;
    for (size_t i = 1; space != NULL && space + i < line + len && i <= 3; i++) {
        if (space[i] < '0' || space[i] > '9') {
            break;
        }
        status = status * 10 + (space[i] - '0');
    }
    client->attempt.status = status;
    client->attempt.headers_done = false;
    client->attempt.retry_after_ms = 0;
    client->location[0] = '\0';
    client->range[0] = '\0';
    for (size_t i = 0; i < HTTP_KEEP_MAX; i++) {
        client->kept[i][0] = '\0';
    }
    return len;
}

/* Copy the value to `out` if the line is the header `name`. */
static bool copy_value(const char *line, size_t len, const char *name, char *out, size_t out_size)
{
    size_t name_len = strlen(name);
    if (len <= name_len || line[name_len] != ':' || strncasecmp(line, name, name_len) != 0) {
        return false;
    }
    const char *value = line + name_len + 1;
    const char *end = line + len;
    while (value < end && (*value == ' ' || *value == '\t')) {
        value++;
    }
    while (end > value && (end[-1] == '\r' || end[-1] == '\n' || end[-1] == ' ')) {
        end--;
    }
    size_t value_len = (size_t)(end - value);
    if (value_len >= out_size) {
        value_len = out_size - 1;
    }
    memcpy(out, value, value_len);
    out[value_len] = '\0';
    return true;
}

static void take_header(struct http_client *client, const char *line, size_t len)
{
    char text[64];
    const struct http_request *request = client->call->request;
    (void)copy_value(line, len, "Location", client->location, sizeof(client->location));
    (void)copy_value(line, len, "Range", client->range, sizeof(client->range));
    for (size_t i = 0; i < HTTP_KEEP_MAX; i++) {
        if (request->keep[i] != NULL) {
            (void)copy_value(line, len, request->keep[i], client->kept[i], HTTP_KEEP_BYTES);
        }
    }
    if (copy_value(line, len, "Retry-After", text, sizeof(text))) {
        uint64_t seconds = 0;
        if (parse_u64(text, &seconds) != 0) {
            time_t now = (time_t)(clock_utc_ns() / 1000000000);
            time_t then = curl_getdate(text, NULL);
            seconds = then > now ? (uint64_t)(then - now) : 0;
        }
        client->attempt.retry_after_ms = seconds < UINT32_MAX ? seconds * 1000 : UINT32_MAX;
    }
}
