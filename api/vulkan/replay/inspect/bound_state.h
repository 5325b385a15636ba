/* SPDX-License-Identifier: Apache-2.0
 *
 * Bound state of a command buffer at one of its commands.
 */
#ifndef API_VULKAN_REPLAY_INSPECT_BOUND_STATE_H
#define API_VULKAN_REPLAY_INSPECT_BOUND_STATE_H

#include "api/vulkan/replay/inspect/json.h"
#include "api/vulkan/replay/inspect/scene.h"

#define VKR_BOUND_SETS     32u
#define VKR_BOUND_BUFFERS  32u
#define VKR_BOUND_PUSH     256u
#define VKR_BOUND_DYNAMIC  96u
#define VKR_BOUND_PIPELINE 3u /* graphics, compute, ray tracing */

struct vkr_bound_state {
    struct vkr_bound_state_point {
        uint64_t pipeline;
        uint64_t sets[VKR_BOUND_SETS];
        uint64_t set_seqs[VKR_BOUND_SETS]; /* of the command that bound or pushed it; 0: none */
    } points[VKR_BOUND_PIPELINE];
    struct vkr_bound_state_buffer {
        uint64_t buffer, offset;
    } vertex[VKR_BOUND_BUFFERS], index;
    VkIndexType index_type;
    uint8_t push[VKR_BOUND_PUSH];
    uint32_t push_size;
    uint64_t pass_seq; /* of the command that began the render pass; 0: in none */
    uint32_t subpass;
    struct vkr_bound_state_dynamic {
        uint32_t type;
        uint64_t seq; /* of the last vkCmdSet* of this type */
    } dynamic[VKR_BOUND_DYNAMIC];
    uint32_t dynamic_count;
};

/* The command `c`, whose handles are ids, was recorded. */
void vkr_bound_state_note(struct vkr_bound_state *bound, const struct vkr_call *c);

/* Returns the bind point of a command that draws, dispatches or traces; -1: it does none. */
int vkr_bound_state_point_of(const struct vk_command *command);

/* Adds the bound state as members of the open object. */
void vkr_bound_state_json(const struct vkr_bound_state *bound, int point, struct tsm_json *j);

#endif
