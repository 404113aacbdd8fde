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
#define IDENTITY_BYTES_MAX 65536
/* What is behind the state folder in a path takes less than the rest. */
enum { FOLDER_BYTES_MAX = 4000, PATH_BYTES_MAX = 4200 };

struct state {
    char *folder;
    char run[RUN_ID_MAX]; /* entered, or "" */
    int run_lock;
    int destination_lock;
};

/* As snprintf(). */
static int default_folder(char *out, size_t size)
{
    const char *folder = getenv("WINCH_STATE_DIR");
    if (folder == NULL || folder[0] == '\0') {
        folder = getenv("STATE_DIRECTORY");
    }
    if (folder != NULL && folder[0] != '\0') {
        return snprintf(out, size, "%s", folder);
    }
    if (geteuid() == 0) {
        return snprintf(out, size, "/var/lib/winch");
    }
    const char *home = getenv("XDG_STATE_HOME");
    if (home != NULL && home[0] != '\0') {
        return snprintf(out, size, "%s/winch", home);
    }
    home = getenv("HOME");
    return home != NULL ? snprintf(out, size, "%s/.local/state/winch", home)
                        : snprintf(out, size, "/tmp/winch-state");
}

static int fail(const char *what, const char *path, int number, struct error *err)
{
    char cause[ERROR_CAUSE_SIZE];
    error_cause(number, cause);
    return error_stop(err, EXIT_STATUS_TEMPORARY, "%s %s: %s", what, path, cause);
}

