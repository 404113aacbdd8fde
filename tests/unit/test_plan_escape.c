/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Names as components, and back. */
#include "catalog_fixture.h"

#include "plan/escape.h"

#define FIRST PLAN_ESCAPE_FIRST
#define LAST PLAN_ESCAPE_LAST

struct name_case {
    const uint16_t *units;
    size_t count;
    const char *expected;
};

#define UNITS(...) (const uint16_t[]){__VA_ARGS__}, sizeof((uint16_t[]){__VA_ARGS__}) / 2

/* The way back, written down independently: what a restore does. */
static size_t unescape(const struct plan_component *component, uint16_t *units)
{
    const char *bytes = component->bytes;
    size_t count = 0;
    for (size_t i = 0; i < component->len;) {
        unsigned value = 0;
        unsigned digits = 0;
        if (i + 6 <= component->len && bytes[i] == '%' && bytes[i + 1] == 'u') {
            for (; digits < 4; digits++) {
                const char *hex = "0123456789ABCDEF0123456789abcdef";
                const char *at = strchr(hex, bytes[i + 2 + digits]);
                if (at == NULL || bytes[i + 2 + digits] == '\0') {
                    break;
                }
                value = value << 4 | ((unsigned)(at - hex) & 0xF);
            }
        }
        if (digits == 4) {
            units[count++] = (uint16_t)value;
            i += 6;
            continue;
        }
        uint32_t c = utf_next_utf8(bytes, component->len, &i);
        assert_true(c <= 0x10FFFF);
        if (c >= 0x10000) {
            units[count++] = (uint16_t)(0xD800 + ((c - 0x10000) >> 10));
            c = 0xDC00 + ((c - 0x10000) & 0x3FF);
        }
        units[count++] = (uint16_t)c;
    }
    return count;
}

static void check_back(const uint16_t *units, size_t count, unsigned where)
{
    struct plan_component component;
    uint16_t back[PLAN_COMPONENT_MAX];
    plan_escape(units, count, where, &component);
    assert_true(component.exact);
    assert_true(component.len > 0 && component.len <= sizeof(component.bytes));
    assert_true(utf_valid_utf8(component.bytes, component.len));
    assert_int_equal(unescape(&component, back), count);
    assert_memory_equal(back, units, 2 * count);
    for (size_t i = 0; i < component.len; i++) {
        assert_true((uint8_t)component.bytes[i] >= 0x20 && component.bytes[i] != 0x7F);
        assert_true(component.bytes[i] != '/' && component.bytes[i] != ':');
    }
}

static void test_text_names(void **state)
{
    (void)state;
    static const struct {
        const char *name;
        unsigned where;
        const char *expected;
    } cases[] = {
        {"plain.txt", FIRST, "plain.txt"},
        {"trailing dot.", FIRST, "trailing dot."},
        {"trailing space ", FIRST, "trailing space "},
        {"CON", FIRST, "CON"},
        {"back\\slash", FIRST, "back\\slash"},
        {"q?*<>|\"", FIRST, "q?*<>|\""},
        {"nl\nname", FIRST, "nl%u000Aname"},
        {"cr\rname", FIRST, "cr%u000Dname"},
        {"del\x7F", FIRST, "del%u007F"},
        {"a:b/c", FIRST, "a%u003Ab%u002Fc"},
        {"hash#1", FIRST, "hash#1"},
        {"hash#1", LAST, "hash%u00231"},
        {"#1", FIRST | LAST, "%u00231"},
        {"a#12#0034567890123456789012", LAST, "a#12%u00230034567890123456789012"},
        {"hash#", LAST, "hash#"},
        {"hash##7", LAST, "hash#%u00237"},
        {"hash#1.txt", LAST, "hash#1.txt"},
        {"hash#1a", LAST, "hash#1a"},
        {"2026", LAST, "2026"},
        {"%u0023\x31", LAST, "%u0025u00231"},
        {"[br]*", FIRST, "[br]*"},
        {"emoji\xF0\x9F\x98\x80", FIRST, "emoji\xF0\x9F\x98\x80"},
        {"nfd-e\xCC\x81", FIRST, "nfd-e\xCC\x81"},
        {"nfc-\xC3\xA9", FIRST, "nfc-\xC3\xA9"},
        {"100%", FIRST, "100%"},
        {"%u12", FIRST, "%u12"},
        {"%u00e9", FIRST, "%u0025u00e9"},
        {"%u00E9x", FIRST, "%u0025u00E9x"},
        {"%U00E9", FIRST, "%U00E9"},
        {"%%u0041", FIRST, "%%u0025u0041"},
        {"%u0025u0041", FIRST, "%u0025u0025u0041"},
        {".", 0, "%u002E"},
        {"..", 0, "%u002E."},
        {"...", 0, "..."},
        {".git", FIRST, ".git"},
        {".winch", FIRST, "%u002Ewinch"},
        {".WinCH-old", FIRST, "%u002EWinCH-old"},
        {".winch", 0, ".winch"},
        {".winc", FIRST, ".winc"},
        {"\xEF\xBF\xBD", FIRST, "\xEF\xBF\xBD"},
        {"\xC2\x85", FIRST, "\xC2\x85"},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        uint16_t units[PLAN_NAME_UNITS_MAX];
        ssize_t count = utf_to_utf16(cases[i].name, strlen(cases[i].name), units, 255);
        assert_true(count > 0);
        struct plan_component component;
        plan_escape(units, (size_t)count, cases[i].where, &component);
        assert_int_equal(component.len, strlen(cases[i].expected));
        assert_memory_equal(component.bytes, cases[i].expected, component.len);
        assert_int_equal(component.changed, strcmp(cases[i].name, cases[i].expected) != 0);
        check_back(units, (size_t)count, cases[i].where);
    }
}

