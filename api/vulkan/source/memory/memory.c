/* SPDX-License-Identifier: Apache-2.0
 *
 * Memory that the program has mapped. Functions here stand between the wrappers and the next layer,
 * so that they do their part whether or not a call is recorded: the program works on a shadow
 * (capture/memory/shadow.h), which is brought to the device's memory before work is sent or
 * signalled, and brought up to date where the program learns that work is done.
 *
 * The specification allows the host to rely on no other moments: 7.1 "host access", 11.2.1 "Host
 * Access to Device Memory Objects". A program that watches coherent memory without ever asking
 * about a fence, semaphore or event needs TS_VK_MEMORY=pages or hash, which leave it the driver's
 * mapping.
 */
#include "api/vulkan/source/memory/memory.h"

#include "api/vulkan/source/memory/known.h"

#include "api/vulkan/source/completion/completion.h"
#include "api/vulkan/source/layer.h"
#include "api/vulkan/vulkan_args.h"
#include "api/vulkan/vulkan_hooks.h"
#include "api/vulkan/source/source.h"
#include "base/arena.h"
#include "base/clock.h"
#include "base/touched.h"
#include "api/vulkan/source/lock.h"
#include "api/vulkan/source/origin.h"
#include "api/vulkan/tables/chain.h"

#include <string.h>
#include <time.h>

static struct tsm_arena arena;
struct tsm_lock vk_memory_lock; /* of all below */
struct memory *vk_memory_buckets[VK_BUCKET_COUNT];
struct memory *vk_memory_shadows;
static struct memory *free_list;
static struct memory *followed; /* imports of the program's own memory, mappings of the driver's */
uint64_t vk_memory_quiet; /* vk_completion_sends() when all shadows were last pulled with nothing
                             under way */

/* ---- the table ------------------------------------------------------------------------------ */

static struct memory **bucket(VkDeviceMemory handle)
{
    return &vk_memory_buckets[(VK_RAW(handle) * 0x9e3779b97f4a7c15u) >> 52];
}

struct memory *vk_memory_find(const struct vk_device_state *device, VkDeviceMemory handle)
{
    struct memory *m = *bucket(handle);

    while (m && (m->handle != handle || m->device != device))
        m = m->next;
    return m;
}

static struct memory *add(void)
{
    struct memory *m = free_list;

    if (m)
        free_list = m->next;
    else
        m = tsm_session_keep(&arena, sizeof(*m));
    return m;
}

/* The lock is held. What is there is recorded for each import: to the trace they are different
 * memories, also where the program's is the same. */
static void track_import(struct memory *m)
{
    tsm_hostmem_track(m->imported, m->size);
    m->next_followed = followed;
    followed = m;
}

/* Ends tracking, unless the same memory of the program is imported as another one, too. */
static void untrack_import(struct memory *m)
{
    struct memory **at = &followed;
    bool still = false;

    while (*at) {
        if (*at == m) {
            *at = m->next_followed;
            continue;
        }
        still |= (*at)->imported == m->imported;
        at = &(*at)->next_followed;
    }
    if (!still)
        tsm_hostmem_untrack(m->imported);
}

/* The lock is held. Memory of the driver's that the program works on. */
static void track_mapping(struct memory *m, const void *at, uint64_t size)
{
    m->tracked = VK_RAW(at);
    m->tracked_size = size;
    m->next_followed = followed;
    followed = m;
    tsm_hostmem_track(m->tracked, size);
}

static void untrack_mapping(struct memory *m)
{
    struct memory **at = &followed;

    while (*at != m)
        at = &(*at)->next_followed;
    *at = m->next_followed;
    tsm_hostmem_untrack(m->tracked);
    m->tracked = 0;
}

/* The lock is held. What capture kept for the memory is given back. */
static void forget(struct memory *m)
{
    struct memory **at = bucket(m->handle);

    while (*at != m)
        at = &(*at)->next;
    *at = m->next;
    for (at = &vk_memory_shadows; *at && *at != m; at = &(*at)->next_shadow)
        ;
    if (*at)
        *at = m->next_shadow;
    if (m->imported)
        untrack_import(m);
    if (m->tracked)
        untrack_mapping(m);
    tsm_shadow_destroy(m->shadow);
    vk_hidden_freed(m);
    memset(m, 0, sizeof(*m));
    m->next = free_list;
    free_list = m;
}

/* ---- allocating ----------------------------------------------------------------------------- */

static void *shadow_of(struct memory *m, void *real);

