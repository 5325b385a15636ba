/* SPDX-License-Identifier: Apache-2.0
 *
 * Records the device's results in memory: CHECKSUM records of its changes in memory that the
 * program has mapped, and, where reading costs little, of memory that nobody reads.
 */
#include "api/vulkan/source/memory/known.h"

#include "api/vulkan/source/completion/completion.h"
#include "api/vulkan/source/layer.h"
#include "api/vulkan/source/memory/memory.h"
#include "api/vulkan/source/memory/report.h"
#include "api/vulkan/source/source.h"
#include "api/vulkan/tables/chain.h"
#include "api/vulkan/vulkan_args.h"
#include "api/vulkan/vulkan_hooks.h"
#include "base/touched.h"

#include <string.h>

#define SAMPLE_MAX ((uint64_t)64 << 20) /* bytes of memories that are hashed at a wait */

static bool any_times; /* the device writes times somewhere; atomic */

/* ---- memory that the program has not mapped ------------------------------------------------- */

static VkMemoryPropertyFlags flags_of(const struct memory *m)
{
    return m->type < m->device->memory.memoryTypeCount
               ? m->device->memory.memoryTypes[m->type].propertyFlags
               : 0;
}

/* Other memory of a GPU is read over the bus, without a cache. */
static bool is_quick_to_read(const struct memory *m)
{
    const VkMemoryPropertyFlags cached = VK_MEMORY_PROPERTY_HOST_VISIBLE_BIT |
                                         VK_MEMORY_PROPERTY_HOST_COHERENT_BIT |
                                         VK_MEMORY_PROPERTY_HOST_CACHED_BIT;

    if (m->device->on_processor)
        return flags_of(m) & VK_MEMORY_PROPERTY_HOST_VISIBLE_BIT;
    return (flags_of(m) & cached) == cached;
}

bool vk_wants_peek(const struct memory *m, const VkMemoryAllocateInfo *info)
{
    const struct tsm_settings *s = tsm_session_settings();

    return s->enabled && s->vk_results && s->readback != TSM_READBACK_OFF && !m->filled &&
           is_quick_to_read(m) && (m->device->on_processor || m->size <= SAMPLE_MAX) &&
           !vk_chain_find(info->pNext, VK_STRUCTURE_TYPE_EXPORT_MEMORY_ALLOCATE_INFO);
}

static void write_zeros(void *memory, uint64_t offset, uint64_t size)
{
    memset((uint8_t *)memory + offset, 0, size);
}

void vk_zero(void *memory, uint64_t size)
{
    tsm_touched(memory, size, write_zeros, memory);
}

void vk_peek(struct memory *m, VkDevice device)
{
    void *real;

    if (m->device->below.vkMapMemory(device, m->handle, 0, VK_WHOLE_SIZE, 0, &real) < 0)
        return;
    vk_zero(real, m->size);
    m->peeked = real;
}

void vk_end_peek(struct memory *m, VkDevice device)
{
    if (m && m->peeked)
        m->device->below.vkUnmapMemory(device, m->handle);
    if (m)
        m->peeked = NULL;
}

/* The lock is held, and nothing is under way. */
static void report_memory(struct memory *m, struct vk_report *r)
{
    r->times = &m->times;
    r->memory = vk_id(VK_OBJECT_VkDeviceMemory, VK_RAW(m->handle));
    r->from = m->results ? m->results_from : 0;
    r->to = m->results ? m->results_to : m->size;
    if (m->peeked)
        vk_report_whole(r, m->peeked, m->size, false);
    else if (m->shared && m->mapped) /* the program may have written it */
        tsm_shadow_adopt(m->shadow);
    else if (m->shadow)
        tsm_shadow_changes(m->shadow, vk_report_change, r);
}

bool vk_is_pulled_at_waits(const struct memory *m)
{
    return m->mapped || m->looked_into || m->results;
}

/* The lock is held, and nothing is under way. Memory that is not mapped has what it had when it
 * was mapped last, if that is not recorded yet: later work may have written there since. */
