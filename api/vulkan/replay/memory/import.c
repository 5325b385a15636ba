/* SPDX-License-Identifier: Apache-2.0
 *
 * Memory that is not the driver's: the program's own, for which memory of ours stands, and that of
 * other systems, which is refused. The program's memory outlives what imports it, may be imported twice at
 * once, and what is in it is recorded only once: so all of its ranges are gathered before anything
 * runs, and each address has one place for the whole replay.
 */
#include "api/vulkan/replay/replay.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#define ALIGNMENT 65536u /* no driver asks for more: minImportedHostPointerAlignment */
#define PAGE      4096u

/* What another process or API has put there is not in the trace. */
const char *vkr_import_foreign(const void *chain)
{
    if (vkr_chain_find(chain, VK_STRUCTURE_TYPE_IMPORT_MEMORY_ZIRCON_HANDLE_INFO_FUCHSIA) ||
        vkr_chain_find(chain, VK_STRUCTURE_TYPE_IMPORT_MEMORY_WIN32_HANDLE_INFO_KHR) ||
        vkr_chain_find(chain, VK_STRUCTURE_TYPE_IMPORT_ANDROID_HARDWARE_BUFFER_INFO_ANDROID))
        return "another system's handle";
    return NULL;
}

/* ---- ranges ------------------------------------------------------------------------------ */

int vkr_import_plan(struct vkr *r, struct vkr_call *c)
{
    const struct vk_args_vkAllocateMemory *a = (const void *)c->args;
    struct vkr_memories *all = &r->memories;
    uint64_t size = a->pAllocateInfo->allocationSize;

    if (!vkr_chain_find(a->pAllocateInfo->pNext,
                        VK_STRUCTURE_TYPE_IMPORT_MEMORY_HOST_POINTER_INFO_EXT))
        return 0;
    if (!size || size % PAGE || c->host_address % PAGE || size > UINT64_MAX - c->host_address)
        return tsm_fail(TSM_E_FORMAT, "record %llu imports no whole pages of the program",
                        (unsigned long long)c->record->seq);
    return vkr_ranges_add(&all->program, c->host_address, c->host_address + size);
}

int vkr_ranges_add(struct vkr_ranges *ranges, uint64_t start, uint64_t end)
{
    if (ranges->count == ranges->capacity) {
        size_t more = ranges->capacity ? ranges->capacity * 2 : 16;
        struct vkr_range *list = realloc(ranges->list, more * sizeof(*list));
        if (!list)
            return tsm_fail(TSM_E_MEMORY, "no memory for %zu ranges of memory", more);
        ranges->list = list;
        ranges->capacity = more;
    }
    ranges->list[ranges->count++] = (struct vkr_range){start, end, NULL};
    return 0;
}

void vkr_ranges_finish(struct vkr_ranges *ranges)
{
    free(ranges->list);
    memset(ranges, 0, sizeof(*ranges));
}

static int compare(const void *a, const void *b)
{
    const struct vkr_range *x = a, *y = b;

    return x->start < y->start ? -1 : x->start > y->start;
}

void vkr_ranges_merge(struct vkr_ranges *ranges)
{
    struct vkr_range *list = ranges->list;
    size_t kept = 0;

    if (ranges->count)
        qsort(list, ranges->count, sizeof(*list), compare);
    for (size_t i = 0; i < ranges->count; i++) {
        if (kept && list[i].start <= list[kept - 1].end) {
            if (list[i].end > list[kept - 1].end)
                list[kept - 1].end = list[i].end;
        } else {
            list[kept++] = list[i];
        }
    }
    ranges->count = kept;
}

static struct vkr_range *find_range(struct vkr_ranges *all, uint64_t start, uint64_t size)
{
    for (size_t i = 0; i < all->count; i++)
        if (start >= all->list[i].start && start < all->list[i].end &&
            size <= all->list[i].end - start)
            return &all->list[i];
    return NULL;
}

/* As well aligned as the recorded addresses. */
static uint64_t place_in(const struct vkr_range *range)
{
    uint64_t base = ((uint64_t)(uintptr_t)range->mapped + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;

    return base + range->start % ALIGNMENT;
}

static size_t mapped_size(const struct vkr_range *range)
{
    return range->end - range->start + 2 * ALIGNMENT;
}

static bool map_range(struct vkr_range *range, uint8_t fresh)
{
    void *mapped;

    if (range->mapped)
        return true;
    mapped = mmap(NULL, mapped_size(range), PROT_READ | PROT_WRITE,
                  MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (mapped == MAP_FAILED)
        return false;
    if (fresh)
        memset(mapped, fresh, mapped_size(range));
    range->mapped = mapped;
    return true;
}

/* ---- importing --------------------------------------------------------------------------- */

int vkr_import_host(struct vkr_call *c, const VkMemoryAllocateInfo *info, struct vkr_memory *m)
{
    VkImportMemoryHostPointerInfoEXT *import =
        vkr_chain_find(info->pNext, VK_STRUCTURE_TYPE_IMPORT_MEMORY_HOST_POINTER_INFO_EXT);
    struct vkr_range *range =
        import ? find_range(&c->r->memories.program, c->host_address, info->allocationSize) : NULL;

    if (!import)
        return 0;
    if (!range)
        return tsm_fail(TSM_E_FORMAT, "imports memory that was not seen before");
    if (!map_range(range, c->r->options->fresh_memory))
        return tsm_fail(TSM_E_MEMORY, "no memory for %llu bytes of the program",
                        (unsigned long long)info->allocationSize);
    m->imported_address = c->host_address;
    m->imported = (void *)(uintptr_t)(place_in(range) + (c->host_address - range->start));
    import->pHostPointer = m->imported;
    return 0;
}

void vkr_imports_finish(struct vkr *r)
{
    struct vkr_ranges *all = &r->memories.program;

    for (size_t i = 0; i < all->count; i++)
        if (all->list[i].mapped)
            munmap(all->list[i].mapped, mapped_size(&all->list[i]));
    vkr_ranges_finish(all);
}
