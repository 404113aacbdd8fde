/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * curl_limit: how fast libcurl alone can put bytes into a server, as the yardstick for winch. Plain
 * threads with an easy handle each; no scan, no journal, no retries.
 *
 *   curl_limit large URL FILE|zero SIZE CONNECTIONS PART_SIZE
 *   curl_limit small URL COUNT SIZE CONNECTIONS
 *
 * Prints one JSON object: seconds, bytes and requests.
 */
#include <curl/curl.h>
#include <fcntl.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdatomic.h>
#include <string.h>

#include "base/base.h"

#define MAX_CONNECTIONS 1024
#define UPLOAD_BUFFER (512L << 10)
#define SMALL_MAX ((size_t)8 << 20)

/* What all threads share; constant but for the two counters. */
struct work {
    bool small;
    const char *url;
    int fd;        /* of the file to send; -1: zeros */
    uint64_t size; /* of the whole, or of one small object */
    uint64_t part_size;
    uint64_t count; /* of requests */
    char run[37];   /* makes names new in every run */
    _Atomic uint64_t next;
    _Atomic uint64_t failed;
};

/* One request body, as libcurl reads it. */
struct body {
    const struct work *work;
    uint64_t offset; /* in the file */
    uint64_t size;
    uint64_t sent;
    uint32_t crc;
    const char *memory; /* a small request, whole */
};

static size_t read_body(char *buf, size_t size, size_t count, void *self)
{
    struct body *body = self;
    uint64_t left = body->size - body->sent;
    size_t len = size * count < left ? size * count : (size_t)left;
    if (len == 0) {
        return 0;
    }
    if (body->memory != NULL) {
        memcpy(buf, body->memory + body->sent, len);
    } else if (body->work->fd < 0) {
        memset(buf, 0, len);
    } else {
        ssize_t got = pread(body->work->fd, buf, len, (off_t)(body->offset + body->sent));
        if (got <= 0) {
            return CURL_READFUNC_ABORT;
        }
        len = (size_t)got;
    }
    if (body->memory == NULL) {
        body->crc = crc32c_update(body->crc, buf, len);
    }
    body->sent += len;
    return len;
}

static int rewind_body(void *self, curl_off_t offset, int origin)
{
    struct body *body = self;
    if (offset != 0 || origin != SEEK_SET) {
        return CURL_SEEKFUNC_FAIL;
    }
    body->sent = 0;
    body->crc = 0;
    return CURL_SEEKFUNC_OK;
}

static size_t keep_reply(char *bytes, size_t size, size_t count, void *self)
{
    text_add_bytes(self, bytes, size * count);
    return size * count;
}

static CURL *new_handle(struct curl_slist *headers, struct text *reply)
{
    CURL *curl = curl_easy_init();
    if (curl != NULL) {
        (void)curl_easy_setopt(curl, CURLOPT_NOSIGNAL, 1L);
        (void)curl_easy_setopt(curl, CURLOPT_POST, 1L);
        (void)curl_easy_setopt(curl, CURLOPT_HTTP_VERSION, (long)CURL_HTTP_VERSION_1_1);
        (void)curl_easy_setopt(curl, CURLOPT_UPLOAD_BUFFERSIZE, UPLOAD_BUFFER);
        (void)curl_easy_setopt(curl, CURLOPT_READFUNCTION, read_body);
        (void)curl_easy_setopt(curl, CURLOPT_SEEKFUNCTION, rewind_body);
        (void)curl_easy_setopt(curl, CURLOPT_WRITEFUNCTION, keep_reply);
        (void)curl_easy_setopt(curl, CURLOPT_WRITEDATA, reply);
        (void)curl_easy_setopt(curl, CURLOPT_HTTPHEADER, headers);
    }
    return curl;
}

/* Send one body; does the reply state `crc`? For large bodies it is known only afterwards. */
static bool send_body(CURL *curl, const char *url, struct body *body, struct text *reply)
{
    long status = 0;
    text_reset(reply);
    (void)curl_easy_setopt(curl, CURLOPT_URL, url);
    (void)curl_easy_setopt(curl, CURLOPT_READDATA, body);
    (void)curl_easy_setopt(curl, CURLOPT_SEEKDATA, body);
    (void)curl_easy_setopt(curl, CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t)body->size);
    if (curl_easy_perform(curl) != CURLE_OK) {
        return false;
    }
    (void)curl_easy_getinfo(curl, CURLINFO_RESPONSE_CODE, &status);
    char crc[9];
    crc32c_to_base64(body->crc, crc);
    return status == 200 && strstr(text_str(reply), crc) != NULL;
}

static bool send_part(CURL *curl, const struct work *work, uint64_t number, struct text *reply)
{
    struct text url CLEANUP_TEXT = TEXT_INIT(4096);
    struct body body = {.work = work, .offset = number * work->part_size};
    body.size =
        work->size - body.offset < work->part_size ? work->size - body.offset : work->part_size;
    text_printf(&url,
                "%s/upload/storage/v1/b/bench/o?uploadType=media&ifGenerationMatch=0&name=%s%%2F"
                "%" PRIu64,
                work->url, work->run, number);
    return send_body(curl, text_str(&url), &body, reply);
}

