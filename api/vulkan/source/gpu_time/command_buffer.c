/* SPDX-License-Identifier: Apache-2.0
 *
 * Not timed, because queries of theirs could be written twice without a reset between: secondary
 * command buffers that may be executed several times at once, and primary ones where there are two
 * queues for that. In a render pass with several views a timestamp takes several queries: what is
 * in one has no time.
 */
#include "api/vulkan/source/gpu_time/command_buffer.h"

#include "api/vulkan/source/lock.h"
#include "api/vulkan/source/source.h"
#include "api/vulkan/tables/chain.h"
#include "base/arena.h"
#include "capture/capture.h"

#include <string.h>

#define BUCKETS       4096u /* a power of two */
#define MULTIVIEW_MAX 256u

/* A command pool of the program's. */
struct vk_timed_pool {
    VkCommandPool handle;
    struct vk_timed_pool *next;
    struct vk_device_state *device;
    uint32_t family;
    bool can_time;
    struct vk_timed_buffer *buffers;
};

struct tsm_lock vk_commands_lock;

static struct tsm_arena arena;
static struct vk_timed_pool *pools, *free_pools;
static struct vk_timed_buffer *buckets[BUCKETS], *free_buffers;
static struct vk_recording *free_recordings;
static struct vk_execution *free_executions;
static _Atomic uint64_t generation; /* of the program's command buffers */

/* Render passes with several views; all may be some where there were too many. */
static VkRenderPass multiview[MULTIVIEW_MAX];
static uint32_t multiview_count;
static bool has_more_multiview;

/* The one that this thread has asked for last. */
static __thread struct {
    VkCommandBuffer handle;
    struct vk_timed_buffer *buffer;
    uint64_t generation;
} last_found __attribute__((tls_model("initial-exec")));

void vk_timed_buffers_forget(void)
{
    vk_commands_lock = (struct tsm_lock){0};
    pools = free_pools = NULL;
    free_buffers = NULL;
    free_recordings = NULL;
    free_executions = NULL;
    memset(buckets, 0, sizeof(buckets));
    multiview_count = 0;
    has_more_multiview = false;
    atomic_fetch_add(&generation, 1);
    vk_blocks_forget();
}

/* ---- recordings, under the lock ------------------------------------------------------------- */

static struct vk_recording *take_recording(bool is_timed)
{
    struct vk_recording *r = free_recordings;

    if (r)
        free_recordings = r->next_free;
    else
        r = tsm_session_keep(&arena, sizeof(*r));
    if (r)
        *r = (struct vk_recording){.refs = 1, .is_timed = is_timed};
    return r;
}

void vk_recording_drop(struct vk_recording *r)
{
    struct vk_execution *next;

    if (!r || --r->refs)
        return;
    for (struct vk_execution *e = r->executed; e; e = next) {
        next = e->next;
        vk_recording_drop(e->recording);
        e->next = free_executions;
        free_executions = e;
    }
    vk_blocks_give(r->blocks);
    r->next_free = free_recordings;
    free_recordings = r;
}

static void forget_recording(struct vk_timed_buffer *b)
{
    vk_recording_drop(b->recording);
    b->recording = NULL;
}

static void execute(struct vk_recording *r, struct vk_recording *secondary)
{
    struct vk_execution *e = NULL;

    if (secondary->timed_count) {
        e = free_executions;
        if (e)
            free_executions = e->next;
        else
            e = tsm_session_keep(&arena, sizeof(*e));
    }
    if (e) {
        *e = (struct vk_execution){r->executed, secondary, r->count};
        secondary->refs++;
        r->executed = e;
        r->timed_count += secondary->timed_count;
    }
    r->count += secondary->count;
}

struct vk_command_block *vk_timed_buffer_block(struct vk_timed_buffer *b)
{
    struct vk_recording *r = b->recording;
    struct vk_command_block *block;

