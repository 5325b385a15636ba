/* SPDX-License-Identifier: Apache-2.0
 *
 * Labels of queues. Hooks, see carry_out.c.
 */
#ifndef API_VULKAN_REPLAY_STATE_QUEUE_LABEL_H
#define API_VULKAN_REPLAY_STATE_QUEUE_LABEL_H

#include "api/vulkan/replay/common.h"

int vkr_begin_label(struct vkr_call *c);
int vkr_end_label(struct vkr_call *c);

#endif
