/* SPDX-License-Identifier: Apache-2.0
 *
 * Restoring what was followed.
 */
#ifndef API_VULKAN_REPLAY_STATE_RESTORE_H
#define API_VULKAN_REPLAY_STATE_RESTORE_H

#include "api/vulkan/replay/state/tracker.h"

/* Carries out a record of a checkpoint. */
int vkr_checkpoint(struct vkr *r, const struct sbt_record *record);
/* Restores the followed state, except memory. */
int vkr_restore(struct vkr *r);

/* Parts of an image that are in one layout, but for those that never were in any. */
void vkr_each_layout(const struct vkr_fact_image *fact,
                     void (*visit)(void *user, const struct vkr_part *part, VkImageLayout layout),
                     void *user);

#endif