    vk_lock_take(&vk_commands_lock);
    block = vk_block_take(b->pool->device, b->pool->family);
    if (block && r->last)
        r->last->next = block;
    else if (block)
        r->blocks = block;
    if (block)
        r->last = block;
    vk_lock_give(&vk_commands_lock);
    if (!block)
        tsm_session_unmodelled("TS_GPU_TIME=commands: too many commands in command buffers, some "
                               "are not timed",
                               false);
    return block;
}

/* ---- command buffers and pools -------------------------------------------------------------- */

static struct vk_timed_buffer **bucket_of(VkCommandBuffer handle)
{
    const uint64_t hash = VK_RAW(handle) * 0x9e3779b97f4a7c15u;

    return &buckets[hash >> 32 & (BUCKETS - 1)];
}

struct vk_timed_buffer *vk_timed_buffer_find(VkCommandBuffer handle)
{
    const uint64_t now = atomic_load_explicit(&generation, memory_order_acquire);
    struct vk_timed_buffer *b;

    if (last_found.handle == handle && last_found.generation == now)
        return last_found.buffer;
    vk_lock_take(&vk_commands_lock);
    for (b = *bucket_of(handle); b && b->handle != handle;)
        b = b->next;
    vk_lock_give(&vk_commands_lock);
    last_found.handle = handle;
    last_found.buffer = b;
    last_found.generation = now;
    return b;
}

static void add_buffer(struct vk_timed_pool *pool, VkCommandBuffer handle, bool is_secondary)
{
    struct vk_timed_buffer *b = free_buffers;

    if (b)
        free_buffers = b->next;
    else
        b = tsm_session_keep(&arena, sizeof(*b));
    if (!b)
        return;
    *b = (struct vk_timed_buffer){.handle = handle,
                                  .next = *bucket_of(handle),
                                  .next_in_pool = pool->buffers,
                                  .pool = pool,
                                  .is_secondary = is_secondary};
    *bucket_of(handle) = b;
    pool->buffers = b;
}

/* Takes the first of a list out of all. */
static void remove_buffer(struct vk_timed_buffer **in_pool)
{
    struct vk_timed_buffer *b = *in_pool, **at = bucket_of(b->handle);

    while (*at && *at != b)
        at = &(*at)->next;
    if (*at)
        *at = b->next;
    *in_pool = b->next_in_pool;
    forget_recording(b);
    b->next = free_buffers;
    free_buffers = b;
}

static struct vk_timed_pool **find_pool(const struct vk_device_state *device, VkCommandPool handle)
{
    struct vk_timed_pool **at = &pools;

    while (*at && ((*at)->handle != handle || (*at)->device != device))
        at = &(*at)->next;
    return at;
}

static void remove_pool(struct vk_timed_pool **at)
{
    struct vk_timed_pool *pool = *at;

    while (pool->buffers)
        remove_buffer(&pool->buffers);
    *at = pool->next;
    pool->next = free_pools;
    free_pools = pool;
}

static void add_pool(struct vk_device_state *device, const VkCommandPoolCreateInfo *info,
                     VkCommandPool handle, uint64_t mask)
{
    struct vk_timed_pool *pool = free_pools;

    if (pool)
        free_pools = pool->next;
    else
        pool = tsm_session_keep(&arena, sizeof(*pool));
    if (!pool)
        return;
    *pool =
        (struct vk_timed_pool){.handle = handle,
                               .next = pools,
                               .device = device,
                               .family = info->queueFamilyIndex,
                               .can_time = mask && !device->has_tile_shading &&
                                           !(info->flags & VK_COMMAND_POOL_CREATE_PROTECTED_BIT)};
    pools = pool;
}

void vk_timed_buffers_device_destroyed(const struct vk_device_state *device)
{
    struct vk_timed_pool **at = &pools;

    vk_lock_take(&vk_commands_lock);
    while (*at)
        if ((*at)->device == device)
            remove_pool(at);
        else
            at = &(*at)->next;
    vk_blocks_device_destroyed(device);
    vk_lock_give(&vk_commands_lock);
    atomic_fetch_add(&generation, 1);
}

