/* SPDX-License-Identifier: Apache-2.0
 *
 * Memory of devices. What the host can map is mapped once and for all; the program's mappings only
 * say which of its addresses meant which memory, for the bytes that it wrote there.
 */
#include "api/vulkan/replay/state/tracker.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/array.h"
#include "replay/region.h"

/* ---- types ------------------------------------------------------------------------------- */

static int bits_beside(VkMemoryPropertyFlags have, VkMemoryPropertyFlags want)
{
    return __builtin_popcount(have & ~want);
}

int vkr_memory_type(const VkPhysicalDeviceMemoryProperties *memory, VkMemoryPropertyFlags flags,
                    uint32_t allowed)
{
    const VkMemoryPropertyFlags needed =
        flags & (VK_MEMORY_PROPERTY_HOST_VISIBLE_BIT | VK_MEMORY_PROPERTY_LAZILY_ALLOCATED_BIT |
                 VK_MEMORY_PROPERTY_PROTECTED_BIT);
    int best = -1, best_score = 0;

    for (uint32_t i = 0; i < memory->memoryTypeCount; i++) {
        VkMemoryPropertyFlags here = memory->memoryTypes[i].propertyFlags;
        int score = 64 - 8 * bits_beside(flags, here) - bits_beside(here, flags);
        if (!(allowed >> i & 1) || (needed & ~here) ||
            (here & ~flags & VK_MEMORY_PROPERTY_PROTECTED_BIT))
            continue;
        if (best < 0 || score > best_score) {
            best = (int)i;
            best_score = score;
        }
    }
    return best;
}

static int remap_type(const struct vkr_device *d, VkMemoryAllocateInfo *info)
{
    uint32_t type = info->memoryTypeIndex;
    VkMemoryPropertyFlags flags;
    int here;

    if (type >= (d->recorded_type_count ? d->recorded_type_count : d->memory.memoryTypeCount))
        return tsm_fail(TSM_E_FORMAT, "there was no memory type %u", type);
    if (!d->recorded_type_count)
        return 0;
    flags = d->recorded_types[type];
    if (type < d->memory.memoryTypeCount && d->memory.memoryTypes[type].propertyFlags == flags)
        return 0;
    here = vkr_memory_type(&d->memory, flags, UINT32_MAX);
    if (here < 0)
        return tsm_fail(TSM_E_UNSUPPORTED,
                        "it wants memory type %u with flags 0x%x, and no type here has them", type,
                        (unsigned)flags);
    info->memoryTypeIndex = (uint32_t)here;
    return 0;
}

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

/* ---- allocating -------------------------------------------------------------------------- */

/* Asks for the address that the memory's buffers need, if it can be had. */
static void place(struct vkr_call *c, VkMemoryAllocateInfo *info, struct vkr_memory *m)
{
    void *at = m->imported || m->is_shared
                   ? NULL
                   : vkr_fixed_address_of(c->r, c->owner->device, c->record->slots[2],
                                          info->allocationSize);
    VkImportMemoryHostPointerInfoEXT *import = at ? vkr_call_take(c, sizeof(*import)) : NULL;

    if (!import)
        return;
    *import = (VkImportMemoryHostPointerInfoEXT){
        VK_STRUCTURE_TYPE_IMPORT_MEMORY_HOST_POINTER_INFO_EXT, info->pNext,
        VK_EXTERNAL_MEMORY_HANDLE_TYPE_HOST_ALLOCATION_BIT_EXT, at};
    info->pNext = import;
    m->imported = at;
}

/* Memory that the host cannot map is to take a buffer of ours (copy.c), so it is made
 * for one buffer or image only where the driver requires that. */
static void choose_dedicated(const struct vkr_device *device, const VkMemoryAllocateInfo *info,
                             struct vkr_memory *m)
{
    VkMemoryDedicatedAllocateInfo *one =
        vkr_chain_find(info->pNext, VK_STRUCTURE_TYPE_MEMORY_DEDICATED_ALLOCATE_INFO);
    VkMemoryPropertyFlags flags = device->memory.memoryTypes[info->memoryTypeIndex].propertyFlags;

    m->is_dedicated = one && (one->buffer || one->image);
    if (!m->is_dedicated || (flags & VK_MEMORY_PROPERTY_HOST_VISIBLE_BIT) ||
        (one->buffer && one->image) || vk_requires_dedicated(&device->dispatch, one))
        return;
    one->buffer = VK_NULL_HANDLE;
    one->image = VK_NULL_HANDLE;
    m->is_dedicated = false;
}

