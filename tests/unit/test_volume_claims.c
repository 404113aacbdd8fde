/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Sets of clusters, and what a scan and $Bitmap say of the claims on one. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "claims_fixture.h"
#include "volume/claims.h"

#define PAGE CLUSTER_SET_PAGE_BITS
#define MODEL_BITS (4 * PAGE)

static uint64_t next_random(uint64_t *state)
{
    *state ^= *state << 13;
    *state ^= *state >> 7;
    *state ^= *state << 17;
    return *state;
}

static bool has(const struct cluster_set *set, uint64_t cluster)
{
    const uint64_t *words = cluster_set_page(set, cluster / PAGE);

    return words != NULL && (words[cluster % PAGE / 64] >> cluster % 64 & 1) != 0;
}

/* Ranges of all lengths, whole pages among them, beside one byte for each cluster. */
static void test_set(void **state)
{
    (void)state;
    uint64_t random = 88172645463325252ULL;
    for (unsigned round = 0; round < 30; round++) {
        struct cluster_set set;
        struct cluster_set again;
        struct error err = {0};
        CLEANUP_FREE uint8_t *model = calloc(1, MODEL_BITS);
        assert_int_equal(cluster_set_open(&set, MODEL_BITS, "/tmp", &err), 0);
        assert_int_equal(cluster_set_open(&again, MODEL_BITS, "/tmp", &err), 0);
        for (unsigned i = 0; i < 1 + round / 2; i++) {
            uint64_t first = next_random(&random) % MODEL_BITS;
            uint64_t count = next_random(&random) % (MODEL_BITS - first) >> (i % 3 * 7);
            if (i % 4 == 3) {
                first = first / PAGE * PAGE;
                count = PAGE;
            }
            assert_int_equal(cluster_set_add(&set, first, count, &again, &err), 0);
            for (uint64_t at = first; at < first + count; at++) {
                model[at] = model[at] < 2 ? model[at] + 1 : 2;
            }
        }
        uint64_t once = 0;
        uint64_t twice = 0;
        for (uint64_t at = 0; at < MODEL_BITS; at++) {
            assert_int_equal(has(&set, at), model[at] > 0);
            assert_int_equal(has(&again, at), model[at] > 1);
            once += model[at] > 0;
            twice += model[at] > 1;
        }
        assert_int_equal(cluster_set_count(&set), once);
        assert_int_equal(cluster_set_count(&again), twice);
        cluster_set_empty(&set);
        assert_int_equal(cluster_set_count(&set), 0);
        assert_int_equal(cluster_set_add(&set, 5, 1, NULL, &err), 0);
        assert_true(has(&set, 5) && !has(&set, 4) && cluster_set_count(&set) == 1);
        cluster_set_close(&set);
        cluster_set_close(&again);
        cluster_set_close(&again);
    }
}

/* 64 TiB in clusters of 4 KiB: only what is touched costs. */
static void test_huge_volume(void **state)
{
    (void)state;
    const uint64_t clusters = UINT64_C(1) << 34;
    struct cluster_set set;
    struct error err = {0};

    assert_int_equal(cluster_set_open(&set, clusters, "/tmp", &err), 0);
    assert_int_equal(cluster_set_add(&set, 1, clusters - 2, NULL, &err), 0);
    assert_int_equal(set.area.len, 2 * CLUSTER_SET_PAGE_BYTES);
    assert_true(cluster_set_count(&set) == clusters - 2);
    assert_true(has(&set, clusters / 2) && !has(&set, 0) && !has(&set, clusters - 1));
    cluster_set_close(&set);
}

