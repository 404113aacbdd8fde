/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The paths of --files-from. A path of the volume is looked for by a hash of its escaped form
 * without regard to case, so each listed path is kept under the few forms that it may have there.
 */
#include "plan/plan_internal.h"
#include "plan/unique.h"

#include <string.h>

#define WORDS_BYTES_MAX (1ULL << 30)
enum { SLOTS_FIRST = 1024, LINES_FIRST = 256, SHA256_BYTES = 32 };

struct path_line {
    uint64_t hash; /* of the path as it was given, made tidy */
    size_t at;     /* of its text in `words` */
    bool found;
};

struct path_slot {
    uint64_t hash; /* 0: free */
    uint32_t line;
};

struct plan_paths {
    struct text words; /* what was given, each with a NUL */
    struct path_line *lines;
    size_t count, line_cap;
    struct path_slot *slots; /* open addressing, at most three quarters full */
    size_t slot_count, slot_cap;
    size_t longest; /* bytes of the longest form: longer paths need no look */
    struct text tidied, form, folded;
    bool no_memory; /* while somebody looked */
};

static void tidy(const char *line, size_t len, bool turn, struct text *ret_path);
static int add_line(struct plan_paths *paths, const char *line, size_t len, uint64_t hash);
static int add_form(struct plan_paths *paths, const struct text *path, unsigned last);
static void escape_into(struct text *form, const struct text *path, unsigned last);
static int add_slot(struct plan_paths *paths, const struct text *form);
static int grow(struct plan_paths *paths);
static struct path_slot *find_slot(struct path_slot *slots, size_t cap, uint64_t hash);
static uint64_t hash_of(struct plan_paths *paths, const char *path, size_t len);
static int compare_hashes(const void *a, const void *b);

struct plan_paths *plan_paths_new(void)
{
    struct plan_paths *paths = calloc(1, sizeof(*paths));
    if (paths == NULL) {
        return NULL;
    }
    paths->words = TEXT_INIT(WORDS_BYTES_MAX);
    paths->tidied = TEXT_INIT(PLAN_PATH_MAX);
    paths->form = TEXT_INIT(PLAN_PATH_MAX * PLAN_ESCAPE_BYTES);
    paths->folded = TEXT_INIT(PLAN_PATH_MAX * PLAN_ESCAPE_BYTES);
    if (grow(paths) != 0) {
        plan_paths_free(paths);
        return NULL;
    }
    return paths;
}

void plan_paths_free(struct plan_paths *paths)
{
    if (paths == NULL) {
        return;
    }
    text_free(&paths->words);
    text_free(&paths->tidied);
    text_free(&paths->form);
    text_free(&paths->folded);
    free(paths->lines);
    free(paths->slots);
    free(paths);
}

int plan_paths_add(struct plan_paths *paths, const char *line, size_t len)
{
    if (len > PLAN_PATH_MAX || !utf_valid_utf8(line, len) || memchr(line, '\0', len) != NULL) {
        return -2;
    }
    tidy(line, len, true, &paths->tidied);
    uint64_t hash = hash_of(paths, text_str(&paths->tidied), paths->tidied.len);
    if (paths->tidied.failed || paths->folded.failed) {
        return -1;
    }
    if (paths->tidied.len == 0) {
        return -2;
    }
    if (find_slot(paths->slots, paths->slot_cap, hash)->hash != 0) {
        return 0; /* listed twice */
    }
    /* As the manifest writes it; as a file has it; as a folder has it. */
    if (add_line(paths, line, len, hash) != 0 || add_slot(paths, &paths->tidied) != 0 ||
        add_form(paths, &paths->tidied, PLAN_ESCAPE_LAST) != 0 ||
        add_form(paths, &paths->tidied, 0) != 0) {
        return -1;
    }
    if (memchr(line, '\\', len) == NULL) {
        return 0;
    }
    tidy(line, len, false, &paths->tidied); /* names may hold a backslash, too */
    return paths->tidied.failed ? -1 : add_form(paths, &paths->tidied, PLAN_ESCAPE_LAST);
}

size_t plan_paths_count(const struct plan_paths *paths)
{
    return paths->count;
}

bool plan_paths_look(struct plan_paths *paths, const char *path, size_t len)
{
    if (len > paths->longest) {
        return false;
    }
    uint64_t hash = hash_of(paths, path, len);
    paths->no_memory = paths->no_memory || paths->folded.failed;
    const struct path_slot *slot = find_slot(paths->slots, paths->slot_cap, hash);
    if (slot->hash == 0) {
        return false;
    }
    paths->lines[slot->line].found = true;
    return true;
}

bool plan_paths_failed(const struct plan_paths *paths)
{
    return paths->no_memory;
}

const char *plan_paths_missing(const struct plan_paths *paths, size_t *index)
{
    while (*index < paths->count) {
        const struct path_line *line = &paths->lines[(*index)++];
        if (!line->found) {
            return paths->words.data + line->at;
        }
    }
    return NULL;
}

int plan_paths_digest(const struct plan_paths *paths, uint8_t ret_sha256[32])
{
    CLEANUP_FREE uint64_t *hashes = calloc(paths->count + 1, sizeof(*hashes));
    if (hashes == NULL) {
        return -1;
    }
    for (size_t i = 0; i < paths->count; i++) {
        hashes[i] = paths->lines[i].hash;
    }
    qsort(hashes, paths->count, sizeof(*hashes), compare_hashes);
    sha256_bytes(hashes, paths->count * sizeof(*hashes), ret_sha256);
    return 0;
}

