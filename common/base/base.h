/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * base: what every other folder stands on. Errors, log, bounded text, UTF-16/UTF-8,
 * clock, random, checksums, small files, scope cleanup. Knows neither NTFS nor buckets.
 * Every function may be called from any thread unless its comment says otherwise.
 */
#ifndef WINCH_BASE_H
#define WINCH_BASE_H

#include <pthread.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/types.h>
#include <unistd.h>

#define WARN_UNUSED __attribute__((warn_unused_result))
#define PRINTF_LIKE(fmt, first) __attribute__((format(printf, fmt, first)))
#define ARRAY_LEN(a) (sizeof(a) / sizeof((a)[0]))

/* ---- scope cleanup ---------------------------------------------------------------- */

#define CLEANUP(fn) __attribute__((cleanup(fn)))
#define CLEANUP_FREE CLEANUP(cleanup_free)   /* any malloc'ed pointer */
#define CLEANUP_CLOSE CLEANUP(cleanup_close) /* int fd, -1 = none */
#define CLEANUP_FILE CLEANUP(cleanup_file)   /* FILE * */

/* The value of pointer variable `p`, which becomes NULL: hands ownership over. */
#define TAKE(p)                                                                                    \
    __extension__({                                                                                \
        __typeof__(p) take_value_ = (p);                                                           \
        (p) = NULL;                                                                                \
        take_value_;                                                                               \
    })

static inline void cleanup_free(void *p)
{
    free(*(void **)p);
}

static inline void cleanup_close(int *fd)
{
    if (*fd >= 0) {
        (void)close(*fd); /* read side or already synced: nothing to do about it */
    }
}

static inline void cleanup_file(FILE **file)
{
    if (*file != NULL) {
        (void)fclose(*file); /* writers close by hand and look */
    }
}

/* ---- errors ----------------------------------------------------------------------- */

/* What can be done about it. Acted on in three places only: the HTTP retry policy, the
 * worker's policy for one entry, and the code that runs the whole job. */
enum error_kind {
    ERROR_NONE = 0,
    ERROR_RETRY,      /* may go well later; all tries the policy allows are used up */
    ERROR_FAIL_ENTRY, /* this entry cannot be had; the run goes on */
    ERROR_STOP_RUN,   /* no sense in going on */
    ERROR_CANCELLED,  /* the user or a signal asked for it */
};

/* Exit codes of the program: docs/user-guide.md has the table. */
enum exit_status {
    EXIT_STATUS_CLEAN = 0,
    EXIT_STATUS_FAILED = 1,
    EXIT_STATUS_USAGE = 2,
    EXIT_STATUS_NOT_CLEAN = 3,
    EXIT_STATUS_RIGHTS = 4,
    EXIT_STATUS_DESTINATION = 5,
    EXIT_STATUS_SOURCE = 6,
    EXIT_STATUS_NO_RUN = 10,
    EXIT_STATUS_LOCKED = 11,
    EXIT_STATUS_INTERNAL = 70,
    EXIT_STATUS_TEMPORARY = 75,
    EXIT_STATUS_INTERRUPTED = 130,
    EXIT_STATUS_TERMINATED = 143,
};

/* Lives in the caller's frame; owns nothing. `message` names the thing, the place, the cause
 * and what to do next, in at most two lines, without a final newline. Start with
 * `struct error err = {0};`. */
struct error {
    enum error_kind kind;
    enum exit_status exit_status; /* for ERROR_STOP_RUN and ERROR_RETRY */
    const char *reason;           /* for ERROR_FAIL_ENTRY: a static reason code, or NULL */
    char message[1000];
};

/* Fill `err` (which may be NULL) and return -1, so that `return error_stop(err, …);` reads well.
 * The three differ in kind: stop the run with an exit code, fail one entry with a reason code
 * (a string that lives forever), try again later (exit code 75 if nobody does). */
