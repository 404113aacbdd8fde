/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What the check of the directory indexes says: counts, and examples. Nothing else follows. */
#include "catalog/catalog_internal.h"

enum { EXAMPLES_MAX = 10, EXAMPLES_BYTES = 900 };

/* One kind of difference. */
struct noted {
    uint64_t count;
    struct text examples;
};

struct check {
    struct catalog *catalog;
    struct noted stale;
    struct noted missing;
};

static void see_difference(void *self, const struct volume_difference *difference);
static const char *why_stale(const struct catalog *catalog, uint64_t file_ref);
static void add_name(struct text *text, const struct volume_difference *difference);
static void warn_torn(struct catalog *catalog, const struct volume_indexes *indexes,
                      uint64_t count);
static void warn_all(struct check *check, const struct volume_indexes *indexes,
                     const struct volume_indexes_totals *totals);

int catalog_check_indexes(struct catalog *catalog, struct volume_indexes *indexes,
                          struct error *err)
{
    struct check check = {
        .catalog = catalog,
        .stale.examples = TEXT_INIT(EXAMPLES_BYTES),
        .missing.examples = TEXT_INIT(EXAMPLES_BYTES),
    };
    struct volume_indexes_totals totals = {0};

    int result = volume_indexes_check(indexes, see_difference, &check, &totals, err);
    if (result == 0) {
        warn_all(&check, indexes, &totals);
    }
    text_free(&check.stale.examples);
    text_free(&check.missing.examples);
    return result;
}

static void see_difference(void *self, const struct volume_difference *difference)
{
    struct check *check = self;
    struct noted *noted = difference->in_index ? &check->stale : &check->missing;

    if (noted->count++ >= EXAMPLES_MAX) {
        return;
    }
    text_add(&noted->examples, noted->count > 1 ? "; " : "");
    add_name(&noted->examples, difference);
    text_printf(&noted->examples, " (record %llu) in directory %llu",
                (unsigned long long)VOLUME_REF_RECORD(difference->file_ref),
                (unsigned long long)VOLUME_REF_RECORD(difference->parent_ref));
    if (difference->in_index) {
        text_printf(&noted->examples, ", %s", why_stale(check->catalog, difference->file_ref));
    }
}

static const char *why_stale(const struct catalog *catalog, uint64_t file_ref)
{
    int64_t entry = catalog_find(catalog, VOLUME_REF_RECORD(file_ref));

    if (entry < 0) {
        return "whose record is no file's";
    }
    if (catalog_sequence(catalog, (uint32_t)entry) != VOLUME_REF_SEQUENCE(file_ref)) {
        return "whose record was used again";
    }
    return "whose record does not carry it";
}

static void add_name(struct text *text, const struct volume_difference *difference)
{
    char utf8[4 * VOLUME_DIFFERENCE_UNITS];
    size_t count =
        difference->len < VOLUME_DIFFERENCE_UNITS ? difference->len : VOLUME_DIFFERENCE_UNITS;
    size_t len = 0;

    for (size_t i = 0; i < count;) {
        uint32_t code_point = utf_next_utf16(difference->units, count, &i);
        size_t more = utf_put_utf8(code_point, utf8 + len);
        len += more > 0 ? more : utf_put_utf8(0xFFFD, utf8 + len); /* a lone surrogate */
    }
    text_add(text, "\"");
    text_add_shown(text, utf8, len, sizeof(utf8));
    text_add(text, difference->len > count ? "…\"" : "\"");
}

static void warn_torn(struct catalog *catalog, const struct volume_indexes *indexes, uint64_t count)
{
    struct text records = TEXT_INIT(EXAMPLES_BYTES);
    int64_t record = volume_indexes_torn(indexes, 0);

    for (unsigned i = 0; i < EXAMPLES_MAX && record >= 0; i++) {
        text_printf(&records, "%s%lld", i > 0 ? ", " : "", (long long)record);
        record = volume_indexes_torn(indexes, (uint64_t)record + 1);
    }
    catalog_warn(catalog,
                 "directory indexes: %llu directories have an index that is torn or cannot be "
                 "read (first records: %s); their files were found through $MFT",
                 (unsigned long long)count, text_str(&records));
    text_free(&records);
}

static void warn_all(struct check *check, const struct volume_indexes *indexes,
                     const struct volume_indexes_totals *totals)
{
    struct catalog *catalog = check->catalog;

    if (totals->torn > 0) {
        warn_torn(catalog, indexes, totals->torn);
    }
    if (check->stale.count > 0) {
        catalog_warn(catalog,
                     "directory indexes: %llu stale names, of which $MFT knows nothing: %s",
                     (unsigned long long)check->stale.count, text_str(&check->stale.examples));
    }
    if (check->missing.count > 0) {
        catalog_warn(catalog,
                     "directory indexes: %llu names are missing from their directory; the files "
                     "were found through $MFT: %s",
                     (unsigned long long)check->missing.count, text_str(&check->missing.examples));
    }
    if (totals->is_cut) {
        catalog_warn(catalog,
                     "directory indexes: %llu directories differ from $MFT, too many to look into "
                     "each",
                     (unsigned long long)totals->different);
    }
    if (totals->unchecked > 0) {
        catalog_warn(catalog,
                     "directory indexes: %llu of %llu directories were not compared with $MFT (the "
                     "time for it was over, or an index lies in odd pieces)",
                     (unsigned long long)totals->unchecked,
                     (unsigned long long)totals->directories);
    }
}
