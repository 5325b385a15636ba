/* SPDX-License-Identifier: Apache-2.0
 *
 * Finding a region (replay/backend.h) in a list that is in order of address and does not overlap,
 * and the range check of all copies: addresses and sizes of a trace may be anything.
 */
#ifndef REPLAY_REGION_H
#define REPLAY_REGION_H

#include "replay/backend.h"

/* The number of the first one that begins after `address`; `count` when none does. */
size_t tsm_region_after(const struct tsm_region *regions, size_t count, uint64_t address);

/* The one that holds the byte at `address`, a recorded one; NULL: none. */
const struct tsm_region *tsm_region_find(const struct tsm_region *regions, size_t count,
                                         uint64_t address);

/* Tests whether [address, address + size) lies in [start, start + length). */
bool tsm_range_holds(uint64_t start, uint64_t length, uint64_t address, uint64_t size);

/* Tests whether [address, address + size) lies in one region, or in several that touch each other
 * both as recorded and as placed. */
bool tsm_regions_hold(const struct tsm_region *regions, size_t count, uint64_t address,
                      uint64_t size);

/* A box of bytes: `height` rows of `width` bytes, `pitch` apart, in `depth` planes, `plane` apart.
 */
struct tsm_extent {
    uint64_t width, height, depth, pitch, plane;
};
/* Bytes from the first to the last one, gaps included; 0 for an empty box. False: more than 2^64.
 */
bool tsm_extent_size(const struct tsm_extent *extent, uint64_t *size);
/* Computes the size without gaps. Returns false if it exceeds 2^64. */
bool tsm_extent_packed(const struct tsm_extent *extent, uint64_t *size);

#endif