int error_stop(struct error *err, enum exit_status status, const char *fmt, ...) PRINTF_LIKE(3, 4);
int error_entry(struct error *err, const char *reason, const char *fmt, ...) PRINTF_LIKE(3, 4);
int error_retry(struct error *err, const char *fmt, ...) PRINTF_LIKE(2, 3);
int error_cancelled(struct error *err);
/* Out of memory: stops the run with EXIT_STATUS_TEMPORARY. `what` names the thing. */
int error_memory(struct error *err, const char *what);
/* What errno says, in words for a message; when no further file or socket may be opened also which
 * limit that is, and the way out. */
#define ERROR_CAUSE_SIZE 200
void error_cause(int number, char out[ERROR_CAUSE_SIZE]);
/* The exit status that goes with it: TEMPORARY when the machine lacks room, memory or descriptors,
 * else FAILED. */
enum exit_status error_exit_of(int number);
/* Put context in front of the message ("CONTEXT: message"); returns -1. */
int error_add(struct error *err, const char *fmt, ...) PRINTF_LIKE(2, 3);

/* ---- bounded text ----------------------------------------------------------------- */

/* A growing NUL-terminated byte string with a maximum. The first append that fails (limit or
 * memory) sets `failed`; later appends do nothing. One check at the end is enough. `no_memory`
 * tells the two apart. */
struct text {
    char *data; /* NULL until something was appended */
    size_t len;
    size_t cap;
    size_t limit; /* longest len allowed */
    bool failed, no_memory;
};

#define CLEANUP_TEXT CLEANUP(text_free)
#define TEXT_INIT(max)                                                                             \
    (struct text)                                                                                  \
    {                                                                                              \
        .limit = (max)                                                                             \
    }

void text_free(struct text *text);             /* releases and zeroes all but the limit */
void text_reset(struct text *text);            /* empties, keeps the memory, clears `failed` */
const char *text_str(const struct text *text); /* never NULL */
void text_add(struct text *text, const char *string);
void text_add_bytes(struct text *text, const void *bytes, size_t len);
void text_add_char(struct text *text, char c);
void text_add_u64(struct text *text, uint64_t value); /* decimal; fast */
void text_printf(struct text *text, const char *fmt, ...) PRINTF_LIKE(2, 3);
/* A time of Windows (100 ns since 1601, UTC) as RFC 3339: "2026-11-29T21:58:52.1234567Z". */
void text_add_filetime(struct text *text, uint64_t ticks);
/* A JSON string with its quotes. `bytes` should be UTF-8; what is not becomes U+FFFD. */
void text_add_json(struct text *text, const char *bytes, size_t len);
/* For people: control, escape, bidi and invalid bytes shown as \xNN or \uNNNN, so that a file
 * name cannot move a cursor or reorder a line. At most `max` bytes are taken, then "…". */
void text_add_shown(struct text *text, const char *bytes, size_t len, size_t max);
/* Percent-encode everything but A-Z a-z 0-9 - . _ ~ ('/' too is encoded). */
void text_add_url(struct text *text, const char *bytes, size_t len);
void text_add_base64(struct text *text, const void *bytes, size_t len);
void text_add_hex(struct text *text, const void *bytes, size_t len); /* lower case */

/* ---- UTF -------------------------------------------------------------------------- */

/* The code point at units[*index] (host byte order); moves *index past it. A lone surrogate is
 * returned as itself (0xD800–0xDFFF), which no valid code point is. Needs *index < count. */
uint32_t utf_next_utf16(const uint16_t *units, size_t count, size_t *index);
/* Encode `code_point` as UTF-8 into out[4]; returns the count, 0 for a surrogate or > 0x10FFFF. */
size_t utf_put_utf8(uint32_t code_point, char out[4]);
/* Decode the next code point of UTF-8 and move *index; returns UINT32_MAX and moves by one byte
 * for anything that is not valid, shortest-form UTF-8. */
