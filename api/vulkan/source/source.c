/* SPDX-License-Identifier: Apache-2.0 */
#include "api/api.h"
#include "api/vulkan/source/checkpoint.h"
#include "api/vulkan/source/completion/completion.h"
#include "api/vulkan/source/completion/pending.h"
#include "api/vulkan/source/completion/timeline.h"
#include "api/vulkan/source/direct.h"
#include "api/vulkan/source/environment.h"
#include "api/vulkan/source/gpu_time/time.h"
#include "api/vulkan/source/layer.h"
#include "api/vulkan/source/memory/memory.h"
#include "api/vulkan/source/origin.h"
#include "api/vulkan/source/source.h"
#include "api/vulkan/source/present.h"
#include "api/vulkan/tables/describe.h"
#include "base/log.h"
#include "capture/call/sync_fd.h"
#include "capture/capture.h"

#include <dlfcn.h>
#include <string.h>

static void forked(void)
{
    vk_completion_forget();
    vk_memory_forget();
    vk_time_forget();
    vk_pending_forget();
    vk_present_forget();
    vk_timeline_forget();
    vk_origin_forget();
    tsm_sync_fds_forget();
}

static void opening(const char *path)
{
    const char *slash = strrchr(path, '/');

    if (strncmp(slash ? slash + 1 : path, "libvulkan.so", 12) == 0)
        vk_environment_restore();
}

/* A driver is open for somebody, and we were not asked to be in between. One that the loader has
 * closed again may only have been asked what it can do. */
static void ending(void)
{
    void *driver = atomic_load(&vk_driver_seen);
    Dl_info info;

    if (driver && !atomic_load(&vk_instance_seen) && vk_environment_wants() &&
        dladdr(driver, &info))
        tsm_log(TSM_LOG_WARN, "a Vulkan driver was opened, but no Vulkan call was recorded: the "
                              "loader has not used the layer " VK_OUR_LAYER);
}

static uint64_t given(int fd, enum tsm_shared kind)
{
    const uint32_t type =
        kind == TSM_SHARED_MEMORY ? VK_OBJECT_VkDeviceMemory : VK_OBJECT_VkSemaphore;

    const uint64_t id = vk_origin_of(fd, type).id;

    if (id && kind == TSM_SHARED_MEMORY)
        vk_memory_lent(id);
    return id;
}

extern const struct tsm_source vulkan_source; /* interpose/sources.c */

const struct tsm_source vulkan_source = {
    .description = &vulkan_description,
    .forked = forked,
    .quiet = vk_checkpoint_quiet,
    .save = vk_checkpoint_save,
    .commands_are_followed = true,
    .given = given,
    .others_send = vk_memory_others_send,
    .others_waited = vk_memory_others_waited,
    .opening = opening,
    .environment_prefix = "VK_",
    .environment_changed = vk_environment_restore,
    .wanted_symbol = "vk_icdGetInstanceProcAddr",
    .found = vk_direct_found,
    .ending = ending,
};
