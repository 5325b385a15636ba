/* SPDX-License-Identifier: Apache-2.0
 *
 * Records the program's names of objects and labels of a queue.
 */
#include "api/vulkan/source/source.h"
#include "api/vulkan/vulkan_args.h"
#include "api/vulkan/vulkan_hooks.h"

#include <string.h>

/* ---- names ---------------------------------------------------------------------------------- */

static void name_object(VkObjectType type, uint64_t raw, const char *name)
{
    struct tsm_handle *handle = tsm_handle_find(SBT_API_VULKAN, vk_object_of((uint32_t)type), raw);

    if (handle)
        handle->name = name ? tsm_intern(name, strlen(name)) : 0;
}

void vk_object_named(struct tsm_call *call, const void *args, int64_t result)
{
    const struct vk_args_vkSetDebugUtilsObjectNameEXT *a = args;

    if (result >= 0)
        name_object(a->pNameInfo->objectType, a->pNameInfo->objectHandle,
                    a->pNameInfo->pObjectName);
}

/* ---- labels of a queue ---------------------------------------------------------------------- */

/* docs/FORMAT.md 10, "mark"; the id is the queue's. */
enum phase { POINT, BEGIN, END };
#define NVTX_FIELDS 6u /* that only NVTX has values for */

static void mark(VkQueue queue, const VkDebugUtilsLabelEXT *label, enum phase phase)
{
    struct tsm_call call;

    if (!tsm_call_begin(&call, SBT_TYPE(SBT_API_CORE, SBT_CORE_MARK)))
        return;
    tsm_call_returned(&call, 0, false);
    tsm_call_string(&call, label ? label->pLabelName : NULL);
    tsm_call_slot(&call, phase);
    tsm_call_slot(&call, vk_id(VK_OBJECT_VkQueue, VK_RAW(queue)));
    memset(tsm_call_slots(&call, NVTX_FIELDS), 0, NVTX_FIELDS * sizeof(uint64_t));
    tsm_call_commit(&call);
}

void vk_label_begun(struct tsm_call *call, const void *args, int64_t result)
{
    const struct vk_args_vkQueueBeginDebugUtilsLabelEXT *a = args;

    mark(a->queue, a->pLabelInfo, BEGIN);
}

void vk_label_ended(struct tsm_call *call, const void *args, int64_t result)
{
    const struct vk_args_vkQueueEndDebugUtilsLabelEXT *a = args;

    mark(a->queue, NULL, END);
}

void vk_label_put(struct tsm_call *call, const void *args, int64_t result)
{
    const struct vk_args_vkQueueInsertDebugUtilsLabelEXT *a = args;

    mark(a->queue, a->pLabelInfo, POINT);
}
