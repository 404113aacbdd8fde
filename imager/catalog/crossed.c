/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What the crossings say: sentences for the entries that have one, warnings for the volume. */
#include "catalog/catalog_internal.h"

#include <stdarg.h>

enum { SENTENCE_BYTES = 352 };

static const struct catalog_crossing *find_first(const struct catalog *catalog, uint32_t entry,
                                                 size_t *ret_count);
static void write_sentence(const struct catalog_crossing *crossing, char sentence[SENTENCE_BYTES]);

#define WHAT_TO_DO                                                                                 \
    "run chkdsk on the source and take a new snapshot (of a running system an "                    \
    "application-consistent one)"

int catalog_mark_crossed(const struct catalog *catalog, struct catalog_view *view,
                         struct error *err)
{
    size_t count = 0;
    const struct catalog_crossing *crossings = find_first(catalog, view->index, &count);

    if (count == 0) {
        return 0;
    }
    char *sentences = malloc(count * SENTENCE_BYTES);
    if (sentences == NULL) {
        return error_memory(err, "an entry of the catalog");
    }
    free(view->sentences);
    view->sentences = sentences;
    /* The view's arrays are its own scratch memory, which the entry shows as constant. */
    struct volume_stream *streams = (struct volume_stream *)(uintptr_t)view->entry.streams;
    for (size_t i = 0; i < count; i++) {
        const struct catalog_crossing *crossing = &crossings[i];
        char *sentence = sentences + i * SENTENCE_BYTES;
        write_sentence(crossing, sentence);
        if (crossing->part == CATALOG_CROSSED_RECORD) {
            view->entry.crossed_record = sentence;
        } else if (crossing->part == CATALOG_CROSSED_VALUE) {
            view->entry.crossed_value = sentence;
        } else if (crossing->stream < view->entry.stream_count) {
            streams[crossing->stream].crossed = sentence;
        }
    }
    return 0;
}

/* The crossings of one entry stand together. */
static const struct catalog_crossing *find_first(const struct catalog *catalog, uint32_t entry,
                                                 size_t *ret_count)
{
    const struct catalog_crossing *crossings =
        (const struct catalog_crossing *)(const void *)catalog->crossings.bytes;
    size_t low = 0;
    size_t high = catalog->crossing_count;

    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (crossings[middle].entry < entry) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    size_t end = low;
    while (end < catalog->crossing_count && crossings[end].entry == entry) {
        end++;
    }
    *ret_count = end - low;
    return crossings + low;
}

static void write_sentence(const struct catalog_crossing *crossing, char sentence[SENTENCE_BYTES])
{
    static const char *const parts[] = {
        [CATALOG_CROSSED_STREAM] = "data",
        [CATALOG_CROSSED_VALUE] = "extended attributes, security or EFS data",
        [CATALOG_CROSSED_RECORD] = "attribute list or reparse data",
    };
    static const char *const claims[] = {
        [CATALOG_CROSSED_SIBLING] = "is claimed by another attribute of the same file too",
        [CATALOG_CROSSED_ITSELF] = "stands there twice",
        [CATALOG_CROSSED_FREE] = "is free, as $Bitmap says",
        [CATALOG_CROSSED_UNNAMED] = "is claimed by others too",
    };
    char claim[80];

    if (crossing->how == CATALOG_CROSSED_OTHER) {
        (void)snprintf(claim, sizeof(claim), "is claimed by record %llu too",
                       (unsigned long long)crossing->other);
    } else {
        (void)snprintf(claim, sizeof(claim), "%s", claims[crossing->how]);
    }
    (void)snprintf(sentence, SENTENCE_BYTES,
                   "cluster %llu of its %s %s, so that it may hold what belongs to somebody "
                   "else: " WHAT_TO_DO,
                   (unsigned long long)crossing->cluster, parts[crossing->part], claim);
}

void catalog_warn_crossed(struct catalog *catalog)
{
    const struct catalog_crossed_totals *crossed = &catalog->crossed;

    if (crossed->claims.twice + crossed->claims.free > 0) {
        catalog_warn(catalog,
                     "cross-linked: %llu clusters are claimed more than once and %llu are claimed "
                     "though $Bitmap says that they are free; %llu streams are concerned, and %llu "
                     "other attributes: " WHAT_TO_DO,
                     (unsigned long long)crossed->claims.twice,
                     (unsigned long long)crossed->claims.free, (unsigned long long)crossed->streams,
                     (unsigned long long)(crossed->values + crossed->unused));
    }
    if (crossed->system > 0) {
        catalog_warn(catalog,
                     "cross-linked: files of NTFS itself are concerned too (%llu times, first "
                     "record %llu, cluster %llu)",
                     (unsigned long long)crossed->system,
                     (unsigned long long)crossed->system_record,
                     (unsigned long long)crossed->system_cluster);
    }
    if (crossed->unused > 0) {
        catalog_warn(catalog,
                     "cross-linked: directory indexes and the like are concerned too (%llu times, "
                     "first record %llu, cluster %llu); nothing is read from them",
                     (unsigned long long)crossed->unused,
                     (unsigned long long)crossed->unused_record,
                     (unsigned long long)crossed->unused_cluster);
    }
    if (crossed->claims.bitmap_problem != NULL) {
        catalog_warn(catalog,
                     "$Bitmap cannot be used (%s): whether the %llu clusters in use are free was "
                     "not checked",
                     crossed->claims.bitmap_problem, (unsigned long long)crossed->claims.unknown);
    } else if (crossed->claims.unknown > 0) {
        catalog_warn(catalog,
                     "$Bitmap could not be read in part, or is too short: whether %llu clusters in "
                     "use are free was not checked",
                     (unsigned long long)crossed->claims.unknown);
    }
}

const char *catalog_warning(const struct catalog *catalog, size_t index)
{
    return index < catalog->warning_count ? catalog->warnings[index] : NULL;
}

void catalog_warn(struct catalog *catalog, const char *fmt, ...)
{
    char *text = NULL;
    va_list arguments;

    va_start(arguments, fmt);
    int len = vasprintf(&text, fmt, arguments);
    va_end(arguments);
    if (len >= 0 && catalog->warning_count < CATALOG_WARNINGS_MAX) {
        catalog->warnings[catalog->warning_count++] = text;
    } else if (len >= 0) {
        free(text);
    }
}