/* A million files that each claim all of it, in steps that a page of claims cannot merge. */
static void test_hostile_volume(void **state)
{
    (void)state;
    const uint64_t clusters = UINT64_C(1) << 34;
    struct cluster_set set;
    struct cluster_set again;
    struct error err = {0};
    uint64_t begin_ms = clock_monotonic_ms();

    assert_int_equal(cluster_set_open(&set, clusters, "/tmp", &err), 0);
    assert_int_equal(cluster_set_open(&again, clusters, "/tmp", &err), 0);
    for (uint64_t i = 0; i < 1000000; i++) {
        assert_int_equal(cluster_set_add(&set, i, clusters - 2 * i, &again, &err), 0);
    }
    assert_true(cluster_set_count(&set) == clusters);
    assert_true(cluster_set_count(&again) == clusters - 2);
    assert_in_range(clock_monotonic_ms() - begin_ms, 0, 60000);
    cluster_set_close(&set);
    cluster_set_close(&again);
}

struct seen {
    struct text text;
    struct volume_claims *claims;
    struct {
        uint64_t record;
        bool doubtful;
        struct volume_extent extents[8];
        size_t count;
    } streams[CLAIMS_ATTRIBUTES + 2];
    size_t count;
};

static int see_entry(void *self, const struct volume_entry *entry, struct error *err)
{
    struct seen *seen = self;

    (void)err;
    for (size_t i = 0; i < entry->stream_count; i++) {
        const struct volume_stream *stream = &entry->streams[i];
        if (!volume_claims_counts(stream)) {
            text_printf(&seen->text, "%llu claims nothing\n", (unsigned long long)entry->record);
            continue;
        }
        assert_true(stream->extent_count <= 8);
        seen->streams[seen->count].record = entry->record;
        seen->streams[seen->count].doubtful = stream->doubtful;
        seen->streams[seen->count].count = stream->extent_count;
        memcpy(seen->streams[seen->count].extents, stream->extents,
               stream->extent_count * sizeof(*stream->extents));
        seen->count++;
    }
    return 0;
}

static int see_stray(void *self, uint64_t record, uint16_t sequence, uint64_t base, const char *why,
                     struct error *err)
{
    (void)self;
    (void)record;
    (void)sequence;
    (void)base;
    (void)why;
    (void)err;
    return 0;
}

#define DATA ATTRIBUTE_DATA
#define INDEX ATTRIBUTE_INDEX_ALLOCATION

