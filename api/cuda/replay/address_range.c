/* SPDX-License-Identifier: Apache-2.0
 *
 * Addresses are kept for the replay in two steps: mapped without access before the driver starts,
 * so that neither it nor malloc puts anything there; then, for device memory, given up and reserved
 * in the driver at once.
 */
#include "api/cuda/replay/state.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

static struct cuda_range rounded(uint64_t start, uint64_t size, uint64_t granularity)
{
    uint64_t end = start + (size ? size : 1);

    return (struct cuda_range){
        .start = start & ~(granularity - 1),
        .end = (end + granularity - 1) & ~(granularity - 1),
    };
}

/* The first range that ends at or after `address`. */
static size_t find_place(const struct cuda_ranges *ranges, uint64_t address)
{
    size_t low = 0, high = ranges->count;

    while (low < high) {
        size_t middle = (low + high) / 2;
        if (ranges->list[middle].end >= address)
            high = middle;
        else
            low = middle + 1;
    }
    return low;
}

static int insert(struct cuda_ranges *ranges, size_t at, struct cuda_range range)
{
    if (ranges->count == ranges->capacity) {
        size_t more = ranges->capacity ? ranges->capacity * 2 : 64;
        struct cuda_range *grown = realloc(ranges->list, more * sizeof(*grown));
        if (!grown)
            return tsm_fail(TSM_E_MEMORY, "no memory for address ranges");
        ranges->list = grown;
        ranges->capacity = more;
    }
    memmove(&ranges->list[at + 1], &ranges->list[at], (ranges->count - at) * sizeof(*ranges->list));
    ranges->list[at] = range;
    ranges->count++;
    return 0;
}

int cuda_ranges_add(struct cuda_ranges *ranges, uint64_t start, uint64_t size, uint64_t granularity)
{
    struct cuda_range range = rounded(start, size, granularity);
    size_t at = find_place(ranges, range.start), last = at;

    if (range.end <= range.start)
        return tsm_fail(TSM_E_FORMAT, "the trace allocates 0x%llx bytes at 0x%llx",
                        (unsigned long long)size, (unsigned long long)start);
    while (last < ranges->count && ranges->list[last].start <= range.end)
        last++;
    if (at == last)
        return insert(ranges, at, range);
    if (ranges->list[at].start > range.start)
        ranges->list[at].start = range.start;
    if (ranges->list[last - 1].end > range.end)
        range.end = ranges->list[last - 1].end;
    ranges->list[at].end = range.end;
    memmove(&ranges->list[at + 1], &ranges->list[last],
            (ranges->count - last) * sizeof(*ranges->list));
    ranges->count -= last - at - 1;
    return 0;
}

void cuda_ranges_finish(struct cuda_ranges *ranges)
{
    free(ranges->list);
    memset(ranges, 0, sizeof(*ranges));
}

const struct cuda_range *cuda_ranges_find(const struct cuda_ranges *ranges, uint64_t start,
                                          uint64_t size)
{
    size_t at = find_place(ranges, start + 1);

    if (at == ranges->count || start < ranges->list[at].start)
        return NULL;
    return size <= ranges->list[at].end - start ? &ranges->list[at] : NULL;
}

void cuda_ranges_keep(struct cuda_ranges *ranges)
{
    for (size_t i = 0; i < ranges->count; i++) {
        struct cuda_range *r = &ranges->list[i];
        void *wish = (void *)(uintptr_t)r->start;
        void *got = mmap(wish, r->end - r->start, PROT_NONE,
                         MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED_NOREPLACE, -1, 0);
        /* Kernels before 4.17 take FIXED_NOREPLACE for a hint. */
        if (got != MAP_FAILED && got != wish)
            munmap(got, r->end - r->start);
        r->is_kept = got == wish;
    }
}

static void give_up(struct cuda_range *r)
{
    if (r->is_kept)
        munmap((void *)(uintptr_t)r->start, r->end - r->start);
    r->is_kept = false;
}

uint64_t cuda_ranges_reserve(struct cuda_ranges *ranges, const struct cuda_real *driver)
{
    uint64_t missed = 0;

    for (size_t i = 0; i < ranges->count; i++) {
        struct cuda_range *r = &ranges->list[i];
        CUdeviceptr got = 0;
        give_up(r);
        CUresult result = driver->cuMemAddressReserve(&got, r->end - r->start, 0, r->start, 0);
        r->is_placed = result == CUDA_SUCCESS && got == r->start;
        if (result == CUDA_SUCCESS && !r->is_placed)
            driver->cuMemAddressFree(got, r->end - r->start);
        missed += !r->is_placed;
    }
    return missed;
}

void cuda_ranges_release(struct cuda_ranges *ranges, const struct cuda_real *driver)
{
    for (size_t i = 0; i < ranges->count; i++) {
        struct cuda_range *r = &ranges->list[i];
        if (r->is_placed)
            driver->cuMemAddressFree(r->start, r->end - r->start);
        r->is_placed = false;
        give_up(r);
    }
}