static VKAPI_ATTR VkResult VKAPI_CALL create_pool(VkDevice device,
                                                  const VkCommandPoolCreateInfo *info,
                                                  const VkAllocationCallbacks *a,
                                                  VkCommandPool *out)
{
    struct vk_device_state *d = vk_state_of(device);
    VkResult result = d->untimed.vkCreateCommandPool(device, info, a, out);
    uint64_t mask;

    if (result < 0)
        return result;
    mask = vk_query_mask(d, info->queueFamilyIndex);
    vk_lock_take(&vk_commands_lock);
    add_pool(d, info, *out, mask);
    vk_lock_give(&vk_commands_lock);
    return result;
}

static VKAPI_ATTR void VKAPI_CALL destroy_pool(VkDevice device, VkCommandPool pool,
                                               const VkAllocationCallbacks *a)
{
    const struct vk_device_state *d = vk_state_of(device);
    struct vk_timed_pool **at;

    vk_lock_take(&vk_commands_lock);
    at = find_pool(d, pool);
    if (*at)
        remove_pool(at);
    vk_lock_give(&vk_commands_lock);
    atomic_fetch_add(&generation, 1);
    d->untimed.vkDestroyCommandPool(device, pool, a);
}

static VKAPI_ATTR VkResult VKAPI_CALL reset_pool(VkDevice device, VkCommandPool handle,
                                                 VkCommandPoolResetFlags flags)
{
    const struct vk_device_state *d = vk_state_of(device);
    const struct vk_timed_pool *pool;

    vk_lock_take(&vk_commands_lock);
    pool = *find_pool(d, handle);
    for (struct vk_timed_buffer *b = pool ? pool->buffers : NULL; b; b = b->next_in_pool)
        forget_recording(b);
    vk_lock_give(&vk_commands_lock);
    return d->untimed.vkResetCommandPool(device, handle, flags);
}

static VKAPI_ATTR VkResult VKAPI_CALL allocate(VkDevice device,
                                               const VkCommandBufferAllocateInfo *info,
                                               VkCommandBuffer *list)
{
    const struct vk_device_state *d = vk_state_of(device);
    VkResult result = d->untimed.vkAllocateCommandBuffers(device, info, list);
    struct vk_timed_pool *pool;

    if (result < 0)
        return result;
    vk_lock_take(&vk_commands_lock);
    pool = *find_pool(d, info->commandPool);
    for (uint32_t i = 0; pool && i < info->commandBufferCount; i++)
        add_buffer(pool, list[i], info->level == VK_COMMAND_BUFFER_LEVEL_SECONDARY);
    vk_lock_give(&vk_commands_lock);
    atomic_fetch_add(&generation, 1);
    return result;
}

static VKAPI_ATTR void VKAPI_CALL free_buffers_of(VkDevice device, VkCommandPool handle,
                                                  uint32_t count, const VkCommandBuffer *list)
{
    const struct vk_device_state *d = vk_state_of(device);
    struct vk_timed_pool *pool;

    vk_lock_take(&vk_commands_lock);
    pool = *find_pool(d, handle);
    for (uint32_t i = 0; pool && i < count; i++) {
        struct vk_timed_buffer **at = &pool->buffers;
        while (*at && (*at)->handle != list[i])
            at = &(*at)->next_in_pool;
        if (*at)
            remove_buffer(at);
    }
    vk_lock_give(&vk_commands_lock);
    atomic_fetch_add(&generation, 1);
    d->untimed.vkFreeCommandBuffers(device, handle, count, list);
}

/* ---- begin and end -------------------------------------------------------------------------- */

static bool is_multiview(VkRenderPass pass)
{
    bool found;

    vk_lock_take(&vk_commands_lock);
    found = has_more_multiview;
    for (uint32_t i = 0; i < multiview_count && !found; i++)
        found = multiview[i] == pass;
    vk_lock_give(&vk_commands_lock);
    return found;
}

