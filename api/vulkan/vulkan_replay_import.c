/* SPDX-License-Identifier: Apache-2.0
 *
 * Memory that is not the driver's: the program's own, for which memory of ours stands, and that of
 * others, which is refused. The program's memory outlives what imports it, may be imported twice at
 * once, and what is in it is recorded only once: so all of its ranges are gathered before anything
 * runs, and each address has one place for the whole replay.
 */
#include "api/vulkan/vulkan_replay.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#define ALIGNMENT 65536u /* no driver asks for more: minImportedHostPointerAlignment */
#define PAGE      4096u

/* What another process or API has put there is not in the trace. */
const char *vkr_import_foreign(const void *chain)
{
    if (vkr_chain_find(chain, VK_STRUCTURE_TYPE_IMPORT_MEMORY_FD_INFO_KHR))
        return "a file descriptor";
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
    if (all->range_count == all->range_capacity) {
        size_t more = all->range_capacity ? all->range_capacity * 2 : 16;
        struct vkr_range *list = realloc(all->ranges, more * sizeof(*list));
        if (!list)
            return tsm_fail(TSM_E_MEMORY, "no memory for %zu imports", more);
        all->ranges = list;
        all->range_capacity = more;
    }
    all->ranges[all->range_count++] =
        (struct vkr_range){c->host_address, c->host_address + size, NULL};
    return 0;
}

static int compare(const void *a, const void *b)
{
    const struct vkr_range *x = a, *y = b;

    return x->start < y->start ? -1 : x->start > y->start;
}

void vkr_import_prepare(struct vkr *r)
{
    struct vkr_memories *all = &r->memories;
    size_t kept = 0;

    if (all->range_count)
        qsort(all->ranges, all->range_count, sizeof(*all->ranges), compare);
    for (size_t i = 0; i < all->range_count; i++) {
        if (kept && all->ranges[i].start <= all->ranges[kept - 1].end) {
            if (all->ranges[i].end > all->ranges[kept - 1].end)
                all->ranges[kept - 1].end = all->ranges[i].end;
        } else {
            all->ranges[kept++] = all->ranges[i];
        }
    }
    all->range_count = kept;
}

static struct vkr_range *find_range(struct vkr_memories *all, uint64_t start, uint64_t size)
{
    for (size_t i = 0; i < all->range_count; i++)
        if (start >= all->ranges[i].start && start < all->ranges[i].end &&
            size <= all->ranges[i].end - start)
            return &all->ranges[i];
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
        import ? find_range(&c->r->memories, c->host_address, info->allocationSize) : NULL;

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
    for (size_t i = 0; i < r->memories.range_count; i++)
        if (r->memories.ranges[i].mapped)
            munmap(r->memories.ranges[i].mapped, mapped_size(&r->memories.ranges[i]));
    free(r->memories.ranges);
}
