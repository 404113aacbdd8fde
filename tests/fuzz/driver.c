/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Runs a fuzz target without libFuzzer: every file of the corpus as it is, then seeded mutations of
 * them for a time. Usage: fuzz_NAME [--seconds N] [--seed N] FILE-OR-FOLDER...
 * Prints the number of runs. An input that crashes or takes more than 10 s is kept as
 * crash-NAME-SEED in the current folder.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "fuzz.h"

#define INPUT_MAX 65536
#define INPUTS_MAX 4096
#ifndef INPUT_SECONDS
#define INPUT_SECONDS 10
#endif

struct input {
    uint8_t *bytes;
    size_t len;
};

static struct input inputs[INPUTS_MAX];
static size_t input_count;
static uint64_t state = 1;
static uint8_t current[INPUT_MAX];
static size_t current_len;
static char crash_path[256];

static uint64_t pick(uint64_t below)
{
    state = state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return below == 0 ? 0 : (state >> 20) % below;
}

/* A sanitizer that has something to report ends the process with a signal, so that keep_input() is
 * reached in every build; what the environment says goes before. */
const char *__asan_default_options(void);
const char *__ubsan_default_options(void);

const char *__asan_default_options(void)
{
    return "abort_on_error=1";
}

const char *__ubsan_default_options(void)
{
    return "abort_on_error=1:halt_on_error=1";
}

/* Async-signal-safe: keeps the input, and lets the signal do its work. */
static void keep_input(int number)
{
    int fd = open(crash_path, O_CREAT | O_WRONLY | O_TRUNC, 0600);
    if (fd >= 0) {
        ssize_t written = write(fd, current, current_len);
        (void)written;
        (void)close(fd);
    }
    static const char text[] = "input kept as ";
    ssize_t said = write(STDERR_FILENO, text, sizeof(text) - 1);
    said = write(STDERR_FILENO, crash_path, strlen(crash_path));
    said = write(STDERR_FILENO, "\n", 1);
    (void)said;
    (void)signal(number, SIG_DFL);
    (void)raise(number);
}

static void catch_signals(void)
{
    /* The address sanitizer has its own way with the rest, which ends with SIGABRT. */
    static const int caught[] = {
        SIGABRT,
        SIGALRM,
        SIGILL,
        SIGTRAP,
#if !defined(__SANITIZE_ADDRESS__)
        SIGSEGV,
        SIGBUS,
        SIGFPE,
#endif
    };
    static uint8_t stack[65536]; /* the usual one may be what is used up */
    (void)sigaltstack(&(stack_t){.ss_sp = stack, .ss_size = sizeof(stack)}, NULL);
    struct sigaction action = {.sa_handler = keep_input, .sa_flags = SA_ONSTACK};
    for (size_t i = 0; i < sizeof(caught) / sizeof(caught[0]); i++) {
        (void)sigaction(caught[i], &action, NULL);
    }
}

static void add_file(const char *path)
{
    int fd = open(path, O_RDONLY);
    if (fd < 0 || input_count == INPUTS_MAX) {
        (void)fprintf(stderr, "%s: cannot be taken: %s\n", path, strerror(errno));
        exit(2);
    }
    uint8_t *bytes = malloc(INPUT_MAX);
    ssize_t len = bytes == NULL ? -1 : read(fd, bytes, INPUT_MAX);
    (void)close(fd);
    if (len < 0) {
        exit(2);
    }
    inputs[input_count++] = (struct input){bytes, (size_t)len};
}

