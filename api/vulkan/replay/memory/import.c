/* SPDX-License-Identifier: Apache-2.0
 *
 * Memory that is not the driver's: the program's own, for which memory of ours stands, and that of
 * other systems, which is refused. The program's memory outlives what imports it, may be imported
 * twice at once, and what is in it is recorded only once: so all of its ranges are gathered before
 * anything runs, and each address has one place for the whole replay.
 */
#include "api/vulkan/replay/memory/import.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "api/vulkan/replay/call.h"
#include "api/vulkan/replay/memory/memory.h"
#include "api/vulkan/replay/replay.h"
#include "api/vulkan/tables/chain.h"
#include "base/array.h"

#define ALIGNMENT 65536u /* no driver asks for more: minImportedHostPointerAlignment */
#define PAGE      4096u

/* Returns why an import cannot be replayed: bytes that another process or API has put there are not
 * in the trace. */
const char *vkr_import_foreign(const void *chain)
{
    if (vk_chain_find(chain, VK_STRUCTURE_TYPE_IMPORT_MEMORY_ZIRCON_HANDLE_INFO_FUCHSIA) ||
        vk_chain_find(chain, VK_STRUCTURE_TYPE_IMPORT_MEMORY_WIN32_HANDLE_INFO_KHR) ||
        vk_chain_find(chain, VK_STRUCTURE_TYPE_IMPORT_ANDROID_HARDWARE_BUFFER_INFO_ANDROID))
        return "another system's handle";
    return NULL;
}

/* ---- ranges ------------------------------------------------------------------------------ */

int vkr_import_plan(struct vkr *r, struct vkr_call *c)
{
    const struct vk_args_vkAllocateMemory *a = (const void *)c->args;
    struct vkr_memories *all = &r->memories;
    uint64_t size = a->pAllocateInfo->allocationSize;

    if (!vk_chain_find(a->pAllocateInfo->pNext,
                       VK_STRUCTURE_TYPE_IMPORT_MEMORY_HOST_POINTER_INFO_EXT))
        return 0;
    if (!size || size % PAGE || c->host_address % PAGE || size > UINT64_MAX - c->host_address)
        return tsm_fail(TSM_E_FORMAT, "record %llu imports no whole pages of the program",
                        (unsigned long long)c->record->seq);
    return tsm_address_space_add(&all->program, c->host_address, c->host_address + size);
}

/* Returns a place in the range, as well aligned as the recorded addresses. */
static uint64_t place_in(const struct tsm_address_range *range)
{
    uint64_t base = ((uint64_t)(uintptr_t)range->mapped + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;

    return base + range->start % ALIGNMENT;
}

static size_t mapped_size(const struct tsm_address_range *range)
{
    return range->end - range->start + 2 * ALIGNMENT;
}

static bool map_range(struct tsm_address_range *range, uint8_t fresh)
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
        vk_chain_find(info->pNext, VK_STRUCTURE_TYPE_IMPORT_MEMORY_HOST_POINTER_INFO_EXT);
    struct tsm_address_range *range =
        import
            ? tsm_address_space_find(&c->r->memories.program, c->host_address, info->allocationSize)
            : NULL;

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
    struct tsm_address_space *all = &r->memories.program;

    for (size_t i = 0; i < all->count; i++)
        if (all->list[i].mapped)
            munmap(all->list[i].mapped, mapped_size(&all->list[i]));
    tsm_address_space_finish(all);
}
