/* SPDX-License-Identifier: Apache-2.0
 *
 * Touched memory: which bytes of global memory the launches that are given the set have read and
 * written. Local and shared memory and the arguments are not in it. A page of which not all is
 * touched alike takes half a KiB for its reads, for its writes, and for reads before any write.
 *
 * Threads: one at a time.
 */
#ifndef EMU_PTX_CHECK_TOUCHED_H
#define EMU_PTX_CHECK_TOUCHED_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Bits of a range. */
#define PTX_TOUCHED_READ    1u
#define PTX_TOUCHED_WRITTEN 2u
#define PTX_TOUCHED_SOME    4u /* some of these bytes, perhaps */
#define PTX_TOUCHED_OWN     8u /* of a visited range: read only after they had been written */

struct ptx_touched;

/* Returns NULL if out of memory. */
struct ptx_touched *ptx_touched_create(void);
void ptx_touched_destroy(struct ptx_touched *touched); /* NULL: nothing */

/* Adds bytes; bits: READ, WRITTEN, SOME. With both of the first, they are read before. */
void ptx_touched_add(struct ptx_touched *touched, uint64_t address, uint64_t size, unsigned bits);

/* Calls `visit` for each range of bytes that were touched alike, in order of their addresses, then
 * for those of which only some were. Returns false, and visits none or not all, if memory was
 * short, now or before, or the set had to hold more than 64 MiB: then it is not known. Nothing may
 * be added any more. */
bool ptx_touched_each(struct ptx_touched *touched,
                      bool (*visit)(void *user, uint64_t address, uint64_t size, unsigned bits),
                      void *user);

#endif
