/* SPDX-License-Identifier: Apache-2.0
 *
 * Numbers that look random and are the same for the same seed: SplitMix64 (Steele, Lea, Flood, "Fast
 * splittable pseudorandom number generators", 2014).
 */
#ifndef BASE_RANDOM_H
#define BASE_RANDOM_H

#include <stdint.h>

/* The next number; *state is the seed at first. */
static inline uint64_t tsm_random(uint64_t *state)
{
    uint64_t z = *state += 0x9e3779b97f4a7c15u;

    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
    z = (z ^ z >> 27) * 0x94d049bb133111ebu;
    return z ^ z >> 31;
}

#endif