static const struct claims_case cases[] = {
    {.name = "healthy",
     .attributes = {{24, DATA, NULL, {{100, 5}}, 0}, {25, DATA, NULL, {{105, 5}}, 0}},
     .expected = ""},
    {.name = "two on one cluster",
     .attributes = {{24, DATA, NULL, {{100, 5}}, 0}, {25, DATA, NULL, {{104, 5}}, 0}},
     .expected = "24 at 104\n25 at 104\ntwice 1\n"},
    {.name = "once more within itself",
     .attributes = {{24, DATA, NULL, {{100, 5}, {200, 1}, {103, 1}}, 0}},
     .expected = "24 at 103\ntwice 1\n"},
    {.name = "the first in the order of the file",
     .attributes = {{24, DATA, NULL, {{900, 5}, {100, 5}}, 0},
                    {25, DATA, NULL, {{102, 1}}, 0},
                    {26, DATA, NULL, {{904, 1}}, 0}},
     .expected = "24 at 904\n25 at 102\n26 at 904\ntwice 2\n"},
    {.name = "holes claim nothing",
     .attributes = {{24, DATA, NULL, {{CLAIMS_HOLE, 500}, {100, 5}}, 0},
                    {25, DATA, NULL, {{CLAIMS_HOLE, 900000}, {300, 1}}, 0}},
     .expected = ""},
    {.name = "a hole over the volume with one bad cluster, which a file claims",
     .attributes = {{8, DATA, "$Bad", {{CLAIMS_HOLE, 500}, {500, 1}, {CLAIMS_HOLE, 999499}}, 0},
                    {24, DATA, NULL, {{499, 3}}, 0}},
     .expected = "8 at 500\n24 at 500\ntwice 1\n"},
    {.name = "a file on $MFT",
     .attributes = {{24, DATA, NULL, {{7, 1}}, 0}},
     .expected = "0 at 7\n24 at 7\ntwice 1\n"},
    {.name = "a file on $MFT whose record is gone",
     .attributes = {{24, DATA, NULL, {{7, 1}}, 0}},
     .no_mft = true,
     .expected = "24 at 7\ntwice 1\nother 0 of 80 at 7\n"},
    {.name = "a file on a directory's index",
     .attributes = {{24, DATA, NULL, {{100, 5}}, 0}, {25, INDEX, "$I30", {{104, 5}}, 0}},
     .expected = "24 at 104\ntwice 1\nother 25 of a0 at 104\n"},
    {.name = "a lost stream takes nobody with it",
     .attributes = {{24, DATA, NULL, {{100, 5}}, 0},
                    {25, DATA, NULL, {{104, 5}}, CLAIMS_BAD_SIZE},
                    {26, DATA, NULL, {{104, 5}}, CLAIMS_LATER_PIECE}},
     .expected = "25 claims nothing\n26 claims nothing\n"},
    {.name = "an odd one whose extents are whole counts in full",
     .attributes = {{24, DATA, NULL, {{100, 5}}, 0},
                    {25, DATA, NULL, {{104, 5}}, CLAIMS_BAD_VALID}},
     .expected = "24 at 104\n25 at 104\ntwice 1\n"},
    {.name = "a damaged list of extents accuses nobody but itself",
     .attributes = {{24, DATA, NULL, {{100, 5}}, 0},
                    {25, DATA, NULL, {{104, 5}}, CLAIMS_BAD_PAIRS},
                    {26, DATA, NULL, {{300, 5}}, CLAIMS_BAD_PAIRS}},
     .expected = "25 at 104\ntwice 1\n"},
    {.name = "two damaged lists",
     .attributes = {{25, DATA, NULL, {{104, 5}}, CLAIMS_BAD_PAIRS},
                    {26, DATA, NULL, {{108, 5}}, CLAIMS_BAD_PAIRS}},
     .expected = "25 at 108\n26 at 108\ntwice 1\n"},
    {.name = "a damaged list on a free cluster",
     .attributes = {{25, DATA, NULL, {{104, 5}}, CLAIMS_BAD_PAIRS}},
     .free = {106},
     .expected = "25 at 106\nfree 1\n"},
    {.name = "free by $Bitmap",
     .attributes = {{24, DATA, NULL, {{100, 5}, {900000, 2}}, 0}, {25, DATA, NULL, {{99, 1}}, 0}},
     .free = {900001, 98},
     .expected = "24 at 900001\nfree 1\n"},
    {.name = "the last cluster of the volume",
     .attributes = {{24, DATA, NULL, {{MAKER_CLUSTERS - 1, 1}}, 0}},
     .free = {MAKER_CLUSTERS - 1},
     .expected = "24 at 999999\nfree 1\n"},
    {.name = "$Bitmap is shorter than the volume",
     .attributes = {{24, DATA, NULL, {{100, 5}}, 0}, {25, DATA, NULL, {{803, 7}}, 0}},
     .free = {104, 805},
     .bitmap_bytes = 100,
     .expected = "24 at 104\nfree 1\nunknown 7\n"},
    {.name = "no $Bitmap",
     .attributes = {{24, DATA, NULL, {{100, 5}}, 0}, {25, DATA, NULL, {{104, 5}}, 0}},
     .free = {101},
     .no_bitmap = true,
     .expected = "24 at 104\n25 at 104\ntwice 1\nunknown 17\nproblem: its record cannot be read\n"},
    {.name = "a file on $Bitmap, which then tells nothing",
     .attributes = {{24, DATA, NULL, {{CLAIMS_BITMAP_AT + 3, 1}}, 0},
                    {25, DATA, NULL, {{99, 1}}, 0}},
     .free = {99},
     .expected = "6 at 11\n24 at 11\ntwice 1\nunknown 40\n"
                 "problem: its own clusters are claimed by others too\n"},
    {.name = "a $Bitmap that calls itself free",
     .attributes = {{25, DATA, NULL, {{99, 1}}, 0}},
     .free = {99, CLAIMS_BITMAP_AT},
     .expected = "unknown 40\nproblem: it says that its own clusters are free\n"},
};

