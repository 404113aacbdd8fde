/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The screen. On a terminal one line is redrawn, and sentences and log lines go above it; a
 * terminal that cannot redraw, or no terminal at all, gets whole lines now and then.
 */
#include "cli/progress.h"
#include "cli/signals.h"

#include <pthread.h>
#include <string.h>
#include <sys/ioctl.h>

#define REDRAW_MS 240
#define JSON_MS 1000
#define LINE_MS 10000
/* Also the room for a sentence: an error message, every byte shown as \xNN. */
#define LINE_BYTES_MAX (64U << 10)
#define COLUMNS_DEFAULT 80
#define CLEAR_LINE "\r\033[K"

enum way { WAY_NONE, WAY_REDRAW, WAY_LINES, WAY_JSON };

struct progress {
    enum way way;
    bool is_terminal;
    bool has_color;
    pthread_mutex_t lock; /* for all below, and for what goes to standard error */
    struct text line;     /* scratch; on WAY_REDRAW what stands on the screen */
    bool is_drawn;
    char phase[32];
    bool has_shown;
    uint64_t shown_ms; /* monotonic time of the last line */
};

static enum way choose_way(enum progress_mode mode, bool is_terminal);
static bool is_due(const struct progress *progress, const struct run_progress *now,
                   uint64_t now_ms);
static unsigned terminal_columns(void);
static void print_log_line(void *self, const char *line);
static void print_above(struct progress *progress, const char *start, const char *line);
static void put(const char *bytes, size_t len);

struct progress *progress_new(enum progress_mode mode)
{
    struct progress *progress = calloc(1, sizeof(*progress));
    if (progress == NULL) {
        return NULL;
    }
    progress->is_terminal = isatty(STDERR_FILENO) == 1;
    progress->way = choose_way(mode, progress->is_terminal);
    const char *no_color = getenv("NO_COLOR");
    const char *term = getenv("TERM");
    progress->has_color = progress->is_terminal && (no_color == NULL || no_color[0] == '\0') &&
                          term != NULL && strcmp(term, "dumb") != 0;
    progress->line = TEXT_INIT(LINE_BYTES_MAX);
    (void)pthread_mutex_init(&progress->lock, NULL); /* cannot fail with default attributes */
    if (progress->way == WAY_REDRAW) {
        log_set_terminal(print_log_line, progress);
    }
    return progress;
}

void progress_free(struct progress *progress)
{
    if (progress == NULL) {
        return;
    }
    if (progress->way == WAY_REDRAW) {
        log_set_terminal(NULL, NULL);
        signals_set_line(false);
        if (progress->is_drawn) {
            put(CLEAR_LINE, strlen(CLEAR_LINE));
        }
    }
    text_free(&progress->line);
    (void)pthread_mutex_destroy(&progress->lock); /* nobody holds it any more */
    free(progress);
}

void progress_show(struct progress *progress, const struct run_progress *now)
{
    if (progress->way == WAY_NONE) {
        return;
    }
    (void)pthread_mutex_lock(&progress->lock); /* cannot fail: it is not held by this thread */
    uint64_t now_ms = clock_monotonic_ms();
    if (is_due(progress, now, now_ms)) {
        progress->has_shown = true;
        progress->shown_ms = now_ms;
        (void)snprintf(progress->phase, sizeof(progress->phase), "%s", now->phase);
        struct text *line = &progress->line;
        text_reset(line);
        if (progress->way == WAY_JSON) {
            progress_render_json(line, now, clock_utc_ns());
            text_add_char(line, '\n');
        } else if (progress->way == WAY_LINES) {
            text_add(line, "winch: ");
            progress_render(line, now, 0);
            text_add_char(line, '\n');
        } else {
            text_add(line, CLEAR_LINE);
            /* The last column stays free: many terminals wrap when it is written. */
            progress_render(line, now, terminal_columns() - 1);
            progress->is_drawn = true;
            signals_set_line(true);
        }
        put(text_str(line), line->len);
    }
    (void)pthread_mutex_unlock(&progress->lock);
}

void progress_say(struct progress *progress, bool warning, const char *sentence)
{
    CLEANUP_TEXT struct text shown = TEXT_INIT(LINE_BYTES_MAX);
    text_add_shown(&shown, sentence, strlen(sentence), SIZE_MAX);
    (void)pthread_mutex_lock(&progress->lock); /* cannot fail: it is not held by this thread */
    const char *start = "";
    if (warning) {
        start = progress->has_color ? "\033[33mWarning:\033[0m " : "Warning: ";
    }
    print_above(progress, start, text_str(&shown));
    (void)pthread_mutex_unlock(&progress->lock);
}

static enum way choose_way(enum progress_mode mode, bool is_terminal)
{
    if (mode == PROGRESS_JSON) {
        return WAY_JSON;
    }
    if (mode == PROGRESS_NONE || (mode == PROGRESS_AUTO && !is_terminal)) {
        return WAY_NONE;
    }
    const char *term = getenv("TERM");
    bool can_redraw = is_terminal && term != NULL && term[0] != '\0' && strcmp(term, "dumb") != 0;
    return can_redraw ? WAY_REDRAW : WAY_LINES;
}

/* Caller holds the lock. */
static bool is_due(const struct progress *progress, const struct run_progress *now, uint64_t now_ms)
{
    bool is_end = strcmp(now->phase, "done") == 0;
    if (is_end && progress->way != WAY_JSON) {
        return false; /* the report says it */
    }
    if (!progress->has_shown || strcmp(progress->phase, now->phase) != 0) {
        return true;
    }
    uint64_t pause_ms = progress->way == WAY_REDRAW  ? REDRAW_MS
                        : progress->way == WAY_LINES ? LINE_MS
                                                     : JSON_MS;
    return now_ms - progress->shown_ms >= pause_ms;
}

/* Asked at each redraw, so that a resized window needs no signal. */
static unsigned terminal_columns(void)
{
    struct winsize size;
    if (ioctl(STDERR_FILENO, TIOCGWINSZ, &size) < 0 || size.ws_col < 2) {
        return COLUMNS_DEFAULT;
    }
    return size.ws_col;
}

/* For log_set_terminal(); the line is shown-escaped already. */
static void print_log_line(void *self, const char *line)
{
    struct progress *progress = self;
    (void)pthread_mutex_lock(&progress->lock); /* cannot fail: it is not held by this thread */
    print_above(progress, "", line);
    (void)pthread_mutex_unlock(&progress->lock);
}

/* Caller holds the lock. */
static void print_above(struct progress *progress, const char *start, const char *line)
{
    CLEANUP_TEXT struct text out = TEXT_INIT(3U * LINE_BYTES_MAX);
    text_add(&out, progress->is_drawn ? CLEAR_LINE : "");
    text_add(&out, start);
    text_add(&out, line);
    text_add_char(&out, '\n');
    if (progress->is_drawn) {
        text_add_bytes(&out, text_str(&progress->line), progress->line.len);
    }
    put(text_str(&out), out.len);
}

/* One write, so that nothing of another thread comes between. */
static void put(const char *bytes, size_t len)
{
    (void)!write(STDERR_FILENO, bytes, len); /* nobody could be told */
}
