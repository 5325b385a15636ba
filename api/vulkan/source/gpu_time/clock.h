/* SPDX-License-Identifier: Apache-2.0
 *
 * The clocks of devices: timestamps to nanoseconds of the trace.
 */
#ifndef API_VULKAN_SOURCE_GPU_TIME_CLOCK_H
#define API_VULKAN_SOURCE_GPU_TIME_CLOCK_H

#include "api/vulkan/source/layer.h"

struct vk_clock_span {
    uint64_t start_ns, duration_ns;
    uint64_t
        error_ns; /* of the start, when it is calibrated: the driver's deviation and one tick */
    bool is_calibrated; /* start_ns is after the session's start, else on the device's clock */
};

/* From one timestamp of a device to another; `mask`: the bits of them that are valid. */
struct vk_clock_span vk_clock_span(struct vk_device_state *device, uint64_t from, uint64_t to,
                                   uint64_t mask);

/* In the child of a fork. */
void vk_clock_forget(void);

/* Finds out whether the device's clock can be compared with the host's. `enabled`: what the device
 * was created with. */
void vk_clock_init(struct vk_device_state *device, const VkDeviceCreateInfo *enabled);

#endif
