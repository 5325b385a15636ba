/* SPDX-License-Identifier: Apache-2.0
 *
 * Memory of devices that lives. What the host can map is mapped once and for all.
 */
#include "api/vulkan/replay/memory/memory.h"

#include <stdlib.h>
#include <string.h>

#include "api/vulkan/replay/memory/copy.h"
#include "api/vulkan/replay/memory/import.h"
#include "api/vulkan/replay/memory/poison_fill.h"
#include "api/vulkan/replay/memory/write.h"
#include "api/vulkan/replay/replay.h"
#include "base/array.h"
#include "replay/region.h"

/* ---- memory that lives ------------------------------------------------------------------- */

/* The first whose place is not below. */
static size_t find_index(const struct vkr_memories *memories, uint64_t place)
{
    size_t at;

    TSM_BISECT(at, memories->count, memories->list[at]->place >= place);
    return at;
}

struct vkr_memory *vkr_memory_find(const struct vkr *r, uint64_t place)
{
    uint64_t start = place & ~VKR_PLACE_OFFSET;
    size_t i = find_index(&r->memories, start);

    return i < r->memories.count && r->memories.list[i]->place == start ? r->memories.list[i]
                                                                        : NULL;
}

static int insert(struct vkr_memories *memories, struct vkr_memory *m)
{
    size_t i = find_index(memories, m->place);

    return TSM_ARRAY_INSERT(memories->list, memories->count, memories->capacity, i, m)
               ? 0
               : tsm_fail(TSM_E_MEMORY, "no memory for %zu allocations", memories->count + 1);
}

static void map(struct vkr_memory *m)
{
    const struct vk_device_dispatch *d = &m->device->dispatch;
    void *data = NULL;

    if (m->imported)
        m->mapped = m->imported;
    else if ((m->flags & VK_MEMORY_PROPERTY_HOST_VISIBLE_BIT) &&
             d->f.vkMapMemory(d->device, m->raw, 0, VK_WHOLE_SIZE, 0, &data) >= 0)
        m->mapped = data;
}

static void flush(const struct vkr_memory *m, bool to_device)
{
    const struct vk_device_dispatch *d = &m->device->dispatch;
    VkMappedMemoryRange range = {
        .sType = VK_STRUCTURE_TYPE_MAPPED_MEMORY_RANGE, .memory = m->raw, .size = VK_WHOLE_SIZE};

    if ((m->flags & VK_MEMORY_PROPERTY_HOST_COHERENT_BIT) || m->imported || !m->mapped)
        return;
    if (to_device)
        d->f.vkFlushMappedMemoryRanges(d->device, 1, &range);
    else
        d->f.vkInvalidateMappedMemoryRanges(d->device, 1, &range);
}

static void fill(const struct vkr_memory *m, uint8_t value)
{
    vkr_poison_fill(m->mapped, m->size, value);
    flush(m, true);
}

int vkr_memory_keep(struct vkr *r, struct vkr_memory *m, bool is_fresh)
{
    int error = 0;

    map(m);
    if (!m->mapped)
        vkr_copy_prepare(m);
    if (is_fresh && m->mapped && !m->imported_address) {
        fill(m, r->options->fresh_memory);
        m->fresh_at = 1 + r->sent_count;
    }
    if (is_fresh && !m->mapped)
        error = vkr_copy_fill(m, r->options->fresh_memory);
    if (!error)
        error = insert(&r->memories, m);
    if (error)
        vkr_memory_drop(r, m);
    return error;
}

void vkr_memory_begin_with_zeros(const struct vkr *r, struct vkr_memory *m)
{
    if (r->options->fresh_memory && m->fresh_at == 1 + r->sent_count)
        fill(m, 0);
    m->fresh_at = 0;
}

void vkr_memory_drop(struct vkr *r, struct vkr_memory *m)
{
    struct vkr_memories *all = &r->memories;
    const struct vk_device_dispatch *d = &m->device->dispatch;
    size_t i = find_index(all, m->place);

    if (i < all->count && all->list[i] == m) {
        memmove(&all->list[i], &all->list[i + 1], (all->count - i - 1) * sizeof(*all->list));
        all->count--;
    }
    for (size_t k = all->mapping_count; k > 0; k--)
        if (all->mappings[k - 1].memory == m->place)
            all->mappings[k - 1] = all->mappings[--all->mapping_count];
    if (m->alias)
        d->f.vkDestroyBuffer(d->device, m->alias, NULL);
    d->f.vkFreeMemory(d->device, m->raw, NULL);
    free(m);
}

