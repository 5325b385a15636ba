/* SPDX-License-Identifier: Apache-2.0
 *
 * COMPLETE records: the program knew that a command was complete.
 */
#ifndef API_VULKAN_REPLAY_COMPLETED_H
#define API_VULKAN_REPLAY_COMPLETED_H

#include "api/vulkan/replay/device.h"

int vkr_completed_plan(struct vkr *r, const struct sbt_record *record,
                       const struct sbt_schema *schema);
/* Sends the batches that are waited for without those behind them. The call's arguments are what is
 * left then; `*sent` batches are not. */
int vkr_completed_send_parts(struct vkr_call *c, uint32_t *sent);
int vkr_completed_sent(struct vkr_call *c, VkQueue queue, uint32_t sent);
int vkr_completed_await(struct vkr *r, const struct sbt_record *record,
                        const struct sbt_schema *schema);
/* Destroys the fences of a device that is about to be destroyed, with nothing under way. */
void vkr_completed_drop(struct vkr *r, const struct vkr_device *device);
void vkr_completed_finish(struct vkr *r);

#endif
