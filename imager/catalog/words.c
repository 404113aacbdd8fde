/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Sentences that say what is wrong with a record. There are few different ones, so entries keep a
 * number.
 */
#include "catalog/catalog_internal.h"

#include <string.h>

static uint32_t find_place(const struct catalog_words *words, const char *word);
static uint32_t hash_word(const char *word);

int catalog_words_number(struct catalog_words *words, const char *word)
{
    if (word == NULL) {
        return 0;
    }
    uint32_t at = find_place(words, word);
    if (words->table[at] == 0 && words->count >= CATALOG_WORDS_MAX - 1) {
        word = "the record is damaged"; /* the last place is kept for it */
        at = find_place(words, word);
    }
    if (words->table[at] != 0) {
        return words->table[at];
    }
    char *copy = strdup(word);
    if (copy == NULL) {
        return -1;
    }
    words->words[words->count++] = copy;
    words->table[at] = (uint16_t)words->count;
    return (int)words->count;
}

const char *catalog_words_get(const struct catalog_words *words, uint64_t number)
{
    return number == 0 || number > words->count ? NULL : words->words[number - 1];
}

void catalog_words_clear(struct catalog_words *words)
{
    for (uint32_t i = 0; i < words->count; i++) {
        free(words->words[i]);
    }
    words->count = 0;
}

/* Where the word's number stands, or would. The table is never more than half full. */
static uint32_t find_place(const struct catalog_words *words, const char *word)
{
    uint32_t at = hash_word(word) % ARRAY_LEN(words->table);
    while (words->table[at] != 0 && strcmp(words->words[words->table[at] - 1], word) != 0) {
        at = (at + 1) % ARRAY_LEN(words->table);
    }
    return at;
}

static uint32_t hash_word(const char *word)
{
    uint32_t hash = 2166136261U; /* FNV-1a */
    for (; *word != '\0'; word++) {
        hash = (hash ^ (uint8_t)*word) * 16777619U;
    }
    return hash;
}
