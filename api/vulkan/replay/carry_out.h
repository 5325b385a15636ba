/* SPDX-License-Identifier: Apache-2.0
 *
 * Records that are carried out.
 */
#ifndef API_VULKAN_REPLAY_CARRY_OUT_H
#define API_VULKAN_REPLAY_CARRY_OUT_H

#include "api/vulkan/replay/common.h"

/* Carries out a record of the program's call. Caller holds the lock of `r`, whose arena is empty
 * before and after. Returns 0, also for a record that is left out, or a negative TSM_E*. */
int vkr_carry_out(struct vkr *r, const struct sbt_record *record);

#endif