void vkr_memories_finish(struct vkr *r)
{
    vkr_imports_finish(r);
    free(r->memories.list);
    free(r->memories.mappings);
    free(r->memories.regions);
    memset(&r->memories, 0, sizeof(r->memories));
}

/* ---- writing ----------------------------------------------------------------------------- */

static int write_staged(struct vkr *r, struct vkr_memory *m, const struct sbt_blob *blob,
                        uint64_t offset, uint64_t size)
{
    uint8_t *bytes = malloc(size + 1);
    int error = bytes ? sbt_reader_blob(r->reader, blob, 0, bytes, size)
                      : tsm_fail(TSM_E_MEMORY, "no memory for bytes of the program");

    if (error >= 0)
        error = vkr_copy_in(m, offset, bytes, size);
    free(bytes);
    return error < 0 ? error : 0;
}

/* Bytes are looked at where they are put, to compare them with their key: not where that is slow.
 */
static int write_uncached(struct vkr *r, const struct vkr_memory *m, const struct sbt_blob *blob,
                          uint64_t offset, uint64_t size)
{
    uint8_t piece[SBT_PIECE_SIZE];
    int error = 0;

    for (uint64_t at = 0; at < size && !error; at += sizeof(piece)) {
        size_t part = size - at < sizeof(piece) ? (size_t)(size - at) : sizeof(piece);
        error = sbt_reader_blob(r->reader, blob, at, piece, part);
        if (!error)
            memcpy(m->mapped + offset + at, piece, part);
    }
    return error;
}

int vkr_memory_write(struct vkr *r, struct vkr_memory *m, const struct sbt_blob *blob,
                     uint64_t offset, uint64_t seq)
{
    uint64_t size = !tsm_range_holds(0, m->size, offset, 0)           ? 0
                    : tsm_range_holds(0, m->size, offset, blob->size) ? blob->size
                                                                      : m->size - offset;
    bool is_cached = m->imported || (m->flags & VK_MEMORY_PROPERTY_HOST_CACHED_BIT);
    bool is_coherent = m->imported || (m->flags & VK_MEMORY_PROPERTY_HOST_COHERENT_BIT);
    int error;

    m->fresh_at = 0;
    /* Shared memory lies at several addresses: by these nobody sees what overlaps. */
    if (m->mapped && is_cached && is_coherent && !m->is_shared)
        return vkr_writes_add(r, blob, m->mapped + offset, size, seq);
    error = vkr_writes_wait(r);
    if (error)
        return error;
    if (!m->mapped)
        return write_staged(r, m, blob, offset, size);
    error = is_cached ? sbt_reader_blob(r->reader, blob, 0, m->mapped + offset, size)
                      : write_uncached(r, m, blob, offset, size);
    flush(m, true);
    return error < 0 ? error : 0;
}

void vkr_memory_put(const struct vkr_memory *m, const uint8_t *bytes)
{
    flush(m, false);
    memcpy(m->mapped, bytes, m->size);
    flush(m, true);
}

/* ---- looking ----------------------------------------------------------------------------- */

int vkr_read(struct vkr *r, uint64_t address, void *out, uint64_t size)
{
    const struct vkr_memory *m = address & VKR_PLACE ? vkr_memory_find(r, address) : NULL;
    uint64_t offset = address & VKR_PLACE_OFFSET;

    if (!m)
        return TSM_E_NOT_FOUND;
    if (!tsm_range_holds(0, m->size, offset, size))
        return tsm_fail(TSM_E_FORMAT, "memory #%llu has %llu bytes",
                        (unsigned long long)(m->place >> VKR_PLACE_ID_SHIFT & VKR_PLACE_ID_MAX),
                        (unsigned long long)m->size);
    if (!m->mapped)
        return vkr_copy_out((struct vkr_memory *)m, offset, out, size);
    flush(m, false);
    memcpy(out, m->mapped + offset, size);
    return 0;
}

/* Memory that no copy can reach is left out: docs/vulkan.md. */
int vkr_regions(struct vkr *r, const struct tsm_region **regions, size_t *count)
{
    struct vkr_memories *all = &r->memories;
    size_t used = 0;

    if (!TSM_ARRAY_RESIZE(all->regions, all->count))
        return tsm_fail(TSM_E_MEMORY, "no memory for %zu regions", all->count);
    for (size_t i = 0; i < all->count; i++) {
        const struct vkr_memory *m = all->list[i];
        if (m->mapped || m->alias)
            all->regions[used++] =
                (struct tsm_region){m->place, m->place, m->size, m->made_seq, false};
    }
    *regions = all->regions;
    *count = used;
    return 0;
}
