/* SPDX-License-Identifier: Apache-2.0
 *
 * Requirements of the trace: what a device must offer.
 */
#ifndef API_VULKAN_REPLAY_REQUIREMENTS_H
#define API_VULKAN_REPLAY_REQUIREMENTS_H

#include "api/vulkan/replay/common.h"

struct vkr_requirements {
    struct vkr_required_device {
        struct vkr_required_device *next;
        uint64_t id, physical;          /* of the VkDevice, of its VkPhysicalDevice */
        const VkDeviceCreateInfo *info; /* in the arena */
        bool is_placed;
        uint32_t place; /* of the device here that stands for it */
    } * devices;
    struct vkr_required_image {
        struct vkr_required_image *next;
        uint64_t device;
        VkImageCreateInfo info;
        uint64_t seq;
    } * images;
    struct vkr_required_format {
        struct vkr_required_format *next;
        uint64_t device;
        VkFormat format;
        VkFormatFeatureFlags features; /* of buffers; one of these at least */
    } * formats;
    struct vkr_required_limits { /* of the recorded device, as its driver gave them */
        struct vkr_required_limits *next;
        uint64_t physical;
        VkDeviceSize uniform, storage, texel; /* offsets in buffers are multiples of */
    } * limits;
    struct tsm_map seen; /* hashes of images, formats */
    uint32_t push_max, set_max;
    uint64_t groups[3]; /* of dispatches */
    struct vk_arena arena;
};

int vkr_requirements_plan(struct vkr *r, const struct sbt_record *record);
/* How much of it the device at `place` lacks. */
uint32_t vkr_requirements_misses(struct vkr *r, const struct vkr_required_device *d,
                                 uint32_t place);
/* TSM_E_UNSUPPORTED with what is not here. */
int vkr_requirements_check(struct vkr *r);
void vkr_requirements_finish(struct vkr *r);

#endif
