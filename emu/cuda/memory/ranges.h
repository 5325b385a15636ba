/* SPDX-License-Identifier: Apache-2.0
 *
 * Ranges of addresses that do not overlap, in order, in chunks of some hundred: finding, adding and
 * removing one of a million takes a microsecond or so. Each chunk knows its largest gap, so that
 * the first free place is found without a look at all ranges.
 *
 * Threads: the caller's lock.
 */
#ifndef EMU_CUDA_MEMORY_RANGES_H
#define EMU_CUDA_MEMORY_RANGES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct emu_range {
    uint64_t start, size; /* size: not 0 */
    void *item;           /* the caller's */
};

struct emu_range_chunk;

/* A zeroed struct is empty. It is never finished: it lives as long as the process. */
struct emu_ranges {
    struct emu_range_chunk **chunks; /* none is empty */
    size_t count, capacity;
};

/* The place of a range, until one is added or removed; or that behind the last one. */
struct emu_range_place {
    size_t chunk, at;
};

/* Returns the place of the first range that ends behind the address. */
struct emu_range_place emu_ranges_find(const struct emu_ranges *r, uint64_t address);

/* Returns the range at a place; NULL: behind the last one. Its size and item may be changed, the
 * size by emu_ranges_resize() alone. */
struct emu_range *emu_ranges_at(const struct emu_ranges *r, struct emu_range_place place);

/* Returns the range that holds the address, or NULL. */
struct emu_range *emu_ranges_holder(const struct emu_ranges *r, uint64_t address);

/* Goes to the next place. */
void emu_ranges_next(const struct emu_ranges *r, struct emu_range_place *place);

/* Returns the range before a place, or NULL. */
struct emu_range *emu_ranges_before(const struct emu_ranges *r, struct emu_range_place place);

/* Adds a range that overlaps none. Returns false if out of memory. */
bool emu_ranges_add(struct emu_ranges *r, struct emu_range range);

void emu_ranges_remove(struct emu_ranges *r, struct emu_range_place place);

/* Changes where a range ends; it does not come to overlap the next one. */
void emu_ranges_resize(struct emu_ranges *r, struct emu_range_place place, uint64_t size);

/* Returns the lowest address from `from` on, aligned, with `size` free bytes that end at `end` or
 * before; 0: there is none. */
uint64_t emu_ranges_first_gap(const struct emu_ranges *r, uint64_t from, uint64_t end,
                              uint64_t size, uint64_t alignment);

#endif