static bool may_time(const struct vk_timed_buffer *b, const VkCommandBufferBeginInfo *info)
{
    const bool may_repeat = info->flags & VK_COMMAND_BUFFER_USAGE_SIMULTANEOUS_USE_BIT;
    const struct vk_timed_pool *pool = b->pool;
    const VkCommandBufferInheritanceConditionalRenderingInfoEXT *condition;

    if (!pool->can_time)
        return false;
    if (!b->is_secondary)
        return !may_repeat ||
               (pool->family < 64 && pool->device->lone_families >> pool->family & 1);
    condition =
        info->pInheritanceInfo
            ? vk_chain_find(
                  info->pInheritanceInfo->pNext,
                  VK_STRUCTURE_TYPE_COMMAND_BUFFER_INHERITANCE_CONDITIONAL_RENDERING_INFO_EXT)
            : NULL;
    return !may_repeat && !(condition && condition->conditionalRenderingEnable);
}

/* Tests whether a secondary command buffer goes into a render pass with several views. */
static bool inherits_multiview(const struct vk_timed_buffer *b,
                               const VkCommandBufferBeginInfo *info)
{
    const VkCommandBufferInheritanceRenderingInfo *rendering;

    if (!b->is_secondary || !info->pInheritanceInfo ||
        !(info->flags & VK_COMMAND_BUFFER_USAGE_RENDER_PASS_CONTINUE_BIT))
        return false;
    rendering = vk_chain_find(info->pInheritanceInfo->pNext,
                              VK_STRUCTURE_TYPE_COMMAND_BUFFER_INHERITANCE_RENDERING_INFO);
    return info->pInheritanceInfo->renderPass ? is_multiview(info->pInheritanceInfo->renderPass)
                                              : rendering && rendering->viewMask;
}

static VKAPI_ATTR VkResult VKAPI_CALL begin(VkCommandBuffer commands,
                                            const VkCommandBufferBeginInfo *info)
{
    VkResult result = vk_state_of(commands)->untimed.vkBeginCommandBuffer(commands, info);
    struct vk_timed_buffer *b = vk_timed_buffer_find(commands);

    if (!b)
        return result;
    b->in_multiview = inherits_multiview(b, info);
    memset(b->objects, 0, sizeof(b->objects));
    vk_lock_take(&vk_commands_lock);
    forget_recording(b);
    if (result >= 0 && tsm_inside())
        b->recording = take_recording(may_time(b, info));
    vk_lock_give(&vk_commands_lock);
    return result;
}

static VKAPI_ATTR VkResult VKAPI_CALL end(VkCommandBuffer commands)
{
    VkResult result = vk_state_of(commands)->untimed.vkEndCommandBuffer(commands);
    const struct vk_timed_buffer *b = vk_timed_buffer_find(commands);
    struct vk_recording *r = b ? b->recording : NULL;

    if (!r || !r->blocks || result < 0)
        return result;
    vk_lock_take(&vk_commands_lock);
    r->timed_count += vk_blocks_close(r->blocks);
    vk_lock_give(&vk_commands_lock);
    return result;
}

static VKAPI_ATTR VkResult VKAPI_CALL reset(VkCommandBuffer commands,
                                            VkCommandBufferResetFlags flags)
{
    struct vk_timed_buffer *b = vk_timed_buffer_find(commands);

    vk_lock_take(&vk_commands_lock);
    if (b)
        forget_recording(b);
    vk_lock_give(&vk_commands_lock);
    return vk_state_of(commands)->untimed.vkResetCommandBuffer(commands, flags);
}

static VKAPI_ATTR void VKAPI_CALL execute_commands(VkCommandBuffer commands, uint32_t count,
                                                   const VkCommandBuffer *list)
{
    const struct vk_timed_buffer *b = vk_timed_buffer_find(commands);
    struct vk_recording *r = b ? b->recording : NULL;

    vk_state_of(commands)->untimed.vkCmdExecuteCommands(commands, count, list);
    for (uint32_t i = 0; r && i < count; i++) {
        const struct vk_timed_buffer *secondary = vk_timed_buffer_find(list[i]);
        if (!secondary || !secondary->recording)
            continue;
        vk_lock_take(&vk_commands_lock);
        execute(r, secondary->recording);
        vk_lock_give(&vk_commands_lock);
    }
}