static void report_shadow(struct memory *m, struct vk_report *r, bool is_sample)
{
    if (!vk_is_pulled_at_waits(m) && (is_sample || tsm_shadow_has_changes(m->shadow)))
        tsm_shadow_pull(m->shadow);
    report_memory(m, r);
}

/* ---- results that nobody asks for ----------------------------------------------------------- */

/* The first waits, and then ever fewer of them. */
static bool is_sample(struct vk_device_state *device)
{
    uint64_t count = ++device->idle_count;

    return (count & (count - 1)) == 0;
}

static bool can_sample(const struct memory *m)
{
    return m->size <= SAMPLE_MAX && is_quick_to_read(m);
}

/* The lock is held, and the device is idle. */
static void peek_all(const struct vk_device_state *device, struct vk_report *r)
{
    uint64_t left = SAMPLE_MAX;

    for (uint32_t i = 0; i < VK_BUCKET_COUNT; i++)
        for (struct memory *m = vk_memory_buckets[i]; m; m = m->next) {
            if (m->device != device || !m->peeked || m->size > left)
                continue;
            left -= m->size;
            report_memory(m, r);
        }
}

void vk_report_last(struct memory *m)
{
    struct vk_report r = {0};
    struct vk_idle last;

    if (m->shared || m->exported || !vk_completion_last(m->device, &last))
        return;
    r.stream = last.stream;
    r.position = last.position;
    if (m->shadow)
        tsm_shadow_pull(m->shadow);
    report_memory(m, &r);
    if (m->looked_into) /* also where it was overwritten by what was there */
        vk_report_whole(&r, tsm_shadow_real(m->shadow), m->size, true);
}

void vk_memory_report(struct vk_device_state *device)
{
    struct vk_idle idle;

    vk_memory_publish_written();
    vk_lock_take(&vk_memory_lock);
    if (vk_completion_idle(device, &idle)) {
        struct vk_report r = {.stream = idle.stream, .position = idle.position};
        bool sample = is_sample(device);
        for (struct memory *m = vk_memory_shadows; m; m = m->next_shadow)
            if (m->device == device)
                report_shadow(m, &r, sample && can_sample(m));
        if (sample)
            peek_all(device, &r);
        if (idle.all)
            __atomic_store_n(&vk_memory_quiet, vk_completion_sends(), __ATOMIC_RELEASE);
    }
    vk_lock_give(&vk_memory_lock);
}

/* ---- memory that another API of the program has, too ----------------------------------------- */

/* The lock is held. */
static struct memory *find_by_id(uint64_t id)
{
    for (uint32_t i = 0; i < VK_BUCKET_COUNT; i++)
        for (struct memory *m = vk_memory_buckets[i]; m; m = m->next)
            if (m->exported && vk_id(VK_OBJECT_VkDeviceMemory, VK_RAW(m->handle)) == id)
                return m;
    return NULL;
}

void vk_mapped_lent(const struct memory *m)
{
    if (m->is_lent && (m->shared || m->tracked))
        tsm_session_unmodelled("memory that another API has, too, mapped without a shadow: who "
                               "writes there is not known",
                               true);
}

void vk_memory_lent(uint64_t id)
{
    struct memory *m;

    vk_lock_take(&vk_memory_lock);
    m = find_by_id(id);
    if (m)
        m->is_lent = true;
    if (m)
        vk_mapped_lent(m);
    vk_lock_give(&vk_memory_lock);
}

/* Records what another API has changed, if no work of this one is under way, which may have changed
 * it, too: then it is recorded with that. */
static void report_lent(struct memory *m, struct vk_report *r)
{
    struct vk_idle idle;

    tsm_shadow_pull(m->shadow);
    if (tsm_session_settings()->readback != TSM_READBACK_OFF &&
        (vk_completion_idle(m->device, &idle) || !vk_completion_last(m->device, &idle)))
        report_memory(m, r);
}

