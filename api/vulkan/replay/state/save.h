/* SPDX-License-Identifier: Apache-2.0
 *
 * Writing a checkpoint.
 */
#ifndef API_VULKAN_REPLAY_STATE_SAVE_H
#define API_VULKAN_REPLAY_STATE_SAVE_H

#include "api/vulkan/replay/common.h"

int vkr_save(struct vkr *r, const struct tsm_saver *saver);

#endif
