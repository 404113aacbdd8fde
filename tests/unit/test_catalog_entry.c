/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Entries in, the same entries out: extremes, random ones, damaged files. */
#include "catalog_fixture.h"

#include "catalog/varint.h"

static void assert_bytes(const uint8_t *a, size_t a_len, const uint8_t *b, size_t b_len)
{
    assert_int_equal(a == NULL, b == NULL);
    assert_int_equal(a_len, b_len);
    if (a != NULL && a_len > 0) {
        assert_memory_equal(a, b, a_len);
    }
}

static void assert_words(const char *a, const char *b)
{
    assert_int_equal(a == NULL, b == NULL);
    if (a != NULL) {
        assert_string_equal(a, b);
    }
}

static void assert_stream(const struct volume_stream *a, const struct volume_stream *b)
{
    assert_int_equal(a->name_len, b->name_len);
    assert_memory_equal(a->name, b->name, 2U * a->name_len);
    assert_int_equal(a->form, b->form);
    assert_int_equal(a->attribute_flags, b->attribute_flags);
    assert_true(a->size_bytes == b->size_bytes && a->valid_bytes == b->valid_bytes);
    assert_true(a->allocated_bytes == b->allocated_bytes && a->record == b->record);
    assert_int_equal(a->extent_count, b->extent_count);
    for (size_t i = 0; i < a->extent_count; i++) {
        assert_true(a->extents[i].cluster == b->extents[i].cluster);
        assert_true(a->extents[i].clusters == b->extents[i].clusters);
    }
    assert_words(a->problem, b->problem);
}

static void assert_entry(const struct volume_entry *a, const struct volume_entry *b)
{
    assert_true(a->record == b->record && a->sequence == b->sequence);
    assert_int_equal(a->directory, b->directory);
    assert_words(a->problem, b->problem);
    assert_int_equal(a->name_count, b->name_count);
    for (size_t i = 0; i < a->name_count; i++) {
        assert_true(a->names[i].parent_ref == b->names[i].parent_ref);
        assert_int_equal(a->names[i].len, b->names[i].len);
        assert_int_equal(a->names[i].space, b->names[i].space);
        assert_memory_equal(a->names[i].units, b->names[i].units, 2U * a->names[i].len);
    }
    assert_int_equal(a->stream_count, b->stream_count);
    for (size_t i = 0; i < a->stream_count; i++) {
        assert_stream(&a->streams[i], &b->streams[i]);
    }
    assert_int_equal(a->has_standard, b->has_standard);
    assert_true(a->created == b->created && a->modified == b->modified);
    assert_true(a->changed == b->changed && a->accessed == b->accessed);
    assert_int_equal(a->file_attributes, b->file_attributes);
    assert_true(a->security_id == b->security_id && a->owner_id == b->owner_id);
    assert_true(a->usn == b->usn && a->lsn == b->lsn && a->link_count == b->link_count);
    assert_int_equal(a->case_sensitive, b->case_sensitive);
    assert_true(a->reparse_tag == b->reparse_tag);
    assert_bytes(a->reparse, a->reparse_len, b->reparse, b->reparse_len);
    assert_bytes(a->object_id, 16, b->object_id, 16);
    assert_bytes(a->ea, a->ea_len, b->ea, b->ea_len);
    assert_bytes(a->security, a->security_len, b->security, b->security_len);
    assert_bytes(a->efs, a->efs_len, b->efs, b->efs_len);
    assert_true(a->unnamed_directory_index_bytes == b->unnamed_directory_index_bytes);
}

static uint64_t next_random(uint64_t *state)
{
    *state ^= *state << 13;
    *state ^= *state >> 7;
    *state ^= *state << 17;
    return *state;
}

/* Numbers of every length, the extremes among them. */
static uint64_t random_number(uint64_t *state)
{
    uint64_t value = next_random(state) >> (next_random(state) % 64);
    return next_random(state) % 16 == 0 ? UINT64_MAX - value % 2 : value;
}

