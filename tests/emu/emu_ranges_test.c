/* SPDX-License-Identifier: Apache-2.0
 *
 * The table of ranges against a plain list: random ranges are added, removed and made longer, and
 * the first free places are those that a look at all of them finds.
 */
#include "emu/cuda/memory/ranges.h"
#include "tests/unit/check.h"

#include <stdlib.h>
#include <string.h>

enum { UNIT = 512, UNITS = 6000, STEPS = 60000 };

static bool taken[UNITS];      /* by unit */
static unsigned length[UNITS]; /* of the range that begins there; 0: none */
static struct emu_ranges ranges;
static uint64_t state = 88172645463325252ull;

static unsigned below(unsigned limit)
{
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return (unsigned)(state % limit);
}

/* Address of a unit; there is something below the first one. */
static uint64_t at(unsigned unit)
{
    return (uint64_t)(unit + 16) * UNIT;
}

static bool is_free(unsigned first, unsigned count)
{
    for (unsigned i = first; i < first + count; i++)
        if (i >= UNITS || taken[i])
            return false;
    return true;
}

static void set(unsigned first, unsigned count, bool value)
{
    for (unsigned i = first; i < first + count; i++)
        taken[i] = value;
}

static uint64_t first_gap(unsigned from, unsigned count, unsigned alignment)
{
    for (unsigned i = from; i + count <= UNITS; i++)
        if (at(i) % ((uint64_t)alignment * UNIT) == 0 && is_free(i, count))
            return at(i);
    return 0;
}

static void check_gap(void)
{
    const unsigned from = below(UNITS), count = 1 + below(below(4) ? 24 : 300),
                   alignment = 1u << below(4);

    CHECK_EQ_INT(emu_ranges_first_gap(&ranges, at(from), at(UNITS), (uint64_t)count * UNIT,
                                      (uint64_t)alignment * UNIT),
                 first_gap(from, count, alignment));
}

/* The whole gap that a unit lies in is found. */
static void check_gap_around(unsigned unit)
{
    unsigned first = unit, end = unit;

    while (first && !taken[first - 1])
        first--;
    while (end < UNITS && !taken[end])
        end++;
    CHECK_EQ_INT(
        emu_ranges_first_gap(&ranges, at(0), at(UNITS), (uint64_t)(end - first) * UNIT, UNIT),
        first_gap(0, end - first, 1));
}

static void check_find(void)
{
    const unsigned unit = below(UNITS);
    const uint64_t address = at(unit) + below(UNIT);
    const struct emu_range *holder = emu_ranges_holder(&ranges, address);
    struct emu_range_place place = emu_ranges_find(&ranges, address);
    const struct emu_range *range = emu_ranges_at(&ranges, place),
                           *before = emu_ranges_before(&ranges, place);
    unsigned next = unit;

    CHECK((holder != NULL) == taken[unit]);
    while (next < UNITS && !taken[next])
        next++;
    while (next < UNITS && next && !length[next])
        next--;
    CHECK((range != NULL) == (next < UNITS));
    if (range) {
        CHECK_EQ_INT(range->start, at(next));
        CHECK_EQ_INT(range->size, (uint64_t)length[next] * UNIT);
        CHECK(range->item == &length[next]);
        CHECK(!before || before->start + before->size <= range->start);
    }
}

static void add(void)
{
    const unsigned first = below(UNITS), count = 1 + below(6);

    if (!is_free(first, count))
        return;
    CHECK(emu_ranges_add(&ranges,
                         (struct emu_range){at(first), (uint64_t)count * UNIT, &length[first]}));
    set(first, count, true);
    length[first] = count;
}

static void change(bool is_removed)
{
    const unsigned first = below(UNITS);
    const struct emu_range_place place = emu_ranges_find(&ranges, at(first));

    if (!length[first])
        return;
    if (is_removed) {
        emu_ranges_remove(&ranges, place);
        set(first, length[first], false);
        length[first] = 0;
        check_gap_around(first);
    } else if (is_free(first + length[first], 2)) {
        set(first + length[first], 2, true);
        length[first] += 2;
        emu_ranges_resize(&ranges, place, (uint64_t)length[first] * UNIT);
    }
}

/* All in order, each once. */
static void check_all(void)
{
    struct emu_range_place place = {0, 0};
    const struct emu_range *range;

    for (unsigned i = 0; i < UNITS; i++) {
        if (!length[i])
            continue;
        range = emu_ranges_at(&ranges, place);
        CHECK(range && range->start == at(i));
        emu_ranges_next(&ranges, &place);
    }
    CHECK(!emu_ranges_at(&ranges, place));
}

int main(void)
{
    for (unsigned i = 0; i < STEPS; i++) {
        /* It fills up, and empties again. */
        if (below(10) < (i / 10000 % 2 ? 3 : 7))
            add();
        else
            change(below(4) != 0);
        if (i % 8 == 0)
            check_find();
        if (i % 4 == 0)
            check_gap();
        if (i % 5000 == 0)
            check_all();
    }
    for (unsigned i = 0; i < UNITS; i++)
        if (length[i])
            emu_ranges_remove(&ranges, emu_ranges_find(&ranges, at(i)));
    CHECK_EQ_INT(ranges.count, 0);
    CHECK_EQ_INT(emu_ranges_first_gap(&ranges, at(0), at(UNITS), UNIT, UNIT), at(0));
    free(ranges.chunks);
    return check_result();
}