void vk_memory_others_waited(uint32_t stream)
{
    struct vk_report r = {.stream = stream};

    vk_lock_take(&vk_memory_lock);
    for (struct memory *m = vk_memory_shadows; m; m = m->next_shadow)
        if (m->is_lent && m->mapped && !m->shared)
            report_lent(m, &r);
    vk_lock_give(&vk_memory_lock);
}

/* The program may read there now what the device has left, and look at nothing else again. */
static void report_mapped(VkDevice device, VkDeviceMemory memory)
{
    const struct vk_device_state *state = vk_state_of(device);
    struct vk_report r = {0};
    struct vk_idle idle;
    struct memory *m;

    if (tsm_session_settings()->readback == TSM_READBACK_OFF)
        return;
    vk_lock_take(&vk_memory_lock);
    m = vk_memory_find(state, memory);
    if (m && m->shadow && !m->shared && vk_completion_idle(state, &idle)) {
        r.stream = idle.stream;
        r.position = idle.position;
        report_memory(m, &r);
    }
    vk_lock_give(&vk_memory_lock);
}

void vk_memory_mapped(struct tsm_call *call, const void *args, int64_t result)
{
    const struct vk_args_vkMapMemory *a = args;

    if (result >= 0)
        report_mapped(a->device, a->memory);
}

#ifdef VK_KHR_map_memory2
void vk_memory2_mapped(struct tsm_call *call, const void *args, int64_t result)
{
    const struct vk_args_vkMapMemory2KHR *a = args;

    if (result >= 0)
        report_mapped(a->device, a->pMemoryMapInfo->memory);
}
#endif

void vk_memory_times(const struct vk_device_state *device, VkDeviceMemory memory, uint64_t offset,
                     uint64_t size)
{
    struct memory *m;

    vk_lock_take(&vk_memory_lock);
    m = vk_memory_find(device, memory);
    if (m)
        vk_times_add(&m->times, offset, size);
    __atomic_store_n(&any_times, true, __ATOMIC_RELAXED);
    vk_lock_give(&vk_memory_lock);
}

bool vk_memory_has_times(void)
{
    return __atomic_load_n(&any_times, __ATOMIC_RELAXED);
}

void vk_memory_copied(const struct vk_device_state *device, struct vk_place from,
                      struct vk_place to, uint64_t size)
{
    struct memory *source, *target;

    vk_lock_take(&vk_memory_lock);
    source = vk_memory_find(device, from.memory);
    target = vk_memory_find(device, to.memory);
    if (source && target)
        vk_times_copy(&source->times, from.offset, &target->times, to.offset, size);
    vk_lock_give(&vk_memory_lock);
}

/* ---- imported memory ------------------------------------------------------------------------ */

/* Margin in which the device's writes to imported memory look like the program's. Only
 * whole pages can be imported: the first and the last one may hold other things of the program. */
#define SHARED_EDGE 4096u

void vk_memory_device_writes(const struct vk_device_state *device, VkDeviceMemory memory)
{
    struct memory *m;

    vk_lock_take(&vk_memory_lock);
    m = vk_memory_find(device, memory);
    if (m)
        m->device_writes = true;
    vk_lock_give(&vk_memory_lock);
}

void vk_memory_gives(const struct vk_device_state *device, VkDeviceMemory memory, uint64_t offset,
                     uint64_t size)
{
    struct memory *m;

    vk_lock_take(&vk_memory_lock);
    m = vk_memory_find(device, memory);
    if (m && m->imported && !m->shadow && m->size > 2 * SHARED_EDGE) {
        m->shadow =
            tsm_shadow_create((void *)(uintptr_t)m->imported, m->size, false, TSM_SHADOW_UNKNOWN);
        m->results = m->shadow != NULL;
        m->results_from = offset < SHARED_EDGE ? SHARED_EDGE : offset;
        m->results_to = m->size - SHARED_EDGE;
        if (size < m->results_to - offset)
            m->results_to = offset + size;
        if (m->shadow) {
            m->next_shadow = vk_memory_shadows;
            vk_memory_shadows = m;
        }
    }
    vk_lock_give(&vk_memory_lock);
}
