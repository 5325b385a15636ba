/* SPDX-License-Identifier: Apache-2.0
 *
 * Ranges of addresses: sorted, and apart from each other, for those that overlap or touch become
 * one. Recorded ones are reserved in three steps: each is added while the trace is read; all are
 * mapped before the driver starts, so that neither it nor malloc puts anything there; then each is
 * unmapped and reserved in the driver at once.
 */
#ifndef REPLAY_ADDRESS_SPACE_H
#define REPLAY_ADDRESS_SPACE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct tsm_address_range {
    uint64_t start, end;
    bool is_kept;     /* by a mapping of ours */
    bool is_reserved; /* in the driver */
    void *mapped;     /* the owner's: memory elsewhere that stands for it */
};

/* A zeroed struct is empty. Added and removed is only before the ranges are mapped. */
struct tsm_address_space {
    struct tsm_address_range *list;
    size_t count, capacity;
};

/* How a driver reserves addresses. */
struct tsm_address_driver {
    void *user;
    /* Reserves `size` bytes, at `start` if it can. Returns where they are, or 0 when nowhere. */
    uint64_t (*reserve)(void *user, uint64_t start, uint64_t size);
    void (*release)(void *user, uint64_t start, uint64_t size);
};

/* Adds or removes [start, end), which is not empty. Returns TSM_E_MEMORY when out of memory. */
int tsm_address_space_add(struct tsm_address_space *s, uint64_t start, uint64_t end);
int tsm_address_space_remove(struct tsm_address_space *s, uint64_t start, uint64_t end);

/* Returns the range that holds all of [start, start + size), or NULL. */
struct tsm_address_range *tsm_address_space_find(const struct tsm_address_space *s, uint64_t start,
                                                 uint64_t size);

/* Maps each range with `protection` if nothing else is there: is_kept. */
void tsm_address_space_keep(struct tsm_address_space *s, int protection);

/* Reserves each range in the driver: is_reserved. What it refuses, or has elsewhere, stays kept as
 * it was. */
void tsm_address_space_reserve(struct tsm_address_space *s,
                               const struct tsm_address_driver *driver);

/* Gives back what is reserved and unmaps what is kept; the ranges stay. `driver` may be NULL if
 * nothing is reserved. */
void tsm_address_space_release(struct tsm_address_space *s,
                               const struct tsm_address_driver *driver);

void tsm_address_space_finish(struct tsm_address_space *s);

#endif
