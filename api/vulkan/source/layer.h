/* SPDX-License-Identifier: Apache-2.0
 *
 * libts_capture.so as a Vulkan layer: what its hand-written parts share. The loader finds the layer
 * by its manifest (environment.c says where) and puts it into each instance's chain;
 * a program that opens a driver without the loader gets the same functions
 * (direct.c).
 */
#ifndef API_VULKAN_SOURCE_LAYER_H
#define API_VULKAN_SOURCE_LAYER_H

#include "api/vulkan/tables/dispatch.h"

#include <vulkan/vk_layer.h>

#define VK_OUR_LAYER "VK_LAYER_TRACESMITH_capture"

/* The dispatch of an instance or device with what else we keep of it. Never freed: the next one
 * that is made takes it again. */
struct vk_instance_state {
    struct vk_instance_dispatch dispatch;       /* first: found by it */
    PFN_GetPhysicalDeviceProcAddr get_physical; /* NULL: the next layer has none */
    bool direct;                                /* no loader: handles are keyed by us */
    uint32_t api_version;                       /* that the program uses at most */
    struct vk_instance_state *next_free;
};

/* See api/vulkan/source/gpu_time/clock.c. */
struct vk_device_clock {
    double period_ns;        /* of a tick */
    bool can_compare;        /* with the host's */
    uint64_t ticks, host_ns; /* were the same moment; host_ns 0: not asked yet */
    uint64_t error_ns;       /* give or take this */
};

struct vk_device_state {
    struct vk_device_dispatch dispatch; /* first */
    struct vk_device_functions below;   /* as they were before ours took the place of some */
    VkPhysicalDeviceMemoryProperties memory;
    PFN_vkSetDeviceLoaderData set_loader_data; /* for command buffers of ours; NULL: no loader */
    struct vk_device_clock clock;
    PFN_vkGetDeviceQueue get_queue; /* after those of api/vulkan/source/gpu_time/time.c */
    PFN_vkGetDeviceQueue2 get_queue2;
    bool on_processor; /* the device's memory is memory of this process */
    bool has_queue;    /* it was made with one of this family, without flags */
    uint32_t queue_family;
    bool direct;
    bool opaque_addresses; /* the driver can choose addresses again: see
                              api/vulkan/source/memory/address.c */
    struct {
        PFN_vkCreateBuffer vkCreateBuffer;
        PFN_vkAllocateMemory vkAllocateMemory;
    } without_addresses;  /* `below` before that */
    uint64_t hidden_seen; /* vk_memory_sends() at the last vk_hidden_report(); under that lock */
    uint64_t idle_count;  /* how often results were reported; under the lock of mapped memory */
    uint64_t sends;       /* submits that were begun; atomic */
    bool had_long_work;   /* TS_CHECKSUM=submit: something was not done in time; atomic */
    uint64_t
        seen; /* ... and that api/vulkan/source/completion/completion.c has seen, under its lock */
    struct vk_device_state *next_free;
};

static inline struct vk_device_state *vk_state_of(const void *handle)
{
    return (struct vk_device_state *)(uintptr_t)vk_device_of(handle);
}

/* Has an instance been made here, and has a driver been opened? For the word at exit. */
extern atomic_bool vk_instance_seen;
extern _Atomic(void *) vk_driver_seen; /* a function of it */

/* We are in the chain, but must not record this process: nothing is wrapped. */
bool vk_layer_is_passive(void);

/* Returns the program's address for a function of the next layer: our wrapper, or, without one, an
 * address that notes the call. */
PFN_vkVoidFunction vk_layer_give(const char *name, PFN_vkVoidFunction next);

/* ---- no loader: direct.c ---- */

/* The driver's own function that the program was given ours for; NULL: none. */
PFN_vkGetInstanceProcAddr vk_direct_next(void);

/* dlsym() gave the program a driver's vk_icdGetInstanceProcAddr. Returns what it gets. */
void *vk_direct_found(void *address, const void *caller);

/* Writes our key at the begin of a dispatchable handle, as the loader does. */
void vk_direct_key(void *handle, const void *key);
void vk_direct_patch(struct vk_instance_state *instance);
void vk_direct_patch_device(struct vk_device_state *device);

/* ---- mapped memory: api/vulkan/source/memory/memory.c ---- */

/* Put functions of ours in front of those that map memory, send work or wait for it. They do their
 * part whether or not the call is recorded. */
void vk_memory_patch(struct vk_device_state *device);
void vk_memory_device_destroyed(const struct vk_device_state *device);
/* In the child of a fork: what the parent has mapped is not ours. */
void vk_memory_forget(void);

/* ---- addresses of buffers: api/vulkan/source/memory/address.c ---- */

/* For structs that stand for the program's in a chain. */
struct vk_chain_room {
    _Alignas(16) uint8_t bytes[8192];
};

