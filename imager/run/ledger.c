/* SPDX-License-Identifier: GPL-3.0-or-later */
/* ledger: a mapped array of 16 bytes a task, and the table of reason codes. */
#include "run/ledger.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>

#include "plan/plan.h"

struct ledger {
    struct ledger_row *rows;
    size_t bytes;
};

_Static_assert(sizeof(struct ledger_row) == 16, "a row is 16 bytes");

static int open_unnamed(const char *folder, size_t bytes, struct error *err)
{
    int fd = open(folder, O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
    if (fd < 0) {
        struct text path = TEXT_INIT(4096);
        text_printf(&path, "%s/ledger-XXXXXX", folder);
        fd = path.failed ? -1 : mkostemp(path.data, O_CLOEXEC);
        if (fd >= 0) {
            (void)unlink(path.data); /* the name is not needed; an error leaves an empty file */
        }
        text_free(&path);
    }
    if (fd < 0) {
        return error_stop(err, EXIT_STATUS_TEMPORARY, "cannot make a file in %s: %s", folder,
                          strerror(errno));
    }
    int failure = posix_fallocate(fd, 0, (off_t)bytes);
    if (failure != 0) {
        (void)close(fd); /* nothing was written */
        return error_stop(err, EXIT_STATUS_TEMPORARY,
                          "no room for the ledger (%zu bytes) in %s: %s. Free space there or give "
                          "another --state-dir; the same command resumes.",
                          bytes, folder, strerror(failure));
    }
    return fd;
}

struct ledger *ledger_new(uint64_t tasks, const char *folder, struct error *err)
{
    struct ledger *ledger = calloc(1, sizeof(*ledger));
    uint64_t bytes = 0;
    if (ledger == NULL || mul_overflows(tasks + 1, sizeof(struct ledger_row), &bytes) ||
        bytes > SIZE_MAX) {
        free(ledger);
        (void)error_memory(err, "the ledger");
        return NULL;
    }
    int fd = open_unnamed(folder, (size_t)bytes, err);
    if (fd < 0) {
        free(ledger);
        return NULL;
    }
    void *map = mmap(NULL, (size_t)bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    (void)close(fd); /* the mapping keeps the file */
    if (map == MAP_FAILED) {
        free(ledger);
        (void)error_memory(err, "the ledger");
        return NULL;
    }
    ledger->rows = map;
    ledger->bytes = (size_t)bytes;
    return ledger;
}

void ledger_free(struct ledger *ledger)
{
    if (ledger != NULL) {
        (void)munmap(ledger->rows, ledger->bytes);
        free(ledger);
    }
}

struct ledger_row *ledger_row(struct ledger *ledger, uint64_t task)
{
    return &ledger->rows[task];
}

static const char *const reasons[] = {
    REASON_UPLOAD_REFUSED,
    REASON_DEDUP,
    REASON_CLOUD,
    REASON_EFS,
    REASON_WOF,
    REASON_REPARSE,
    REASON_BAD_RECORD,
    REASON_CROSS_LINKED,
    REASON_BAD_SECTOR,
    REASON_STALE,
    REASON_CONFLICT,
    REASON_PRESENT_UNVERIFIED,
    REASON_TOO_LARGE,
    REASON_NAME,
    REASON_EXCLUDED,
    REASON_SYSTEM,
};

uint8_t reason_number(const char *reason)
{
    for (size_t i = 0; reason != NULL && i < ARRAY_LEN(reasons); i++) {
        if (strcmp(reasons[i], reason) == 0) {
            return (uint8_t)i;
        }
    }
    return 0;
}

const char *reason_name(uint8_t number)
{
    return reasons[number < ARRAY_LEN(reasons) ? number : 0];
}

size_t reason_count(void)
{
    return ARRAY_LEN(reasons);
}
