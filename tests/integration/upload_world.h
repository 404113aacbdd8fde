/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What the tests of upload against fake-gcs share: the server (FAKE_URL names one that runs,
 * FAKE_GCS a program to start), faults, a source of endless bytes, and looks into the bucket. One
 * file per program includes it, so everything in it is static.
 */
#ifndef UPLOAD_WORLD_H
#define UPLOAD_WORLD_H

#include "upload/upload.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>

#define ALL_RIGHTS 0x1fU
#define RUN "20261129T220312Z-7f3a9c01"
#define OWN_METADATA "{\"winch-run\":\"" RUN "\"}"
#define OLD_METADATA "{\"winch-run\":\"20261128T220312Z-00000001\"}"

/* The run's own, so that tests neither see each other nor an earlier start. */
static struct {
    struct gcs_endpoint endpoint;
    pid_t server;
    char port_file[64];
    char bucket[64];
} world;

static inline int start_server(const char *program)
{
    (void)snprintf(world.port_file, sizeof(world.port_file), "/tmp/upload-world-%d", getpid());
    world.server = fork();
    if (world.server == 0) {
        (void)prctl(PR_SET_PDEATHSIG, SIGTERM); /* a killed test leaves no server behind */
        (void)execl(program, program, "--port", "0", "--port-file", world.port_file, (char *)NULL);
        _exit(127);
    }
    for (int i = 0; i < 200; i++) {
        CLEANUP_TEXT struct text port = TEXT_INIT(64);
        if (file_read(world.port_file, 32, &port, NULL) == 0 && port.len > 0) {
            int digits = (int)strspn(port.data, "0123456789");
            (void)snprintf(world.endpoint.url, sizeof(world.endpoint.url), "http://127.0.0.1:%.*s",
                           digits, port.data);
            return 0;
        }
        (void)clock_sleep_ms(50, NULL);
    }
    return -1;
}

static inline int world_open(void **state)
{
    (void)state;
    struct error err = {0};
    const char *url = getenv("FAKE_URL");
    const char *program = getenv("FAKE_GCS");
    world.endpoint.is_emulator = true;
    (void)snprintf(world.bucket, sizeof(world.bucket), "up-%d-%u", getpid(),
                   (unsigned)random_below(100000));
    if (http_global_init(&err) != 0) {
        return -1;
    }
    if (url != NULL) {
        (void)snprintf(world.endpoint.url, sizeof(world.endpoint.url), "%s", url);
        return 0;
    }
    return program != NULL ? start_server(program) : -1;
}

static inline int world_close(void **state)
{
    (void)state;
    if (world.server > 0) {
        (void)kill(world.server, SIGTERM);
        (void)waitpid(world.server, NULL, 0);
        (void)unlink(world.port_file);
    }
    return 0;
}

/* ---- faults ---- */

static inline void control(const char *method, const char *path, const char *lines)
{
    struct http_settings settings = {.user_agent = "test"};
    struct error err = {0};
    struct http_client *client = http_client_new(&settings, &err);
    assert_non_null(client);
    char url[600];
    (void)snprintf(url, sizeof(url), "%s/_fake/%s", world.endpoint.url, path);
    struct http_memory memory = {.bytes = lines, .len = strlen(lines)};
    struct http_body body = http_memory_body(&memory);
    struct http_request request = {
        .method = method, .url = url, .body = lines[0] != '\0' ? &body : NULL};
    struct http_reply reply;
    assert_int_equal(http_send(client, &request, &reply, &err), 0);
    if (reply.status / 100 != 2) {
        fail_msg("%s: %d %s", path, reply.status, text_str(&reply.body));
    }
    http_reply_clear(&reply);
    http_client_free(client);
}

static inline void faults_set(const char *lines)
{
    control("POST", "faults", lines);
}

static inline void faults_clear(void)
{
    control("DELETE", "faults", "");
}

/* ---- a session: engine and one uploader ---- */

struct session {
    struct upload_settings settings;
    struct upload_engine *engine;
    struct uploader *uploader;
    struct error err;
};

static inline void session_open(struct session *session)
{
    if (session->settings.rights == 0) {
        session->settings.rights = ALL_RIGHTS;
    }
    if (session->settings.connections == 0) {
        session->settings.connections = 16;
    }
    session->settings.gcs.endpoint = world.endpoint;
    session->settings.gcs.bucket = world.bucket;
    session->settings.gcs.http.user_agent = "winch-test";
    session->settings.gcs.http.give_up_ms = 30000;
    session->engine = upload_engine_new(&session->settings, &session->err);
    assert_non_null(session->engine);
    session->uploader = uploader_new(session->engine, &session->err);
    assert_non_null(session->uploader);
}

static inline void session_close(struct session *session)
{
    uploader_free(session->uploader);
    upload_engine_free(session->engine);
}

static inline struct upload_counters counters_of(struct session *session)
{
    struct upload_counters counters;
    upload_engine_counters(session->engine, &counters);
    return counters;
}

/* ---- a source: bytes that depend on their offset and a seed ---- */

