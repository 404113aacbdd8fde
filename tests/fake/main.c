/* SPDX-License-Identifier: GPL-3.0-or-later */
/* main: fake-gcs, a local Cloud Storage for tests. Sets up, serves until a signal, takes down. */
#include <signal.h>
#include <string.h>
#include <sys/resource.h>

#include "base/base.h"
#include "mpu.h"
#include "object_index.h"
#include "resumable.h"
#include "server.h"

#define SCRIPT_MAX ((size_t)16 << 20)

/* Every connection is a descriptor, and so is every file that is being read or written. */
static void raise_descriptor_limit(void)
{
    struct rlimit limit;
    if (getrlimit(RLIMIT_NOFILE, &limit) == 0) {
        limit.rlim_cur = limit.rlim_max;
        (void)setrlimit(RLIMIT_NOFILE, &limit); /* fewer connections then */
    }
}

static int load_faults(struct server *server, struct error *err)
{
    struct text script CLEANUP_TEXT = TEXT_INIT(SCRIPT_MAX);
    const char *path = server->options->faults_file;
    if (path == NULL) {
        return 0;
    }
    if (file_read(path, SCRIPT_MAX, &script, err) != 0) {
        return -1;
    }
    return faults_add_lines(server->faults, text_str(&script), err) != 0
               ? error_add(err, "%s", path)
               : 0;
}

static int load_bucket_json(struct server *server, struct error *err)
{
    struct text json CLEANUP_TEXT = TEXT_INIT(SCRIPT_MAX);
    const char *path = server->options->bucket_json_file;
    if (path == NULL) {
        return 0;
    }
    if (file_read(path, SCRIPT_MAX, &json, err) != 0) {
        return -1;
    }
    server->bucket_json = cJSON_Parse(text_str(&json));
    const struct protection protection = protection_of_bucket(server->bucket_json);
    store_protect(server->store, &protection);
    return cJSON_IsObject(server->bucket_json)
               ? 0
               : error_stop(err, EXIT_STATUS_USAGE, "%s: not a JSON object", path);
}

static int set_up(struct server *server, struct error *err)
{
    const struct options *options = server->options;
    server->storage.discard = options->discard;
    if (options->folder != NULL && object_index_open(options->folder, options->tree,
                                                     &server->storage, &server->index, err) != 0) {
        return -1;
    }
    server->store = store_new(server->index);
    server->sessions = sessions_new();
    server->uploads = uploads_new();
    server->faults = faults_new();
    server->holds = holds_new();
    server->waits = waits_new();
    if (server->store == NULL || server->sessions == NULL || server->uploads == NULL ||
        server->faults == NULL || server->holds == NULL || server->waits == NULL) {
        return error_memory(err, "the server");
    }
    if (server->index != NULL &&
        object_index_replay(server->index, &server->storage, server->store, err) != 0) {
        return -1;
    }
    if (load_faults(server, err) != 0 || load_bucket_json(server, err) != 0) {
        return -1;
    }
    return server_start(server, err);
}

static void take_down(struct server *server)
{
    if (server->waits != NULL) {
        server_stop(server);
    }
    waits_free(server->waits);
    sessions_free(server->sessions);
    uploads_free(server->uploads);
    faults_free(server->faults);
    holds_free(server->holds);
    store_free(server->store);
    object_index_close(server->index);
    cJSON_Delete(server->bucket_json);
    free(server->storage.data_folder);
}

static int write_port_file(const struct server *server, struct error *err)
{
    const char *path = server->options->port_file;
    if (path == NULL) {
        return 0;
    }
    char port[16];
    int len = snprintf(port, sizeof(port), "%u\n", server->port);
    return file_write(path, port, (size_t)len, 0644, err);
}

static int serve(struct server *server, const sigset_t *signals, struct error *err)
{
    if (set_up(server, err) != 0 || write_port_file(server, err) != 0) {
        return -1;
    }
    printf("fake-gcs: listening on %s://127.0.0.1:%u\n",
           server->options->tls_cert_file != NULL ? "https" : "http", server->port);
    (void)fflush(stdout); /* only a courtesy */
    int signal_number = 0;
    (void)sigwait(signals, &signal_number); /* fails for a bad set only */
    return 0;
}

int main(int argc, char **argv)
{
    struct options options;
    if (options_parse(argc, argv, &options) != 0) {
        return EXIT_STATUS_USAGE;
    }
    if (options.help) {
        options_print_help();
        return EXIT_STATUS_CLEAN;
    }
    sigset_t signals;
    (void)sigemptyset(&signals);
    (void)sigaddset(&signals, SIGINT);
    (void)sigaddset(&signals, SIGTERM);
    (void)pthread_sigmask(SIG_BLOCK, &signals, NULL); /* every later thread inherits it */
    (void)signal(SIGPIPE, SIG_IGN);
    raise_descriptor_limit();

    struct server server = {.options = &options};
    struct error err = {0};
    int result = serve(&server, &signals, &err);
    take_down(&server);
    if (result != 0) {
        fprintf(stderr, "fake-gcs: %s\n", err.message);
        return err.exit_status != 0 ? (int)err.exit_status : EXIT_STATUS_FAILED;
    }
    return EXIT_STATUS_CLEAN;
}