/* TS_CHECKSUM: what is in memory that the program never maps is to be known, too. */
static void look_into(struct memory *m, VkDevice device, const VkMemoryAllocateInfo *info)
{
    uint32_t type = info->memoryTypeIndex;
    void *real;

    if (type >= m->device->memory.memoryTypeCount ||
        !(m->device->memory.memoryTypes[type].propertyFlags &
          VK_MEMORY_PROPERTY_HOST_VISIBLE_BIT)) {
        if (!vk_hidden_allocated(m, info))
            tsm_session_unmodelled(
                "TS_CHECKSUM: memory that can neither be mapped nor copied (the driver "
                "wants it to be made for one image or buffer) is not hashed",
                false);
        return;
    }
    if (m->device->below.vkMapMemory(device, m->handle, 0, VK_WHOLE_SIZE, 0, &real) < 0)
        return;
    /* Memory that nobody has written must be the same in replay. */
    vk_zero(real, m->size);
    m->looked_into = shadow_of(m, real) != NULL;
}

static VKAPI_ATTR VkResult VKAPI_CALL allocate(VkDevice device, const VkMemoryAllocateInfo *info,
                                               const VkAllocationCallbacks *allocator,
                                               VkDeviceMemory *out)
{
    const struct vk_device_state *state = vk_state_of(device);
    const VkImportMemoryHostPointerInfoEXT *import =
        vk_chain_find(info->pNext, VK_STRUCTURE_TYPE_IMPORT_MEMORY_HOST_POINTER_INFO_EXT);
    const VkImportMemoryFdInfoKHR *behind =
        vk_chain_find(info->pNext, VK_STRUCTURE_TYPE_IMPORT_MEMORY_FD_INFO_KHR);
    struct vk_origin from = {0};
    struct memory *m;
    bool is_dedicated;
    VkResult result;

    if (behind && !behind->handleType) /* then it says nothing */
        behind = NULL;
    if (behind)
        from = vk_origin_of(behind->fd, VK_OBJECT_VkDeviceMemory);
    result = vk_dedicated_allocate(state, info, allocator, out, &is_dedicated);
    if (result < 0)
        return result;
    vk_lock_take(&vk_memory_lock);
    m = add();
    if (m) {
        *m = (struct memory){.handle = *out,
                             .device = state,
                             .size = info->allocationSize,
                             .type = info->memoryTypeIndex};
        m->imported = import ? VK_RAW(import->pHostPointer) : 0;
        m->filled = import || behind;
        m->fd_import = behind != NULL;
        m->is_dedicated = is_dedicated;
        m->from = from;
        m->allocated = vk_completion_sends();
        m->next = *bucket(*out);
        *bucket(*out) = m;
        if (import) /* the program's own memory, mapped for as long as it is imported */
            track_import(m);
    }
    if (m && !m->filled && tsm_session_settings()->checksum != TSM_CHECKSUM_OFF)
        look_into(m, device, info);
    else if (m && vk_wants_peek(m, info))
        vk_peek(m, device);
    vk_lock_give(&vk_memory_lock);
    return result;
}

/* Tests whether devices may be writing. */
static bool is_busy(void)
{
    return __atomic_load_n(&vk_memory_quiet, __ATOMIC_ACQUIRE) != vk_completion_sends();
}

/* The lock is held. */
static void push(struct memory *m)
{
    if (m->shared) {
        tsm_shadow_pull(m->shadow);
        tsm_shadow_adopt(m->shadow);
    } else if (m->mapped) {
        tsm_shadow_push(m->shadow, m->exported || is_busy());
    }
}

/* The lock is held. Where the device may have written, what has changed may be a result. */
static void hold(const struct memory *m)
{
    bool is_new = m->allocated == vk_completion_sends(); /* the program has had it to itself */

    if (!m->device_writes || m->results || is_new)
        return;
    tsm_hostmem_hold(m->imported ? m->imported : m->tracked,
                     m->imported ? m->size : m->tracked_size);
}

void vk_memory_publish_written(void)
{
    if (!__atomic_load_n(&followed, __ATOMIC_RELAXED) || !is_busy())
        return;
    vk_lock_take(&vk_memory_lock);
    for (const struct memory *m = followed; m; m = m->next_followed)
        hold(m);
    vk_lock_give(&vk_memory_lock);
    tsm_hostmem_publish_held();
}

/* Tests whether others have the memory, too: it outlives the free, which unmaps it implicitly. */
static bool is_others_too(const struct memory *m)
{
    return m->shadow && m->mapped && (m->exported || m->shared);
}

