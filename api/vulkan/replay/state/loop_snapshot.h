/* SPDX-License-Identifier: Apache-2.0
 *
 * State before a loop over part of a trace, restored each time.
 */
#ifndef API_VULKAN_REPLAY_STATE_LOOP_SNAPSHOT_H
#define API_VULKAN_REPLAY_STATE_LOOP_SNAPSHOT_H

#include "api/vulkan/replay/common.h"

/* Keep what a checkpoint here would hold, until the end. Nothing is under way. */
int vkr_loop_snapshot_take(struct vkr *r);
/* Make it so again. */
int vkr_loop_snapshot_restore(struct vkr *r);
void vkr_loop_snapshot_finish(struct vkr *r);
/* Asked of each record of a part, in order: can it be carried out again after
 * vkr_loop_snapshot_restore()? */
bool vkr_loop_snapshot_allows(struct vkr *r, const struct sbt_record *record);

#endif
