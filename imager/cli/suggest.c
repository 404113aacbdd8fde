/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Distance between words: letters to add, drop, change or swap with a neighbour. A word that begins
 * a candidate is near, too, since people try abbreviations.
 */
#include "cli/suggest.h"

#include <string.h>
#include <strings.h>

/* Longer words than any option or command are no slip of the finger. */
enum { WORD_BYTES_MAX = 40, PREFIX_BYTES_MIN = 3 };

static unsigned distance(const char *a, size_t a_len, const char *b, size_t b_len);
static unsigned smallest(unsigned a, unsigned b, unsigned c);
static char lower(char c);

void suggest_offer(struct suggest *suggest, const char *candidate)
{
    size_t len = strlen(suggest->word);
    size_t candidate_len = strlen(candidate);
    if (len == 0 || len > WORD_BYTES_MAX || candidate_len > WORD_BYTES_MAX) {
        return;
    }
    unsigned found = distance(suggest->word, len, candidate, candidate_len);
    unsigned allowed = len <= 4 ? 1 : len <= 9 ? 2 : 3;
    if (found > allowed) {
        if (len < PREFIX_BYTES_MIN || strncasecmp(suggest->word, candidate, len) != 0) {
            return;
        }
        found = allowed;
    }
    if (suggest->best == NULL || found < suggest->best_distance) {
        suggest->best = candidate;
        suggest->best_distance = found;
    }
}

/* Three rows of the usual table are enough: this one, the last, and the one before for swaps. */
static unsigned distance(const char *a, size_t a_len, const char *b, size_t b_len)
{
    unsigned rows[3][WORD_BYTES_MAX + 1];
    for (size_t j = 0; j <= b_len; j++) {
        rows[0][j] = (unsigned)j;
    }
    for (size_t i = 1; i <= a_len; i++) {
        unsigned *row = rows[i % 3];
        const unsigned *last = rows[(i + 2) % 3];
        const unsigned *before = rows[(i + 1) % 3];
        row[0] = (unsigned)i;
        for (size_t j = 1; j <= b_len; j++) {
            unsigned change = lower(a[i - 1]) != lower(b[j - 1]);
            row[j] = smallest(last[j] + 1, row[j - 1] + 1, last[j - 1] + change);
            if (i > 1 && j > 1 && lower(a[i - 1]) == lower(b[j - 2]) &&
                lower(a[i - 2]) == lower(b[j - 1]) && before[j - 2] + 1 < row[j]) {
                row[j] = before[j - 2] + 1;
            }
        }
    }
    return rows[a_len % 3][b_len];
}

static unsigned smallest(unsigned a, unsigned b, unsigned c)
{
    unsigned least = a < b ? a : b;
    return least < c ? least : c;
}

/* Not tolower(), which asks the locale. */
static char lower(char c)
{
    return c >= 'A' && c <= 'Z' ? (char)(c - 'A' + 'a') : c;
}
