/* SPDX-License-Identifier: Apache-2.0
 *
 * Checkpoints: what capture/capture.h asks of a source.
 */
#ifndef API_VULKAN_SOURCE_CHECKPOINT_H
#define API_VULKAN_SOURCE_CHECKPOINT_H

#include "api/vulkan/source/layer.h"

bool vk_checkpoint_quiet(uint64_t until_ns);
bool vk_checkpoint_save(void);

#endif
