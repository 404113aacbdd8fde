/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * A server that refuses a request before its body has come may answer and close at once. The
 * next send then fails with a reset, although the answer already lies in our socket; libcurl
 * closes the socket without looking. Here it is read, for plain HTTP: under TLS what lies in the
 * socket cannot be deciphered any more, and the try counts as unanswered.
 */
#include <string.h>
#include <sys/socket.h>

#include "http/http_internal.h"

void http_early_collect(struct http_client *client, int fd)
{
    struct http_attempt *attempt = &client->attempt;
    if (attempt->sends == 0 || attempt->status != 0 || client->call->origin.https) {
        return;
    }
    char buf[4096];
    text_reset(&attempt->early);
    for (;;) {
        ssize_t got = recv(fd, buf, sizeof(buf), MSG_DONTWAIT);
        if (got <= 0) {
            return;
        }
        text_add_bytes(&attempt->early, buf, (size_t)got);
        if (attempt->early.no_memory) {
            (void)error_memory(&attempt->error, "a reply"); /* `failed` says it */
            attempt->failed = true;
            return;
        }
        if (attempt->early.failed) {
            return; /* long enough to hold the head */
        }
    }
}

bool http_early_answer(struct http_client *client)
{
    struct http_attempt *attempt = &client->attempt;
    char *at = attempt->early.data;
    size_t left = attempt->early.len;
    if (attempt->status != 0 || left < 8 || memcmp(at, "HTTP/1.", 7) != 0) {
        return false;
    }
    while (!attempt->headers_done) {
        char *end = memchr(at, '\n', left);
        if (end == NULL) {
            attempt->status = 0;
            return false;
        }
        size_t len = (size_t)(end - at) + 1;
        (void)http_on_header(at, 1, len, client); /* takes lines of any kind */
        at += len;
        left -= len;
    }
    if (attempt->status < 300) {
        attempt->status = 0; /* nobody can have stored a body that was not sent */
        return false;
    }
    if (left > 0) {
        (void)http_on_reply(at, 1, left, client); /* notes by itself when there is too much */
    }
    return true;
}