static VKAPI_ATTR void VKAPI_CALL bind_pipeline(VkCommandBuffer commands, VkPipelineBindPoint point,
                                                VkPipeline pipeline)
{
    struct vk_timed_buffer *b = vk_timed_buffer_find(commands);
    const enum vk_timed_bind_point at = point == VK_PIPELINE_BIND_POINT_GRAPHICS ? VK_TIMED_GRAPHICS
                                        : point == VK_PIPELINE_BIND_POINT_COMPUTE ? VK_TIMED_COMPUTE
                                        : point == VK_PIPELINE_BIND_POINT_RAY_TRACING_KHR
                                            ? VK_TIMED_RAYS
                                            : VK_TIMED_NONE;

    vk_state_of(commands)->untimed.vkCmdBindPipeline(commands, point, pipeline);
    if (b && b->recording && at != VK_TIMED_NONE && tsm_inside() &&
        !b->pool->device->has_shader_objects)
        b->objects[at] = vk_id(VK_OBJECT_VkPipeline, VK_RAW(pipeline));
}

/* ---- render passes -------------------------------------------------------------------------- */

static void add_multiview(VkRenderPass pass)
{
    vk_lock_take(&vk_commands_lock);
    if (multiview_count < MULTIVIEW_MAX)
        multiview[multiview_count++] = pass;
    else
        has_more_multiview = true;
    vk_lock_give(&vk_commands_lock);
}

static VKAPI_ATTR VkResult VKAPI_CALL create_pass(VkDevice device,
                                                  const VkRenderPassCreateInfo *info,
                                                  const VkAllocationCallbacks *a, VkRenderPass *out)
{
    VkResult result = vk_state_of(device)->untimed.vkCreateRenderPass(device, info, a, out);
    const VkRenderPassMultiviewCreateInfo *views =
        vk_chain_find(info->pNext, VK_STRUCTURE_TYPE_RENDER_PASS_MULTIVIEW_CREATE_INFO);
    uint32_t mask = 0;

    for (uint32_t i = 0; views && i < views->subpassCount; i++)
        mask |= views->pViewMasks[i];
    if (result >= 0 && mask)
        add_multiview(*out);
    return result;
}

static void note_pass2(const VkRenderPassCreateInfo2 *info, VkRenderPass pass)
{
    uint32_t mask = 0;

    for (uint32_t i = 0; i < info->subpassCount; i++)
        mask |= info->pSubpasses[i].viewMask;
    if (mask)
        add_multiview(pass);
}

static VKAPI_ATTR void VKAPI_CALL destroy_pass(VkDevice device, VkRenderPass pass,
                                               const VkAllocationCallbacks *a)
{
    vk_lock_take(&vk_commands_lock);
    for (uint32_t i = 0; i < multiview_count; i++)
        if (multiview[i] == pass) {
            multiview[i] = multiview[--multiview_count];
            break;
        }
    vk_lock_give(&vk_commands_lock);
    vk_state_of(device)->untimed.vkDestroyRenderPass(device, pass, a);
}

static void enter(VkCommandBuffer commands, bool has_views)
{
    struct vk_timed_buffer *b = vk_timed_buffer_find(commands);

    if (b)
        b->in_multiview = has_views;
}

static VKAPI_ATTR void VKAPI_CALL begin_pass(VkCommandBuffer commands,
                                             const VkRenderPassBeginInfo *info,
                                             VkSubpassContents contents)
{
    vk_state_of(commands)->untimed.vkCmdBeginRenderPass(commands, info, contents);
    enter(commands, is_multiview(info->renderPass));
}

static VKAPI_ATTR void VKAPI_CALL end_pass(VkCommandBuffer commands)
{
    vk_state_of(commands)->untimed.vkCmdEndRenderPass(commands);
    enter(commands, false);
}

