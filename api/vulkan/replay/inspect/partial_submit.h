/* SPDX-License-Identifier: Apache-2.0
 *
 * A submit that ends after one of its commands.
 */
#ifndef API_VULKAN_REPLAY_INSPECT_PARTIAL_SUBMIT_H
#define API_VULKAN_REPLAY_INSPECT_PARTIAL_SUBMIT_H

#include "api/vulkan/replay/state/tracker.h"

/* Tests whether this is the submit that is to end after a command. */
bool vkr_partial_submit_wanted(const struct vkr_call *c);
/* Returns where the submit ends. */
struct vkr_submit_end vkr_partial_submit_end(const struct vkr_call *c);
/* Carries it out up to that command, in a command buffer that is recorded again; signals nothing,
 * because the replay ends there. */
int vkr_partial_submit(struct vkr_call *c);

#endif