struct pattern {
    uint64_t seed;
    const uint64_t (*holes)[2]; /* ranges that are zeros; or NULL */
    size_t hole_count;
    uint64_t fail_at; /* a read of this byte fails; 0: none */
    _Atomic uint64_t read_bytes;
};

static inline ssize_t pattern_read(void *self, uint64_t offset, void *buf, size_t len,
                                   struct error *err)
{
    struct pattern *pattern = self;
    if (pattern->fail_at != 0 && offset + len > pattern->fail_at) {
        return error_entry(err, "bad-sector", "sector %llu", (unsigned long long)pattern->fail_at);
    }
    unsigned char *out = buf;
    size_t count = len > 7777 ? len - 777 : len; /* short reads are allowed */
    for (size_t i = 0; i < count; i++) {
        uint64_t mixed =
            (offset + i) * 0x9e3779b97f4a7c15ULL + pattern->seed * 0xd1342543de82ef95ULL;
        out[i] = (unsigned char)(mixed >> 56);
    }
    for (size_t i = 0; i < pattern->hole_count; i++) {
        for (size_t at = 0; at < count; at++) {
            bool inside = offset + at >= pattern->holes[i][0] && offset + at < pattern->holes[i][1];
            out[at] = inside ? 0 : out[at];
        }
    }
    atomic_fetch_add(&pattern->read_bytes, count);
    return (ssize_t)count;
}

static inline struct upload_source pattern_source(struct pattern *pattern, uint64_t size_bytes)
{
    return (struct upload_source){.size_bytes = size_bytes, .read = pattern_read, .self = pattern};
}

static inline uint32_t pattern_sum(const struct pattern *like, uint64_t offset, uint64_t size_bytes)
{
    static unsigned char buf[65536];
    struct pattern pattern = {
        .seed = like->seed, .holes = like->holes, .hole_count = like->hole_count};
    uint32_t crc = 0;
    for (uint64_t at = 0; at < size_bytes;) {
        uint64_t rest = size_bytes - at;
        size_t want = rest < sizeof(buf) ? (size_t)rest : sizeof(buf);
        ssize_t got = pattern_read(&pattern, offset + at, buf, want, NULL);
        crc = crc32c_update(crc, buf, (size_t)got);
        at += (uint64_t)got;
    }
    return crc;
}

static inline uint32_t pattern_crc(uint64_t seed, uint64_t offset, uint64_t size_bytes)
{
    return pattern_sum(&(struct pattern){.seed = seed}, offset, size_bytes);
}

/* ---- looks into the bucket ---- */

static inline int take_crc(void *self, const void *bytes, size_t len, struct error *err)
{
    (void)err;
    uint32_t *crc = self;
    *crc = crc32c_update(*crc, bytes, len);
    return 0;
}

static inline void restart_crc(void *self)
{
    *(uint32_t *)self = 0;
}

/* The object's bytes, read back, have this checksum. */
static inline void assert_content(struct session *session, const char *name, uint64_t size_bytes,
                                  uint32_t crc)
{
    struct gcs_object object;
    struct error err = {0};
    struct gcs_client *client = uploader_client(session->uploader);
    if (gcs_get(client, name, &object, &err) != GCS_DONE) {
        fail_msg("%s", err.message);
    }
    assert_int_equal(object.size_bytes, size_bytes);
    assert_int_equal(object.crc32c, crc);
    uint32_t read = 0;
    assert_int_equal(
        gcs_read(client, name, object.generation, 0, 0, take_crc, restart_crc, &read, &err),
        GCS_DONE);
    assert_int_equal(read, crc);
}

static inline int count_object(void *self, const char *name, const struct gcs_object *object,
                               struct error *err)
{
    (void)name;
    (void)object;
    (void)err;
    (*(uint64_t *)self)++;
    return 0;
}

static inline uint64_t count_objects(struct session *session, const char *prefix)
{
    uint64_t count = 0;
    struct error err = {0};
    struct gcs_listing listing = {.prefix = prefix, .object = count_object, .self = &count};
    if (gcs_list(uploader_client(session->uploader), &listing, &err) != GCS_DONE) {
        fail_msg("%s", err.message);
    }
    return count;
}

/* Put something under a name, behind the back of the code under test. */
static inline uint64_t plant(struct session *session, const char *name, const char *metadata,
                             uint64_t seed, uint64_t offset, uint64_t size_bytes)
{
    struct error err = {0};
    struct pattern pattern = {.seed = seed};
    unsigned char *bytes = malloc(size_bytes + 1);
    assert_non_null(bytes);
    for (uint64_t at = 0; at < size_bytes;) {
        at += (uint64_t)pattern_read(&pattern, offset + at, bytes + at, size_bytes - at, NULL);
    }
    struct http_memory memory = {.bytes = bytes, .len = size_bytes};
    struct http_body body = http_memory_body(&memory);
    struct gcs_write write = {.name = name, .metadata_json = metadata};
    struct gcs_object object;
    enum gcs_answer answer =
        gcs_insert(uploader_client(session->uploader), &write, &body, &object, &err);
    free(bytes);
    if (answer != GCS_DONE) {
        fail_msg("%s", err.message);
    }
    return object.generation;
}

#endif