void vk_memory_ends(struct tsm_call *call, const void *args, int64_t result)
{
    const struct vk_args_vkFreeMemory *a = args;
    struct memory *m;

    vk_lock_take(&vk_memory_lock);
    m = a->memory ? vk_memory_find(vk_state_of(a->device), a->memory) : NULL;
    if (m && is_others_too(m))
        push(m);
    if (m && tsm_session_settings()->readback != TSM_READBACK_OFF)
        vk_report_last(m);
    vk_lock_give(&vk_memory_lock);
}

static VKAPI_ATTR void VKAPI_CALL release(VkDevice device, VkDeviceMemory memory,
                                          const VkAllocationCallbacks *allocator)
{
    const struct vk_device_state *state = vk_state_of(device);
    struct memory *m;

    vk_lock_take(&vk_memory_lock);
    m = memory ? vk_memory_find(state, memory) : NULL;
    if (m && is_others_too(m)) /* when nothing is recorded */
        push(m);
    if (m)
        forget(m);
    vk_lock_give(&vk_memory_lock);
    state->below.vkFreeMemory(device, memory, allocator);
}

void vk_memory_forget(void)
{
    vk_hidden_forget();
    memset(vk_memory_buckets, 0, sizeof(vk_memory_buckets));
    vk_memory_shadows = followed = NULL;
    vk_memory_lock = (struct tsm_lock){0};
}

void vk_memory_device_destroyed(const struct vk_device_state *device)
{
    vk_lock_take(&vk_memory_lock);
    for (uint32_t i = 0; i < VK_BUCKET_COUNT; i++) {
        struct memory *m = vk_memory_buckets[i];
        while (m) {
            struct memory *next = m->next;
            if (m->device == device)
                forget(m);
            m = next;
        }
    }
    vk_lock_give(&vk_memory_lock);
}

static void push_all(void)
{
    for (struct memory *m = vk_memory_shadows; m; m = m->next_shadow)
        push(m);
}

/* ---- mapping -------------------------------------------------------------------------------- */

static enum tsm_vk_memory_mode mode(void)
{
    return tsm_session_settings()->vk_memory;
}

/* Tests whether the memory needs a shadow. Where nothing is recorded the program may have the
 * driver's mapping: nobody reads it. */
static bool wants_shadow(const struct memory *m)
{
    return m && !m->imported &&
           (m->shadow || (tsm_session_settings()->enabled &&
                          (mode() == TSM_VK_MEMORY_AUTO || mode() == TSM_VK_MEMORY_SHADOW)));
}

/* The lock is held. */
static enum tsm_shadow_origin origin_of(const struct memory *m)
{
    if (!m->filled && !m->is_lent && m->allocated == vk_completion_sends())
        return TSM_SHADOW_FRESH;
    return m->peeked ? TSM_SHADOW_ZEROED : TSM_SHADOW_UNKNOWN;
}

/* The lock is held, the whole memory is mapped at `real`. NULL: no room for it. */
static void *shadow_of(struct memory *m, void *real)
{
    if (m->shadow) {
        tsm_shadow_pull(m->shadow);
        return tsm_shadow_address(m->shadow);
    }
    m->shadow =
        tsm_shadow_create(real, m->size, m->device->on_processor && !m->exported, origin_of(m));
    m->peeked = NULL;
    if (!m->shadow)
        return NULL;
    m->next_shadow = vk_memory_shadows;
    vk_memory_shadows = m;
    return tsm_shadow_address(m->shadow);
}

/* The lock is held. Others may write to the memory, and the program may look there at any time: it
 * works on the driver's mapping, and the shadow only finds changes. `fresh`: the trace does not
 * have the present content. */
static bool share(struct memory *m, bool fresh)
{
    VkDevice device = m->device->dispatch.device;
    void *real;

    if (m->shadow || !tsm_session_settings()->enabled)
        return m->shared;
    vk_end_peek(m, device);
    if (m->type >= m->device->memory.memoryTypeCount ||
        !(m->device->memory.memoryTypes[m->type].propertyFlags &
          VK_MEMORY_PROPERTY_HOST_VISIBLE_BIT) ||
        m->device->below.vkMapMemory(device, m->handle, 0, VK_WHOLE_SIZE, 0, &real) < 0)
        return false;
    m->shadow =
        tsm_shadow_create(real, m->size, false, fresh ? TSM_SHADOW_FRESH : TSM_SHADOW_UNKNOWN);
    if (!m->shadow) {
        m->device->below.vkUnmapMemory(device, m->handle);
        return false;
    }
    tsm_shadow_share(m->shadow,
                     (uint64_t)1 << 63 | vk_id(VK_OBJECT_VkDeviceMemory, VK_RAW(m->handle)) << 40);
    m->next_shadow = vk_memory_shadows;
    vk_memory_shadows = m;
    m->shared = m->looked_into = true;
    return true;
}

