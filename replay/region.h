/* SPDX-License-Identifier: Apache-2.0
 *
 * Finding a region (replay/backend.h) in a list that is in order of address and does not overlap.
 */
#ifndef REPLAY_REGION_H
#define REPLAY_REGION_H

#include "replay/backend.h"

/* The number of the first one that begins behind `address`; `count` when none does. */
size_t tsm_region_after(const struct tsm_region *regions, size_t count, uint64_t address);

/* The one that holds the byte at `address`, a recorded one; NULL: none. */
const struct tsm_region *tsm_region_find(const struct tsm_region *regions, size_t count,
                                         uint64_t address);

#endif
