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
    struct vk_device_functions untimed; /* TS_GPU_TIME=commands: after those of
                                           api/vulkan/source/gpu_time/command_buffer.c */
    uint32_t times_read;                /* results of commands that threads are reading; atomic */
    bool has_tile_shading;              /* timestamps are not allowed everywhere */
    bool has_shader_objects;            /* pipelines do not say what commands run */
    uint64_t lone_families;             /* a bit for each of which it has one queue */
    PFN_vkGetDeviceQueue get_queue;     /* after those of api/vulkan/source/gpu_time/time.c */
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
    } without_addresses; /* `below` before that */
    uint64_t
        hidden_seen;     /* vk_completion_sends() at the last vk_hidden_report(); under that lock */
    uint64_t idle_count; /* how often results were reported; under the lock of mapped memory */
    uint64_t sends;      /* submits that were begun; atomic */
    bool had_long_work;  /* TS_CHECKSUM=submit: something was not done in time; atomic */
    uint64_t
        seen; /* ... and that api/vulkan/source/completion/completion.c has seen, under its lock */
    struct vk_device_state *next_free;
};

static inline struct vk_device_state *vk_state_of(const void *handle)
{
    return (struct vk_device_state *)(uintptr_t)vk_device_of(handle);
}

/* True once an instance was created here, and once a driver was opened: for the warning at exit. */
extern atomic_bool vk_instance_seen;
extern _Atomic(void *) vk_driver_seen; /* a function of it */

/* Tests whether the layer is in the chain, but must not record this process: it wraps nothing. */
bool vk_layer_is_passive(void);

/* Returns the program's address for a function of the next layer: our wrapper, or, without one, an
 * address that notes the call. */
PFN_vkVoidFunction vk_layer_give(const char *name, PFN_vkVoidFunction next);

#endif