/* Copies what is in the program's chain as far as the struct `type` to `room`, of `room_size` bytes
 * and aligned to 16, and puts the copies into *chain. Returns the copy of that struct; NULL if it
 * is not there, lies behind something unknown, or there is no room. */
void *vk_chain_copy_until(uint8_t *room, size_t room_size, const void **chain,
                          VkStructureType type);

/* Changes *info so that addresses can be chosen again. Returns true if the device created with it
 * can. */
bool vk_address_device(const struct vk_instance_dispatch *instance, VkPhysicalDevice physical,
                       VkDeviceCreateInfo *info, struct vk_chain_room *room);
/* Before vk_memory_patch(). */
void vk_address_patch(struct vk_device_state *device);
struct vk_args_vkCreateBuffer;
/* A buffer was made, and is recorded. */
void vk_address_of_buffer(const struct vk_args_vkCreateBuffer *made);

/* ---- what is complete: api/vulkan/source/completion/completion.c ---- */

/* In the child of a fork. */
void vk_completion_forget(void);
void vk_completion_device_destroyed(struct vk_device_state *device);
/* Notes a new semaphore; signals and waits depend on its type. */
void vk_completion_semaphore_created(VkSemaphore semaphore, bool is_timeline);
struct tsm_stream;
/* The command, and all that was sent to its queue before, is complete. Memory was pulled since. */
void vk_completion_complete(struct tsm_stream *stream, uint64_t position);

/* Tests whether all that was sent to the device is complete. Caller holds the lock of mapped
 * memory, so that no work is sent, and nothing is pulled, until it is done with what it found. */
struct vk_idle {
    uint32_t stream; /* the last command */
    uint64_t position;
    bool all; /* nothing is under way on other devices either */
};
bool vk_completion_idle(const struct vk_device_state *device, struct vk_idle *out);
/* Finds the last command, whether or not it is complete. False: there was none. */
bool vk_completion_last(const struct vk_device_state *device, struct vk_idle *out);

/* For sync files: the batch that a fence or semaphore stands for, as a point of its queue. False:
 * none is known. */
struct tsm_sync_point;
bool vk_completion_point(uint32_t type, uint64_t raw, struct tsm_sync_point *out);
void vk_completion_stands_for(uint32_t type, uint64_t raw, const struct tsm_sync_point *point);
/* The program has learnt that the point is complete. Memory was pulled since. False: it had learnt
 * so in the same way before. */
struct vk_learnt {
    struct vk_device_state *device;
    uint64_t position; /* of the command */
    bool is_whole;     /* all of it is complete, not only some of its batches */
};
bool vk_completion_learn(const struct tsm_sync_point *point, struct vk_learnt *out);

/* ---- TS_CHECKSUM=submit, who waits for the program: api/vulkan/source/completion/timeline.c ----
 */

/* In the child of a fork. */
void vk_timeline_forget(void);
/* Notes that the work sent to the queue waits for the semaphore; or signals it. */
void vk_timeline_waits(VkQueue queue, VkSemaphore semaphore, uint64_t value);
void vk_timeline_signals(VkQueue queue, VkSemaphore semaphore, uint64_t value);
/* Others signal it, too, which nobody sees. */
void vk_timeline_shared(VkSemaphore semaphore);
/* Does what was sent to the queue wait for a signal of the program's? */
bool vk_timeline_is_stuck(VkQueue queue);

/* ---- file descriptors: share.c ---- */

/* In the child of a fork. */
void vk_share_forget(void);

/* ---- checkpoints: checkpoint.c ---- */

bool vk_checkpoint_quiet(uint64_t until_ns);
bool vk_checkpoint_save(void);

/* ---- fences of ours after what was sent: api/vulkan/source/completion/pending.c ---- */

/* At a checkpoint, while the program's threads are held back. False: no fence could be sent. */
bool vk_pending_send(VkQueue queue);
/* For all that were sent. False: not in time; they stay, and are waited for the next time. */
bool vk_pending_wait(uint64_t until_ns);
/* TS_CHECKSUM=submit: wait for the command that was just sent to the queue. False: it waits, as is
 * known or as far as one can see, for what the program does next. It is asked for again at the next
 * look. */
bool vk_pending_look(VkQueue queue, struct tsm_stream *stream, uint64_t position);
/* A device is destroyed when nothing of it is under way. */
void vk_pending_device_destroyed(const struct vk_device_state *device);
/* In the child of a fork. */
void vk_pending_forget(void);

/* ---- presented images: present.c ---- */

void vk_present_patch(struct vk_device_state *device);
void vk_present_device_destroyed(const struct vk_device_state *device);
/* In the child of a fork. */
void vk_present_forget(void);

/* ---- the environment: environment.c ---- */

/* Have the loader find the layer when it looks next, if the program has removed our variables. */
void vk_environment_restore(void);
/* Is this process meant to be recorded, as far as the environment says? */
bool vk_environment_wants(void);

/* ---- facts for the trace: facts.c ---- */
void vk_describe_device(const struct vk_device_state *device);

#endif
