/* SPDX-License-Identifier: Apache-2.0
 *
 * A hash map: open addressing. The hash is mixed with a value drawn per process, so that a hostile
 * file cannot choose keys that collide. For code that may use malloc (never on a traced program's
 * call path); one thread at a time.
 */
#ifndef BASE_MAP_H
#define BASE_MAP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* u64 -> u64. A zeroed struct is an empty map. */
struct tsm_map {
    struct tsm_map_slot {
        uint64_t key, value;
        bool used;
    } * slots;
    size_t capacity; /* 0 or a power of two */
    size_t count;
};

void tsm_map_finish(struct tsm_map *m);

/* Returns the place of the key's value, valid until the next insertion; NULL when absent. */
uint64_t *tsm_map_find(const struct tsm_map *m, uint64_t key);

/* Returns the place of the key's value, and adds it as 0 when it is absent: *added says. NULL when
 * out of memory. */
uint64_t *tsm_map_insert(struct tsm_map *m, uint64_t key, bool *added);

/* Sets the key's value, whether it is there or not. Returns false when out of memory. */
bool tsm_map_set(struct tsm_map *m, uint64_t key, uint64_t value);

/* Returns the key's value, or `absent`. */
uint64_t tsm_map_get(const struct tsm_map *m, uint64_t key, uint64_t absent);

/* Removes the key if it is there. Moves others: no place from before is valid. The map takes no
 * more room than its largest count needed. */
void tsm_map_remove(struct tsm_map *m, uint64_t key);

/* Returns the hash of `x` in this process. */
uint64_t tsm_map_hash(uint64_t x);

/* Returns the number that this process drew once, and that nobody else knows. */
uint64_t tsm_map_seed(void);

#endif