/* A call that has a name of its own in the core, and one in an extension. */
#define PASS2(suffix)                                                                              \
    static VKAPI_ATTR VkResult VKAPI_CALL create_pass2##suffix(                                    \
        VkDevice device, const VkRenderPassCreateInfo2 *info, const VkAllocationCallbacks *a,      \
        VkRenderPass *out)                                                                         \
    {                                                                                              \
        VkResult result =                                                                          \
            vk_state_of(device)->untimed.vkCreateRenderPass2##suffix(device, info, a, out);        \
                                                                                                   \
        if (result >= 0)                                                                           \
            note_pass2(info, *out);                                                                \
        return result;                                                                             \
    }                                                                                              \
                                                                                                   \
    static VKAPI_ATTR void VKAPI_CALL begin_pass2##suffix(VkCommandBuffer commands,                \
                                                          const VkRenderPassBeginInfo *info,       \
                                                          const VkSubpassBeginInfo *subpass)       \
    {                                                                                              \
        vk_state_of(commands)->untimed.vkCmdBeginRenderPass2##suffix(commands, info, subpass);     \
        enter(commands, is_multiview(info->renderPass));                                           \
    }                                                                                              \
                                                                                                   \
    static VKAPI_ATTR void VKAPI_CALL end_pass2##suffix(VkCommandBuffer commands,                  \
                                                        const VkSubpassEndInfo *subpass)           \
    {                                                                                              \
        vk_state_of(commands)->untimed.vkCmdEndRenderPass2##suffix(commands, subpass);             \
        enter(commands, false);                                                                    \
    }                                                                                              \
                                                                                                   \
    static VKAPI_ATTR void VKAPI_CALL begin_rendering##suffix(VkCommandBuffer commands,            \
                                                              const VkRenderingInfo *info)         \
    {                                                                                              \
        vk_state_of(commands)->untimed.vkCmdBeginRendering##suffix(commands, info);                \
        enter(commands, info->viewMask != 0);                                                      \
    }                                                                                              \
                                                                                                   \
    static VKAPI_ATTR void VKAPI_CALL end_rendering##suffix(VkCommandBuffer commands)              \
    {                                                                                              \
        vk_state_of(commands)->untimed.vkCmdEndRendering##suffix(commands);                        \
        enter(commands, false);                                                                    \
    }

PASS2()
PASS2(KHR)

#define PUT(name, own)                                                                             \
    if (f->name)                                                                                   \
    f->name = own

static void patch_passes(struct vk_device_functions *f)
{
    f->vkCreateRenderPass = create_pass;
    f->vkDestroyRenderPass = destroy_pass;
    f->vkCmdBeginRenderPass = begin_pass;
    f->vkCmdEndRenderPass = end_pass;
    PUT(vkCreateRenderPass2, create_pass2);
    PUT(vkCreateRenderPass2KHR, create_pass2KHR);
    PUT(vkCmdBeginRenderPass2, begin_pass2);
    PUT(vkCmdBeginRenderPass2KHR, begin_pass2KHR);
    PUT(vkCmdEndRenderPass2, end_pass2);
    PUT(vkCmdEndRenderPass2KHR, end_pass2KHR);
    PUT(vkCmdBeginRendering, begin_rendering);
    PUT(vkCmdBeginRenderingKHR, begin_renderingKHR);
    PUT(vkCmdEndRendering, end_rendering);
    PUT(vkCmdEndRenderingKHR, end_renderingKHR);
}

void vk_timed_buffers_patch(struct vk_device_state *device)
{
    struct vk_device_functions *f = &device->dispatch.f;

    device->untimed = *f;
    f->vkCreateCommandPool = create_pool;
    f->vkDestroyCommandPool = destroy_pool;
    f->vkResetCommandPool = reset_pool;
    f->vkAllocateCommandBuffers = allocate;
    f->vkFreeCommandBuffers = free_buffers_of;
    f->vkBeginCommandBuffer = begin;
    f->vkEndCommandBuffer = end;
    f->vkResetCommandBuffer = reset;
    f->vkCmdExecuteCommands = execute_commands;
    f->vkCmdBindPipeline = bind_pipeline;
    patch_passes(f);
}
