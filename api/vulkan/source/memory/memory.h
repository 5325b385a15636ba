/* SPDX-License-Identifier: Apache-2.0
 *
 * Records the device's writes to mapped memory. See also vk_memory_patch().
 */
#ifndef API_VULKAN_SOURCE_MEMORY_MEMORY_H
#define API_VULKAN_SOURCE_MEMORY_MEMORY_H

#include "api/vulkan/source/layer.h"
#include "base/hash.h"
#include "capture/memory/shadow.h"

/* Puts functions of ours in front of those that allocate and map memory. */
void vk_memory_patch(struct vk_device_state *device);
void vk_memory_device_destroyed(const struct vk_device_state *device);
/* In the child of a fork: what the parent has mapped is not ours. */
void vk_memory_forget(void);

/* Notes that only the device writes `size` bytes at `offset` of imported memory: they are results.
 */
void vk_memory_gives(const struct vk_device_state *device, VkDeviceMemory memory, uint64_t offset,
                     uint64_t size);

/* Notes that something is bound to the memory that the device may write. */
void vk_memory_device_writes(const struct vk_device_state *device, VkDeviceMemory memory);

/* Notes that the device will write times to `size` bytes at `offset`. */
void vk_memory_times(const struct vk_device_state *device, VkDeviceMemory memory, uint64_t offset,
                     uint64_t size);

/* Tests whether the device will write times anywhere. */
bool vk_memory_has_times(void);
/* Source of a copy that may hold timestamps. */
struct vk_place {
    VkDeviceMemory memory;
    uint64_t offset;
};
void vk_memory_copied(const struct vk_device_state *device, struct vk_place from,
                      struct vk_place to, uint64_t size);

/* Records what others have put into memory that was imported through a descriptor, and that has its
 * id now. */
void vk_memory_named(const struct vk_device_state *device, VkDeviceMemory memory);
/* Notes that the memory has a descriptor: others may share it. */
void vk_memory_exported(const struct vk_device_state *device, VkDeviceMemory memory);

/* Another API of this program has the memory of that id, too; it sends work; it has waited, and
 * what has changed in such memory are results of that stream. */
void vk_memory_lent(uint64_t id);
void vk_memory_others_send(void);
void vk_memory_others_waited(uint32_t stream);

/* Pushes the program's writes: later calls may make the device read memory, or write it. */
void vk_memory_push(void);
/* The same before work is sent to the device, which it counts. */
void vk_memory_push_work(struct vk_device_state *device);
/* Brings the program what the device may have written, before the program may read it. */
void vk_memory_pull(void);

/* Puts functions of ours in front of those that send work or wait for it. (completion/wait.c) */
void vk_wait_patch(struct vk_device_state *device);

/* Records what the device has changed as CHECKSUM, results of the last command, if all that was
 * sent to it is complete. Caller has pulled since it knows that. Outside of a call. */
void vk_memory_report(struct vk_device_state *device);

/* TS_CHECKSUM: records the same of memory that the host cannot map, by the queue, which the caller
 * may use. */
void vk_hidden_report(VkQueue queue);
/* The same of a device, all of whose queues the caller may use. */
void vk_hidden_report_device(const struct vk_device_state *device);
/* In the child of a fork. */
void vk_hidden_forget(void);

/* Waits, for a checkpoint, until no thread reports results: such a thread holds our lock and may
 * itself be held back. Returns false if there is one until then. */
bool vk_memory_idle(uint64_t until_ns);

/* Memory as vk_memory_each() visits it: all that is not the program's own, while nothing else runs.
 * That returns false if `visit` did, or if a thread reports results after all. */
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