static int allocate(struct vkr_call *c, VkMemoryAllocateInfo *info, struct vkr_memory *m)
{
    const struct vk_args_vkAllocateMemory *a = (const void *)c->args;
    struct vkr_device *d = c->owner->device;
    const char *from = vkr_import_foreign(info->pNext);
    VkResult result;
    int error;

    if (from)
        return tsm_fail(TSM_E_UNSUPPORTED,
                        "memory that was imported from %s: what others put there is not in the "
                        "trace",
                        from);
    error = remap_type(d, info);
    if (!error)
        error = vkr_import_host(c, info, m);
    if (error)
        return error;
    choose_dedicated(d, info, m);
    vkr_share_memory(c, info, m);
    if (m->imported || m->is_shared || !vkr_capture_replay_address_memory(c, info))
        place(c, info, m);
    result = d->dispatch.f.vkAllocateMemory(d->dispatch.device, info, NULL, &m->raw);
    if (result < 0 && m->is_shared)
        close(m->shared_fd);
    if (result < 0)
        return tsm_fail(TSM_E_DEVICE, "%llu bytes of memory type %u: %s",
                        (unsigned long long)info->allocationSize, info->memoryTypeIndex,
                        vkr_result_name(result));
    *a->pMemory = m->raw;
    m->device = d;
    m->size = info->allocationSize;
    m->type = info->memoryTypeIndex;
    m->flags = d->memory.memoryTypes[m->type].propertyFlags;
    return 0;
}

/* Drops mappings that the new one covers. */
static void drop_covered(struct vkr_memories *all, const struct vkr_mapping *by)
{
    size_t kept = 0;

    for (size_t i = 0; i < all->mapping_count; i++) {
        const struct vkr_mapping *m = &all->mappings[i];
        if (m->start < by->start || m->start - by->start >= by->size ||
            m->size > by->size - (m->start - by->start))
            all->mappings[kept++] = *m;
    }
    all->mapping_count = kept;
}

static int add_mapping(struct vkr_memories *all, struct vkr_mapping mapping)
{
    drop_covered(all, &mapping);
    return TSM_ARRAY_PUSH(all->mappings, all->mapping_count, all->mapping_capacity, mapping)
               ? 0
               : tsm_fail(TSM_E_MEMORY, "no memory for %zu mappings", all->mapping_count + 1);
}

int vkr_allocate_memory(struct vkr_call *c)
{
    const struct vk_args_vkAllocateMemory *a = (const void *)c->args;
    uint64_t id = c->record->slot_count > 2 ? c->record->slots[2] : 0;
    VkMemoryAllocateInfo info = *a->pAllocateInfo;
    struct vkr_memory *m;
    struct vkr_object *o;
    int error;

    if (!c->owner || !c->owner->device || !id || id > VKR_PLACE_ID_MAX ||
        info.allocationSize > VKR_PLACE_OFFSET ||
        vkr_object_find(c->r, VK_OBJECT_VkDeviceMemory, id))
        return tsm_fail(TSM_E_FORMAT, "makes no new memory");
    m = calloc(1, sizeof(*m));
    if (!m)
        return tsm_fail(TSM_E_MEMORY, "no memory for an allocation");
    error = allocate(c, &info, m);
    if (error) {
        free(m);
        return error;
    }
    m->place = VKR_PLACE | id << VKR_PLACE_ID_SHIFT;
    m->made_seq = c->record->seq;
    error = vkr_memory_keep(c->r, m, !m->is_shared);
    if (!error)
        error = vkr_call_created(c);
    o = error ? NULL : vkr_object_find(c->r, VK_OBJECT_VkDeviceMemory, id);
    if (o)
        o->user = m;
    if (!error && m->imported_address)
        error = add_mapping(&c->r->memories,
                            (struct vkr_mapping){m->imported_address, m->size, 0, m->place});
    return error;
}

int vkr_free_memory(struct vkr_call *c)
{
    vkr_call_destroyed(c); /* gives it back, too */
    return 0;
}

/* ---- mappings of the program ------------------------------------------------------------- */

/* Zeros that the program writes where there were zeros are not recorded: what it maps before work
 * was sent that may have written there begins with zeros, whatever --check fills fresh memory with.
 */
static void begin_with_zeros(const struct vkr *r, struct vkr_memory *m)
{
    if (r->options->fresh_memory && m->fresh_at == 1 + r->sent_count)
        fill(m, 0);
    m->fresh_at = 0;
}

