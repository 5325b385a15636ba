/* SPDX-License-Identifier: Apache-2.0
 *
 * A pattern in memory that nothing has written yet.
 */
#ifndef API_VULKAN_REPLAY_MEMORY_POISON_FILL_H
#define API_VULKAN_REPLAY_MEMORY_POISON_FILL_H

#include "api/vulkan/replay/common.h"

/* Sets all bytes of mapped memory to `value`; pages that hold it already are not written. */
void vkr_poison_fill(uint8_t *out, uint64_t size, uint8_t value);

#endif
