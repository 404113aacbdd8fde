/* SPDX-License-Identifier: GPL-3.0-or-later */
/* state: folders and locks. */
#include "run/state.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/file.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>

#define RUNS_MAX 100000

struct state {
    char *folder;
    char run[RUN_ID_MAX]; /* entered, or "" */
    int run_lock;
    int destination_lock;
};

static void default_folder(struct text *text)
{
    const char *folder = getenv("WINCH_STATE_DIR");
    if (folder == NULL || folder[0] == '\0') {
        folder = getenv("STATE_DIRECTORY");
    }
    if (folder != NULL && folder[0] != '\0') {
        text_add(text, folder);
    } else if (geteuid() == 0) {
        text_add(text, "/var/lib/winch");
    } else if (getenv("XDG_STATE_HOME") != NULL && getenv("XDG_STATE_HOME")[0] != '\0') {
        text_printf(text, "%s/winch", getenv("XDG_STATE_HOME"));
    } else if (getenv("HOME") != NULL) {
        text_printf(text, "%s/.local/state/winch", getenv("HOME"));
    } else {
        text_add(text, "/tmp/winch-state");
    }
}

static int check_folder(const char *folder, struct error *err)
{
    CLEANUP_TEXT struct text runs = TEXT_INIT(4096);
    text_printf(&runs, "%s/runs", folder);
    if (runs.failed) {
        return error_stop(err, EXIT_STATUS_USAGE, "--state-dir: the path is too long");
    }
    struct stat info;
    /* Looked at first, so that nothing is made in somebody else's folder. */
    bool foreign = stat(folder, &info) == 0 && info.st_uid != geteuid();
    if (!foreign && file_make_folders(runs.data, 0700, err) != 0) {
        err->exit_status = EXIT_STATUS_TEMPORARY;
        return error_add(err, "state folder %s", folder);
    }
    /* Only `runs` is ours to close: the folder itself may be one that others need. */
    CLEANUP_CLOSE int fd = open(runs.data, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (stat(folder, &info) != 0 || info.st_uid != geteuid() || fd < 0 || fstat(fd, &info) != 0 ||
        info.st_uid != geteuid()) {
        return error_stop(err, EXIT_STATUS_TEMPORARY,
                          "state folder %s belongs to another user; give one of your own with "
                          "--state-dir",
                          folder);
    }
    (void)fchmod(fd, 0700); /* fails on odd file systems only, which is no harm */
    if (access(folder, W_OK | X_OK) != 0 || access(runs.data, W_OK | X_OK) != 0) {
        return error_stop(err, EXIT_STATUS_TEMPORARY,
                          "state folder %s cannot be written: %s; give another with --state-dir",
                          folder, strerror(errno));
    }
    return 0;
}

struct state *state_open(const char *folder, struct error *err)
{
    CLEANUP_TEXT struct text path = TEXT_INIT(4000);
    if (folder != NULL) {
        text_add(&path, folder);
    } else {
        default_folder(&path);
    }
    if (path.failed || path.len == 0) {
        (void)error_stop(err, EXIT_STATUS_USAGE, "--state-dir: not a usable path");
        return NULL;
    }
    if (check_folder(path.data, err) != 0) {
        return NULL;
    }
    struct state *state = calloc(1, sizeof(*state));
    if (state == NULL) {
        (void)error_memory(err, "the state folder");
        return NULL;
    }
    state->folder = TAKE(path.data);
    state->run_lock = -1;
    state->destination_lock = -1;
    return state;
}

void state_close(struct state *state)
{
    if (state == NULL) {
        return;
    }
    cleanup_close(&state->run_lock);
    cleanup_close(&state->destination_lock);
    free(state->folder);
    free(state);
}

const char *state_folder(const struct state *state)
{
    return state->folder;
}

int state_lock_destination(struct state *state, const char *destination, struct error *err)
{
    uint8_t hash[32];
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    sha256_bytes(destination, strlen(destination), hash);
    /* An abstract name: no file is left, and the kernel lets go of it when the process dies. */
    size_t used = 1;
    used += (size_t)snprintf(address.sun_path + 1, sizeof(address.sun_path) - 1, "winch-");
    for (size_t i = 0; i < 16; i++) {
        used += (size_t)snprintf(address.sun_path + used, sizeof(address.sun_path) - used, "%02x",
                                 hash[i]);
    }
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd < 0) {
        return error_stop(err, EXIT_STATUS_TEMPORARY, "cannot make the destination's lock: %s",
                          strerror(errno));
    }
    socklen_t len = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + used);
    if (bind(fd, (const struct sockaddr *)&address, len) != 0) {
        int cause = errno;
        (void)close(fd); /* was never used */
        if (cause == EADDRINUSE) {
            return error_stop(
                err, EXIT_STATUS_LOCKED,
                "%s: another winch on this machine is writing there now. Wait for it, "
                "or stop it; two runs never share a destination.",
                destination);
        }
        return error_stop(err, EXIT_STATUS_TEMPORARY, "cannot take the destination's lock: %s",
                          strerror(cause));
    }
    state->destination_lock = fd;
    return 0;
}

static int compare_names_down(const void *a, const void *b)
{
    return strcmp(*(char *const *)b, *(char *const *)a);
}

