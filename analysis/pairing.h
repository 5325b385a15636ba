/* SPDX-License-Identifier: Apache-2.0
 *
 * What stands for what in two traces of the same work: handles and device addresses have other
 * values, but must correspond one to one. A pair is made at first sight and holds from then on.
 */
#ifndef ANALYSIS_PAIRING_H
#define ANALYSIS_PAIRING_H

#include "format/map.h"
#include "tracesmith/reader.h"

/* An allocation, or a variable of a module, of one trace. */
struct tsm_extent {
    uint64_t address, size;
    uint64_t made_seq, gone_seq; /* alive in between */
    struct tsm_extent *pair;
};

/* All of one trace; memory grows with its allocations. */
struct tsm_extents {
    struct tsm_extent *list; /* by address, then made_seq */
    size_t count, capacity;
};

int tsm_extents_collect(struct tsm_extents *out, struct sbt_reader *reader);
void tsm_extents_finish(struct tsm_extents *extents);
/* The one that holds `address` while record `seq` is carried out, or NULL. */
struct tsm_extent *tsm_extents_find(const struct tsm_extents *extents, uint64_t address,
                                    uint64_t seq);

struct tsm_pairing {
    struct tsm_extents extents[2];
    struct sbt_map handles[2]; /* of one trace -> of the other */
};

void tsm_pairing_finish(struct tsm_pairing *pairing);

/* Do two addresses stand for the same place? Outside of all allocations they must be equal. */
bool tsm_pairing_address(struct tsm_pairing *pairing, uint64_t a, uint64_t seq_a, uint64_t b,
                         uint64_t seq_b);

/* Do two ids of objects of type `detail` stand for the same object? Out of memory: false. */
bool tsm_pairing_handle(struct tsm_pairing *pairing, const char *detail, uint64_t a, uint64_t b);

#endif
