/* SPDX-License-Identifier: Apache-2.0 */
#include "replay/region.h"

#include "base/array.h"

size_t tsm_region_after(const struct tsm_region *regions, size_t count, uint64_t address)
{
    size_t at;

    TSM_BISECT(at, count, regions[at].address > address);
    return at;
}

const struct tsm_region *tsm_region_find(const struct tsm_region *regions, size_t count,
                                         uint64_t address)
{
    size_t at = tsm_region_after(regions, count, address);

    if (!at || address - regions[at - 1].address >= regions[at - 1].size)
        return NULL;
    return &regions[at - 1];
}

bool tsm_range_holds(uint64_t start, uint64_t length, uint64_t address, uint64_t size)
{
    return address >= start && address - start <= length && size <= length - (address - start);
}

bool tsm_regions_hold(const struct tsm_region *regions, size_t count, uint64_t address,
                      uint64_t size)
{
    const struct tsm_region *region = tsm_region_find(regions, count, address);

    while (region && !tsm_range_holds(region->address, region->size, address, size)) {
        const struct tsm_region *next = region + 1;
        uint64_t there = region->size - (address - region->address);
        if (next == regions + count || next->address != region->address + region->size ||
            next->actual != region->actual + region->size)
            return false;
        address += there;
        size -= there;
        region = next;
    }
    return region != NULL;
}

bool tsm_extent_size(const struct tsm_extent *e, uint64_t *size)
{
    uint64_t rows, planes;

    *size = 0;
    if (!e->width || !e->height || !e->depth)
        return true;
    return !__builtin_mul_overflow(e->height - 1, e->pitch, &rows) &&
           !__builtin_mul_overflow(e->depth - 1, e->plane, &planes) &&
           !__builtin_add_overflow(rows, planes, size) &&
           !__builtin_add_overflow(*size, e->width, size);
}

bool tsm_extent_packed(const struct tsm_extent *e, uint64_t *size)
{
    return !__builtin_mul_overflow(e->width, e->height, size) &&
           !__builtin_mul_overflow(*size, e->depth, size);
}
