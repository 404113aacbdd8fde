/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "scripted_server.h"

#include <arpa/inet.h>
#include <assert.h>
#include <netinet/in.h>
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <string.h>
#include <strings.h>
#include <sys/eventfd.h>
#include <sys/socket.h>

enum { SOME_BYTES = 64 * 1024 };

struct scripted_server {
    const struct scripted_step *steps;
    size_t step_count;
    int listen_fd;
    int stop_fd;
    unsigned port;
    unsigned connections;
    bool stopped;
    pthread_t thread;
    atomic_size_t count;
    int hanging[SCRIPTED_REQUESTS_MAX]; /* connections of SCRIPTED_HANG */
    size_t hanging_count;
    char url[512];
    struct scripted_request requests[SCRIPTED_REQUESTS_MAX];
};

/* False: asked to stop, or `ms` (negative: no limit) went by. */
static bool wait_readable(const struct scripted_server *server, int fd, int ms)
{
    struct pollfd fds[] = {{.fd = fd, .events = POLLIN}, {.fd = server->stop_fd, .events = POLLIN}};
    return poll(fds, 2, ms) > 0 && fds[1].revents == 0;
}

static void send_string(int fd, const char *bytes)
{
    size_t left = bytes == NULL ? 0 : strlen(bytes);
    while (left > 0) {
        ssize_t sent = send(fd, bytes, left, MSG_NOSIGNAL);
        if (sent <= 0) {
            return;
        }
        bytes += sent;
        left -= (size_t)sent;
    }
}

static void take_body(struct scripted_request *request, const char *bytes, size_t len)
{
    if (request->body_bytes < SCRIPTED_BODY_MAX - 1) {
        size_t room = SCRIPTED_BODY_MAX - 1 - request->body_bytes;
        memcpy(request->body + request->body_bytes, bytes, len < room ? len : room);
    }
    request->body_crc32c = crc32c_update(request->body_crc32c, bytes, len);
    request->body_bytes += len;
}

static size_t content_length(const char *head)
{
    const char *at = strcasestr(head, "\r\nContent-Length:");
    return at == NULL ? 0 : strtoul(at + 17, NULL, 10);
}

/* The head and what came with it; false when the connection ended before it was whole. */
static bool read_head(struct scripted_server *server, int fd, struct scripted_request *request)
{
    size_t len = 0;
    while (wait_readable(server, fd, -1)) {
        ssize_t got = recv(fd, request->head + len, SCRIPTED_HEAD_MAX - 1 - len, 0);
        if (got <= 0) {
            return false;
        }
        len += (size_t)got;
        request->head[len] = '\0';
        char *end = strstr(request->head, "\r\n\r\n");
        if (end != NULL) {
            size_t head_len = (size_t)(end - request->head) + 4;
            take_body(request, request->head + head_len, len - head_len);
            request->head[head_len] = '\0';
            request->at_ms = clock_monotonic_ms();
            return true;
        }
        assert(len < SCRIPTED_HEAD_MAX - 1);
    }
    return false;
}

static bool read_body(struct scripted_server *server, int fd, struct scripted_request *request,
                      size_t length)
{
    static char buf[256 * 1024]; /* one server thread at a time runs in these tests */
    while (request->body_bytes < length) {
        if (!wait_readable(server, fd, -1)) {
            return false;
        }
        size_t left = length - request->body_bytes;
        ssize_t got = recv(fd, buf, left < sizeof(buf) ? left : sizeof(buf), 0);
        if (got <= 0) {
            return false;
        }
        take_body(request, buf, (size_t)got);
    }
    return true;
}

static void read_until_close(struct scripted_server *server, int fd)
{
    char buf[16 * 1024];
    while (wait_readable(server, fd, -1)) {
        if (recv(fd, buf, sizeof(buf), 0) <= 0) {
            return;
        }
    }
}