uint32_t utf_next_utf8(const char *bytes, size_t len, size_t *index);
/* Does the whole string decode? */
bool utf_valid_utf8(const char *bytes, size_t len);
/* UTF-8 to UTF-16 (host order), at most `max` units; returns the count or -1 (invalid, too
 * long). */
ssize_t utf_to_utf16(const char *bytes, size_t len, uint16_t *units, size_t max);
/* Simple upper case for comparing names without regard to case: ASCII, Latin-1, Greek, Cyrillic. */
uint32_t utf_upper(uint32_t code_point);

/* ---- clock, processors, random --------------------------------------------------------------- */

uint64_t clock_monotonic_ns(void);
uint64_t clock_monotonic_ms(void);
uint64_t clock_utc_ns(void); /* since 1970 */
/* "2026-11-29T21:58:52Z" */
void clock_format_utc(uint64_t utc_ns, char out[32]);
/* "20261129T220312Z", as in run ids */
void clock_format_compact(uint64_t utc_ns, char out[32]);
/* Sleep, but wake within 50 ms of *cancel becoming true (cancel may be NULL). Returns -1 when
 * cancelled. */
int clock_sleep_ms(uint64_t ms, const _Atomic bool *cancel);

/* Wait on a condition until it is signalled or clock_monotonic_ms() reaches `until_ms`, so that a
 * step of the wall clock neither cuts nor stretches the wait. 0, or ETIMEDOUT. */
int clock_wait(pthread_cond_t *condition, pthread_mutex_t *lock, uint64_t until_ms);

/* Processors that this process may run on; at least 1. */
unsigned processor_count(void);

/* From getrandom(2); aborts if the kernel has none. */
void random_bytes(void *buf, size_t len);
void random_uuid(char out[37]); /* version 4, lower case */
uint64_t random_below(uint64_t limit);

/* ---- checksums -------------------------------------------------------------------- */

/* CRC-32C (Castagnoli) as Cloud Storage states it. Start with 0; chain calls. ISA-L inside. */
uint32_t crc32c_update(uint32_t crc, const void *bytes, size_t len);
/* crc(A||B) from crc(A), crc(B) and the length of B, in O(log len). */
uint32_t crc32c_combine(uint32_t crc_a, uint32_t crc_b, uint64_t len_b);
/* crc of `len` zero bytes appended to what `crc` covers, in O(log len): holes cost nothing. */
uint32_t crc32c_zeros(uint32_t crc, uint64_t len);
/* Base64 of the big-endian value, as in the JSON API ("AAAAAA==") and back (-1: not that form). */
void crc32c_to_base64(uint32_t crc, char out[9]);
int crc32c_from_base64(const char *base64, uint32_t *ret_crc) WARN_UNUSED;

/* Decode base64 (standard alphabet, padded) into a malloc'ed buffer; -1 if malformed. */
int base64_decode(const char *base64, size_t len, uint8_t **ret_bytes, size_t *ret_len) WARN_UNUSED;

/* SHA-256 of a buffer (OpenSSL inside). */
void sha256_bytes(const void *bytes, size_t len, uint8_t out[32]);

/* ---- numbers ---------------------------------------------------------------------- */

/* Whole-string decimal; -1 on anything else or overflow. */
int parse_u64(const char *string, uint64_t *ret_value) WARN_UNUSED;
/* "64M", "1.5G", "300": binary units K M G T, optional B or iB; -1 if malformed. */
int parse_size(const char *string, uint64_t *ret_bytes) WARN_UNUSED;
/* "90s", "15m", "1h", "2d", plain seconds; -1 if malformed. */
int parse_duration_ms(const char *string, uint64_t *ret_ms) WARN_UNUSED;
/* "4.0 GiB", "812 B": for people. */
void format_bytes(uint64_t bytes, char out[24]);
/* "1,234,567" */
void format_count(uint64_t count, char out[32]);
/* "13 h 50 min", "4 min 05 s", "3.2 s" */
void format_duration(uint64_t ms, char out[32]);

