/* SPDX-License-Identifier: Apache-2.0
 *
 * Carries out a record: by the hook of its call, where it has one, else by the driver alone. This
 * file knows all rooms with hooks; none of them calls it.
 */
#include "api/vulkan/replay/carry_out.h"

#include <stdlib.h>
#include <string.h>

#include "api/vulkan/replay/call.h"
#include "api/vulkan/replay/device.h"
#include "api/vulkan/replay/inspect/inspect.h"
#include "api/vulkan/replay/memory/allocate.h"
#include "api/vulkan/replay/memory/bind.h"
#include "api/vulkan/replay/memory/host_write.h"
#include "api/vulkan/replay/object.h"
#include "api/vulkan/replay/replay.h"
#include "api/vulkan/replay/semaphore.h"
#include "api/vulkan/replay/shader.h"
#include "api/vulkan/replay/share.h"
#include "api/vulkan/replay/state/queue_label.h"
#include "api/vulkan/replay/swapchain.h"
#include "api/vulkan/replay/sync.h"
#include "api/vulkan/replay/timing/command_buffers.h"
#include "api/vulkan/replay/window.h"

/* ---- hooks ------------------------------------------------------------------------------- */

static int reset_descriptor_pool(struct vkr_call *c)
{
    struct vkr_object *pool =
        c->record->slot_count > 1
            ? vkr_object_find(c->r, VK_OBJECT_VkDescriptorPool, c->record->slots[1])
            : NULL;

    if (pool)
        vkr_object_remove_children(c->r, pool);
    return vkr_call_driver(c);
}

static int set_name(struct vkr_call *c)
{
    const struct vk_args_vkSetDebugUtilsObjectNameEXT *a = (const void *)c->args;
    const VkDebugUtilsObjectNameInfoEXT *info = a->pNameInfo;
    struct vkr_object *o =
        vkr_object_of(c->r, vk_object_of((uint32_t)info->objectType), info->objectHandle);

    if (o) {
        free(o->label);
        o->label = info->pObjectName ? strdup(info->pObjectName) : NULL;
    }
    return vkr_call_driver(c);
}

static int skip(struct vkr_call *c)
{
    return 0;
}

#define AT(command) [SBT_TYPE_CALL(TYPE_##command)]

/* By the number of the command. */
static const struct hook {
    int (*function)(struct vkr_call *c); /* NULL: there is none */
    bool takes_windows;                  /* may name what stands for a window's */
} hooks[] = {
    AT(vkCreateInstance) = {vkr_create_instance, false},
    AT(vkDestroyInstance) = {vkr_destroy_instance, false},
    AT(vkCreateDevice) = {vkr_create_device, false},
    AT(vkDestroyDevice) = {vkr_destroy_device, false},
    AT(vkEnumeratePhysicalDevices) = {vkr_enumerate_physical, false},
    AT(vkEnumeratePhysicalDeviceGroups) = {skip, false},
    AT(vkEnumeratePhysicalDeviceGroupsKHR) = {skip, false},
    AT(vkGetDeviceQueue) = {vkr_get_queue, false},
    AT(vkGetDeviceQueue2) = {vkr_get_queue, false},
    AT(vkAllocateMemory) = {vkr_allocate_memory, false},
    AT(vkFreeMemory) = {vkr_free_memory, false},
    AT(vkMapMemory) = {vkr_map_memory, false},
    AT(vkUnmapMemory) = {vkr_unmap_memory, false},
    AT(vkFlushMappedMemoryRanges) = {skip, false},
    AT(vkInvalidateMappedMemoryRanges) = {skip, false},
    AT(vkCreateBuffer) = {vkr_create_buffer, false},
    AT(vkCreateImage) = {vkr_create_image, false},
    AT(vkBindBufferMemory) = {vkr_bind_buffer, false},
    AT(vkBindBufferMemory2) = {vkr_bind_buffer2, false},
    AT(vkBindBufferMemory2KHR) = {vkr_bind_buffer2, false},
    AT(vkBindImageMemory) = {vkr_bind_image, false},
    AT(vkBindImageMemory2) = {vkr_bind_image2, false},
    AT(vkBindImageMemory2KHR) = {vkr_bind_image2, false},
    AT(vkCreateShaderModule) = {vkr_create_shader_module, false},
    AT(vkCreateGraphicsPipelines) = {vkr_create_graphics_pipelines, false},
    AT(vkCreateComputePipelines) = {vkr_create_compute_pipelines, false},
    AT(vkResetDescriptorPool) = {reset_descriptor_pool, false},
    AT(vkSetDebugUtilsObjectNameEXT) = {set_name, false},
    AT(vkQueueBeginDebugUtilsLabelEXT) = {vkr_begin_label, false},
    AT(vkQueueEndDebugUtilsLabelEXT) = {vkr_end_label, false},
    AT(vkCreateSemaphore) = {vkr_create_semaphore, false},
    AT(vkGetMemoryFdKHR) = {vkr_get_memory_fd, false},
    AT(vkGetSemaphoreFdKHR) = {vkr_get_semaphore_fd, false},
    AT(vkGetFenceFdKHR) = {vkr_get_fence_fd, false},
    AT(vkImportSemaphoreFdKHR) = {vkr_import_semaphore_fd, false},
    AT(vkImportFenceFdKHR) = {vkr_import_fence_fd, false},
    AT(vkSignalSemaphore) = {vkr_signal_semaphore, false},
    AT(vkSignalSemaphoreKHR) = {vkr_signal_semaphore, false},
    AT(vkQueueSubmit) = {vkr_submit, false},
    AT(vkQueueSubmit2) = {vkr_submit, false},
    AT(vkQueueSubmit2KHR) = {vkr_submit, false},
    AT(vkQueueBindSparse) = {vkr_bind_sparse, false},
    AT(vkDestroySemaphore) = {vkr_destroy_semaphore, false},
    AT(vkDestroySurfaceKHR) = {vkr_destroy_surface, true},
    AT(vkCreateSwapchainKHR) = {vkr_create_swapchain, true},
    AT(vkDestroySwapchainKHR) = {vkr_destroy_swapchain, true},
    AT(vkGetSwapchainImagesKHR) = {vkr_get_swapchain_images, true},
    AT(vkAcquireNextImageKHR) = {vkr_acquire_image, true},
    AT(vkAcquireNextImage2KHR) = {vkr_acquire_image2, true},
    AT(vkQueuePresentKHR) = {vkr_present, true},
};

