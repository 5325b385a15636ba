/* SPDX-License-Identifier: Apache-2.0
 *
 * The range check of all copies: addresses and sizes that run over, gaps, pieces that touch.
 */
#include "replay/region.h"

#include "tests/unit/check.h"

static const struct tsm_region regions[] = {
    {.address = 0x1000, .actual = 0x1000, .size = 0x1000},
    {.address = 0x2000, .actual = 0x2000, .size = 0x800}, /* goes on where the first one ends */
    {.address = 0x3000, .actual = 0x9000, .size = 0x1000},
    {.address = 0x4000, .actual = 0xb000, .size = 0x1000}, /* not where it was placed */
    {.address = UINT64_MAX - 0xfff, .actual = 0x100000, .size = 0x1000},
};

static bool holds(uint64_t address, uint64_t size)
{
    return tsm_regions_hold(regions, sizeof(regions) / sizeof(regions[0]), address, size);
}

static void check_ranges(void)
{
    CHECK(tsm_range_holds(16, 16, 16, 16) && tsm_range_holds(16, 16, 32, 0));
    CHECK(!tsm_range_holds(16, 16, 17, 16) && !tsm_range_holds(16, 16, 33, 0));
    CHECK(!tsm_range_holds(16, 16, 15, 1) && !tsm_range_holds(16, 16, 20, UINT64_MAX));
    CHECK(holds(0x1000, 0x1000) && holds(0x1800, 0x1000) && holds(0x1000, 0x1800));
    CHECK(!holds(0x1000, 0x1801) && !holds(0x2800, 1) && !holds(0xfff, 1) && !holds(0, 0));
    CHECK(!holds(0x3800, 0x1000) && holds(0x3800, 0x800));
    CHECK(!holds(0x1000, UINT64_MAX) && !holds(0x1fff, UINT64_MAX - 0x1ffe));
    CHECK(holds(UINT64_MAX - 0xfff, 0x1000) && !holds(UINT64_MAX, 2));
}

static void check_extents(void)
{
    const struct tsm_extent box = {4, 3, 2, 16, 64}, empty = {4, 0, 2, 16, 64},
                            wide = {UINT64_MAX, 2, 1, 1, 0},
                            tall = {1, UINT64_MAX, 1, UINT64_MAX, 0},
                            deep = {1, 1, UINT64_MAX, 0, 2};
    uint64_t size = 0;

    CHECK(tsm_extent_size(&box, &size) && size == 64 + 2 * 16 + 4);
    CHECK(tsm_extent_packed(&box, &size) && size == 24);
    CHECK(tsm_extent_size(&empty, &size) && size == 0);
    CHECK(!tsm_extent_size(&wide, &size) && !tsm_extent_size(&tall, &size));
    CHECK(!tsm_extent_size(&deep, &size) && !tsm_extent_packed(&wide, &size));
}

int main(void)
{
    check_ranges();
    check_extents();
    return check_result();
}
