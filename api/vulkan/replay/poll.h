/* SPDX-License-Identifier: Apache-2.0
 *
 * Polls that were answered with "done", as waits.
 */
#ifndef API_VULKAN_REPLAY_POLL_H
#define API_VULKAN_REPLAY_POLL_H

#include "api/vulkan/replay/common.h"

int vkr_poll_queries(struct vkr_call *c);
int vkr_poll_event(struct vkr_call *c);

#endif
