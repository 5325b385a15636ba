/* SPDX-License-Identifier: Apache-2.0
 *
 * Memory for what lives as long as the process, inside a traced program where malloc() may not be
 * called: taken from mmap in chunks, never given back. Lock-free; any thread.
 */
#ifndef BASE_ARENA_H
#define BASE_ARENA_H

#include <stdatomic.h>
#include <stddef.h>

struct tsm_arena_chunk;

/* Zero-initialised is ready for use. */
struct tsm_arena {
    _Atomic(struct tsm_arena_chunk *) chunk;
};

/* `size` bytes of zeros, aligned to 16. NULL when the system has no memory. */
void *tsm_arena_take(struct tsm_arena *arena, size_t size);

#endif
