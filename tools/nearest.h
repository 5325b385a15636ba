/* SPDX-License-Identifier: Apache-2.0
 *
 * The word that somebody meant who misspelt one.
 */
#ifndef TOOLS_NEAREST_H
#define TOOLS_NEAREST_H

#include <stddef.h>

/* The candidate that comes nearest so far. */
struct tsm_nearest {
    const char *word; /* what was written; need not end with NUL */
    size_t size;      /* of `word`, in bytes */
    const char *best; /* NULL: none comes near */
    unsigned distance;
};

/* Begins a search. */
void tsm_nearest_begin(struct tsm_nearest *n, const char *word, size_t size);

/* Tries a candidate, which must live as long as `n`. A word that begins it comes nearest; one that
 * takes more than two edits is another word, and no slip. */
void tsm_nearest_try(struct tsm_nearest *n, const char *candidate);

#endif
