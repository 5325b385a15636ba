/* SPDX-License-Identifier: Apache-2.0
 *
 * Bytes of records side by side: docs/FORMAT.md 7.4. One at a time costs more than all else that is
 * done to a record; so eight records are turned eight bytes at a time.
 */
#ifndef FORMAT_TURN_H
#define FORMAT_TURN_H

#include <stdint.h>

/* Swap the high part of each field of *a with the low part of that field of *b. `low` has the bits of
 * the low parts, which are `bits` long. */
static inline void sbt_turn_swap(uint64_t *a, uint64_t *b, unsigned bits, uint64_t low)
{
    uint64_t other = ((*a >> bits) ^ *b) & low;

    *a ^= other << bits;
    *b ^= other;
}

/* Byte j of v[i] becomes byte i of v[j]: the quarters of the square first, then theirs. */
static inline void sbt_turn_eight(uint64_t v[8])
{
    for (unsigned i = 0; i < 4; i++)
        sbt_turn_swap(&v[i], &v[i + 4], 32, 0x00000000ffffffffu);
    for (unsigned i = 0; i < 8; i += 4) {
        sbt_turn_swap(&v[i], &v[i + 2], 16, 0x0000ffff0000ffffu);
        sbt_turn_swap(&v[i + 1], &v[i + 3], 16, 0x0000ffff0000ffffu);
    }
    for (unsigned i = 0; i < 8; i += 2)
        sbt_turn_swap(&v[i], &v[i + 1], 8, 0x00ff00ff00ff00ffu);
}

#endif