static size_t list_runs(struct state *state, char ***ret_names)
{
    CLEANUP_TEXT struct text path = TEXT_INIT(4096);
    text_printf(&path, "%s/runs", state->folder);
    DIR *folder = path.failed ? NULL : opendir(path.data);
    char **names = NULL;
    size_t count = 0;
    struct dirent *item = NULL;
    while (folder != NULL && count < RUNS_MAX && (item = readdir(folder)) != NULL) {
        if (!identity_run_is_legal(item->d_name)) {
            continue;
        }
        char **more = realloc(names, (count + 1) * sizeof(*names));
        char *name = strdup(item->d_name);
        if (more != NULL) {
            names = more;
        }
        if (more == NULL || name == NULL) {
            free(name);
            break;
        }
        names[count++] = name;
    }
    if (folder != NULL) {
        (void)closedir(folder); /* was only read */
    }
    if (count > 0) {
        qsort(names, count, sizeof(*names), compare_names_down);
    }
    *ret_names = names;
    return count;
}

int state_each_run(struct state *state,
                   int (*each)(void *self, const struct identity *identity, struct error *err),
                   void *self, struct error *err)
{
    char **names = NULL;
    size_t count = list_runs(state, &names);
    int result = 0;
    for (size_t i = 0; i < count; i++) {
        CLEANUP_TEXT struct text path = TEXT_INIT(4096);
        CLEANUP_TEXT struct text json = TEXT_INIT(65536);
        struct identity identity;
        struct error ignored = {0};
        text_printf(&path, "%s/runs/%s/identity.json", state->folder, names[i]);
        if (result == 0 && !path.failed && file_read(path.data, 65536, &json, &ignored) == 0 &&
            identity_read(text_str(&json), json.len, &identity) == 0 &&
            strcmp(identity.run, names[i]) == 0) {
            result = each(self, &identity, err);
        }
        free(names[i]);
    }
    free(names);
    return result;
}

void state_run_path(const struct state *state, const char *name, struct text *text)
{
    text_printf(text, "%s/runs/%s", state->folder, state->run);
    if (name != NULL) {
        text_printf(text, "/%s", name);
    }
}

static int lock_folder(const char *folder, struct error *err)
{
    int fd = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0) {
        return error_stop(err, EXIT_STATUS_TEMPORARY, "cannot open %s: %s", folder,
                          strerror(errno));
    }
    if (flock(fd, LOCK_EX | LOCK_NB) != 0) {
        int cause = errno;
        (void)close(fd); /* was only locked */
        return error_stop(err, EXIT_STATUS_LOCKED,
                          cause == EWOULDBLOCK
                              ? "%s: another winch is working on this run now. Wait for it."
                              : "%s: cannot be locked",
                          folder);
    }
    return fd;
}

int state_enter_run(struct state *state, const struct identity *identity, struct error *err)
{
    CLEANUP_TEXT struct text folder = TEXT_INIT(4096);
    CLEANUP_TEXT struct text file = TEXT_INIT(4096);
    CLEANUP_TEXT struct text json = TEXT_INIT(65536);
    (void)snprintf(state->run, sizeof(state->run), "%s", identity->run);
    state_run_path(state, NULL, &folder);
    state_run_path(state, "identity.json", &file);
    identity_write(identity, &json);
    if (folder.failed || file.failed || json.failed) {
        return error_memory(err, "the run's folder");
    }
    if (file_make_folders(folder.data, 0700, err) != 0) {
        err->exit_status = EXIT_STATUS_TEMPORARY;
        return -1;
    }
    state->run_lock = lock_folder(folder.data, err);
    if (state->run_lock < 0) {
        return -1;
    }
    if (file_write(file.data, json.data, json.len, 0600, err) != 0) {
        err->exit_status = EXIT_STATUS_TEMPORARY;
        return error_add(err, "state folder %s (free space there or give another --state-dir)",
                         state->folder);
    }
    return 0;
}

static void remove_folder(const char *folder)
{
    /* The identity goes first: what a kill leaves behind without it is no run to continue. */
    static const char *const files[] = {"identity.json", "journal.sqlite", "journal.sqlite-wal",
                                        "journal.sqlite-shm", "journal.sqlite-journal"};
    for (size_t i = 0; i < ARRAY_LEN(files); i++) {
        CLEANUP_TEXT struct text path = TEXT_INIT(4096);
        text_printf(&path, "%s/%s", folder, files[i]);
        if (!path.failed) {
            (void)unlink(path.data); /* what is not there need not go */
        }
    }
    (void)rmdir(folder); /* stays if somebody put something into it */
}

void state_leave_run(struct state *state)
{
    CLEANUP_TEXT struct text folder = TEXT_INIT(4096);
    state_run_path(state, NULL, &folder);
    if (!folder.failed) {
        remove_folder(folder.data);
    }
    cleanup_close(&state->run_lock);
    state->run_lock = -1;
    state->run[0] = '\0';
}

void state_remove_run(struct state *state, const char *run)
{
    CLEANUP_TEXT struct text folder = TEXT_INIT(4096);
    struct error ignored = {0};
    text_printf(&folder, "%s/runs/%s", state->folder, run);
    int fd = folder.failed ? -1 : lock_folder(folder.data, &ignored);
    if (fd >= 0) {
        remove_folder(folder.data);
        (void)close(fd); /* was only locked */
    }
}