static inline bool add_overflows(uint64_t a, uint64_t b, uint64_t *ret_sum)
{
    return __builtin_add_overflow(a, b, ret_sum);
}

static inline bool mul_overflows(uint64_t a, uint64_t b, uint64_t *ret_product)
{
    return __builtin_mul_overflow(a, b, ret_product);
}

/* Little-endian fields of on-disk structures; no alignment needed. */
static inline uint16_t read_le16(const void *p)
{
    const uint8_t *b = p;
    return (uint16_t)(b[0] | b[1] << 8);
}

static inline uint32_t read_le32(const void *p)
{
    const uint8_t *b = p;
    return (uint32_t)b[0] | (uint32_t)b[1] << 8 | (uint32_t)b[2] << 16 | (uint32_t)b[3] << 24;
}

static inline uint64_t read_le64(const void *p)
{
    const uint8_t *b = p;
    return (uint64_t)read_le32(b) | (uint64_t)read_le32(b + 4) << 32;
}

/* ---- small files ------------------------------------------------------------------ */

/* The whole file, at most `limit` bytes, NUL-terminated. Errors: STOP_RUN with exit_status 1 or 75
 * (error_exit_of) and a message naming the path. `ret_text` has to be initialised; what it held is
 * released. */
int file_read(const char *path, size_t limit, struct text *ret_text, struct error *err) WARN_UNUSED;
/* Write beside it, fsync, rename, fsync the folder. A full disk or quota: EXIT_STATUS_TEMPORARY. */
int file_write(const char *path, const void *bytes, size_t len, mode_t mode,
               struct error *err) WARN_UNUSED;
/* mkdir -p with `mode` for what is made. */
int file_make_folders(const char *path, mode_t mode, struct error *err) WARN_UNUSED;

/* ---- areas: memory that the kernel can evict ------------------------------------------------ */

/* An unlinked file, mapped, that grows. Its blocks are allocated before they are touched, so that a
 * full disk is an error (exit 75, naming `what` and the folder) and not a signal. New bytes are
 * zeros. One thread while it grows; after that any may read. */
struct area {
    const char *what;   /* "the catalog": borrowed, for messages */
    const char *folder; /* borrowed, for messages */
    int fd;             /* -1 when closed */
    uint8_t *bytes;     /* NULL while nothing is mapped */
    size_t len;         /* used */
    size_t cap;         /* mapped, and allocated in the file */
};

int area_open(struct area *area, const char *what, const char *folder,
              struct error *err) WARN_UNUSED;
/* Room for `extra` bytes behind `len`, which the caller moves. NULL with `err` set. Moves `bytes`.
 */
uint8_t *area_reserve(struct area *area, size_t extra, struct error *err);
/* Give back what is not used; from here on read-only. */
void area_seal(struct area *area);
void area_close(struct area *area); /* twice does no harm */

/* ---- log -------------------------------------------------------------------------- */

enum log_level { LOG_ERROR, LOG_WARN, LOG_INFO, LOG_DEBUG };
enum log_format { LOG_TEXT, LOG_JSON };

/* Where the log goes and what passes. Called once by the program before threads start; by default
 * warnings and errors go to standard error as text. `path` NULL: standard error. */
int log_open(enum log_level level, enum log_format format, const char *path,
             struct error *err) WARN_UNUSED;
void log_close(void);
bool log_enabled(enum log_level level);
/* One line. Libraries log debug only. Message bytes are shown-escaped; never pass a token, a key
 * or a signed URL. `module` is the folder's name. */
void log_write(enum log_level level, const char *module, const char *fmt, ...) PRINTF_LIKE(3, 4);
/* While a progress bar owns the terminal line, text log lines to standard error go through this
 * hook (clear the line, print, redraw). `line` has no newline. NULL: none. After return the old
 * hook is no longer in use; so call it without holding a lock that `print` takes, never log
 * while holding such a lock, and never log from `print`. */
void log_set_terminal(void (*print)(void *self, const char *line), void *self);

#endif
