/* SPDX-License-Identifier: Apache-2.0 -- places on a stream that have no record. */
#include "tests/unit/check.h"

#include <string.h>

#include "analysis/places.h"

/* How many are missing where these positions are seen, in this order, 0 at the end. */
static uint64_t missing(bool from_first, const uint64_t *positions)
{
    struct tsm_places p = {0};

    for (; *positions; positions++) {
        struct sbt_record record = {.stream = 1, .position = *positions};
        tsm_places_note(&p, &record, 0);
    }
    return tsm_places_missing(&p, from_first);
}

/* The same, of a launch at 3 that calls `functions`. */
static uint64_t lacking(uint64_t functions, const uint64_t *positions)
{
    struct tsm_places p = {0};

    for (; *positions; positions++) {
        struct sbt_record record = {.stream = 1, .position = *positions};
        tsm_places_note(&p, &record, *positions == 3 ? functions : 0);
    }
    return tsm_places_missing(&p, true);
}

#define UNSURE(n)               (TSM_GRAPH_FUNCTIONS_UNSURE | (n))
#define LACKING(functions, ...) (long long)lacking(functions, (const uint64_t[]){__VA_ARGS__, 0})
#define MISSING(from_first, ...) (long long)missing(from_first, (const uint64_t[]){__VA_ARGS__, 0})

int main(void)
{
    CHECK_EQ_INT(MISSING(true, 0), 0);
    CHECK_EQ_INT(MISSING(true, 1, 2, 3, 4, 5, 6, 7), 0);
    CHECK_EQ_INT(MISSING(true, 1, 3, 4, 2, 5), 0); /* one that came late */
    CHECK_EQ_INT(MISSING(true, 1, 2, 4, 5), 1);
    CHECK_EQ_INT(MISSING(true, 2, 3), 1);
    CHECK_EQ_INT(MISSING(false, 2, 3), 0);
    CHECK_EQ_INT(MISSING(false, 12, 13, 15), 1);
    CHECK_EQ_INT(MISSING(true, 1, 2, 2, 4), 1); /* one twice, another one not at all */
    CHECK_EQ_INT(MISSING(true, 1, 2, 3, 3, 5, 5), 1);
    CHECK_EQ_INT(MISSING(true, 1, 1ull << 62), (1ll << 62) - 2);
    CHECK_EQ_INT(LACKING(2, 1, 2, 3, 6), 0);
    CHECK_EQ_INT(LACKING(2, 1, 2, 3), 0);
    CHECK_EQ_INT(LACKING(2, 1, 2, 3, 7), 1);
    CHECK_EQ_INT(LACKING(2, 1, 2, 6, 3), 0); /* a launch that came late */
    CHECK_EQ_INT(LACKING(2, 1, 6, 7, 3), 1);
    CHECK_EQ_INT(LACKING(2, 1, 2, 3, 5, 6), 1); /* at a place that a function has */
    CHECK_EQ_INT(LACKING(UNSURE(2), 1, 2, 3, 5, 6), 0);
    CHECK_EQ_INT(LACKING(UNSURE(2), 1, 2, 3, 6), 0);
    CHECK_EQ_INT(LACKING(UNSURE(2), 1, 2, 3, 8), 2);
    CHECK_EQ_INT(LACKING(UNSURE(TSM_GRAPH_FUNCTIONS_MAX), 1, 2, 3, 100), 0);
    return check_result();
}
