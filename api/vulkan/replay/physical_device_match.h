/* SPDX-License-Identifier: Apache-2.0
 *
 * Devices here that stand for recorded ones.
 */
#ifndef API_VULKAN_REPLAY_PHYSICAL_DEVICE_MATCH_H
#define API_VULKAN_REPLAY_PHYSICAL_DEVICE_MATCH_H

#include "api/vulkan/replay/common.h"
#include "api/vulkan/replay/device.h"

/* By number, part of its name (any case), or UUID. TSM_E_NOT_FOUND with a list of those here. */
int vkr_choose_device(struct vkr *r, const char *text);
/* For each that the trace needs. */
void vkr_choose_devices(struct vkr *r);

#endif