static int check_folder(const char *folder, struct error *err)
{
    char runs[PATH_BYTES_MAX];
    (void)snprintf(runs, sizeof(runs), "%s/runs", folder); /* fits: FOLDER_BYTES_MAX */
    struct stat info;
    /* Looked at first, so that nothing is made in somebody else's folder. */
    bool foreign = stat(folder, &info) == 0 && info.st_uid != geteuid();
    if (!foreign && file_make_folders(runs, 0700, err) != 0) {
        err->exit_status = EXIT_STATUS_TEMPORARY;
        return error_add(err, "state folder %s", folder);
    }
    /* Only `runs` is ours to close: the folder itself may be one that others need. */
    CLEANUP_CLOSE int fd = open(runs, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (fd < 0 && error_exit_of(errno) == EXIT_STATUS_TEMPORARY) {
        return fail("cannot open the state folder", runs, errno, err);
    }
    if (stat(folder, &info) != 0 || info.st_uid != geteuid() || fd < 0 || fstat(fd, &info) != 0 ||
        info.st_uid != geteuid()) {
        return error_stop(err, EXIT_STATUS_TEMPORARY,
                          "state folder %s belongs to another user; give one of your own with "
                          "--state-dir",
                          folder);
    }
    (void)fchmod(fd, 0700); /* fails on odd file systems only, which is no harm */
    if (access(folder, W_OK | X_OK) != 0 || access(runs, W_OK | X_OK) != 0) {
        return error_stop(err, EXIT_STATUS_TEMPORARY,
                          "state folder %s cannot be written: %s; give another with --state-dir",
                          folder, strerror(errno));
    }
    return 0;
}

struct state *state_open(const char *folder, struct error *err)
{
    char path[FOLDER_BYTES_MAX + 1];
    int len = folder != NULL ? snprintf(path, sizeof(path), "%s", folder)
                             : default_folder(path, sizeof(path));
    if (len <= 0 || (size_t)len >= sizeof(path)) {
        (void)error_stop(err, EXIT_STATUS_USAGE, "--state-dir: not a usable path");
        return NULL;
    }
    if (check_folder(path, err) != 0) {
        return NULL;
    }
    struct state *state = calloc(1, sizeof(*state));
    if (state == NULL || (state->folder = strdup(path)) == NULL) {
        free(state);
        (void)error_memory(err, "the state folder");
        return NULL;
    }
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
        return fail("cannot make the lock of", destination, errno, err);
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

static int add_name(char ***names, size_t *count, const char *name, struct error *err)
{
    char **more = realloc(*names, (*count + 1) * sizeof(**names));
    if (more == NULL) {
        return error_memory(err, "the list of runs");
    }
    *names = more;
    more[*count] = strdup(name);
    if (more[*count] == NULL) {
        return error_memory(err, "the list of runs");
    }
    (*count)++;
    return 0;
}

/* A run that is not seen is not continued, and its parts go on costing money: so a list that may
 * not be whole is an error. */
static int list_runs(struct state *state, char ***names, size_t *count, struct error *err)
{
    CLEANUP_TEXT struct text path = TEXT_INIT(4096);
    text_printf(&path, "%s/runs", state->folder);
    if (path.failed) {
        return error_memory(err, "the list of runs");
    }
    DIR *folder = opendir(path.data);
    int cause = folder == NULL ? errno : 0;
    int result = 0;
    while (folder != NULL && result == 0 && *count < RUNS_MAX) {
        errno = 0;
        struct dirent *item = readdir(folder);
        if (item == NULL) {
            cause = errno;
            break;
        }
        if (identity_run_is_legal(item->d_name)) {
            result = add_name(names, count, item->d_name, err);
        }
    }
    if (folder != NULL) {
        (void)closedir(folder); /* was only read */
    }
    if (cause != 0) {
        return fail("cannot see which runs are unfinished:", path.data, cause, err);
    }
    if (*count > 0) {
        qsort(*names, *count, sizeof(**names), compare_names_down);
    }
    return result;
}

/* `ret_is_run` false: there is no identity, or none that reads as one of that run. */
static int read_identity(struct state *state, const char *name, struct identity *ret_identity,
                         bool *ret_is_run, struct error *err)
{
    CLEANUP_TEXT struct text path = TEXT_INIT(4096);
    CLEANUP_TEXT struct text json = TEXT_INIT(IDENTITY_BYTES_MAX);
    struct stat info;
    *ret_is_run = false;
    text_printf(&path, "%s/runs/%s/identity.json", state->folder, name);
    if (path.failed) {
        return error_memory(err, "the list of runs");
    }
    if (stat(path.data, &info) != 0) {
        return errno == ENOENT || errno == ENOTDIR
                   ? 0
                   : error_stop(err, EXIT_STATUS_TEMPORARY,
                                "cannot see whether run %s is unfinished: %s: %s. Mend that, or "
                                "remove its folder to leave the run behind.",
                                name, path.data, strerror(errno));
    }
    if (!S_ISREG(info.st_mode) || info.st_size > IDENTITY_BYTES_MAX) {
        return 0;
    }
    if (file_read(path.data, IDENTITY_BYTES_MAX, &json, err) != 0) {
        err->exit_status = EXIT_STATUS_TEMPORARY;
        return error_add(err, "cannot see whether run %s is unfinished", name);
    }
    struct error cause = {0};
    int status = identity_read(text_str(&json), json.len, ret_identity, &cause);
    if (status != 0 && cause.kind != ERROR_FAIL_ENTRY) {
        *err = cause;
        return error_add(err, "cannot see whether run %s is unfinished", name);
    }
    *ret_is_run = status == 0 && strcmp(ret_identity->run, name) == 0;
    return 0;
}

int state_each_run(struct state *state,
                   int (*each)(void *self, const struct identity *identity, struct error *err),
                   void *self, struct error *err)
{
    char **names = NULL;
    size_t count = 0;
    int result = list_runs(state, &names, &count, err);
    for (size_t i = 0; i < count && result == 0; i++) {
        struct identity identity;
        bool is_run = false;
        result = read_identity(state, names[i], &identity, &is_run, err);
        if (result == 0 && is_run) {
            result = each(self, &identity, err);
        }
    }
    for (size_t i = 0; i < count; i++) {
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
        return fail("cannot open", folder, errno, err);
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
        (void)rmdir(folder.data); /* a new one is empty; what is not stays */
        return -1;
    }
    if (file_write(file.data, json.data, json.len, 0600, err) != 0) {
        (void)rmdir(folder.data); /* as above */
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
        char path[PATH_BYTES_MAX];
        (void)snprintf(path, sizeof(path), "%s/%s", folder, files[i]); /* fits */
        (void)unlink(path); /* what is not there need not go */
    }
    (void)rmdir(folder); /* stays if somebody put something into it */
}

void state_leave_run(struct state *state)
{
    char folder[PATH_BYTES_MAX];
    (void)snprintf(folder, sizeof(folder), "%s/runs/%s", state->folder, state->run); /* fits */
    remove_folder(folder);
    cleanup_close(&state->run_lock);
    state->run_lock = -1;
    state->run[0] = '\0';
}

void state_remove_run(struct state *state, const char *run)
{
    char folder[PATH_BYTES_MAX];
    struct error ignored = {0};
    (void)snprintf(folder, sizeof(folder), "%s/runs/%s", state->folder, run); /* fits */
    int fd = lock_folder(folder, &ignored);
    if (fd >= 0) {
        remove_folder(folder);
        (void)close(fd); /* was only locked */
    }
}
