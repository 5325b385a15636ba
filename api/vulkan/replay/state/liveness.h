/* SPDX-License-Identifier: Apache-2.0
 *
 * Images whose content need not be saved.
 */
#ifndef API_VULKAN_REPLAY_STATE_LIVENESS_H
#define API_VULKAN_REPLAY_STATE_LIVENESS_H

#include "api/vulkan/replay/memory/memory.h"

/* Images whose content at the record `first` nothing of [first, end) looks at; `end` 0: of all
 * after. */
struct vkr_liveness;
int vkr_liveness_find(struct vkr_liveness **out, struct vkr *r, uint64_t first, uint64_t end);
void vkr_liveness_destroy(struct vkr_liveness *stale);
/* The next bytes of memory from *offset on that are such an image's. False: there are no more. */
bool vkr_liveness_next(const struct vkr_liveness *stale, const struct vkr_memory *m,
                       uint64_t *offset, uint64_t *size);

#endif