static uint8_t noise[65536];

static void random_streams(struct made *made, uint64_t *state)
{
    size_t streams = next_random(state) % 4;
    for (size_t i = 0; i < streams; i++) {
        struct volume_stream *stream =
            made_stream(made, i == 0 ? "" : "Zone.Identifier",
                        (enum volume_form)(next_random(state) % 5), random_number(state));
        stream->attribute_flags = (uint16_t)random_number(state);
        stream->allocated_bytes = random_number(state);
        stream->problem = next_random(state) % 8 == 0 ? "its pieces overlap" : NULL;
        if (next_random(state) % 2 == 0) {
            stream->valid_bytes = random_number(state);
            stream->record = random_number(state);
        }
        for (size_t n = next_random(state) % 6; n > 0; n--) {
            bool hole = next_random(state) % 3 == 0;
            made_extent(made, hole ? VOLUME_HOLE : random_number(state), random_number(state));
        }
    }
}

static void random_entry(struct made *made, uint64_t record, uint64_t *state)
{
    made_start(made, record, (uint16_t)random_number(state));
    struct volume_entry *entry = &made->entry;
    entry->directory = next_random(state) % 4 == 0;
    entry->problem = next_random(state) % 8 == 0 ? "it is torn" : NULL;
    entry->has_standard = next_random(state) % 8 != 0;
    entry->case_sensitive = next_random(state) % 8 == 0;
    entry->created = random_number(state);
    entry->modified = random_number(state);
    entry->changed = random_number(state);
    entry->accessed = random_number(state);
    entry->file_attributes = (uint32_t)random_number(state);
    entry->security_id = (uint32_t)random_number(state);
    entry->owner_id = (uint32_t)random_number(state);
    entry->usn = random_number(state);
    entry->lsn = random_number(state);
    entry->link_count = (uint16_t)random_number(state);
    entry->unnamed_directory_index_bytes = next_random(state) % 4 == 0 ? random_number(state) : 0;
    uint64_t parent = random_number(state);
    for (size_t n = next_random(state) % 5; n > 0; n--) {
        made_name(made, parent, n % 2 == 0 ? "a name" : "NAME~1", (uint8_t)(n == 3 ? 200 : n - 1));
        parent = next_random(state) % 2 == 0 ? parent : random_number(state);
    }
    random_streams(made, state);
    const uint8_t **values[] = {&entry->reparse, &entry->ea, &entry->security, &entry->efs};
    size_t *lens[] = {&entry->reparse_len, &entry->ea_len, &entry->security_len, &entry->efs_len};
    for (size_t i = 0; i < ARRAY_LEN(values); i++) {
        if (next_random(state) % 8 == 0) {
            *values[i] = noise;
            *lens[i] = next_random(state) % 300;
        }
    }
    entry->reparse_tag = next_random(state) % 4 == 0 ? (uint32_t)random_number(state) : 0;
    entry->object_id = next_random(state) % 4 == 0 ? noise + 7 : NULL;
}

static void test_random_entries(void **state)
{
    (void)state;
    enum { COUNT = 5000 };
    struct catalog *catalog = made_catalog();
    struct made made;
    uint64_t seed = 88172645463325252ULL;
    for (uint64_t record = 0; record < COUNT; record++) {
        random_entry(&made, record, &seed);
        made_add(catalog, &made);
    }
    made_finish(catalog, COUNT);
    assert_int_equal(catalog_count(catalog), COUNT);
    CLEANUP_VIEW struct catalog_view view = {0};
    struct error err = {0};
    seed = 88172645463325252ULL;
    for (uint32_t i = 0; i < COUNT; i++) {
        random_entry(&made, i, &seed);
        assert_int_equal(catalog_get(catalog, i, &view, &err), 0);
        assert_int_equal(view.index, i);
        assert_entry(&made.entry, &view.entry);
        assert_true(catalog_record(catalog, i) == i && catalog_find(catalog, i) == (int64_t)i);
        assert_int_equal(catalog_sequence(catalog, i), made.entry.sequence);
        assert_int_equal(catalog_is_directory(catalog, i),
                         made.entry.directory || made.entry.unnamed_directory_index_bytes != 0);
    }
    assert_int_equal(catalog_get(catalog, COUNT, &view, &err), -1);
    catalog_free(catalog);
}