static void print_totals(struct seen *seen)
{
    const struct volume_claims_totals *totals = volume_claims_totals(seen->claims);
    const struct {
        const char *name;
        uint64_t value;
    } numbers[] = {{"twice", totals->twice}, {"free", totals->free}, {"unknown", totals->unknown}};

    for (size_t i = 0; i < ARRAY_LEN(numbers); i++) {
        if (numbers[i].value > 0) {
            text_printf(&seen->text, "%s %llu\n", numbers[i].name,
                        (unsigned long long)numbers[i].value);
        }
    }
    if (totals->bitmap_problem != NULL) {
        text_printf(&seen->text, "problem: %s\n", totals->bitmap_problem);
    }
}

static void print_crossed(struct seen *seen)
{
    uint64_t cluster = 0;

    for (size_t i = 0; i < seen->count; i++) {
        if (volume_claims_crossed(seen->claims, seen->streams[i].extents, seen->streams[i].count,
                                  seen->streams[i].doubtful, &cluster)) {
            text_printf(&seen->text, "%llu at %llu\n", (unsigned long long)seen->streams[i].record,
                        (unsigned long long)cluster);
        }
    }
    print_totals(seen);
    for (size_t i = 0; i < volume_claims_other_count(seen->claims); i++) {
        const struct volume_claim *other = volume_claims_other(seen->claims, i);
        if (volume_claims_crossed(seen->claims, &other->extent, 1, other->doubtful, &cluster)) {
            text_printf(&seen->text, "other %llu of %x at %llu\n",
                        (unsigned long long)other->record, other->type,
                        (unsigned long long)cluster);
        }
    }
}

/* A read of $Bitmap's page `*self` fails. */
static int fail_page(void *self, uint64_t offset, size_t len)
{
    uint64_t page = *(const unsigned *)self;
    uint64_t start = (CLAIMS_BITMAP_AT + page) * (uint64_t)MAKER_CLUSTER_BYTES;

    return offset < start + MAKER_CLUSTER_BYTES && offset + len > start ? EIO : 0;
}

static void run_case(const struct claims_case *row, unsigned *bad_page, const char *expected)
{
    struct volume *volume = claims_volume(row);
    struct error err = {0};
    struct seen seen = {.text = TEXT_INIT(10000)};
    struct volume_scan_totals totals = {0};

    seen.claims = volume_claims_new(volume, "/tmp", &err);
    assert_non_null(seen.claims);
    if (bad_page != NULL) {
        disk_set_fault(volume->disk, fail_page, bad_page);
    }
    struct volume_visitor visitor = {
        .entry = see_entry, .stray = see_stray, .self = &seen, .claims = seen.claims};
    assert_int_equal(volume_scan(volume, &visitor, &totals, &err), 0);
    print_crossed(&seen);
    if (strcmp(text_str(&seen.text), expected) != 0) {
        print_error("%s:\n%s", row->name, text_str(&seen.text));
        fail();
    }
    text_free(&seen.text);
    volume_claims_free(seen.claims);
    maker_volume_free(volume);
}

static void test_cases(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        run_case(&cases[i], NULL, cases[i].expected);
    }
}

/* Nobody is accused by what cannot be read; what can be read counts. */
static void test_unreadable_piece(void **state)
{
    (void)state;
    static const struct claims_case row = {
        .name = "a bad sector in $Bitmap",
        .attributes = {{24, DATA, NULL, {{2 * PAGE + 5, 4}}, 0},
                       {25, DATA, NULL, {{3 * PAGE + 5, 4}}, 0}},
        .free = {2 * PAGE + 5, 3 * PAGE + 6},
    };
    unsigned page = 2;

    run_case(&row, NULL, "24 at 65541\n25 at 98310\nfree 2\n");
    run_case(&row, &page, "25 at 98310\nfree 1\nunknown 4\n");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_set),
        cmocka_unit_test(test_huge_volume),
        cmocka_unit_test(test_hostile_volume),
        cmocka_unit_test(test_cases),
        cmocka_unit_test(test_unreadable_piece),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