static bool send_small(CURL *curl, const struct work *work, uint64_t number, const char *content,
                       uint32_t crc, struct text *buf, struct text *reply)
{
    char crc_base64[9];
    crc32c_to_base64(crc, crc_base64);
    text_reset(buf);
    text_printf(buf,
                "--limit\r\nContent-Type: application/json; charset=UTF-8\r\n\r\n"
                "{\"name\":\"%s/%" PRIu64 "\",\"crc32c\":\"%s\",\"contentType\":"
                "\"application/octet-stream\"}\r\n"
                "--limit\r\nContent-Type: application/octet-stream\r\n\r\n",
                work->run, number, crc_base64);
    text_add_bytes(buf, content, (size_t)work->size);
    text_add(buf, "\r\n--limit--\r\n");
    struct text url CLEANUP_TEXT = TEXT_INIT(4096);
    text_printf(&url, "%s/upload/storage/v1/b/bench/o?uploadType=multipart&ifGenerationMatch=0",
                work->url);
    struct body body = {.work = work, .size = buf->len, .memory = text_str(buf), .crc = crc};
    return !buf->failed && send_body(curl, text_str(&url), &body, reply);
}

static void *run(void *self)
{
    struct work *work = self;
    struct text reply CLEANUP_TEXT = TEXT_INIT((size_t)1 << 20);
    struct text buf CLEANUP_TEXT = TEXT_INIT(SMALL_MAX + 4096);
    char *content CLEANUP_FREE = calloc(1, SMALL_MAX);
    struct curl_slist *headers = curl_slist_append(NULL, "Expect:");
    headers =
        curl_slist_append(headers, work->small ? "Content-Type: multipart/related; boundary=limit"
                                               : "Content-Type: application/octet-stream");
    CURL *curl = new_handle(headers, &reply);
    if (curl == NULL || content == NULL) {
        atomic_fetch_add(&work->failed, 1);
    } else {
        uint64_t number = 0;
        while ((number = atomic_fetch_add(&work->next, 1)) < work->count) {
            bool good = false;
            if (work->small) {
                uint32_t crc = crc32c_update(0, content, (size_t)work->size);
                good = send_small(curl, work, number, content, crc, &buf, &reply);
            } else {
                good = send_part(curl, work, number, &reply);
            }
            atomic_fetch_add(&work->failed, good ? 0 : 1);
        }
    }
    curl_easy_cleanup(curl);
    curl_slist_free_all(headers);
    return NULL;
}

static int run_threads(struct work *work, uint64_t connections)
{
    pthread_t threads[MAX_CONNECTIONS];
    uint64_t started = 0;
    uint64_t start_ns = clock_monotonic_ns();
    while (started < connections && pthread_create(&threads[started], NULL, run, work) == 0) {
        started++;
    }
    for (uint64_t i = 0; i < started; i++) {
        (void)pthread_join(threads[i], NULL);
    }
    double seconds = (double)(clock_monotonic_ns() - start_ns) / 1e9;
    uint64_t bytes = work->small ? work->size * work->count : work->size;
    uint64_t failed = atomic_load(&work->failed) + (started < connections ? 1 : 0);
    printf("{\"seconds\":%.3f,\"bytes\":%" PRIu64 ",\"requests\":%" PRIu64 ",\"failed\":%" PRIu64
           "}\n",
           seconds, bytes, work->count, failed);
    return failed == 0 ? EXIT_STATUS_CLEAN : EXIT_STATUS_FAILED;
}

static int usage(void)
{
    fprintf(stderr, "Usage: curl_limit large URL FILE|zero SIZE CONNECTIONS PART_SIZE\n"
                    "       curl_limit small URL COUNT SIZE CONNECTIONS\n");
    return EXIT_STATUS_USAGE;
}

int main(int argc, char **argv)
{
    struct work work = {.fd = -1};
    uint64_t connections = 0;
    random_uuid(work.run);
    work.url = argc > 2 ? argv[2] : "";
    if (argc == 7 && strcmp(argv[1], "large") == 0) {
        if (parse_size(argv[4], &work.size) != 0 || parse_u64(argv[5], &connections) != 0 ||
            parse_size(argv[6], &work.part_size) != 0 || work.part_size == 0) {
            return usage();
        }
        work.count = (work.size + work.part_size - 1) / work.part_size;
        if (strcmp(argv[3], "zero") != 0) {
            work.fd = open(argv[3], O_RDONLY | O_CLOEXEC);
            if (work.fd < 0) {
                perror(argv[3]);
                return EXIT_STATUS_FAILED;
            }
        }
    } else if (argc == 6 && strcmp(argv[1], "small") == 0) {
        work.small = true;
        if (parse_u64(argv[3], &work.count) != 0 || parse_size(argv[4], &work.size) != 0 ||
            parse_u64(argv[5], &connections) != 0 || work.size > SMALL_MAX) {
            return usage();
        }
    } else {
        return usage();
    }
    if (connections < 1 || connections > MAX_CONNECTIONS ||
        curl_global_init(CURL_GLOBAL_ALL) != 0) {
        return usage();
    }
    return run_threads(&work, connections);
}
