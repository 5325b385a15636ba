/* SPDX-License-Identifier: Apache-2.0 */
#include "base/address_tree.h"

#include "base/array.h"
#include "base/map.h"

#include <stdlib.h>

/* ---- nodes ------------------------------------------------------------------------------------
 */

static bool comes_before(const struct tsm_address_node *n, uint64_t first, uint64_t key)
{
    return n->first < first || (n->first == first && n->key < key);
}

static uint64_t farther(const struct tsm_address_tree *s, size_t node, uint64_t last)
{
    return node && s->nodes[node].farthest > last ? s->nodes[node].farthest : last;
}

static void update(struct tsm_address_tree *s, size_t node)
{
    struct tsm_address_node *n = &s->nodes[node];

    n->farthest = farther(s, n->right, farther(s, n->left, n->last));
}

/* Returns a node without a part; 0: out of memory. */
static size_t take_node(struct tsm_address_tree *s)
{
    const struct tsm_address_node none = {0};
    const size_t node = s->unused;

    if (node) {
        s->unused = s->nodes[node].left;
        return node;
    }
    if (!s->count && !TSM_ARRAY_PUSH(s->nodes, s->count, s->capacity, none))
        return 0;
    return TSM_ARRAY_PUSH(s->nodes, s->count, s->capacity, none) ? s->count - 1 : 0;
}

static void give_node(struct tsm_address_tree *s, size_t node)
{
    s->nodes[node].left = s->unused;
    s->unused = node;
}

/* ---- trees; as deep as the logarithm of what is in them ---------------------------------------
 */

/* Cuts a tree in two: what comes before the place, and the rest. */
static void split(struct tsm_address_tree *s, size_t tree, uint64_t first, uint64_t key,
                  size_t *before, size_t *rest)
{
    if (!tree) {
        *before = *rest = 0;
        return;
    }
    if (comes_before(&s->nodes[tree], first, key)) {
        size_t right;

        split(s, s->nodes[tree].right, first, key, &right, rest);
        s->nodes[tree].right = right;
        *before = tree;
    } else {
        size_t left;

        split(s, s->nodes[tree].left, first, key, before, &left);
        s->nodes[tree].left = left;
        *rest = tree;
    }
    update(s, tree);
}

/* Makes one tree of two; all of `a` comes before `b`. */
static size_t join(struct tsm_address_tree *s, size_t a, size_t b)
{
    if (!a || !b)
        return a ? a : b;
    if (s->nodes[a].priority >= s->nodes[b].priority) {
        s->nodes[a].right = join(s, s->nodes[a].right, b);
        update(s, a);
        return a;
    }
    s->nodes[b].left = join(s, a, s->nodes[b].left);
    update(s, b);
    return b;
}

/* Removes a part from a tree, and returns what is left. */
static size_t without(struct tsm_address_tree *s, size_t tree, uint64_t first, uint64_t key)
{
    size_t left, right;

    if (!tree)
        return 0;
    left = s->nodes[tree].left;
    right = s->nodes[tree].right;
    if (s->nodes[tree].first == first && s->nodes[tree].key == key) {
        give_node(s, tree);
        return join(s, left, right);
    }
    if (comes_before(&s->nodes[tree], first, key))
        s->nodes[tree].right = without(s, right, first, key);
    else
        s->nodes[tree].left = without(s, left, first, key);
    update(s, tree);
    return tree;
}

/* ---- parts ------------------------------------------------------------------------------------
 */

bool tsm_address_tree_add(struct tsm_address_tree *s, uint64_t first, uint64_t size, uint64_t key)
{
    const uint64_t last = size - 1 > UINT64_MAX - first ? UINT64_MAX : first + (size - 1);
    size_t before, rest, node;

    if (!size)
        return true;
    node = take_node(s);
    if (!node)
        return false;
    s->nodes[node] = (struct tsm_address_node){.first = first,
                                               .last = last,
                                               .key = key,
                                               .farthest = last,
                                               .priority = tsm_map_hash(node ^ tsm_map_hash(key))};
    split(s, s->root, first, key, &before, &rest);
    s->root = join(s, join(s, before, node), rest);
    return true;
}

void tsm_address_tree_remove(struct tsm_address_tree *s, uint64_t first, uint64_t key)
{
    s->root = without(s, s->root, first, key);
}

/* Looks left only where a part there reaches the address: one of them holds it then, or none does
 * at all, because those on the right begin behind all of them. */
bool tsm_address_tree_take(struct tsm_address_tree *s, uint64_t address, uint64_t *key)
{
    size_t at = s->root;

    while (at && (s->nodes[at].first > address || s->nodes[at].last < address)) {
        const size_t left = s->nodes[at].left;

        at = left && s->nodes[left].farthest >= address ? left : s->nodes[at].right;
    }
    if (!at)
        return false;
    *key = s->nodes[at].key;
    tsm_address_tree_remove(s, s->nodes[at].first, *key);
    return true;
}

void tsm_address_tree_finish(struct tsm_address_tree *s)
{
    free(s->nodes);
    *s = (struct tsm_address_tree){0};
}
