/* SPDX-License-Identifier: Apache-2.0
 *
 * TS_CHECKSUM: memory that the host cannot map, hashed. A buffer of ours lies over all of it, by
 * which commands of ours, on a queue that the calling thread may use, fill it with zeros before the
 * program uses it, and copy it when the device is idle. Only parts whose hash has changed are
 * recorded.
 */
#include "api/vulkan/source/memory/known.h"

#include "api/vulkan/source/completion/completion.h"
#include "api/vulkan/source/layer.h"
#include "api/vulkan/source/memory/memory.h"
#include "api/vulkan/source/memory/report.h"
#include "api/vulkan/source/memory/stage.h"
#include "api/vulkan/source/source.h"
#include "api/vulkan/tables/chain.h"
#include "api/vulkan/vulkan_args.h"
#include "api/vulkan/vulkan_hooks.h"
#include "base/hash.h"

#define PART    ((uint64_t)64 << 10) /* bytes of one hash */
#define STAGE   ((uint64_t)4 << 20)  /* ... of one copy */
#define WAIT_NS ((uint64_t)5 * 1000000000)

static uint64_t count;    /* memories with a buffer of ours; atomic */
static uint64_t unfilled; /* those that are not filled with zeros yet; atomic */

static uint64_t hashes_size(uint64_t size)
{
    return (size / PART + 1) * sizeof(uint64_t);
}

/* ---- memories, under the lock ---------------------------------------------------------------- */

static VkBuffer make_alias(const struct memory *m, const VkMemoryAllocateInfo *allocated)
{
    const VkExportMemoryAllocateInfo *export =
        vk_chain_find(allocated->pNext, VK_STRUCTURE_TYPE_EXPORT_MEMORY_ALLOCATE_INFO);
    VkExternalMemoryBufferCreateInfo external = {
        .sType = VK_STRUCTURE_TYPE_EXTERNAL_MEMORY_BUFFER_CREATE_INFO};
    const struct vk_device_functions *f = &m->device->below;
    const VkDevice device = m->device->dispatch.device;
    VkBufferCreateInfo info = {.sType = VK_STRUCTURE_TYPE_BUFFER_CREATE_INFO,
                               .size = m->size,
                               .usage = VK_BUFFER_USAGE_TRANSFER_SRC_BIT |
                                        VK_BUFFER_USAGE_TRANSFER_DST_BIT};
    VkBuffer buffer = VK_NULL_HANDLE;
    VkMemoryRequirements needs;

    if (export && export->handleTypes) {
        external.handleTypes = export->handleTypes;
        info.pNext = &external;
    }
    if (f->vkCreateBuffer(device, &info, NULL, &buffer) < 0)
        return VK_NULL_HANDLE;
    f->vkGetBufferMemoryRequirements(device, buffer, &needs);
    if (needs.size <= m->size && (needs.memoryTypeBits >> m->type & 1) &&
        f->vkBindBufferMemory(device, buffer, m->handle, 0) >= 0)
        return buffer;
    f->vkDestroyBuffer(device, buffer, NULL);
    return VK_NULL_HANDLE;
}

bool vk_hidden_allocated(struct memory *m, const VkMemoryAllocateInfo *info)
{
    const VkMemoryPropertyFlags nobodys =
        VK_MEMORY_PROPERTY_LAZILY_ALLOCATED_BIT | VK_MEMORY_PROPERTY_PROTECTED_BIT;
    VkMemoryPropertyFlags flags = m->type < m->device->memory.memoryTypeCount
                                      ? m->device->memory.memoryTypes[m->type].propertyFlags
                                      : nobodys;

    if (flags & nobodys)
        return true; /* there is nothing to see */
    if (m->is_dedicated)
        return false;
    m->hashes = tsm_memory_map(hashes_size(m->size));
    m->alias = m->hashes ? make_alias(m, info) : VK_NULL_HANDLE;
    if (!m->alias)
        return false;
    m->is_unfilled = true;
    __atomic_fetch_add(&count, 1, __ATOMIC_RELAXED);
    __atomic_fetch_add(&unfilled, 1, __ATOMIC_RELAXED);
    return true;
}