/* vkCreate*Surface*, one for each window system: their last argument is a VkSurfaceKHR. */
static bool makes_surface(const struct vk_command *command)
{
    const struct vk_member *last = &vk_arguments[command->first + command->argument_count - 1];

    return command->kind == SBT_KIND_CREATE && command->argument_count &&
           last->kind == VK_KIND_HANDLE && last->type == VK_OBJECT_VkSurfaceKHR;
}

static int dispatch(struct vkr_call *c)
{
    uint32_t call = SBT_TYPE_CALL(c->record->type);
    const struct hook *hook = call < sizeof(hooks) / sizeof(hooks[0]) ? &hooks[call] : NULL;

    if (makes_surface(c->command))
        return vkr_create_surface(c);
    if (hook && hook->function)
        return c->is_window && !hook->takes_windows ? 0 : hook->function(c);
    if (c->is_window || c->command->replay == VK_REPLAY_NONE)
        return 0;
    if (c->command->replay == VK_REPLAY_HOOK)
        return tsm_fail(TSM_E_UNSUPPORTED, "this build cannot replay it");
    return vkr_call_driver(c);
}

/* Tests whether a record is left out. It may name objects that were not created: functions of the
 * program, layers' objects. */
static bool is_left_out(const struct sbt_record *record)
{
    const struct vk_command *command = vk_command_of(SBT_TYPE_CALL(record->type));

    return command && command->replay == VK_REPLAY_NONE && !vkr_owns_sync(record);
}

static int dispatch_timed(struct vkr_call *c)
{
    struct vkr_command_timing timing;
    int error;

    vkr_command_begins(&timing, c);
    error = dispatch(c);
    if (!error)
        vkr_command_ends(&timing, c);
    return error;
}

int vkr_carry_out(struct vkr *r, const struct sbt_record *record)
{
    struct vkr_call c;
    int error;

    if (is_left_out(record))
        return 0;
    error = vkr_call_begin(&c, r, record, &r->arena, false);
    if (error == 1)
        error = vkr_owns_sync(record) ? vkr_sync(&c) : dispatch_timed(&c);
    else if (error < 0 && c.missing_type && vkr_is_decoration(c.command))
        error = 0; /* the name of something that is not there */
    vkr_call_finish(&c);
    vk_arena_reset(&r->arena);
    return error;
}