static void test_units(void **state)
{
    (void)state;
    const struct name_case cases[] = {
        {UNITS('l', 0xD800, 's'), "l%uD800s"},
        {UNITS(0xDC00, 0xD800), "%uDC00%uD800"},
        {UNITS('a', 0, 'b'), "a%u0000b"},
        {UNITS(0xFFFE), "%uFFFE"},
        {UNITS(0xFFFF, 0xFFFD), "%uFFFF\xEF\xBF\xBD"},
        {UNITS(0xD83D, 0xDE00), "\xF0\x9F\x98\x80"},
        {UNITS(0xDBFF, 0xDFFF), "\xF4\x8F\xBF\xBF"},
        {UNITS(0xD83D, 0xD83D, 0xDE00), "%uD83D\xF0\x9F\x98\x80"},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct plan_component component;
        plan_escape(cases[i].units, cases[i].count, FIRST, &component);
        assert_int_equal(component.len, strlen(cases[i].expected));
        assert_memory_equal(component.bytes, cases[i].expected, component.len);
        check_back(cases[i].units, cases[i].count, FIRST);
    }
}

static void test_random_names_come_back(void **state)
{
    (void)state;
    static const uint16_t likely[] = {'%', 'u',    '0',    '4',    'A', '#',  '.',  'w',   '/',
                                      ':', 0xD800, 0xDC00, 0xFFFE, 0,   0x7F, 0xE9, 0x20AC};
    uint64_t seed = 1;
    for (unsigned round = 0; round < 20000; round++) {
        uint16_t units[PLAN_NAME_UNITS_MAX];
        seed = seed * 6364136223846793005ULL + 1442695040888963407ULL;
        size_t count = 1 + (seed >> 33) % (round % 100 == 0 ? 255 : 12);
        for (size_t i = 0; i < count; i++) {
            seed = seed * 6364136223846793005ULL + 1442695040888963407ULL;
            units[i] = (seed >> 60) < 13 ? likely[(seed >> 33) % ARRAY_LEN(likely)]
                                         : (uint16_t)(seed >> 33);
        }
        check_back(units, count, round % 4);
    }
}

static void test_extremes(void **state)
{
    (void)state;
    uint16_t units[PLAN_NAME_UNITS_MAX] = {0};
    struct plan_component component;
    plan_escape(units, PLAN_NAME_UNITS_MAX, FIRST, &component);
    assert_int_equal(component.len, PLAN_NAME_UNITS_MAX * PLAN_ESCAPE_BYTES);
    plan_escape(units, 0, FIRST, &component);
    assert_int_equal(component.len, PLAN_ESCAPE_BYTES);
    assert_false(component.exact);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_text_names),
        cmocka_unit_test(test_units),
        cmocka_unit_test(test_random_names_come_back),
        cmocka_unit_test(test_extremes),
    };
    return cmocka_run_group_tests_name("plan escapes", tests, NULL, NULL);
}