static void test_largest_values(void **state)
{
    (void)state;
    struct catalog *catalog = made_catalog();
    struct made made;
    made_start(&made, (1ULL << 20) - 1, UINT16_MAX);
    uint16_t units[255];
    memset(units, 0xFF, sizeof(units));
    made_units(&made, UINT64_MAX, units, 255, UINT8_MAX);
    made_units(&made, UINT64_MAX, units, 0, SPACE_DOS);
    struct volume_stream *stream = made_stream(&made, "", VOLUME_EFS, UINT64_MAX);
    stream->valid_bytes = 0;
    stream->allocated_bytes = 1ULL << 63;
    stream->record = 0;
    made_extent(&made, UINT64_MAX - 1, UINT64_MAX);
    made_extent(&made, VOLUME_HOLE, UINT64_MAX);
    made_extent(&made, 0, 0);
    made_extent(&made, 1ULL << 63, 1);
    made.entry.created = UINT64_MAX;
    made.entry.modified = 0;
    made.entry.changed = UINT64_MAX;
    made.entry.ea = noise;
    made.entry.ea_len = sizeof(noise);
    made.entry.reparse = noise;
    made.entry.reparse_len = 0;
    made_add(catalog, &made);
    made_finish(catalog, 1ULL << 20);
    CLEANUP_VIEW struct catalog_view view = {0};
    struct error err = {0};
    assert_int_equal(catalog_get(catalog, 0, &view, &err), 0);
    assert_entry(&made.entry, &view.entry);
    assert_true(catalog_find(catalog, UINT64_MAX) < 0);
    catalog_free(catalog);
}

static void test_order_and_repeats(void **state)
{
    (void)state;
    static const struct {
        uint64_t record;
        const char *name;
    } added[] = {{30, "c"}, {10, "a"},     {50, "e"},    {20, "b"},
                 {40, "d"}, {20, "again"}, {10, "again"}};
    struct catalog *catalog = made_catalog();
    for (size_t i = 0; i < ARRAY_LEN(added); i++) {
        made_add_file(catalog, added[i].record, 1, ROOT, added[i].name);
    }
    made_finish(catalog, 64);
    assert_int_equal(catalog_count(catalog), 5);
    for (uint32_t i = 0; i < 5; i++) {
        struct catalog_name name;
        assert_int_equal(catalog_record(catalog, i), 10 * (i + 1));
        assert_true(catalog_name(catalog, i, 0, &name));
        assert_int_equal(name.len, 1);
        assert_int_equal(name.units_le[0], 'a' + i);
    }
    assert_int_equal(catalog_find(catalog, 30), 2);
    assert_int_equal(catalog_find(catalog, 31), -1);
    assert_int_equal(catalog_find(catalog, 51), -1);
    catalog_free(catalog);
}

static void test_record_behind_the_table(void **state)
{
    (void)state;
    struct catalog *catalog = made_catalog();
    made_add_file(catalog, 1ULL << 47, 1, ROOT, "far");
    struct error err = {0};
    struct volume_scan_totals totals = {.records = 100};
    assert_int_equal(catalog_finish(catalog, &totals, &err), -1);
    assert_int_equal(err.exit_status, EXIT_STATUS_INTERNAL);
    catalog_free(catalog);
}

static void test_empty(void **state)
{
    (void)state;
    struct catalog *catalog = made_catalog();
    made_finish(catalog, 0);
    assert_int_equal(catalog_count(catalog), 0);
    assert_int_equal(catalog_stray_count(catalog), 0);
    assert_int_equal(catalog_find(catalog, 0), -1);
    assert_int_equal(catalog_bytes(catalog), 0);
    catalog_free(catalog);
    catalog_free(NULL);
}