void vk_memory_named(const struct vk_device_state *device, VkDeviceMemory memory)
{
    struct memory *m;

    vk_lock_take(&vk_memory_lock);
    m = vk_memory_find(device, memory);
    if (m && m->fd_import) {
        vk_origin_describe(VK_OBJECT_VkDeviceMemory,
                           vk_id(VK_OBJECT_VkDeviceMemory, VK_RAW(memory)), m->from);
        if (!m->from.id && !share(m, true))
            tsm_session_unmodelled("memory of others that cannot be mapped: what is in it is not "
                                   "known",
                                   true);
        else if (!m->from.id)
            tsm_shadow_adopt(m->shadow);
    }
    vk_lock_give(&vk_memory_lock);
}

void vk_memory_exported(const struct vk_device_state *device, VkDeviceMemory memory)
{
    struct memory *m;

    vk_lock_take(&vk_memory_lock);
    m = vk_memory_find(device, memory);
    if (m) {
        m->exported = true;
        vk_hidden_exported(m);
    }
    if (m && m->shadow) {
        tsm_shadow_push(m->shadow, true);
        tsm_shadow_unwatch(m->shadow);
    }
    vk_lock_give(&vk_memory_lock);
}

static VkResult map_shadow(struct memory *m, VkDevice device, VkDeviceSize offset,
                           VkMemoryMapFlags flags, void **data)
{
    void *real = NULL, *own;
    VkResult result = VK_SUCCESS;

    if (m->peeked)
        real = (void *)(uintptr_t)m->peeked;
    else if (!m->shadow) /* else it is mapped already, and stays so */
        result = m->device->below.vkMapMemory(device, m->handle, 0, VK_WHOLE_SIZE, flags, &real);
    if (result < 0)
        return result;
    own = shadow_of(m, real);
    if (!own)
        tsm_session_unmodelled("no memory for a shadow of mapped memory", true);
    *data = (uint8_t *)(own ? own : real) + offset;
    return result;
}

static VKAPI_ATTR VkResult VKAPI_CALL map(VkDevice device, VkDeviceMemory memory,
                                          VkDeviceSize offset, VkDeviceSize size,
                                          VkMemoryMapFlags flags, void **data)
{
    const struct vk_device_state *state = vk_state_of(device);
    struct memory *m;
    VkResult result;

    vk_lock_take(&vk_memory_lock);
    m = vk_memory_find(state, memory);
    if (m && (m->fd_import || (m->exported && !m->shadow && !m->is_lent)) &&
        share(m, !m->filled && m->allocated == vk_completion_sends())) {
        *data = (uint8_t *)(uintptr_t)tsm_shadow_real(m->shadow) + offset;
        result = VK_SUCCESS;
    } else if (wants_shadow(m)) {
        result = map_shadow(m, device, offset, flags, data);
    } else {
        vk_end_peek(m, device);
        result = state->below.vkMapMemory(device, memory, offset, size, flags, data);
        if (result >= 0 && m && !m->imported)
            track_mapping(m, *data, size == VK_WHOLE_SIZE ? m->size - offset : size);
    }
    if (m)
        m->mapped = result >= 0;
    if (m)
        vk_mapped_lent(m);
    vk_lock_give(&vk_memory_lock);
    return result;
}

static VKAPI_ATTR void VKAPI_CALL unmap(VkDevice device, VkDeviceMemory memory)
{
    const struct vk_device_state *state = vk_state_of(device);
    struct memory *m;

    vk_lock_take(&vk_memory_lock);
    m = vk_memory_find(state, memory);
    if (m && m->shadow)
        push(m);
    if (m && m->tracked) {
        if (is_busy())
            hold(m);
        tsm_hostmem_publish_held();
        tsm_hostmem_publish();
        untrack_mapping(m);
    }
    if (m)
        m->mapped = false;
    /* The shadow keeps its real memory mapped: vkFreeMemory unmaps it. */
    if (!m || !m->shadow)
        state->below.vkUnmapMemory(device, memory);
    vk_lock_give(&vk_memory_lock);
}