static void is_filled(struct memory *m)
{
    if (m->is_unfilled)
        __atomic_fetch_sub(&unfilled, 1, __ATOMIC_RELAXED);
    m->is_unfilled = false;
}

void vk_hidden_freed(struct memory *m)
{
    is_filled(m);
    if (m->alias) {
        __atomic_fetch_sub(&count, 1, __ATOMIC_RELAXED);
        m->device->below.vkDestroyBuffer(m->device->dispatch.device, m->alias, NULL);
    }
    if (m->hashes)
        tsm_memory_unmap(m->hashes, hashes_size(m->size));
    m->alias = VK_NULL_HANDLE;
    m->hashes = NULL;
}

void vk_hidden_exported(struct memory *m)
{
    if (m->alias)
        tsm_session_unmodelled("TS_CHECKSUM: memory that cannot be mapped is not hashed from when "
                               "others can have it, too",
                               false);
    vk_hidden_freed(m);
}

void vk_hidden_forget(void)
{
    count = unfilled = 0;
}

/* Calls `each` for those of the device. */
static bool each_hidden(const struct vk_device_state *d, bool (*each)(void *, struct memory *),
                        void *user)
{
    bool go_on = true;

    for (uint32_t i = 0; i < VK_BUCKET_COUNT && go_on; i++)
        for (struct memory *m = vk_memory_buckets[i]; m && go_on; m = m->next)
            if (m->device == d && m->alias)
                go_on = each(user, m);
    return go_on;
}

/* ---- queues ---------------------------------------------------------------------------------- */

/* Finds the family of a queue that can copy. */
static bool find_family(VkQueue queue, uint32_t *out)
{
    const VkQueueFlags can = VK_QUEUE_GRAPHICS_BIT | VK_QUEUE_COMPUTE_BIT | VK_QUEUE_TRANSFER_BIT;
    const struct tsm_handle *q = tsm_handle_find(SBT_API_VULKAN, VK_OBJECT_VkQueue, VK_RAW(queue));
    const struct vk_device_state *d = vk_state_of(queue);
    VkQueueFamilyProperties list[32];
    uint32_t families = 32;

    if (!q || !q->user)
        return false;
    *out = (uint32_t)(uintptr_t)q->user - 1;
    d->dispatch.instance->f.vkGetPhysicalDeviceQueueFamilyProperties(d->dispatch.physical_device,
                                                                     &families, list);
    return *out < families && (list[*out].queueFlags & can);
}

/* Runs the copy. A copy that is not done in time stays: the device uses it. */
static bool run(const struct vk_stage *s, VkQueue queue)
{
    return vk_stage_end(s) && vk_stage_send(s, queue, 0, NULL) && vk_stage_wait(s, WAIT_NS);
}

/* ---- zeros ----------------------------------------------------------------------------------- */

static bool fill(void *user, struct memory *m)
{
    const struct vk_stage *s = user;

    if (m->is_unfilled)
        s->d->below.vkCmdFillBuffer(s->commands, m->alias, 0, m->size & ~(uint64_t)3, 0);
    is_filled(m);
    return true;
}

static void fill_all(VkQueue queue)
{
    struct vk_stage s = {.d = vk_state_of(queue)};
    uint32_t family;

    if (__atomic_load_n(&unfilled, __ATOMIC_RELAXED) == 0 || !find_family(queue, &family))
        return;
    s.device = s.d->dispatch.device;
    if (!vk_stage_make(&s, 4, family) || !vk_stage_begin(&s)) {
        vk_stage_finish(&s);
        return;
    }
    vk_lock_take(&vk_memory_lock);
    each_hidden(s.d, fill, &s);
    vk_lock_give(&vk_memory_lock);
    if (run(&s, queue))
        vk_stage_finish(&s);
}

/* ---- results --------------------------------------------------------------------------------- */

struct look {
    struct vk_stage stage;
    struct vk_report report;
    VkQueue queue;
};

