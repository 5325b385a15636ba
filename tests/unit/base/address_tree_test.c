/* SPDX-License-Identifier: Apache-2.0
 *
 * Tests parts of addresses against a list of them.
 */
#include "base/address_tree.h"
#include "base/random.h"
#include "tests/unit/check.h"

#include <stdlib.h>

#define COUNT  400u
#define ROUNDS 60000u

static uint64_t state = 5;

struct part {
    uint64_t first, size;
    bool is_there;
};

static struct part parts[COUNT]; /* by key */

static uint64_t below(uint64_t limit)
{
    return tsm_random(&state) % limit;
}

static bool holds(const struct part *part, uint64_t address)
{
    return part->is_there && address >= part->first && address - part->first < part->size;
}

static void change(struct tsm_address_tree *s, uint64_t key)
{
    struct part *part = &parts[key];

    if (part->is_there) {
        tsm_address_tree_remove(s, part->first, key);
        part->is_there = false;
        return;
    }
    *part = (struct part){below(5000), below(8) ? below(100) : below(3000), true};
    CHECK(tsm_address_tree_add(s, part->first, part->size, key));
}

/* Takes all that hold an address: each once, and no others. */
static void take(struct tsm_address_tree *s, uint64_t address)
{
    uint64_t key;

    while (tsm_address_tree_take(s, address, &key)) {
        if (!CHECK(key < COUNT && holds(&parts[key], address)))
            return;
        parts[key].is_there = false;
    }
    for (unsigned i = 0; i < COUNT; i++)
        CHECK(!holds(&parts[i], address));
}

static void test_ends(void)
{
    struct tsm_address_tree s = {0};
    uint64_t key = 0;

    CHECK(!tsm_address_tree_take(&s, 0, &key));
    tsm_address_tree_remove(&s, 0, 0);
    CHECK(tsm_address_tree_add(&s, UINT64_MAX - 1, 100, 1)); /* beyond what there is */
    CHECK(tsm_address_tree_add(&s, 0, UINT64_MAX, 2));
    CHECK(tsm_address_tree_add(&s, 7, 0, 3)); /* nothing */
    CHECK(tsm_address_tree_take(&s, UINT64_MAX, &key) && key == 1);
    CHECK(!tsm_address_tree_take(&s, UINT64_MAX, &key));
    CHECK(tsm_address_tree_take(&s, UINT64_MAX - 1, &key) && key == 2);
    CHECK(tsm_address_tree_add(&s, 7, 1, 3) && tsm_address_tree_add(&s, 7, 1, 4));
    tsm_address_tree_remove(&s, 7, 3);
    CHECK(tsm_address_tree_take(&s, 7, &key) && key == 4);
    CHECK(!tsm_address_tree_take(&s, 7, &key));
    tsm_address_tree_finish(&s);
}

/* Parts in order of their addresses, of which each lies in the one before: still no deep tree. */
static void test_order(void)
{
    enum { MANY = 100000 };
    struct tsm_address_tree s = {0};
    uint64_t key, taken = 0;

    for (uint64_t i = 0; i < MANY; i++)
        CHECK(tsm_address_tree_add(&s, i, 2 * MANY - 2 * i, i));
    while (tsm_address_tree_take(&s, MANY, &key))
        taken++;
    CHECK_EQ_INT(taken, MANY);
    tsm_address_tree_finish(&s);
}

int main(void)
{
    struct tsm_address_tree s = {0};

    for (unsigned i = 0; i < ROUNDS; i++)
        if (below(10))
            change(&s, below(COUNT));
        else
            take(&s, below(5200));
    CHECK(s.count <= COUNT + 2);
    tsm_address_tree_finish(&s);
    test_ends();
    test_order();
    return check_result();
}