int vkr_map_memory(struct vkr_call *c)
{
    const struct vk_args_vkMapMemory *a = (const void *)c->args;
    uint64_t id = c->record->slot_count > 5 ? c->record->slots[1] : 0;
    struct vkr_memory *m = vkr_memory_find(c->r, VKR_PLACE | id << VKR_PLACE_ID_SHIFT);
    uint64_t size = a->size;

    if (!m || !id || id > VKR_PLACE_ID_MAX)
        return tsm_fail(TSM_E_FORMAT, "maps memory that is not there");
    if (a->offset > m->size)
        return tsm_fail(TSM_E_FORMAT, "maps what is behind its memory");
    if (size > m->size - a->offset)
        size = m->size - a->offset;
    begin_with_zeros(c->r, m);
    return add_mapping(&c->r->memories,
                       (struct vkr_mapping){c->record->slots[5], size, a->offset, m->place});
}

/* Keeps the mapping until another one takes its address: earlier writes may be recorded later. */
int vkr_unmap_memory(struct vkr_call *c)
{
    return 0;
}

/* Capture may write whole pages around what was mapped: the second round looks for the memory
 * around the mapping. */
struct vkr_memory *vkr_memory_written(const struct vkr *r, uint64_t address, uint64_t *offset)
{
    if (address & VKR_PLACE) {
        struct vkr_memory *m = vkr_memory_find(r, address);
        *offset = address & VKR_PLACE_OFFSET;
        return m && *offset < m->size ? m : NULL;
    }
    for (int round = 0; round < 2; round++)
        for (size_t i = r->memories.mapping_count; i > 0; i--) {
            const struct vkr_mapping *p = &r->memories.mappings[i - 1];
            uint64_t start = round ? p->start - p->offset : p->start;
            struct vkr_memory *m = vkr_memory_find(r, p->memory);
            if (m && address >= start && address - start < (round ? m->size : p->size)) {
                *offset = address - start + (round ? 0 : p->offset);
                return m;
            }
        }
    return NULL;
}

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

/* Who wrote the bytes was not known: the program, or the device as this one has. Where it has not,
 * they take the place of a result that is not compared. */
static int note_ambiguous(struct vkr *r, struct vkr_memory *m, const struct sbt_blob *blob,
                          uint64_t offset)
{
    uint8_t recorded[4096], found[4096];
    int error = vkr_writes_wait(r);

    for (uint64_t at = 0; at < blob->size && !error; at += sizeof(found)) {
        size_t part = blob->size - at < sizeof(found) ? (size_t)(blob->size - at) : sizeof(found);
        error = sbt_reader_blob(r->reader, blob, at, recorded, part);
        if (!error)
            error = vkr_read(r, m->place + offset + at, found, part);
        if (!error && memcmp(recorded, found, part) != 0) {
            r->mixed_count++;
            r->ambiguous_count += m->imported_address != 0;
            break;
        }
    }
    return error == TSM_E_NOT_FOUND ? 0 : error;
}

int vkr_host_write(struct vkr *r, const struct sbt_record *record, const struct sbt_schema *schema)
{
    int index = sbt_schema_role(schema, SBT_ROLE_PAYLOAD);
    struct vkr_memory *m;
    struct sbt_blob blob;
    uint64_t offset;

    if (index < 0 || !sbt_record_blob(record, (uint32_t)index, &blob))
        return tsm_fail(TSM_E_FORMAT, "has no bytes");
    m = vkr_memory_written(r, sbt_record_role(schema, record, SBT_ROLE_HOST_SRC, 0), &offset);
    if (!m)
        return 0; /* freed meanwhile */
    if (record->flags & SBT_RECORD_HELD) {
        int error = note_ambiguous(r, m, &blob, offset);
        if (error < 0)
            return error;
    }
    vkr_timestamp_bytes_clear(r, m->place + offset, blob.size);
    return vkr_memory_write(r, m, &blob, offset, record->seq);
}

/* ---- looking ----------------------------------------------------------------------------- */

int vkr_read(struct vkr *r, uint64_t address, void *out, uint64_t size)
{
    const struct vkr_memory *m = address & VKR_PLACE ? vkr_memory_find(r, address) : NULL;
    uint64_t offset = address & VKR_PLACE_OFFSET;

    if ((address & VKR_PLACE_WINDOW) && (address & VKR_PLACE_TEXELS))
        return vkr_window_read(r, address, out, size);
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