/* Records runs of parts that have changed; `size` bytes that lie at `offset` were copied. */
static void report_copied(struct look *l, struct memory *m, uint64_t offset, uint64_t size)
{
    const uint8_t *bytes = l->stage.mapped;
    uint64_t from = 0, at = 0;

    for (uint64_t next; at < size; at = next) {
        uint64_t *hash = &m->hashes[(offset + at) / PART], is;
        next = size - at < PART ? size : at + PART;
        is = tsm_hash64(bytes + at, next - at);
        if (is != *hash) {
            *hash = is;
            continue;
        }
        if (from < at)
            vk_report_change(&l->report, offset + from, bytes + from, at - from);
        from = next;
    }
    if (from < size)
        vk_report_change(&l->report, offset + from, bytes + from, size - from);
}

static bool copy_out(struct look *l, struct memory *m, uint64_t offset, uint64_t size)
{
    const struct vk_stage *s = &l->stage;
    VkBufferCopy region = {offset, 0, size};

    if (!vk_stage_begin(s))
        return false;
    s->d->below.vkCmdCopyBuffer(s->commands, m->alias, s->buffer, 1, &region);
    return run(s, l->queue);
}

/* Gives memory that was never hashed the hashes of zeros. */
static void begin_hashes(struct memory *m)
{
    static const uint8_t zeros[PART];
    uint64_t end = m->size & ~(uint64_t)3, size;

    for (uint64_t at = 0; at < end; at += size) {
        size = end - at < PART ? end - at : PART;
        m->hashes[at / PART] = tsm_hash64(zeros, size);
    }
    m->has_hashes = true;
}

static bool look(void *user, struct memory *m)
{
    struct look *l = user;
    uint64_t end = m->size & ~(uint64_t)3, size;

    if (m->is_unfilled)
        return true;
    if (!m->has_hashes)
        begin_hashes(m);
    l->report.times = &m->times;
    l->report.memory = vk_id(VK_OBJECT_VkDeviceMemory, VK_RAW(m->handle));
    l->report.from = 0;
    l->report.to = m->size;
    for (uint64_t at = 0; at < end; at += size) {
        size = end - at < STAGE ? end - at : STAGE;
        if (!copy_out(l, m, at, size))
            return false;
        report_copied(l, m, at, size);
    }
    return true;
}

void vk_hidden_report(VkQueue queue)
{
    struct vk_device_state *d = vk_state_of(queue);
    struct look l = {.stage = {.d = d, .device = d->dispatch.device}, .queue = queue};
    struct vk_idle idle;
    uint32_t family;

    if (__atomic_load_n(&count, __ATOMIC_RELAXED) == 0 ||
        tsm_session_settings()->readback == TSM_READBACK_OFF || !find_family(queue, &family))
        return;
    vk_lock_take(&vk_memory_lock);
    if (d->hidden_seen != vk_completion_sends() && vk_completion_idle(d, &idle)) {
        l.report.stream = idle.stream;
        l.report.position = idle.position;
        if (!vk_stage_make(&l.stage, STAGE, family) || each_hidden(d, look, &l))
            vk_stage_finish(&l.stage);
        d->hidden_seen = vk_completion_sends();
    }
    vk_lock_give(&vk_memory_lock);
}

void vk_hidden_report_device(const struct vk_device_state *d)
{
    VkQueue queue = VK_NULL_HANDLE;

    if (__atomic_load_n(&count, __ATOMIC_RELAXED) == 0 || !d->has_queue)
        return;
    d->below.vkGetDeviceQueue(d->dispatch.device, d->queue_family, 0, &queue);
    if (queue && tsm_handle_find(SBT_API_VULKAN, VK_OBJECT_VkQueue, VK_RAW(queue)))
        vk_hidden_report(queue);
}

/* Before work is sent: what earlier work has left, if that is known to be complete. */
static void before_work(VkQueue queue)
{
    vk_hidden_report(queue);
    fill_all(queue);
}

void vk_submits(struct tsm_call *call, const void *args, int64_t result)
{
    const struct vk_args_vkQueueSubmit *a = args;

    before_work(a->queue);
}

void vk_submits2(struct tsm_call *call, const void *args, int64_t result)
{
    const struct vk_args_vkQueueSubmit2 *a = args;

    before_work(a->queue);
}
