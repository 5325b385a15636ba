/* SPDX-License-Identifier: Apache-2.0
 *
 * Parts of an address space, which may overlap: finds those that hold an address. A search tree by
 * first address with the last one below each node; priorities of nodes are drawn with a value of
 * this process, so that a hostile file cannot choose parts that make it deep. For code that may use
 * malloc (never on a traced program's call path); one thread at a time.
 */
#ifndef BASE_ADDRESS_TREE_H
#define BASE_ADDRESS_TREE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A zeroed struct is empty. */
struct tsm_address_tree {
    struct tsm_address_node {
        uint64_t first, last, key;
        uint64_t farthest; /* the largest `last` of this node and those below */
        uint64_t priority; /* not above that of the node above */
        size_t left, right;
    } * nodes; /* place 0 is none */
    size_t count, capacity;
    size_t root, unused; /* nodes without a part, linked by `left` */
};

/* Adds the part of `size` bytes from `first`, or what of it lies below 2^64; nothing where the
 * size is 0. `key` is the caller's: no two parts have the same first address and key. Returns
 * false when out of memory. */
bool tsm_address_tree_add(struct tsm_address_tree *s, uint64_t first, uint64_t size, uint64_t key);

/* Removes the part with this first address and key, if it is there. */
void tsm_address_tree_remove(struct tsm_address_tree *s, uint64_t first, uint64_t key);

/* Removes a part that holds the address, and sets *key. Returns false if none does. */
bool tsm_address_tree_take(struct tsm_address_tree *s, uint64_t address, uint64_t *key);

void tsm_address_tree_finish(struct tsm_address_tree *s);

#endif
