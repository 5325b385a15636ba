/* SPDX-License-Identifier: Apache-2.0
 *
 * Which parts of a large piece of memory were ever written. Pages of this process alone (private,
 * of no file) that the kernel has not given anything to are zero, and stay nothing while nobody
 * looks at them: to compare 256 MiB of them with zeros costs a fault for each, and memory where
 * their reader wants to write zeros.
 */
#ifndef BASE_TOUCHED_H
#define BASE_TOUCHED_H

#include <stdint.h>

/* Call `each` for parts of the `size` bytes at `memory`, in order, `offset` from `memory` on. What
 * lies between them reads as zeros, if nobody has written there since; where the kernel does not
 * tell, or the memory is not this process's alone, there is one part with everything. Any thread;
 * errno is preserved; a few system calls. */
void tsm_touched(const void *memory, uint64_t size,
                 void (*each)(void *user, uint64_t offset, uint64_t size), void *user);

#endif
