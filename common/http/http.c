/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The public surface apart from http_send(): start, clients, replies, bodies in memory.
 */
#include <string.h>

#include "http/http_internal.h"

enum { CONNECT_MS = 20000, REPLY_MS = 60000, GIVE_UP_MS = 3600000, RETRY_AFTER_MAX_MS = 120000 };
enum { BACKOFF_FIRST_MS = 1000, BACKOFF_MAX_FACTOR = 32, STALL_MS = 30000, STALL_RATE = 1024 };

static CURLcode set_constant_options(struct http_client *client);
static int memory_rewind(void *self, struct error *err);

int http_global_init(struct error *err)
{
    if (curl_global_init(CURL_GLOBAL_DEFAULT) != CURLE_OK) {
        return error_stop(err, EXIT_STATUS_INTERNAL, "libcurl cannot be started");
    }
    return 0;
}

struct http_client *http_client_new(const struct http_settings *settings, struct error *err)
{
    struct http_client *client = calloc(1, sizeof(*client));
    if (client == NULL) {
        (void)error_memory(err, "an HTTP client"); /* NULL says it */
        return NULL;
    }
    uint64_t first = settings->backoff_first_ms > 0 ? settings->backoff_first_ms : BACKOFF_FIRST_MS;
    client->settings = *settings;
    client->timing = (struct http_timing){
        .backoff_first_ms = first,
        .backoff_max_ms = first * BACKOFF_MAX_FACTOR,
        .retry_after_max_ms = RETRY_AFTER_MAX_MS,
        .connect_ms = CONNECT_MS,
        .stall_ms = STALL_MS,
        .stall_bytes = (uint64_t)STALL_RATE * STALL_MS / 1000,
        .reply_ms = REPLY_MS,
        .give_up_ms = settings->give_up_ms > 0 ? settings->give_up_ms : GIVE_UP_MS,
    };
    client->header_text = TEXT_INIT(HTTP_HEADER_TEXT_MAX);
    client->attempt.early = TEXT_INIT(HTTP_EARLY_ANSWER_MAX);
    for (size_t i = 0; i < ARRAY_LEN(client->sockets); i++) {
        client->sockets[i] = -1;
    }
    client->multi = curl_multi_init();
    client->easy = curl_easy_init();
    if (client->multi == NULL || client->easy == NULL || set_constant_options(client) != CURLE_OK) {
        if (client->multi != NULL || !http_none_can_be_opened(client)) {
            (void)error_memory(err, "an HTTP client"); /* NULL says it */
        } else if (err != NULL) {
            *err = client->attempt.error; /* it begins with a pair of sockets */
        }
        http_client_free(client);
        return NULL;
    }
    return client;
}

void http_client_free(struct http_client *client)
{
    if (client == NULL) {
        return;
    }
    curl_easy_cleanup(client->easy);
    (void)curl_multi_cleanup(client->multi); /* fails only for handles we do not have */
    if (client->header_text.data != NULL) {
        explicit_bzero(client->header_text.data, client->header_text.cap);
    }
    explicit_bzero(client->authorization, sizeof(client->authorization));
    text_free(&client->header_text);
    text_free(&client->reply_text);
    text_free(&client->attempt.early);
    free(client->flat_body);
    free(client);
}

void http_reply_clear(struct http_reply *reply)
{
    text_free(&reply->body);
    *reply = (struct http_reply){0};
}

struct http_body http_memory_body(struct http_memory *memory)
{
    memory->position = 0;
    return (struct http_body){
        .size_bytes = memory->len,
        .read = http_memory_read,
        .rewind = memory_rewind,
        .self = memory,
    };
}

ssize_t http_memory_read(void *self, void *buf, size_t len, struct error *err)
{
    struct http_memory *memory = self;
    (void)err; /* memory does not fail */
    size_t left = memory->len - memory->position;
    size_t count = len < left ? len : left;
    if (count > 0) {
        memcpy(buf, (const char *)memory->bytes + memory->position, count);
    }
    memory->position += count;
    return (ssize_t)count;
}

static int memory_rewind(void *self, struct error *err)
{
    struct http_memory *memory = self;
    (void)err; /* memory does not fail */
    memory->position = 0;
    return 0;
}

/* What is the same for all requests of a client. The first failure is returned. */
static CURLcode set_constant_options(struct http_client *client)
{
    CURL *easy = client->easy;
    const struct http_settings *settings = &client->settings;
    CURLcode code = http_callbacks_set(client);
    const struct {
        CURLoption option;
        long value;
    } numbers[] = {
        {CURLOPT_NOSIGNAL, 1},
        {CURLOPT_HTTP_VERSION, CURL_HTTP_VERSION_1_1},
        {CURLOPT_FOLLOWLOCATION, 0},
        {CURLOPT_TCP_NODELAY, 1},
        {CURLOPT_TCP_KEEPALIVE, 1},
        {CURLOPT_DNS_SHUFFLE_ADDRESSES, 1},
        /* A cancel does not wait for a resolver that hangs. */
        {CURLOPT_QUICK_EXIT, 1},
        {CURLOPT_NOPROGRESS, 1},
    };
    for (size_t i = 0; i < ARRAY_LEN(numbers) && code == CURLE_OK; i++) {
        code = curl_easy_setopt(easy, numbers[i].option, numbers[i].value);
    }
    if (code == CURLE_OK) {
        code = curl_easy_setopt(easy, CURLOPT_PROTOCOLS_STR, "http,https");
    }
    if (code == CURLE_OK) {
        code = curl_easy_setopt(easy, CURLOPT_ERRORBUFFER, client->curl_error);
    }
    if (code == CURLE_OK && settings->user_agent != NULL) {
        code = curl_easy_setopt(easy, CURLOPT_USERAGENT, settings->user_agent);
    }
    if (code == CURLE_OK && settings->ca_file != NULL) {
        code = curl_easy_setopt(easy, CURLOPT_CAINFO, settings->ca_file);
    }
    if (code == CURLE_OK && curl_multi_setopt(client->multi, CURLMOPT_MAXCONNECTS,
                                              (long)HTTP_CONNECTIONS_KEPT) != CURLM_OK) {
        code = CURLE_OUT_OF_MEMORY;
    }
    return code;
}
