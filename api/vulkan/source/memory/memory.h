/* SPDX-License-Identifier: Apache-2.0
 *
 * Records the device's writes to mapped memory. See also vk_memory_patch().
 */
#ifndef API_VULKAN_SOURCE_MEMORY_MEMORY_H
#define API_VULKAN_SOURCE_MEMORY_MEMORY_H

#include "api/vulkan/source/layer.h"
#include "base/hash.h"
#include "capture/memory/shadow.h"

/* `size` bytes at `offset` of imported memory are written by the device alone: they are results. */
void vk_memory_gives(const struct vk_device_state *device, VkDeviceMemory memory, uint64_t offset,
                     uint64_t size);

/* Something is bound to the memory that the device may write. */
void vk_memory_device_writes(const struct vk_device_state *device, VkDeviceMemory memory);

/* The device will write times to `size` bytes at `offset`. */
void vk_memory_times(const struct vk_device_state *device, VkDeviceMemory memory, uint64_t offset,
                     uint64_t size);

/* Will the device write times anywhere? */
bool vk_memory_has_times(void);
/* Source of a copy that may hold timestamps. */
struct vk_place {
    VkDeviceMemory memory;
    uint64_t offset;
};
void vk_memory_copied(const struct vk_device_state *device, struct vk_place from,
                      struct vk_place to, uint64_t size);

/* Memory that was imported through a descriptor has got its id: what others have put there is
 * recorded. */
void vk_memory_named(const struct vk_device_state *device, VkDeviceMemory memory);
/* It has a descriptor: others may share it. */
void vk_memory_exported(const struct vk_device_state *device, VkDeviceMemory memory);

/* Pushes the program's writes: later calls may make the device read memory, or write it. */
void vk_memory_push(void);
/* Work is about to be sent to the device. */
void vk_memory_push_work(struct vk_device_state *device);
/* The device may have written what the program may read now. */
void vk_memory_pull(void);

/* Part of vk_memory_patch(), in api/vulkan/source/completion/wait.c. */
void vk_wait_patch(struct vk_device_state *device);

/* How many submits were begun, on all devices. */
uint64_t vk_memory_sends(void);

/* Records what the device has changed as CHECKSUM, results of the last command, if all that was
 * sent to it is complete. Whoever learnt that has pulled before. Outside of a call. */
void vk_memory_report(struct vk_device_state *device);

/* TS_CHECKSUM: the same of memory that the host cannot map, by the queue, which the caller may use.
 */
void vk_hidden_report(VkQueue queue);
/* ... which may use all queues of the device. */
void vk_hidden_report_device(const struct vk_device_state *device);
/* In the child of a fork. */
void vk_hidden_forget(void);

/* For checkpoints. A thread that reports results holds our lock and may itself be held back: is
 * there none until then? */
bool vk_memory_idle(uint64_t until_ns);

/* All memory that is not the program's own; nothing else runs. False when `visit` gave false, or
 * when there was such a thread after all. */
struct vk_memory {
    const struct vk_device_state *device;
    VkDeviceMemory handle;
    uint64_t size;
    uint32_t type;
    const void *mapped; /* all of it; NULL: not by us */
    bool is_mapped;     /* by anybody: it cannot be mapped again */
    bool is_dedicated;  /* it takes no other buffer than the one that it was made for, if any */
};
bool vk_memory_each(bool (*visit)(void *user, const struct vk_memory *memory), void *user);

#endif