static void test_strays(void **state)
{
    (void)state;
    struct catalog *catalog = made_catalog();
    struct error err = {0};
    for (uint64_t i = 0; i < 5000; i++) {
        char why[64]; /* not lasting, and of too many kinds to keep them all */
        (void)snprintf(why, sizeof(why), "reason %u", (unsigned)(i % 2000));
        assert_int_equal(catalog_add_stray(catalog, i, (uint16_t)i, i * 2, why, &err), 0);
    }
    made_finish(catalog, 10000);
    assert_int_equal(catalog_stray_count(catalog), 5000);
    const struct catalog_stray *stray = catalog_stray(catalog, 2007);
    assert_int_equal(stray->record, 2007);
    assert_int_equal(stray->base, 4014);
    assert_string_equal(stray->why, "reason 7");
    assert_string_equal(catalog_stray(catalog, 1999)->why, "the record is damaged");
    catalog_free(catalog);
}

static void test_damaged_file(void **state)
{
    (void)state;
    uint64_t seed = 42;
    unsigned refused = 0;
    for (unsigned round = 0; round < 300; round++) {
        struct catalog *catalog = made_catalog();
        struct made made;
        for (uint64_t record = 0; record < 20; record++) {
            random_entry(&made, record, &seed);
            made_add(catalog, &made);
        }
        for (unsigned i = 0; i < 40; i++) {
            catalog->blobs.bytes[next_random(&seed) % catalog->blobs.len] =
                (uint8_t)next_random(&seed);
        }
        made_finish(catalog, 20);
        CLEANUP_VIEW struct catalog_view view = {0};
        struct error err = {0};
        for (uint32_t i = 0; i < 20; i++) {
            refused += catalog_get(catalog, i, &view, &err) != 0 ? 1 : 0;
            struct catalog_name name;
            (void)catalog_name(catalog, i, 1, &name); /* must come back, that is all */
            (void)catalog_name_count(catalog, i);
        }
        catalog_free(catalog);
    }
    assert_true(refused > 0);
}

static void test_varints(void **state)
{
    (void)state;
    static const uint64_t values[] = {0, 1, 127, 128, 16383, 16384, 1ULL << 63, UINT64_MAX};
    for (size_t i = 0; i < ARRAY_LEN(values); i++) {
        uint8_t bytes[VARINT_BYTES_MAX];
        size_t len = (size_t)(varint_put(bytes, values[i]) - bytes);
        struct varint_cursor in = {.at = bytes, .end = bytes + len};
        assert_true(varint_take(&in) == values[i] && !in.bad && in.at == in.end);
        in = (struct varint_cursor){.at = bytes, .end = bytes + len - 1};
        (void)varint_take(&in); /* cut short: only `bad` counts */
        assert_true(in.bad);
        for (size_t j = 0; j < ARRAY_LEN(values); j++) {
            len = (size_t)(varint_put_delta(bytes, values[i], values[j]) - bytes);
            in = (struct varint_cursor){.at = bytes, .end = bytes + len};
            assert_true(varint_take_delta(&in, values[j]) == values[i] && !in.bad);
        }
    }
}

int main(void)
{
    for (size_t i = 0; i < sizeof(noise); i++) {
        noise[i] = (uint8_t)(i * 7);
    }
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_varints),
        cmocka_unit_test(test_random_entries),
        cmocka_unit_test(test_largest_values),
        cmocka_unit_test(test_order_and_repeats),
        cmocka_unit_test(test_record_behind_the_table),
        cmocka_unit_test(test_empty),
        cmocka_unit_test(test_strays),
        cmocka_unit_test(test_damaged_file),
    };
    return cmocka_run_group_tests_name("catalog entries", tests, NULL, NULL);
}