/* One request and its answer; false: the connection is done. */
static bool serve_request(struct scripted_server *server, int fd)
{
    size_t index = server->count;
    if (index >= server->step_count || index >= SCRIPTED_REQUESTS_MAX) {
        return false;
    }
    const struct scripted_step *step = &server->steps[index];
    struct scripted_request *request = &server->requests[index];
    request->connection = server->connections;
    if (!read_head(server, fd, request)) {
        return false;
    }
    size_t length = content_length(request->head);
    if (step->reading == SCRIPTED_READ_SOME && length > SOME_BYTES) {
        length = SOME_BYTES;
    }
    if (step->reading != SCRIPTED_READ_HEAD && !read_body(server, fd, request, length)) {
        return false;
    }
    server->count = index + 1;
    if (step->delay_ms > 0) {
        (void)wait_readable(server, -1, (int)step->delay_ms); /* a delay that a stop ends */
    }
    send_string(fd, step->reply);
    if (step->rest != NULL) {
        (void)wait_readable(server, -1, (int)step->pause_ms); /* a delay that a stop ends */
        send_string(fd, step->rest);
    }
    if (step->end == SCRIPTED_DRAIN) {
        (void)shutdown(fd, SHUT_WR); /* the client may be gone already */
        read_until_close(server, fd);
    }
    return step->end == SCRIPTED_KEEP;
}

static void *run(void *self)
{
    struct scripted_server *server = self;
    while (wait_readable(server, server->listen_fd, -1)) {
        int fd = accept(server->listen_fd, NULL, NULL);
        if (fd < 0) {
            continue;
        }
        server->connections++;
        while (serve_request(server, fd)) {
        }
        size_t served = server->count;
        if (served > 0 && server->steps[served - 1].end == SCRIPTED_HANG &&
            server->hanging_count < SCRIPTED_REQUESTS_MAX) {
            server->hanging[server->hanging_count++] = fd;
        } else {
            (void)close(fd); /* nothing to do about it */
        }
    }
    return NULL;
}

struct scripted_server *scripted_server_start(const struct scripted_step *steps, size_t count)
{
    struct scripted_server *server = calloc(1, sizeof(*server));
    assert(server != NULL);
    server->steps = steps;
    server->step_count = count;
    server->stop_fd = eventfd(0, EFD_CLOEXEC);
    server->listen_fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t len = sizeof(address);
    int ok = bind(server->listen_fd, (struct sockaddr *)&address, len) == 0 &&
             listen(server->listen_fd, 64) == 0 &&
             getsockname(server->listen_fd, (struct sockaddr *)&address, &len) == 0;
    assert(ok);
    server->port = ntohs(address.sin_port);
    ok = pthread_create(&server->thread, NULL, run, server) == 0;
    assert(ok);
    return server;
}

unsigned scripted_server_port(const struct scripted_server *server)
{
    return server->port;
}

const char *scripted_server_url(struct scripted_server *server, const char *path)
{
    (void)snprintf(server->url, sizeof(server->url), "http://127.0.0.1:%u%s", server->port, path);
    return server->url;
}

void scripted_server_stop(struct scripted_server *server)
{
    if (server->stopped) {
        return;
    }
    uint64_t one = 1;
    ssize_t written = write(server->stop_fd, &one, sizeof(one));
    assert(written == sizeof(one));
    (void)pthread_join(server->thread, NULL); /* our own thread */
    server->stopped = true;
}

size_t scripted_server_count(const struct scripted_server *server)
{
    return server->count;
}

const struct scripted_request *scripted_server_request(const struct scripted_server *server,
                                                       size_t index)
{
    assert(index < server->count);
    return &server->requests[index];
}

void scripted_server_free(struct scripted_server *server)
{
    if (server == NULL) {
        return;
    }
    scripted_server_stop(server);
    for (size_t i = 0; i < server->hanging_count; i++) {
        (void)close(server->hanging[i]); /* nothing to do about it */
    }
    (void)close(server->listen_fd); /* nothing to do about it */
    (void)close(server->stop_fd);   /* nothing to do about it */
    free(server);
}
