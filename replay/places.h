/* SPDX-License-Identifier: Apache-2.0
 *
 * Commands of a stream are numbered without gaps: a place that no record has is a command that is
 * missing, also where the records themselves were numbered again.
 */
#ifndef REPLAY_PLACES_H
#define REPLAY_PLACES_H

#include <stdbool.h>
#include <stdint.h>

/* One stream, zeroed at first. */
struct tsm_places {
    uint64_t first, last; /* positions */
    uint64_t count;       /* of records */
    uint64_t free_count;  /* places that commands took without a record */
    uint64_t sum, square_sum;
    bool last_takes_more;
};

/* A record at `position`, which is not 0, of the stream. `takes_more`: it may have taken places
 * behind its own, too. */
void tsm_places_note(struct tsm_places *p, uint64_t position, bool takes_more);

/* Tells how many records are missing, at least. `from_first`: positions begin at 1 there. */
uint64_t tsm_places_missing(const struct tsm_places *p, bool from_first);

#endif
