/* SPDX-License-Identifier: Apache-2.0 */
#include "replay/region.h"

size_t tsm_region_after(const struct tsm_region *regions, size_t count, uint64_t address)
{
    size_t low = 0, high = count;

    while (low < high) {
        size_t middle = (low + high) / 2;
        if (regions[middle].address > address)
            high = middle;
        else
            low = middle + 1;
    }
    return low;
}

const struct tsm_region *tsm_region_find(const struct tsm_region *regions, size_t count,
                                         uint64_t address)
{
    size_t at = tsm_region_after(regions, count, address);

    if (!at || address - regions[at - 1].address >= regions[at - 1].size)
        return NULL;
    return &regions[at - 1];
}