#ifdef VK_KHR_map_memory2
/* Maps memory at an address that the program chooses: it gets the driver's mapping there. */
static VKAPI_ATTR VkResult VKAPI_CALL map2(VkDevice device, const VkMemoryMapInfoKHR *info,
                                           void **data)
{
    if (!info->pNext)
        return map(device, info->memory, info->offset, info->size, info->flags, data);
    tsm_session_unmodelled("vkMapMemory2 with structs in its pNext chain", true);
    vk_lock_take(&vk_memory_lock);
    vk_end_peek(vk_memory_find(vk_state_of(device), info->memory), device);
    vk_lock_give(&vk_memory_lock);
    return vk_state_of(device)->below.vkMapMemory2KHR(device, info, data);
}

static VKAPI_ATTR VkResult VKAPI_CALL unmap2(VkDevice device, const VkMemoryUnmapInfoKHR *info)
{
    if (!info->pNext && info->flags == 0) {
        unmap(device, info->memory);
        return VK_SUCCESS;
    }
    tsm_session_unmodelled("vkUnmapMemory2 with more than a memory", true);
    return vk_state_of(device)->below.vkUnmapMemory2KHR(device, info);
}
#endif

/* ---- to the device and back ----------------------------------------------------------------- */

/* Pushes the program's writes: later calls may make the device read memory, or write it. */
void vk_memory_push(void)
{
    vk_lock_take(&vk_memory_lock);
    push_all();
    vk_lock_give(&vk_memory_lock);
}

void vk_memory_others_send(void)
{
    vk_lock_take(&vk_memory_lock);
    for (struct memory *m = vk_memory_shadows; m; m = m->next_shadow)
        if (m->is_lent)
            push(m);
    vk_lock_give(&vk_memory_lock);
}

/* Work is sent; counted before it can begin, and not while results are recorded. */
void vk_memory_push_work(struct vk_device_state *device)
{
    vk_lock_take(&vk_memory_lock);
    push_all();
    vk_completion_begin_send(device);
    vk_lock_give(&vk_memory_lock);
}

/* The device may have written what the program may read now. */
void vk_memory_pull(void)
{
    if (!is_busy())
        return;
    vk_lock_take(&vk_memory_lock);
    for (struct memory *m = vk_memory_shadows; m; m = m->next_shadow)
        if (vk_is_pulled_at_waits(m))
            tsm_shadow_pull(m->shadow);
    vk_lock_give(&vk_memory_lock);
}

/* ---- for checkpoints ------------------------------------------------------------------------ */

bool vk_memory_idle(uint64_t until_ns)
{
    const struct timespec nap = {0, 50000};
    bool idle;

    while (!(idle = vk_lock_try(&vk_memory_lock)) && tsm_monotonic_ns() < until_ns)
        nanosleep(&nap, NULL);
    if (idle)
        vk_lock_give(&vk_memory_lock);
    return idle;
}

bool vk_memory_each(bool (*visit)(void *user, const struct vk_memory *memory), void *user)
{
    bool go_on = true;

    if (!vk_lock_try(&vk_memory_lock))
        return false;
    for (uint32_t i = 0; i < VK_BUCKET_COUNT && go_on; i++)
        for (const struct memory *m = vk_memory_buckets[i]; m && go_on; m = m->next) {
            struct vk_memory memory = {
                .device = m->device, .handle = m->handle, .size = m->size, .type = m->type};
            if (m->imported)
                continue; /* the program's own: capture saves it */
            memory.mapped = m->shadow && !m->results ? tsm_shadow_real(m->shadow) : m->peeked;
            memory.is_mapped = memory.mapped || m->mapped;
            memory.is_dedicated = m->is_dedicated;
            go_on = visit(user, &memory);
        }
    vk_lock_give(&vk_memory_lock);
    return go_on;
}

/* ---- in their place ------------------------------------------------------------------------- */

void vk_memory_patch(struct vk_device_state *device)
{
    struct vk_device_functions *f = &device->dispatch.f;

    f->vkAllocateMemory = allocate;
    f->vkFreeMemory = release;
    f->vkMapMemory = map;
    f->vkUnmapMemory = unmap;
#ifdef VK_KHR_map_memory2
    if (f->vkMapMemory2KHR) {
        f->vkMapMemory2KHR = map2;
        f->vkUnmapMemory2KHR = unmap2;
    }
#endif
}