static int compare_names(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

static void add_folder(const char *path)
{
    char *names[INPUTS_MAX];
    size_t count = 0;
    DIR *folder = opendir(path);
    for (struct dirent *one = folder != NULL ? readdir(folder) : NULL; one != NULL;
         one = readdir(folder)) {
        if (one->d_name[0] != '.' && count < INPUTS_MAX) {
            names[count++] = strdup(one->d_name);
        }
    }
    if (folder != NULL) {
        (void)closedir(folder);
    }
    qsort(names, count, sizeof(names[0]), compare_names); /* the same runs for the same seed */
    for (size_t i = 0; i < count; i++) {
        char file[4096];
        (void)snprintf(file, sizeof(file), "%s/%s", path, names[i]);
        add_file(file);
        free(names[i]);
    }
}

static void put_interesting(size_t at)
{
    static const uint64_t values[] = {0,      1,      0x7F,       0x80,       0xFF,       0x7FFF,
                                      0x8000, 0xFFFF, 0x7FFFFFFF, 0x80000000, 0xFFFFFFFF, 512,
                                      1024,   4096,   UINT64_MAX, INT64_MAX,  65536,      16};
    uint64_t value = values[pick(sizeof(values) / sizeof(values[0]))] + pick(3) - 1;
    size_t width = (size_t)1 << pick(4);
    for (size_t i = 0; i < width && at + i < current_len; i++) {
        current[at + i] = (uint8_t)(value >> (8 * i));
    }
}

static void mix_in(size_t at)
{
    const struct input *other = &inputs[pick(input_count)];
    if (other->len == 0) {
        return;
    }
    size_t from = pick(other->len);
    size_t len = 1 + pick(other->len - from);
    len = len < INPUT_MAX - at ? len : INPUT_MAX - at;
    memcpy(current + at, other->bytes + from, len);
    current_len = at + len > current_len ? at + len : current_len;
}

static void mutate_once(void)
{
    size_t at = current_len > 0 ? pick(current_len) : 0;
    size_t len;
    switch (current_len == 0 ? 6 : pick(8)) {
    case 0:
        current[at] = (uint8_t)(current[at] ^ 1U << pick(8));
        break;
    case 1:
        current[at] = (uint8_t)pick(256);
        break;
    case 2:
    case 3:
        put_interesting(at);
        break;
    case 4: /* a piece is lost */
        len = 1 + pick(current_len - at < 32 ? current_len - at : 32);
        memmove(current + at, current + at + len, current_len - at - len);
        current_len -= len;
        break;
    case 5: /* a piece is there twice */
        len = 1 + pick(current_len - at < 64 ? current_len - at : 64);
        len = len < INPUT_MAX - current_len ? len : INPUT_MAX - current_len;
        memmove(current + at + len, current + at, current_len - at);
        current_len += len;
        break;
    case 6:
        mix_in(at);
        break;
    default:
        current_len = pick(4) == 0 ? at : current_len;
        break;
    }
}

static void run_current(void)
{
    /* Exact, so that a sanitizer sees what is read behind it. */
    uint8_t *bytes = malloc(current_len + 1);
    if (bytes == NULL) {
        exit(2);
    }
    memcpy(bytes + 1, current, current_len);
    (void)alarm(INPUT_SECONDS);
    (void)LLVMFuzzerTestOneInput(bytes + 1, current_len);
    (void)alarm(0);
    free(bytes);
}

static double now(void)
{
    struct timespec time;
    (void)clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + (double)time.tv_nsec / 1e9;
}

int main(int argc, char **argv)
{
    double seconds = 0;
    const char *name = strrchr(argv[0], '/') != NULL ? strrchr(argv[0], '/') + 1 : argv[0];
    for (int i = 1; i < argc; i++) {
        struct stat info;
        if (strcmp(argv[i], "--seconds") == 0 && i + 1 < argc) {
            seconds = strtod(argv[++i], NULL);
        } else if (strcmp(argv[i], "--seed") == 0 && i + 1 < argc) {
            state = strtoull(argv[++i], NULL, 10);
        } else if (stat(argv[i], &info) == 0 && S_ISDIR(info.st_mode)) {
            add_folder(argv[i]);
        } else {
            add_file(argv[i]);
        }
    }
    (void)snprintf(crash_path, sizeof(crash_path), "crash-%s-%llu", name,
                   (unsigned long long)state);
    catch_signals();
    uint64_t runs = 0;
    for (size_t i = 0; i < input_count; i++, runs++) {
        current_len = inputs[i].len;
        memcpy(current, inputs[i].bytes, current_len);
        run_current();
    }
    double end = now() + seconds;
    while (input_count > 0 && (runs % 64 != 0 || now() < end) && seconds > 0) {
        const struct input *base = &inputs[pick(input_count)];
        current_len = base->len;
        memcpy(current, base->bytes, current_len);
        for (uint64_t i = 1 + pick(6); i > 0; i--) {
            mutate_once();
        }
        run_current();
        runs++;
    }
    (void)printf("%s: %llu runs\n", name, (unsigned long long)runs);
    return input_count > 0 ? 0 : 2;
}
