/* SPDX-License-Identifier: Apache-2.0
 *
 * The state of the Vulkan backend.
 *
 * Threads: the engine carries out records that are no commands while nothing else runs, so that
 * what they change (objects, memory, devices) needs no lock. Submits come from threads of their
 * streams, in recorded order; the lock is held across them, because they share an arena.
 */
#ifndef API_VULKAN_REPLAY_REPLAY_H
#define API_VULKAN_REPLAY_REPLAY_H

#include "api/vulkan/replay/device.h"
#include "api/vulkan/replay/loader.h"
#include "api/vulkan/replay/memory/address.h"
#include "api/vulkan/replay/memory/capture_replay_address.h"
#include "api/vulkan/replay/memory/fixed_address.h"
#include "api/vulkan/replay/memory/memory.h"
#include "api/vulkan/replay/object.h"
#include "api/vulkan/replay/requirements.h"
#include "api/vulkan/replay/share.h"
#include "api/vulkan/replay/timing/submit_times.h"

/* Image of a swapchain that is being compared. */
struct vkr_texels {
    uint64_t image; /* id; 0: none */
    uint8_t *bytes;
    uint64_t size;
};

struct vkr {
    struct sbt_reader *reader;
    const struct tsm_replay_options *options;
    pthread_mutex_t lock;
    struct vk_arena arena; /* of the record that is being carried out */
    struct vkr_loader loader;
    struct vkr_instance *probe; /* our own, to look */
    uint32_t chosen;            /* the device that stands for all that are not found by name */
    bool is_chosen;             /* options.device said so */
    struct vkr_objects objects;
    struct vkr_memories memories;
    struct vkr_texels texels;
    struct vkr_addresses addresses;
    struct vkr_capture_replay_address opaque;
    struct vkr_fixed_addresses places;
    struct vkr_share share;
    struct tsm_map reached_places; /* a command of a COMPLETE record -> place + 1 in `reached` */
    struct vkr_completed *reached;
    size_t reached_count;
    struct vkr_requirements needs;
    struct vkr_stream *streams; /* by number */
    size_t stream_count;
    struct vkr_loop_snapshot *held; /* what vkr_loop_snapshot_restore() goes back to */
    struct tsm_map repeated;   /* vkr_loop_snapshot_allows(): command buffer id -> how it was met */
    bool is_early;             /* before the checkpoint: commands are followed, and not sent */
    bool is_hollow;            /* a submit without its command buffers */
    bool has_hollow;           /* there was one: queries may never become available */
    bool must_restore;         /* the checkpoint has begun, and what was followed is not yet so */
    uint64_t validation_count; /* errors that the validation layer reported */
    struct tsm_address_space stamps; /* places that hold times; merged */
    bool has_stamps;                 /* a command copies times into memory */
    uint64_t sent_count;             /* submits */
    uint32_t gate_count;           /* events that work waits for in vain until the host sets them */
    struct vk_timelines timelines; /* which queues get through what they were sent */
    bool
        waits_each; /* recorded with TS_CHECKSUM=submit: one submit was done before the next step */
    uint64_t next_window; /* raw handles of what stands for windows */
    struct vkr_inspect
        *inspect; /* api/vulkan/replay/inspect/inspect.h; NULL: nothing is inspected */
    struct vkr_shader *shaders;      /* that take the place of others; NULL: none */
    struct vkr_present_window *show; /* --present: the window; NULL: none (yet) */
    uint64_t ambiguous_count;        /* writes of the host that may be results, and differ */
    uint64_t mixed_count; /* ... and those in memory of which nothing is a result: see the backend's
                             mixed() */
    struct vkr_timing timing;
    struct vkr_writes *writes; /* api/vulkan/replay/memory/write.c; NULL: none yet */
};

#endif
