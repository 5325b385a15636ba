/* SPDX-License-Identifier: Apache-2.0
 *
 * The end of a recording in which work still waits for the host.
 */
#ifndef API_VULKAN_REPLAY_RELEASE_H
#define API_VULKAN_REPLAY_RELEASE_H

#include "api/vulkan/replay/common.h"

/* Signals what work under way waits for, at the end of the recording. 1: there was some. */
int vkr_unblock_waiters(struct vkr *r);

#endif