/* Without a drive letter, slashes at the ends, and empty components; with `turn` backslashes are
 * slashes, as Windows lists paths. */
static void tidy(const char *line, size_t len, bool turn, struct text *ret_path)
{
    text_reset(ret_path);
    size_t at = 0;
    char letter = len > 1 ? (char)(line[0] | 0x20) : '\0';
    if (letter >= 'a' && letter <= 'z' && line[1] == ':') {
        at = 2;
    }
    bool between = false;
    for (; at < len; at++) {
        if (line[at] == '/' || (turn && line[at] == '\\')) {
            between = ret_path->len > 0;
            continue;
        }
        if (between) {
            text_add_char(ret_path, '/');
            between = false;
        }
        text_add_char(ret_path, line[at]);
    }
}

static int add_line(struct plan_paths *paths, const char *line, size_t len, uint64_t hash)
{
    if (paths->count == UINT32_MAX) {
        return -1;
    }
    if (paths->count == paths->line_cap) {
        size_t cap = paths->line_cap == 0 ? LINES_FIRST : paths->line_cap * 2;
        struct path_line *lines = reallocarray(paths->lines, cap, sizeof(*lines));
        if (lines == NULL) {
            return -1;
        }
        paths->lines = lines;
        paths->line_cap = cap;
    }
    paths->lines[paths->count++] = (struct path_line){.hash = hash, .at = paths->words.len};
    text_add_bytes(&paths->words, line, len);
    text_add_char(&paths->words, '\0');
    return paths->words.failed ? -1 : 0;
}

static int add_form(struct plan_paths *paths, const struct text *path, unsigned last)
{
    text_reset(&paths->form);
    escape_into(&paths->form, path, last);
    return add_slot(paths, &paths->form);
}

/* Component by component, as the namer does it. A longer one than NTFS has can be nowhere. */
static void escape_into(struct text *form, const struct text *path, unsigned last)
{
    const char *at = text_str(path);
    const char *end = at + path->len;
    unsigned where = PLAN_ESCAPE_FIRST;
    while (at < end) {
        const char *slash = memchr(at, '/', (size_t)(end - at));
        size_t len = slash != NULL ? (size_t)(slash - at) : (size_t)(end - at);
        uint16_t units[PLAN_NAME_UNITS_MAX];
        struct plan_component component;
        ssize_t count = utf_to_utf16(at, len, units, PLAN_NAME_UNITS_MAX);
        if (count < 0) {
            text_add_bytes(form, at, (size_t)(end - at));
            return;
        }
        plan_escape(units, (size_t)count, where | (slash == NULL ? last : 0), &component);
        text_add_bytes(form, component.bytes, component.len);
        if (slash != NULL) {
            text_add_char(form, '/');
        }
        at += len + 1;
        where = 0;
    }
}

/* A form that another line has already matches all the same. */
static int add_slot(struct plan_paths *paths, const struct text *form)
{
    uint64_t hash = hash_of(paths, text_str(form), form->len);
    if (form->failed || paths->folded.failed ||
        (paths->slot_count >= paths->slot_cap / 4 * 3 && grow(paths) != 0)) {
        return -1;
    }
    struct path_slot *slot = find_slot(paths->slots, paths->slot_cap, hash);
    if (slot->hash == 0) {
        *slot = (struct path_slot){hash, (uint32_t)(paths->count - 1)};
        paths->slot_count++;
    }
    paths->longest = form->len > paths->longest ? form->len : paths->longest;
    return 0;
}

static int grow(struct plan_paths *paths)
{
    size_t cap = paths->slot_cap == 0 ? SLOTS_FIRST : paths->slot_cap * 2;
    struct path_slot *slots = calloc(cap, sizeof(*slots));
    if (slots == NULL) {
        return -1;
    }
    for (size_t i = 0; i < paths->slot_cap; i++) {
        if (paths->slots[i].hash != 0) {
            *find_slot(slots, cap, paths->slots[i].hash) = paths->slots[i];
        }
    }
    free(paths->slots);
    paths->slots = slots;
    paths->slot_cap = cap;
    return 0;
}

/* Where the hash stands, or the free place for it. */
static struct path_slot *find_slot(struct path_slot *slots, size_t cap, uint64_t hash)
{
    size_t at = (size_t)hash & (cap - 1);
    while (slots[at].hash != 0 && slots[at].hash != hash) {
        at = (at + 1) & (cap - 1);
    }
    return &slots[at];
}

/* In upper case, as patterns are compared; utf_upper() keeps the number of bytes. */
static uint64_t hash_of(struct plan_paths *paths, const char *path, size_t len)
{
    struct text *folded = &paths->folded;
    text_reset(folded);
    for (size_t at = 0; at < len;) {
        char bytes[4];
        uint32_t upper = utf_upper(utf_next_utf8(path, len, &at));
        text_add_bytes(folded, bytes, utf_put_utf8(upper, bytes));
    }
    uint64_t hash = plan_unique_hash(text_str(folded), folded->len);
    return hash == 0 ? 1 : hash;
}

static int compare_hashes(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a;
    uint64_t y = *(const uint64_t *)b;
    return (x > y) - (x < y);
}
