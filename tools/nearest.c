/* SPDX-License-Identifier: Apache-2.0 */
#include "tools/nearest.h"

#include <stdbool.h>
#include <string.h>

#define COMPARED_MAX 40 /* bytes of a word */
#define EDITS_MAX    2

/* Edit distance; words are short, so one row of the table is enough. */
static unsigned distance(const char *a, size_t a_size, const char *b)
{
    unsigned row[COMPARED_MAX + 1];
    size_t b_size = strlen(b);

    if (a_size > COMPARED_MAX || b_size > COMPARED_MAX)
        return COMPARED_MAX;
    for (size_t j = 0; j <= b_size; j++)
        row[j] = (unsigned)j;
    for (size_t i = 1; i <= a_size; i++) {
        unsigned diagonal = row[0];
        row[0] = (unsigned)i;
        for (size_t j = 1; j <= b_size; j++) {
            unsigned replace = diagonal + (a[i - 1] != b[j - 1]);
            unsigned insert = (row[j] < row[j - 1] ? row[j] : row[j - 1]) + 1;
            diagonal = row[j];
            row[j] = replace < insert ? replace : insert;
        }
    }
    return row[b_size];
}

void tsm_nearest_begin(struct tsm_nearest *n, const char *word, size_t size)
{
    *n = (struct tsm_nearest){.word = word, .size = size, .distance = EDITS_MAX + 1};
}

void tsm_nearest_try(struct tsm_nearest *n, const char *candidate)
{
    bool begins = n->size >= 2 && strncmp(candidate, n->word, n->size) == 0;
    unsigned d = begins ? 0 : distance(n->word, n->size, candidate);

    if (d < n->distance) {
        n->distance = d;
        n->best = candidate;
    }
}
