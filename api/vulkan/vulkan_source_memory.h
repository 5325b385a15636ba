/* SPDX-License-Identifier: Apache-2.0
 *
 * What the device has written into mapped memory, for the trace. See also vk_memory_patch().
 */
#ifndef API_VULKAN_VULKAN_SOURCE_MEMORY_H
#define API_VULKAN_VULKAN_SOURCE_MEMORY_H

#include "api/vulkan/vulkan_source_layer.h"
#include "base/hash.h"
#include "capture/shadow.h"

/* `size` bytes at `offset` of imported memory are written by the device alone: they are results. */
void vk_memory_gives(const struct vk_device_state *device, VkDeviceMemory memory, uint64_t offset,
                     uint64_t size);

/* What is behind this may make the device read memory, or write it. */
void vk_memory_push(void);
/* Work is about to be sent to the device. */
void vk_memory_push_work(struct vk_device_state *device);
/* The device may have written what the program may read now. */
void vk_memory_pull(void);

/* Part of vk_memory_patch(), in vulkan_source_wait.c. */
void vk_wait_patch(struct vk_device_state *device);

/* How many submits were begun, on all devices. */
uint64_t vk_memory_sends(void);

/* All that was sent to the device is complete, and was when memory was last looked at: record what
 * it changed as CHECKSUM, results of the command at `position` of `stream`, the last one. Outside
 * of a call. */
void vk_memory_report(const struct vk_device_state *device, uint32_t stream, uint64_t position);
/* ... and so are the first `sends_complete` submits to all devices: nothing changes until the next.
 */
void vk_memory_quiet(uint64_t sends_complete);

#endif
